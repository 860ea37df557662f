// Package stats has the statistics that more than one package needs. Each function states what it assumes; choosing a method is the
// caller's business.
package stats
