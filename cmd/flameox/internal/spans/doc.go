// Package spans is the command that asks what follows from the spans of traces: windows, transitions, sequences and gaps. Each answer is a page of a view of evidence/query; the command
// adds the choice of a stage, a trace, an operation or a time, and goes on where the page before ended.
package spans
