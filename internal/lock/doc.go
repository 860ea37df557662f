// Package lock holds kernel locks on files: a lock ends when its holder releases it or dies, by any death, so
// there is nothing to break and nothing to time out.
//
// The lock is flock(2) on an open file that no child inherits. The file's content only says who holds it, for people:
// pid, host, command, since. It is written after the lock is taken, so it can be missing, old, or unreadable,
// and a message that quotes it says so. The file stays when the lock is released, because removing it
// would let two processes hold locks on two files of one name.
//
// The package never decides who waits for whom and never kills a holder.
package lock
