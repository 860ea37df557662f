// Package cache holds the records of runs: what was attempted under which key, what came of it, and where its bytes are.
//
// The truth is a journal, runs/NNNNNNNN.journal: batches of frames that are only ever appended, one write and one fdatasync for
// each batch, under a kernel lock that is held for that long. That append is the commit point of everything in the store: blobs are durable
// before it, and nothing refers to them until it is done. A batch that was not written to its end does not
// exist; the next append copies such a tail to quarantine and cuts it off. A frame that rots in the middle costs that frame: readers find
// the next one by its magic bytes and checksums.
//
// Order is the order of the journal. Clocks are recorded and never compared, so a clock that was set back reorders nothing.
//
// Opening reads the state file, which has a summary of every record and link up to a place in the journal, and then only what was appended
// beyond it. The file is a cache: it is written by rename, carries a checksum and the headers of the frames at which it ends,
// and is made again from the journal whenever anything about it is wrong. One made again equals one
// that grew, byte for byte. Full records are decoded when asked for.
//
// It never deletes or changes a record. A record gains a revision by appending it whole, compare-and-swap on (run, revision).
//
// The formats are described byte by byte in docs/formats/journal.md.
package cache
