// Package chrometrace is the provider for traces in the Trace Event Format, whoever wrote them: Chrome, Bazel, clang, Perfetto's
// converter, and programs with a tracer of their own. They are imported; torch.profiler, which writes the format too, has a provider that captures.
// formats/chrometrace reads them, formats/timeline makes rows of them.
//
// The metrics of slices are trace.slice_duration, whose self weight is a slice's duration without what lies within it, and
// trace.slice_count. A frame is a name with its category as module, and file and line where the event's arguments have them. The labels of a stack
// are the process and the thread, by number and name, and the phase where the program named one: with an argument phase, or by a slice called
// flameox.phase:<phase> around it.
//
// A trace that breaks off is evidence as far as it goes: the format allows the end of the array to be missing, since programs that crash
// leave it so. The state is partial then, and the limitation says where.
//
// Samples in a trace (P, Profile, ProfileChunk) are counted and are no rows: their times are of another clock than those of slices.
package chrometrace
