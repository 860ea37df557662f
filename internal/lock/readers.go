package lock

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Commands that only read take no lock and may run beside a measurement, which has to say so. Each appends a line to a file
// beside the measuring lock and marks that line for as long as it lives. Who measures looks twice: before, for lines that are
// marked, whose readers still run; afterwards, for lines that have come since. A line costs its reader a handful of system calls.

// Reader is a process that reads.
type Reader struct {
	At      time.Time `json:"at"` // when it began, UTC
	Pid     int       `json:"pid"`
	Command string    `json:"command"`
	Quiet   bool      `json:"quiet,omitempty"` // it knew of a measurement when it began and stepped back
}

const (
	mostLine    = 256     // bytes of a line
	mostReaders = 4 << 20 // bytes of the file; who comes later is not listed, and what is measured says so
	tidyReaders = 1 << 20 // from here on the file is emptied when nobody needs it
	mostAlive   = 256     // readers that are counted of those that run already
	mostListed  = 16      // readers that are named
)

// ReadersPath lies beside the measuring lock: it is the machine's, like what is measured.
func ReadersPath() string { return MeasurePath() + ".readers" }

var errUnlisted = errors.New("the list of readers cannot take it now")

// Attendance is a reader's place in the list. It lasts until it is closed or its process ends, however it ends; that nobody refers to
// it any more does not end it.
type Attendance struct{ fd int }

// Close says that the reader reads no more.
func (a *Attendance) Close() error { return unix.Close(a.fd) }

// Attend writes a reader into the list.
// Not being listed must not keep a reader from reading: where something is measured, that one learns that its list is not whole.
func Attend(r Reader) (*Attendance, error) {
	for range 10 {
		f, err := openReaders()
		if err != nil {
			return nil, fmt.Errorf("join the list of readers: %w", err)
		}
		err = attend(f, r)
		if current(ReadersPath(), f) {
			if err != nil {
				// Without a line it is no more than a mark, which says that somebody is not listed.
				note(f, markNameless)
			}
			// The marks belong to what both descriptors have open.
			fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
			f.Close()
			if err != nil {
				return nil, fmt.Errorf("stay in the list of readers: %w", err)
			}
			return &Attendance{fd: fd}, nil
		}
		f.Close() // it was removed meanwhile: nobody will look into it
	}
	return nil, fmt.Errorf("join the list of readers: %s was replaced again and again", ReadersPath())
}

func attend(f *os.File, r Reader) error {
	if st, err := f.Stat(); err == nil && st.Size() >= tidyReaders && !Held(MeasurePath()) && markAlone(f, markRegister, 1) == nil {
		tidy(f)
	}
	// No waiting for long: what measures has the list for itself for microseconds.
	err := errUnlisted
	for try := 0; err != nil && try < 20; try++ {
		if try > 0 {
			time.Sleep(time.Millisecond)
		}
		err = markShared(f, markRegister, 1)
	}
	if err != nil {
		return err
	}
	defer unmark(f, markRegister, 1)
	if st, err := f.Stat(); err != nil || st.Size() >= mostReaders {
		return errUnlisted
	}
	line := r.line()
	if n, err := f.Write(line); err != nil || n < len(line) {
		return errUnlisted
	}
	end, err := f.Seek(0, io.SeekCurrent)
	if err != nil {
		return err
	}
	return markShared(f, end-int64(len(line)), int64(len(line)))
}

func (r Reader) line() []byte {
	for most := mostLine / 2; ; most /= 2 {
		if len(r.Command) > most {
			r.Command = strings.ToValidUTF8(r.Command[:most], "")
		}
		if b, err := json.Marshal(r); err == nil && len(b) < mostLine {
			return append(b, '\n')
		}
	}
}

// tidy empties the list where nobody in it lives. Its caller has markRegister alone.
func tidy(f *os.File) bool {
	_, _, alive := marked(f, 0, markExclusive)
	return !alive && f.Truncate(0) == nil
}

