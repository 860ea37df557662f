// Package vfs is the whole of the disk that the store can touch: open, write, sync, rename,
// remove, mkdir, chmod, list, lock.
//
// It exists so that tests can put something else below the store: package faultfs fails
// any operation with "no space left" or an I/O error, and can show every state in which a power
// loss may leave a directory. Production code has one implementation, OS, which adds
// nothing to the system calls.
//
// The interface tells data from names, as the kernel does: File.Sync makes the bytes of a file durable,
// SyncDir makes the entries of a directory durable, and neither implies the other.
//
// It never follows a policy of its own: what is synced, and in which order, is decided by
// the packages above it and described there.
package vfs
