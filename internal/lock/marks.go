package lock

import "os"

// Beside the lock itself, which is flock's, processes leave marks on the lock file: locks of ranges of bytes that belong to an open file
// (F_OFD_SETLK). They end with their process, like the lock, and can be asked for without being touched. All of
// them lie where there is no content, except that a name in the content is marked for as long as it is true.
const (
	// markExclusive is on while somebody holds the lock alone.
	markExclusive = int64(1)<<40 + iota
	// markGate is on while somebody waits to hold it alone: who would share it waits too, or the wait might never end.
	markGate
	// markTurn is on while somebody waits to share it: who comes later to hold it alone lets that one go first.
	markTurn
	// markRegister is held by who writes itself into the list of readers, and alone by who shortens that list.
	markRegister
	// markNameless is on while somebody reads who could not be written into the list.
	markNameless
)

// note marks one byte beside others that mark it, and says whether it could.
func note(f *os.File, at int64) bool { return markShared(f, at, 1) == nil }

// noted says whether any other process, or another open file of this one, has marked the byte.
func noted(f *os.File, at int64) bool {
	_, _, ok := marked(f, at, at+1)
	return ok
}
