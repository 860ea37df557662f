// Package speedscope reads profiles in the file format of speedscope, which its authors publish as a schema and many profilers write: py-spy,
// rbspy, the Ruby and PHP profilers, and speedscope itself for everything that it imports.
//
// A file has frames, which profiles refer to by number, and profiles of two types. A sampled one lists stacks with a weight each. An
// evented one lists when frames are opened and closed, and what lies between two events is the weight of the stack that is open then.
//
// The unit of a weight is what the file says and nothing else. Times become nanoseconds, from the decimals as they are written and not through a
// float. Weights without a unit, and bytes, are whole numbers; a fraction of one is refused, because nothing says what a half of it would be.
//
// An evented profile is refused where its events contradict each other: one closes a frame that is open and not the innermost, so that two readings
// give two sums. The other profiles of the file are read. Three faults have one reading only, and are counted: a frame that is never closed is
// open until the end that the profile states; an event that closes what is not open closes nothing; and an event that stands behind a later one,
// which writers that round times leave by a unit or so, is taken to be at the time of that one.
//
// JSON is read strictly (formats/jsonscan). Members that are not known are passed over: the schema has no version, and grows by them. A type of
// profile or of event that is not known is refused.
package speedscope
