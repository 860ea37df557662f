package cache

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/flameox/flameox/graph/cas"
	"github.com/flameox/flameox/internal/vfs"
)

const (
	// maxSegment is where a new segment begins: a rebuild reads segments whole.
	maxSegment = 64 << 20
	// appendWait is how long an append waits for another process's.
	appendWait = time.Minute
)

// ConflictError says that a record is not the next revision of its run.
type ConflictError struct {
	Run  string
	Have int // newest revision in the journal, 0 for none
	Want int // revision that was to be committed
}

// Error says what to do.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("run %s is at revision %d, so revision %d cannot be appended: another process registered something meanwhile; read the run again and repeat", e.Run, e.Have, e.Want)
}

// Commit makes records and links durable together, all or none, after the blobs of the batch, which may be nil. When it returns nil they survive a power
// loss; when it fails nothing of them is in the journal (unless the disk that failed also refuses to
// take them back), and the batch is spent. With a batch, an output that is neither in it nor in the store is an
// error. Errors may be *ConflictError.
func (r *Records) Commit(batch *cas.Batch, recs []*Record, links []Link) error {
	if batch != nil {
		defer batch.Discard()
	}
	payloads, err := encode(recs, links)
	if err != nil {
		return err
	}
	if batch != nil {
		if err := covered(batch, recs); err != nil {
			return err
		}
		if err := batch.Sync(); err != nil {
			return err
		}
	}
	if len(payloads) == 0 {
		return nil
	}
	c := &pending{recs: recs, payloads: payloads}
	r.appending.Do(c, r.appendTogether)
	return c.err
}

// pending is what one call of Commit appends.
type pending struct {
	recs     []*Record
	payloads []payload
	err      error
}

type payload struct {
	kind  byte
	bytes []byte
}

func encode(recs []*Record, links []Link) ([]payload, error) {
	var out []payload
	for _, rec := range recs {
		if err := checkRecord(rec); err != nil {
			return nil, fmt.Errorf("commit: %w", err)
		}
		b, err := json.Marshal(rec)
		if err != nil {
			return nil, fmt.Errorf("commit run %s: %w", rec.Run, err)
		}
		out = append(out, payload{kindRecord, b})
	}
	for _, l := range links {
		b, err := json.Marshal(l)
		if err == nil {
			_, err = decodeLink(b)
		}
		if err != nil {
			return nil, fmt.Errorf("commit a link of run %s: %w", l.Run, err)
		}
		out = append(out, payload{kindLink, b})
	}
	for _, p := range out {
		if len(p.bytes) > maxPayload {
			return nil, fmt.Errorf("commit: a record has %d bytes, more than the limit of %d; large results belong in outputs", len(p.bytes), maxPayload)
		}
	}
	return out, nil
}

// covered refuses records that would refer to nothing: a record must never outlive its blobs, nor precede them.
func covered(batch *cas.Batch, recs []*Record) error {
	for _, rec := range recs {
		for _, o := range rec.Outputs {
			if batch.Has(o.Digest) {
				continue
			}
			p, err := batch.Store().Held(o.Digest)
			if err != nil {
				return fmt.Errorf("commit run %s: whether the output %s (blob %s) is in the store could not be read: %w", rec.Run, o.Name, o.Digest.Short(), err)
			}
			if p != cas.Present {
				return fmt.Errorf("commit run %s: the output %s (blob %s) is %s in the store", rec.Run, o.Name, o.Digest.Short(), p)
			}
		}
	}
	return nil
}

// appendTogether appends commits that came at the same moment with one write and one sync, each all or none.
func (r *Records) appendTogether(commits []*pending) {
	if err := r.append(commits); err != nil {
		for _, c := range commits {
			if c.err == nil {
				c.err = err
			}
		}
	}
}

// append sets the error of each commit that does not fit; its own is of all others.
func (r *Records) append(commits []*pending) error {
	const what = "append to the journal"
	lockDir := filepath.Join(r.dir, "lock")
	for _, d := range []string{r.runsDir(), lockDir} {
		if err := vfs.MkdirAll(r.fs, d, 0o755); err != nil {
			return cas.Explain(what, err)
		}
	}
	lock, err := r.fs.Lock(filepath.Join(lockDir, "append"), vfs.Exclusive, appendWait)
	if errors.Is(err, vfs.ErrLocked) {
		return fmt.Errorf("%s: another flameox has held %s for a minute, though an append takes milliseconds; find it with `fuser %[2]s` and end it", what, filepath.Join(lockDir, "append"))
	}
	if err != nil {
		return cas.Explain(what, err)
	}
	defer lock.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.refresh(); err != nil {
		return err
	}
	fitting := r.compare(commits)
	if len(fitting) == 0 {
		return nil
	}
	s, err := r.target()
	if err != nil {
		return cas.Explain(what, err)
	}
	if err := r.write(s, fitting); err != nil {
		if s.covered == 0 {
			r.segs = r.segs[:len(r.segs)-1] // it may not exist
		}
		return cas.Explain(what, err)
	}
	if r.behind > 256+len(r.all)/8 {
		// Only speed: whoever opens next would read this from the journal.
		_ = r.saveState()
	}
	return nil
}

