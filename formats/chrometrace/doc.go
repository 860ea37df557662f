// Package chrometrace reads traces in the Trace Event Format: JSON that Chrome, torch.profiler, py-spy, Bazel, clang and many others write, as an
// array of events or as an object with them in traceEvents, plain or compressed with gzip, which is told by its first bytes.
//
// Scan goes through a trace of any size with one window of memory and hands on one event at a time; Feed puts the events into a
// timeline, which nests, sums and keeps them. Text, numbers and structure are read strictly, by formats/jsonscan: what is not JSON is refused with the
// byte where it stands, and never repaired. Two things are allowed that JSON does not allow, because the format does: the array may lack its end, and
// a comma may stand in front of it. What a trace breaks off in is lost and said; everything in front of it is read.
//
// The CPU samples that V8 puts into a trace (Profile, ProfileChunk, and CpuProfile of old ones) are joined piece by piece and become stacks beside the slices, with
// metrics of their own.
//
// One bad event does not cost the others. It is passed over, counted by reason, and the first of each reason is named.
//
// Times are microseconds with any number of decimals, as numbers or as strings, and become whole nanoseconds without passing through a
// float: epoch times have more digits than one holds. Ids are text, for the same reason.
//
// It never guesses a unit, never takes the size of a number for its meaning, and never changes the file.
package chrometrace
