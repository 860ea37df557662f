// Package store keeps measurement results in one Parquet file that any tool reads, and takes in more of them at a cost that does not grow with what is there.
//
// The file is the truth: one row a result, columns that follow from the result's schema, the document itself in its canonical form, and what is derived from it. Ingest checks documents
// against an index of digests and appends those it accepts as a segment beside the file; Publish folds the segments into the file, by copying its row groups as they are,
// writing a footer, and renaming. A command that returns has published, so the file is always complete; one that dies leaves segments that the next one folds in, and
// that readers see meanwhile. Small row groups are merged as they become many.
//
// What lies beside the file, in .benchx/NAME below the same folder, can be deleted while no command runs: the index is made again from the file, and segments are only there
// between ingest and publishing. The folder tells git to ignore it, so that a store inside a checkout does not make it dirty.
//
// The package judges nothing about results but whether they belong in. Series, comparisons and histories are made from what it reads back.
package store
