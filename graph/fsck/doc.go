// Package fsck checks a store against itself: does the journal read, does every record have its evidence, is every blob what
// its name says.
//
// It is a package of its own because it is the only one that looks at blobs and records together. The store works
// without it: a damaged blob is noticed where it is used. fsck says beforehand what is lost, and for which runs.
//
// It moves a bad file to quarantine and goes on; it removes only what killed processes left in temporary places and copies that
// can be made again. It deletes no blob and no record, and it never calls a blob that nothing refers to a problem: after a kill
// between writing blobs and committing a record there are such, and gc knows when they may go.
package fsck
