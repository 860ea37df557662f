// Package speedscope is the provider for files of speedscope's format that some profiler left: they are imported. What they hold is read by
// formats/speedscope.
//
// The format is admitted because it meets the four conditions of a new one:
//
//   - a maintained reader: speedscope itself, which publishes the format as a schema and reads it, and against whose sample files this is held;
//   - a bounded artifact: one JSON document, read whole, within the extraction's memory;
//   - useful semantics: complete call stacks with weights in a unit that the file states;
//   - representative validation: files of py-spy 0.4.2 and of speedscope 0.6, and those that speedscope tests itself with, listed in qualification.go.
//
// Metrics are speedscope.time (ns), speedscope.bytes and speedscope.count, by the unit that each profile states; a file may have several. Where a
// file has several profiles each sample has the label profile with its profile's name. Samples counts samples of sampled profiles, and of
// evented ones the times in which one stack was open.
//
// What it never does: take the largest or the active profile for the file, guess a unit from a name, or say what was measured: an imported file
// does not tell.
package speedscope
