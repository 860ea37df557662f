package cache

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/flameox/flameox/graph/cas"
	"github.com/flameox/flameox/internal/vfs"
)

// Recovered is what Recover did.
type Recovered struct {
	State   string // what was wrong with the state file; "" where it said what the journal says, or was not there
	Missing bool   // there was no state file
	Cut     int64  // bytes of an unfinished batch that were cut off
	CutTo   string // where they are now
	Lost    bool   // the state file covered more than the journal has: what had been committed is damaged or gone
}

// Recover cuts an unfinished batch off the end of the journal, after it has been copied to quarantine, and makes the state file again from
// the journal, whatever it holds. It holds the append lock meanwhile.
func (r *Records) Recover() (Recovered, error) {
	var out Recovered
	if _, err := r.fs.Lstat(r.runsDir()); errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	if err := vfs.MkdirAll(r.fs, filepath.Join(r.dir, "lock"), 0o755); err != nil {
		return out, cas.Explain("recover the journal", err)
	}
	lock, err := r.fs.Lock(filepath.Join(r.dir, "lock", "append"), vfs.Exclusive, appendWait)
	if err != nil {
		return out, fmt.Errorf("recover the journal: %w", err)
	}
	defer lock.Close()
	old, err := r.oldState()
	out.Missing = errors.Is(err, fs.ErrNotExist)
	problems, err := r.checkState()
	if err != nil {
		problems = []Problem{{Why: err.Error()}} // it is replaced all the same
	}
	for _, p := range problems {
		out.State = p.Why
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reset()
	if err := r.refresh(); err != nil {
		return out, err
	}
	out.Lost = old != nil && r.lacks(old)
	if n := len(r.segs); n > 0 {
		if err := r.cutLast(&r.segs[n-1], &out); err != nil {
			return out, cas.Explain("recover the journal", err)
		}
	}
	if err := r.saveState(); err != nil {
		return out, stateError(err)
	}
	return out, nil
}

// cutLast moves what follows the last finished batch to quarantine.
func (r *Records) cutLast(s *segment, out *Recovered) error {
	f, err := r.fs.OpenFile(r.segmentPath(s.number), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil || st.Size <= s.covered {
		return err
	}
	out.Cut = st.Size - s.covered
	if out.CutTo, err = r.cutTail(f, s); err != nil {
		return err
	}
	return f.Datasync()
}

// oldState is what the state file says, nil where it says nothing.
func (r *Records) oldState() (*state, error) {
	b, err := vfs.ReadFile(r.fs, r.statePath(), maxState)
	if err != nil {
		return nil, err
	}
	return parseState(b)
}

// lacks says whether a state file, which is only written after a commit, covers frames that are not in the index.
func (r *Records) lacks(old *state) bool {
	covered := map[uint32]int64{}
	for i := range r.segs {
		covered[r.segs[i].number] = r.segs[i].covered
	}
	for i := range old.segs {
		if old.segs[i].covered > covered[old.segs[i].number] {
			return true
		}
	}
	return false
}
