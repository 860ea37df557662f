// Package perfscript reads the text that perf script prints: a line for each sample, and below it a line for each frame of its stack, from the leaf.
//
//	comm pid/tid [cpu] time: period event:
//		address symbol+offset (object)
//
// perf.data changes with perf, and only perf reads it; this text is what perf prints for others to read, and what people pass on. It has no grammar that
// is written down, and varies with the fields that were asked for, so the reader takes what it knows and counts what it does not:
//
//   - The name of a thread may hold anything, also what looks like the rest of the line. It has at most 15 bytes, which tells the fields behind it apart.
//   - A CPU, a thread beside the process, a period and a stack are each optional. Without a stack, the sampled place may stand on the first line.
//   - The object is the last group in parentheses, with those that it holds itself; a symbol may hold some too. Both may be missing.
//   - Lines of records of other kinds (PERF_RECORD_…) are no samples. Those of lost records are summed.
//   - Source lines that stand between frames are passed over.
//
// Every line is looked at once, every distinct frame is taken apart once, and a text of any size takes the memory of its distinct frames, which is bounded.
//
// What it never does: guess a period, resolve a symbol, or take a comment of the header for a fact.
package perfscript
