// Package timeline is what every trace becomes: events on threads, streams and other tracks are put in order, nested, summed and kept.
//
// A reader of a format adds events in any order with Add; Finish writes the tables frames, frame_values, call_edges and stacks, in which
// a slice's self time is the weight of the stack of slices around it, and trace_events. The memory that this takes does not grow with
// the trace, but with how many different names, stacks and tracks it has: records of one size are sorted in parts, which are spilled to a file that
// has no name, and merged.
//
// The rules are the same whatever order events came in:
//
//   - Events of a track are looked at by time. At one instant ends come before beginnings, unless only a beginning at the same instant has the
//     end's name; longer slices begin first, whether they have a duration or an end further on in the trace; instants come last. Where an end has no name, the order of the trace decides: nothing else says what it ends.
//   - An end belongs to the innermost open beginning, as the trace formats say; where their names differ, that is counted and nothing is repaired.
//   - A slice lies within another if it ends no later, or by no more than Tolerance, since producers round beginnings and durations on their own. A slice
//     that ends later is beside the one it overlaps, and counted.
//   - Self time is the duration without the union of what lies directly within, so it is never negative.
//   - A slice whose end is missing has no duration and no weight; what lies within it has.
//   - Asynchronous slices overlap each other by nature: they are rows of trace_events and in no stack.
//
// Of trace_events the longest are kept, and of what has no duration the largest values and then the earliest; what was dropped is said by number and by time.
// Everything else is summed over all events.
//
// It never reads a format or guesses what a name means, but for flameox.phase:<phase>, which names the phase of what lies within.
package timeline