// openReaders opens the list, which it makes where it is missing. It lies where every user may write: a link, or a pipe that nobody
// reads, must not lead or hold this process.
func openReaders() (*os.File, error) {
	const flags = os.O_RDWR | os.O_APPEND | unix.O_NOFOLLOW | unix.O_NONBLOCK
	path := ReadersPath()
	f, err := os.OpenFile(path, flags, 0)
	if errors.Is(err, fs.ErrNotExist) {
		if f, err = os.OpenFile(path, flags|os.O_CREATE|os.O_EXCL, shared.perm); err == nil {
			f.Chmod(shared.perm) // every user of the machine leaves word there, whatever the umask says
		} else if errors.Is(err, fs.ErrExist) {
			f, err = os.OpenFile(path, flags, 0) // another process made it first
		}
	}
	if err != nil {
		return nil, err
	}
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		f.Close()
		return nil, fmt.Errorf("%s is not a regular file; remove it", path)
	}
	return f, nil
}

// Watch looks for readers beside a measurement.
type Watch struct {
	f      *os.File
	from   int64 // what is appended from here on is of readers that began later
	before []Reader
	seen   Beside
}

// Beside is who read beside a measurement.
type Beside struct {
	Before  []Reader // began before it and ran on into it
	During  []Reader // began while it ran
	More    int      // are known of and not in these lists
	Unknown bool     // there may have been others, of which nothing is known
}

// WatchReaders begins to watch. Its caller holds the measuring lock alone, and ends it before it lets go of that.
func WatchReaders() *Watch {
	w := &Watch{}
	f, err := openReaders()
	if err != nil {
		w.seen.Unknown = true // nor can any reader join the list
		return w
	}
	w.f = f
	// Alone, so that whoever has a line has also marked it.
	err = errUnlisted
	for try := 0; err != nil && try < 50; try++ {
		if try > 0 {
			time.Sleep(time.Millisecond)
		}
		err = markAlone(f, markRegister, 1)
	}
	if err != nil {
		w.seen.Unknown = true
	} else {
		defer unmark(f, markRegister, 1)
	}
	st, statErr := f.Stat()
	if statErr != nil {
		w.seen.Unknown = true
		return w
	}
	w.from = st.Size()
	w.alive(0, markExclusive, 0)
	w.seen.Unknown = w.seen.Unknown || noted(f, markNameless)
	slices.SortFunc(w.before, func(a, b Reader) int { return a.At.Compare(b.At) })
	if err == nil && w.from >= tidyReaders && tidy(f) {
		w.from = 0
	}
	return w
}

// alive finds the readers in a range of the list that live, by asking left and right of each that was found.
func (w *Watch) alive(from, to int64, found int) int {
	if from >= to {
		return found
	}
	lo, hi, ok := marked(w.f, from, to)
	switch {
	case !ok:
		return found
	case found == mostAlive:
		w.seen.Unknown = true
		return found
	}
	b := make([]byte, min(hi-lo, mostLine))
	n, _ := w.f.ReadAt(b, lo)
	if r, ok := parse(b[:n]); ok && len(w.before) < mostListed {
		w.before = append(w.before, r)
	} else {
		w.seen.More++
	}
	found = w.alive(from, lo, found+1)
	return w.alive(hi, to, found)
}

// End says who read since the watch began, and ends it. Beside no watch nobody read.
func (w *Watch) End() Beside {
	if w == nil {
		return Beside{}
	}
	out := w.seen
	out.Before = w.before
	if w.f == nil {
		return out
	}
	defer w.f.Close()
	st, err := w.f.Stat()
	if err != nil || st.Size() < w.from || st.Size() >= mostReaders || noted(w.f, markNameless) || !current(ReadersPath(), w.f) {
		out.Unknown = true
	}
	b, err := io.ReadAll(io.NewSectionReader(w.f, w.from, mostReaders+mostLine))
	if err != nil {
		out.Unknown = true
	}
	for line := range bytes.Lines(b) {
		if r, ok := parse(line); ok && len(out.During) < mostListed {
			out.During = append(out.During, r)
		} else {
			out.More++
		}
	}
	return out
}

// parse reads a line, which any user may have written.
func parse(line []byte) (r Reader, ok bool) {
	if len(line) > mostLine || json.Unmarshal(bytes.Trim(line, "\x00\n"), &r) != nil || r.Pid <= 0 {
		return Reader{}, false
	}
	r.Command = printable(r.Command)
	return r, true
}
