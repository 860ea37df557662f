package cache

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/flameox/flameox/internal/vfs"
)

// ProblemKind is what is wrong with a journal or its state file.
type ProblemKind string

// The kinds of problems.
const (
	CorruptFrame   ProblemKind = "corrupt_frame"   // committed, and lost
	TornTail       ProblemKind = "torn_tail"       // never committed; the next append removes it
	UnknownFrame   ProblemKind = "unknown_frame"   // whole, but this version cannot read it
	MissingSegment ProblemKind = "missing_segment" // a number is not there
	StaleState     ProblemKind = "stale_state"     // the state file does not say what the journal says
)

// Problem is one thing wrong with the journal.
type Problem struct {
	Kind   ProblemKind
	Path   string
	Offset int64 // in the file
	Length int64 // bytes
	Why    string
}

// Rebuild forgets the state file, reads the journal from its beginning and writes the state file again.
func (r *Records) Rebuild() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reset()
	if err := r.refresh(); err != nil {
		return err
	}
	if err := r.saveState(); err != nil {
		return stateError(err)
	}
	return nil
}

// CheckJournal reads the whole journal, without the index, and compares the state file with it. It holds the append
// lock meanwhile, so that a batch being written is not taken for a torn one.
func (r *Records) CheckJournal() ([]Problem, error) {
	if _, err := r.fs.Lstat(r.runsDir()); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err := vfs.MkdirAll(r.fs, filepath.Join(r.dir, "lock"), 0o755); err != nil {
		return nil, fmt.Errorf("check the journal: %w", err)
	}
	lock, err := r.fs.Lock(filepath.Join(r.dir, "lock", "append"), vfs.Shared, appendWait)
	if err != nil {
		return nil, fmt.Errorf("check the journal: %w", err)
	}
	defer lock.Close()
	numbers, err := r.listSegments()
	if err != nil {
		return nil, err
	}
	var out []Problem
	for i, n := range numbers {
		want := uint32(1)
		if i > 0 {
			want = numbers[i-1] + 1
		}
		for ; want < n; want++ {
			out = append(out, Problem{Kind: MissingSegment, Path: r.segmentPath(want), Why: "later segments are there"})
		}
		problems, err := r.checkSegment(n, i == len(numbers)-1)
		if err != nil {
			return nil, err
		}
		out = append(out, problems...)
	}
	p, err := r.checkState()
	if err != nil {
		return nil, err
	}
	return append(out, p...), nil
}

func (r *Records) checkSegment(n uint32, last bool) ([]Problem, error) {
	path := r.segmentPath(n)
	st, err := r.fs.Lstat(path)
	if err != nil {
		return nil, fmt.Errorf("check the journal: %w", err)
	}
	b, err := r.readFrom(path, 0, st.Size)
	if err != nil {
		return nil, fmt.Errorf("check the journal: %w", err)
	}
	head := b[:min(len(b), len(segmentMagic))]
	whole, err := checkSegment(path, head)
	if err != nil {
		return nil, err
	}
	if int64(len(b)) <= segmentHeader {
		if len(b) == 0 {
			return nil, nil
		}
		return []Problem{{Kind: TornTail, Path: path, Length: int64(len(b)), Why: "it ends before its first batch"}}, nil
	}
	frames, bad, end := scan(b[segmentHeader:], segmentHeader)
	var out []Problem
	if !whole && len(frames) > 0 {
		out = append(out, Problem{Kind: CorruptFrame, Path: path, Length: segmentHeader, Why: "the header of the segment is damaged; its frames are not"})
	}
	for _, s := range bad {
		out = append(out, Problem{Kind: CorruptFrame, Path: path, Offset: s.off, Length: s.len, Why: s.why})
	}
	for _, f := range frames {
		kind, why := CorruptFrame, error(nil)
		switch f.kind {
		case kindRecord:
			_, why = decodeRecord(f.payload)
		case kindLink:
			_, why = decodeLink(f.payload)
		default:
			kind, why = UnknownFrame, fmt.Errorf("it is of kind %d, which a newer flameox wrote", f.kind)
		}
		if why != nil {
			out = append(out, Problem{Kind: kind, Path: path, Offset: f.off, Length: f.end() - f.off, Why: why.Error()})
		}
	}
	if tail := int64(len(b)) - end; tail > 0 {
		p := Problem{Kind: TornTail, Path: path, Offset: end, Length: tail, Why: "a batch was not written to its end"}
		if r.indexed(n) > end {
			p.Kind, p.Why = CorruptFrame, "a batch that was committed is damaged"
		}
		if !last {
			p.Kind, p.Why = CorruptFrame, "the end of a segment that was complete is damaged"
		}
		out = append(out, p)
	}
	slices.SortStableFunc(out, func(a, b Problem) int { return int(min(max(a.Offset-b.Offset, -1), 1)) })
	return out, nil
}

// indexed is the offset up to which a segment is in the index.
func (r *Records) indexed(n uint32) int64 {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for i := range r.segs {
		if r.segs[i].number == n {
			return r.segs[i].covered
		}
	}
	return 0
}

// checkState compares the state file with the same part of the journal, read afresh.
func (r *Records) checkState() ([]Problem, error) {
	b, err := vfs.ReadFile(r.fs, r.statePath(), maxState)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("check the state file: %w", err)
	}
	stale := func(why string) ([]Problem, error) {
		return []Problem{{Kind: StaleState, Path: r.statePath(), Length: int64(len(b)), Why: why}}, nil
	}
	st, err := parseState(b)
	if err != nil {
		return stale(err.Error())
	}
	again := &Records{dir: r.dir, fs: r.fs, clock: r.clock}
	again.reset()
	for _, s := range st.segs {
		part, err := r.readFrom(r.segmentPath(s.number), 0, s.covered)
		if err != nil || int64(len(part)) != s.covered {
			return stale("it covers more than the journal has")
		}
		again.segs = append(again.segs, segment{number: s.number})
		if s.covered > segmentHeader {
			again.absorb(&again.segs[len(again.segs)-1], part[segmentHeader:], segmentHeader)
		}
	}
	if !bytes.Equal(again.encodeState(), b) {
		return stale("it does not say what the journal says")
	}
	return nil, nil
}
