// Package collapsed is the provider for collapsed stacks, the text that flame graphs are drawn from (stackcollapse, inferno, async-profiler,
// austin, bpftrace and others): it is imported. What it holds is read by formats/collapsed.
//
// The format is admitted because it meets the four conditions of a new one:
//
//   - a maintained reader: FlameGraph and inferno, which define it by what they read, and speedscope, against whose sample files this is held;
//   - a bounded artifact: lines of text that are read as a stream, with a limit on the length of one;
//   - useful semantics: complete call stacks with a count;
//   - representative validation: files that speedscope tests itself with, listed in qualification.go, and what py-spy writes as raw, in its own provider's tests.
//
// The metric is collapsed.count. What is counted the file does not say: samples, microseconds, bytes. Names are kept as they stand, with
// what their writer put into them; a frame that has no name is [unknown].
//
// What it never does: take a name apart, or call a count a time.
package collapsed
