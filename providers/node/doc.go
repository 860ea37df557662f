// Package node is the provider for the CPU and heap profiles that Node writes of itself (--cpu-prof, --heap-prof), and for the same files from any
// other program with V8 in it. They are read by formats/v8profile, after the Chrome DevTools Protocol's documented types.
//
// A capture puts Node's own flags in front of the script. One file is kept of each profile: Node's main thread is profiled, and what its workers and
// forked children write under the same name is overwritten when it ends, which the record says. With children = true each thread and process leaves a file
// of its own under the name that Node gives it, and each sample has the label profile with that name.
//
// Metrics of a CPU profile are cpu.self_time and cpu.hit_count, of a heap profile memory.self_size. The time of a sample is that until
// the next one, as Chrome's tools count it; the last one's is until the end of the profile, and what was before the first belongs to none. Samples
// that stand out of order, which Chrome wrote for some versions, are put in the order of their times first. Hits are counted by V8
// itself, and are not always as many as the samples.
//
// Memory is what was live when the profile was written and V8 had sampled, by where it was allocated: an estimate, of no use as a process's size.
//
// A frame is a function with the place where it begins, since most functions of JavaScript have no name; lines and columns are from 1, as editors
// show them and other profilers write them (V8 counts both from 0). With granularity = "line" the leaf of a stack has the line of the sample instead, where
// V8 says it, in hits only: V8 counts lines, and does not time them. (root), (program), (idle) and (garbage collector) are V8's own and stand for
// no code; V8 puts the garbage collector below the root and not where it was called, and so does this.
//
// Node 20.16 and 22.4 are the first in which these flags are stable; Probe refuses others.
//
// What it never does: apply source maps, guess what (program) did, or take an idle process's time away.
package node