// compare is the compare of compare-and-swap: the commits whose records are each the next revision, after those of the commits before.
func (r *Records) compare(commits []*pending) (fitting []*pending) {
	have := map[string]int{}
	for _, c := range commits {
		next := map[string]int{}
		for _, rec := range c.recs {
			n, ok := next[rec.Run]
			if !ok {
				n, ok = have[rec.Run]
			}
			if e := r.byRun[rec.Run]; !ok && e != nil {
				n = e.newest.Revision
			}
			if rec.Revision != n+1 {
				c.err = &ConflictError{Run: rec.Run, Have: n, Want: rec.Revision}
				break
			}
			next[rec.Run] = rec.Revision
		}
		if c.err == nil {
			maps.Copy(have, next)
			fitting = append(fitting, c)
		}
	}
	return fitting
}

// target is the segment to append to: the last one, or a new one where that is full.
func (r *Records) target() (*segment, error) {
	n := len(r.segs)
	if n > 0 && r.segs[n-1].covered < maxSegment {
		return &r.segs[n-1], nil
	}
	number := uint32(1)
	if n > 0 {
		number = r.segs[n-1].number + 1
		// A process may have died between its write and its sync. What follows must not be durable without it.
		f, err := r.fs.OpenFile(r.segmentPath(number-1), os.O_RDWR, 0)
		if err != nil {
			return nil, err
		}
		err = f.Datasync()
		f.Close()
		if err != nil {
			return nil, err
		}
	}
	r.segs = append(r.segs, segment{number: number})
	return &r.segs[n], nil
}

// write appends a batch of frames for each commit, durably.
func (r *Records) write(s *segment, commits []*pending) (err error) {
	path := r.segmentPath(s.number)
	_, err = r.fs.Lstat(path)
	isNew := errors.Is(err, fs.ErrNotExist)
	f, err := r.fs.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := r.cutTail(f, s); err != nil {
		return err
	}
	var b []byte
	from := s.covered
	if from == 0 {
		b = append(b, segmentMagic...)
		from = segmentHeader
	}
	skip := len(b)
	for _, c := range commits {
		first := s.covered + int64(len(b))
		for i, p := range c.payloads {
			b = appendFrame(b, p.kind, i == len(c.payloads)-1, uint32(i), first, p.bytes)
		}
	}
	_, err = f.Write(b)
	if err == nil {
		err = f.Datasync()
	}
	if err == nil && (isNew || !r.rooted) {
		err = r.syncAbove()
	}
	if err != nil {
		// Take it back: what was not acknowledged must not appear. If this fails too, the next append cuts off what is torn.
		_ = f.Truncate(s.covered)
		return err
	}
	r.absorb(s, b[skip:], from)
	return nil
}

// syncAbove makes the names of segments durable, and once in each process those of the directories above.
func (r *Records) syncAbove() error {
	if err := r.fs.SyncDir(r.runsDir()); err != nil || r.rooted {
		return err
	}
	if err := vfs.SyncAbove(r.fs, r.dir); err != nil {
		return err
	}
	r.rooted = true
	return nil
}

// cutTail moves an unfinished batch at the end of the segment to quarantine and says where it is now; "" where there is none.
func (r *Records) cutTail(f vfs.File, s *segment) (string, error) {
	st, err := f.Stat()
	if err != nil || st.Size <= s.covered {
		return "", err
	}
	path := r.segmentPath(s.number)
	tail, err := r.readFrom(path, s.covered, st.Size)
	if err != nil {
		return "", err
	}
	name := fmt.Sprintf("journal-%08d-%d", s.number, s.covered)
	to, err := cas.CopyToQuarantine(r.fs, r.dir, path, name, "a batch of records was not written to its end; it was never acknowledged", tail)
	if err != nil {
		return "", err
	}
	return to, f.Truncate(s.covered)
}

// Close writes the state file if opening would be slow without it. A failure costs only time.
func (r *Records) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.behind <= 16 {
		return nil
	}
	if err := r.saveState(); err != nil {
		return stateError(err)
	}
	return nil
}

func stateError(err error) error {
	return fmt.Errorf("write the state file of the store: %w; it is made again from the journal when needed", err)
}
