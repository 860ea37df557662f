// Package pythonstartup is the provider for how long a Python program takes to start, and which imports that time goes to.
//
// It is a closed profile of pyperf command: five processes, one value each, one loop, no warm-up, so that every sample is one whole process
// as a user starts it. Then the program is run once more under Python's -X importtime. Two artifacts are left and both are needed: pyperf's JSON (role startup_wall), which alone
// has the wall time and the peak memory (command_max_rss), and what the second run wrote to standard error (role import_trace), unchanged. Times of the one are never
// compared with those of the other: timing imports takes time.
//
// What is not exactly the profile is refused: another number of samples, loops, warm-ups, another name or unit. A sample without
// command_max_rss has no peak memory; nothing else is put in its place. pyperf moves metadata that all runs share to the benchmark or the suite, where it is looked for.
//
// The trace has one line an import: own time, time with everything below it, name, and two spaces for each import under way. Modules
// are printed when their import ends, so a line belongs to the next one that is less deep. The table python_imports keeps that order and who imported whom;
// measurements have sums by package: own times added, and of times with everything below them the longest, since one is part of another.
//
// The first sample may read files from disk that the later ones find in memory: the dimension cache_semantics tells them apart, and nothing empties the system's cache.
//
// What it never does: time a process itself, call a start slow, or tell why.
package pythonstartup
