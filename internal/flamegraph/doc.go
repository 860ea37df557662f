// Package flamegraph writes a flame graph as one HTML page that works without a network, of one profile or of the difference between two.
//
// The page carries everything: the drawing library with its licence, the data, and what a reader must know to judge it. The runs, the metric, the
// totals and how the two were compared are inside the picture, because pictures get cut out of their pages. Its policy lets the browser run
// the scripts that it came with, by their digests, and load nothing else. Names of frames come from the programs that were measured: they are
// data, and are never part of markup or script.
//
// It draws weights that it is given, decides nothing about them, and reads no evidence.
package flamegraph
