package lock

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// candidate is who wants a lock: its open lock file, and the marks on it that say that it waits.
//
// Those who share a lock could keep one who wants it alone waiting for ever, each beginning before the last one ends.
// So who waits to have it alone closes the gate: nobody begins to share it meanwhile. And measurements one after the other
// could keep sharers out for ever. So who comes to have it alone while somebody waits to share it leaves the gate
// open until those have had a moment to get in. Both are marks of the kernel's and vanish with their process.
type candidate struct {
	path   string
	holder Holder
	mode   mode

	f       *os.File
	place   int
	arrived bool
	waiting bool      // its mark is on
	polite  bool      // lets those who wait to share it go first
	opened  time.Time // when a polite one first saw that nobody had it alone
	free    bool      // the last attempt failed because of the order only
}

// patience is how long a polite candidate leaves sharers the time to look again, which they do every longestPause.
const patience = longestPause * 3 / 2

// take takes the lock now, or returns nil where others hold it or go first.
func (c *candidate) take() (*Lock, error) {
	for range 10 {
		if c.f != nil && !current(c.path, c.f) {
			c.close()
		}
		if c.f == nil {
			f, err := open(c.path, c.mode)
			if err != nil {
				return nil, err
			}
			c.f = f
		}
		if c.free = c.mustWait(); c.free {
			return nil, nil
		}
		how := unix.LOCK_EX
		if c.mode.share {
			how = unix.LOCK_SH
		}
		if err := flock(c.f, how|unix.LOCK_NB); err != nil {
			if errors.Is(err, unix.EWOULDBLOCK) {
				return nil, nil
			}
			return nil, fmt.Errorf("lock %s: %w; the file system must support flock", c.path, err)
		}
		if !current(c.path, c.f) {
			// Somebody removed or replaced the file between open and flock: this lock excludes nobody.
			c.close()
			continue
		}
		return c.have(), nil
	}
	return nil, fmt.Errorf("lock %s: the file was replaced ten times while it was being locked; find what removes it", c.path)
}

// have turns the candidate into the holder.
func (c *candidate) have() *Lock {
	if c.mode.share {
		unmark(c.f, markTurn, 1)
	} else {
		note(c.f, markExclusive)
		unmark(c.f, markGate, 1)
	}
	if c.place < 0 {
		c.place = takePlace(c.f)
	}
	writeName(c.f, c.place, c.holder, false)
	l := &Lock{f: c.f, path: c.path, place: c.place}
	c.f, c.place = nil, -1
	return l
}

// mustWait says whether others go first although the lock may be free.
func (c *candidate) mustWait() bool {
	if c.mode.share {
		return noted(c.f, markGate)
	}
	if !c.arrived {
		c.arrived, c.polite = true, noted(c.f, markTurn)
	}
	if !c.polite {
		return false
	}
	switch {
	case !noted(c.f, markTurn):
		c.polite = false
	case noted(c.f, markExclusive):
		c.opened = time.Time{}
		return false // it is held, and flock will say so
	case c.opened.IsZero():
		c.opened = time.Now()
	case time.Since(c.opened) > patience:
		c.polite = false // whoever waits to share it has had its chance, or does not run
	}
	return c.polite
}

// wait says that the candidate waits. One that keeps others from sharing the lock says who it is.
func (c *candidate) wait() {
	if c.waiting || c.polite {
		return
	}
	if c.mode.share {
		c.waiting = note(c.f, markTurn)
		return
	}
	if c.waiting = note(c.f, markGate); c.waiting && c.place < 0 {
		c.place = takePlace(c.f)
		writeName(c.f, c.place, c.holder, true)
	}
}

// close gives up what is open; the marks go with it.
func (c *candidate) close() {
	if c.f == nil {
		return
	}
	leavePlace(c.f, c.place)
	c.f.Close()
	c.f, c.place, c.waiting = nil, -1, false
}
