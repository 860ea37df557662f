// Package trace is the command that looks into a window of a trace's time. It reads the normalized rows of the table trace_events, whoever extracted them,
// so no native reader is needed, and says how much of the trace those rows are.
//
// An answer is bounded in rows, in time and in the length of its texts. Its cursor is the place of the last row, and holds for the same rows and the same window alone.
package trace
