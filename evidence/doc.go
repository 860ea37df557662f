// Package evidence is the tables: what a row is, how rows become Parquet, and what an extraction says
// beside them.
//
// A table is a Go struct whose tags are its documentation (rows.go, run.go); everything else, the Parquet
// schema, `flameox tables`, the views of a query, follows from the struct. A provider fills a Sink, which
// leaves one immutable Parquet file per table that got rows. Such a file holds only what follows from the
// extraction's input: the artifact's digest, the provider and its version, the rows. It never holds a run,
// an address or a time, so that the same artifact always becomes the same bytes; evidence/publish adds
// the run.
//
// The package never reads a producer's format, never decides what is kept under a budget (it only refuses
// what goes over), and never stores NaN or infinity: what is missing is null and said, never zero.
package evidence
