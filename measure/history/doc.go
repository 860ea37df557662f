// Package history puts the points of a series in the order of their revisions and says where its level changed for good.
//
// The order is git's where a checkout is there: the ancestors of the target, and a point whose revision is none of them is listed and judges nothing. Without a checkout, or where it
// knows none of the revisions, points are in the order in which they were measured, which says less, and the history says so. Several points of one revision are one value, their median,
// since a change lies between revisions. Changes are found by measure/changepoint within the stretches between accepted changes: accepting one is an annotation, a fact that
// somebody said, and it is kept in a file of the project and never in the store.
package history
