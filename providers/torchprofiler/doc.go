// Package torchprofiler is the provider for torch.profiler: it runs a program under it, or lets the program profile its own steps, keeps the
// compressed trace that PyTorch writes, and makes rows of it. The trace is Chrome's Trace Event Format, read by formats/chrometrace and nested and
// summed by formats/timeline; files that PyTorch wrote elsewhere are imported.
//
// In mode whole_entrypoint a launcher, which is embedded here and part of the key, runs the command's script, module or code in the same
// interpreter with the profiler around it. It leaves torch-diagnostics.json, which says how far it came. The program's exit status is the run's, and its
// trace is kept whatever that is. In mode sdk the command is unchanged: the program makes its profiler from FLAMEOX_TORCH_SDK and calls
// step(), and each active cycle of the schedule is one artifact. A run with a cycle too few or too many is not valid.
//
// Beside the tables of every trace, operators has what all calls of an operator with the same shapes in one phase took, summed over the
// whole trace: own and total time, the time of the kernels it launched by their External id, and memory. A phase is a slice called
// flameox.phase:<phase> around it, which record_function makes.
//
// Kernels, correlation, shapes, stacks and memory are there as far as the trace has them. A device event with the time 0 has lost it: it is counted, and no row.
//
// What it never does: call a profiled time a benchmark, add up what overlaps on a stream, or guess a rank.
package torchprofiler
