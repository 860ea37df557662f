// Package cas is the content-addressed store: blobs and trees by SHA-256.
//
// A blob is a read-only file named by the digest of its bytes. It is written to cas/tmp, made durable, and only
// then renamed to its name, so a file that has a name is whole; a power loss, a full disk or a kill leaves at worst a file
// in cas/tmp that Sweep removes. Everything that one commit needs goes through one Batch, so that its cost is
// a few syncs and not one for each blob.
//
// A name that fits is no proof: disks rot, people edit. Check compares what lstat says with what it said when the content was last
// hashed and hashes again whenever that moved, is unknown, or is so recent that a change could hide within one tick of
// the clock. The remembered stats (cas/index) and those of source files (StatCache) are caches in the strict sense: losing or
// breaking them costs time, never a wrong answer.
//
// A tree is a directory as a blob that lists names, kinds, sizes and digests, so equal directories are one blob and two
// trees are compared by skipping what is equal. Materialize lays a tree out as read-only copies; never as hard links, through
// which a workload that writes into its input would write into the store.
//
// It never deletes a blob (a bad one is moved to quarantine/), and it does not know what blobs are for: records
// are in package cache.
//
// The formats are described byte by byte in docs/formats/blobs-and-trees.md and docs/formats/caches.md.
package cas
