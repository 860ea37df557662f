// Package bundle carries runs from one store to another in one file: their records, their artifacts, and which extraction is the evidence
// of which capture.
//
// A bundle is a tar archive, compressed with zstd, whose first entry says what the others are, each with its digest and size. So a reader
// knows before it writes anything what it will get, and needs neither names nor order from the archive: an entry that is not
// the one announced ends the import. Names are never used as paths.
//
// An import is all or nothing. Blobs get their names when every one of them has the digest it should have; records are committed together,
// after them, and each must have the key that its own manifest gives. A record that is there is never changed: one that is equal is
// passed over, one that is not ends the import. What is imported says where it came from.
//
// What is sensitive does not leave the machine unless that is asked for: the whole run is left out, because its record says
// what its artifacts say, and the bundle names it.
//
// The caller holds the apply lock of the workspace during an import. The format is described in docs/formats/bundle.md.
package bundle
