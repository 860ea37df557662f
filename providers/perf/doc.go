// Package perf is the provider for profiles of Linux's perf: what a program and everything that it starts do, down to C and the kernel.
//
// A capture runs the workload under perf record and keeps perf.data as it is. The file changes with perf, and perf alone reads it: an extraction lets
// perf script print it, with the version of perf in its key (providers.Printer), and the text is read by formats/perfscript. Text that somebody printed elsewhere is
// imported without any perf.
//
// perf looks for symbols when it prints: in the programs and libraries on this machine, in what a runtime left in /tmp/perf-PID.map, and in the running kernel. An extraction
// follows its capture at once, and a capture keeps build ids, so that perf takes no other build of a program for the one that ran; a file from another
// machine has few names here, and names of this kernel's are not to be trusted then. What is needed for good is the printed text, made where the file was.
//
// Each event that was counted is a metric, perf.<event>, by the period of its samples: nanoseconds of cpu-clock and task-clock, numbers of everything
// else. perf's own mark of how precise it was (cycles:ppp) is no part of the name; u and k are. Where samples have no period they are counted themselves.
//
// A frame is a symbol of an object. One that has no symbol is an address in it, and is called nothing. Objects named by a process (/tmp/perf-PID.map) lose its
// number, so that two runs have the same frames. Samples have the label thread, by name, and process where that is called otherwise.
//
// What it never does: read perf.data itself, but for whether it is whole; name what perf did not; make up a time for a count; or hide a loss: samples that
// perf lost, stacks that it cut and a kernel that it may not look into are said.
package perf
