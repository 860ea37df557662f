// Package selftrace records where flameox itself spends its time: spans with a name, what they are about, and the goroutine that they ran on. The
// recorder travels in the context. Where there is none, beginning a span costs one look into the context and allocates nothing, so spans may stand in
// whatever runs once for a stage, a file that is hashed, or a process.
//
// What was recorded is written as a trace in Chrome's Trace Event Format, which ui.perfetto.dev and chrome://tracing open, and which flameox
// itself imports (`import "chrometrace"`).
//
// Goroutines that follow each other share a lane, so ten thousand stages of two workers are two lanes and not ten thousand. On a lane spans nest or
// follow each other, always.
//
// It samples nothing, and it starts no goroutine. What happened before main began is not in a trace.
package selftrace
