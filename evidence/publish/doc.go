// Package publish keeps the published view of the evidence: the directory that people and tools read.
//
//	.flameox/evidence                 a symbolic link to the current generation
//	.flameox/evidence.d/gen-00000012/
//	    manifest.json                 what the generation holds
//	    parts/<table>.<segment>.json  which parts a segment holds, in order
//	    <table>/<segment>.parquet     rows, with the run as first column
//
// One link for all tables, because a query joins tables: it must never see the measurements of one moment
// beside the runs of another. Replacing a link is one rename, so a crash at any instant leaves the old or
// the new generation. A reader resolves the link once and reads that directory: it is never changed, and
// lives an hour after it was replaced. A plain glob over evidence/<table>/*.parquet is always right, too: a
// table without rows has a file without rows.
//
// Generations share segments by hard links of our own immutable files. A part that is new is appended, one
// new segment a table; segments merge when the ones before are not much larger, so that a table stays at a
// few files and a row is rewritten a logarithmic number of times. A part that was superseded has its segment
// rewritten at once: a glob cannot know what to skip.
//
// A part that cannot be read costs its own rows and no others: it is left out as a whole, the generation and the report say so, and
// every publication tries it again. One bad file must not keep a thousand good ones from being asked.
//
// Nothing here is an original. Everything can be rebuilt from the parts in the store, and is when the view
// cannot be understood. The package never takes a lock (one writer at a time is the caller's duty), never
// opens a network connection, and never reads a part it does not have to publish.
package publish
