// Package outline holds a plan as it was decided, without what it takes to run it: enough to print it, and to decide again about a few of its stages
// where files that they are made from moved. It has a compact form, in which the plan of the last time is remembered.
package outline
