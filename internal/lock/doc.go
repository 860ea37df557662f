// Package lock holds kernel locks on files: a lock ends when its holder releases it or dies, by any death, so
// there is nothing to break and nothing to time out.
//
// The lock is flock(2) on an open file that no child inherits. Beside it processes leave marks on the same file, which are locks of
// ranges of bytes that belong to the open file (F_OFD_SETLK) and end with it too: that the lock is held alone, that somebody waits, and
// which of the names in the file are true. They are asked for with F_OFD_GETLK, which touches nothing. The content
// says who holds the lock, for people: one place for each holder, with pid, host, command, since. It is written after the lock is
// taken, so it can be missing or unreadable, and a message that quotes it says so. The file stays when the lock is released, because
// removing it would let two processes hold locks on two files of one name.
//
// Who waits to hold a lock alone keeps others from beginning to share it, and who waits to share it is let in between two
// that hold it alone. So a process that shares a lock must not wait for a second share of it.
//
// The package also keeps the machine's list of readers: processes that take no lock and that a measurement has to know of.
//
// It never kills a holder, and a reader never waits for what is measured.
package lock
