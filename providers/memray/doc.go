// Package memray is the provider for captures of memray, the memory profiler of Python.
//
// A capture is in a format that is memray's own and changes with it, and nothing in it names the version that wrote it. So it is read by
// memray's reader and nothing else: reader.py, which is embedded here, runs in an interpreter that has memray and prints a
// stream of stacks, and this package ranks, bounds and stores them. The engine starts it (providers.Reader). What is read is
// what the same version wrote: a capture is planned only where the workload's interpreter has memray, both as the workload loads it
// and as the isolated reader does, in one version; the record of the capture names it; and a stream of another version is refused.
//
// Four metrics of bytes come from a capture, each with the number of allocations as samples:
//
//	memory.high_watermark  what was allocated when most was
//	memory.retained_end    what was allocated and not freed when tracking ended: leaks, and what lives as long as the program
//	memory.temporary       what was freed before so many further allocations of its thread: temporary_allocation_threshold
//	memory.allocated       everything that was ever allocated, frees not counted
//
// The last two need the history of a capture. One that was aggregated while it ran has none and says so. Totals are memray's
// own, and where its views do not add up to them the evidence is partial.
//
// Of a capture that follows forks each process is one payload. Their stacks share the tables, those of forked processes with the label
// process: fork-1 for the first that began tracking. Processes have their peaks at different times, so a sum over processes of what
// they had at their peaks is not what the machine ever held; that is said.
//
// Captures of runs that ended have a compressed frame around them (LZ4, a public format), whose end shows that nothing is
// missing. One without is from a process that was killed or left without closing it, or was told not to compress; memray reads what there
// is, and the evidence is partial, because nothing shows that it is all. The run is not valid where that is the workload's own process; processes of multiprocessing
// always end so.
//
// What it never does: read the records of a capture itself, guess a version, or take memray's word where two of its figures disagree.
package memray
