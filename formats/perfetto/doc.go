// Package perfetto reads Perfetto's traces: a stream of protobuf packets, plain, compressed as a whole with gzip, or in compressed packets. It is written after
// the published definitions of the messages, of which it takes track events: slices, instants, counters and flows, with what they refer to.
//
// A trace is written by many writers at once, and each of them, a sequence, says things once and refers to them by number afterwards: names, categories,
// places in a program, the clock, and the track that is meant where nothing else is said. What a writer lost, it says, and then nothing of it is understood until
// it begins anew; such packets are passed over and counted, as Perfetto's own reader does.
//
// Times are brought to the trace's own clock by the clock snapshots in it, through another clock where no snapshot has both. A packet whose clock no snapshot
// knows is passed over and counted. Events on a track that nothing describes are kept, on a track that has a number for a name, and counted.
//
// Feed puts the events into a timeline. The memory that it takes follows from how many names and tracks there are.
//
// Of the kernel's events it takes what programs write into them to say what they do (atrace).
//
// It never reads packets of other kinds (scheduling, samples, memory); it says which there were.
package perfetto
