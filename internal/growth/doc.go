// Package growth fits a few laws of growth to a quantity that was measured at several sizes: constant, logarithmic, linear, n log n, quadratic. It says
// which describes the points best, if one does so clearly, and nothing about why.
//
// Laws are compared by the corrected Akaike criterion, which weighs how well a law fits against how many coefficients it has. It needs at least two
// points more than a law has parameters; with fewer there is no criterion and no winner.
package growth
