// Package faultfs is a file system for tests that fails and forgets.
//
// It wraps a real directory. Every operation is done there for real, after Inject had a
// chance to fail it, and every operation that changes something is written down. From that
// list Image makes, in a fresh directory, a state that a power loss after the first n operations could have left.
//
// # The model of a power loss
//
// A file is an inode with bytes; a directory is an inode with entries. Both have a durable state and a
// list of changes that are not durable yet:
//
//   - write and truncate change the bytes of a file; Sync and Datasync of that file make them durable;
//   - create, mkdir, remove and rename change the entries of a directory; SyncDir of that directory makes them durable;
//   - a rename between two directories is two changes, one in each, which may be kept apart from one another;
//     a rename within one directory is one change, so it replaces atomically;
//   - SyncFS makes everything durable;
//   - a change of mode is durable at once: nothing in the store depends on one.
//
// After a power loss every change that was not durable is kept, dropped, or (a write) cut short to a prefix,
// each on its own, in the order in which they were made. A kept write after a dropped one leaves zeros between. A
// directory whose own entry was dropped is lost with everything in it.
//
// This is weaker than what ext4, XFS or btrfs promise, on purpose: what survives here survives there. It does not model a
// disk that lies about flushes, nor the loss of durable bytes.
package faultfs
