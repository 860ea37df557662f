// Package pyspy is the provider for profiles of py-spy, which samples the stacks of Python programs from outside, without changing them.
//
// A capture runs the workload under py-spy record. py-spy writes one sampling as several formats; the default here is speedscope's, which keeps
// the most: each sample by itself, with its thread, its process, and frames whose name, file and line are apart. Its weights are the samples times the interval
// that was asked for. raw has the same counts summed by stack, without threads, and puts names, files and lines into one text, which a
// semicolon in a name breaks. chrometrace has the time at which each frame began and ended instead of samples: equal frames of neighbouring samples are one
// slice, which a pause between the two prolongs. The formats are read by formats/speedscope, formats/collapsed and formats/chrometrace.
//
// Metrics are pyspy.time (ns) of speedscope's format and of chrometrace, and pyspy.samples (count) of raw. Speedscope's and raw's count samples: where py-spy fell behind, time is missing from
// them, and none is invented. Without idle = true only threads that run are counted, as far as py-spy can tell; with gil = true those that hold Python's lock.
//
// A frame is a function of a file; with granularity = "line" it has the line that ran too. A frame of a shared library has the library as its
// module. Samples have the labels thread, by name, and process, by number, where py-spy says them. The frames that py-spy puts
// below a stack for a process and its command line are no code: they are left out, and the process is a label.
//
// py-spy ends with status 0 whatever the workload's own status was: seen with 0.4.3 for a workload that exits with 3 and for one that is killed. So nothing shows
// whether the workload succeeded, which every capture says.
//
// What it never does: attach to a process that runs, tell Python from C by a name, or take a flame graph apart.
package pyspy
