package cache

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"path/filepath"
	"time"

	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/vfs"
)

// The state file: docs/formats/journal.md has the bytes. It is a function of the journal alone, no clock and no
// chance in it, so one that grew and one made again are equal.

const (
	stateMagic   = "flameox state 1\n"
	stateHeader  = 16 + 6*4
	stateSegment = 56
	stateSummary = 200
	stateOutput  = 88
	stateLink    = 24
	maxState     = 1 << 31
)

func (r *Records) statePath() string { return filepath.Join(r.dir, "state") }

// saveState is called with mu held.
func (r *Records) saveState() error {
	if len(r.segs) == 0 {
		return nil
	}
	if err := vfs.WriteFile(r.fs, r.statePath(), r.encodeState(), 0o644, false); err != nil {
		return err
	}
	r.behind = 0
	return nil
}

// stateWriter interns strings in the order in which they first come.
type stateWriter struct {
	b    []byte
	text []byte
	at   map[string]uint32
}

func (w *stateWriter) u32(v uint32) { w.b = binary.LittleEndian.AppendUint32(w.b, v) }
func (w *stateWriter) u64(v uint64) { w.b = binary.LittleEndian.AppendUint64(w.b, v) }

func (w *stateWriter) str(s string) {
	off, ok := w.at[s]
	if !ok {
		off = uint32(len(w.text))
		w.at[s] = off
		w.text = append(w.text, s...)
	}
	w.u32(off)
	w.u32(uint32(len(s)))
}

func (r *Records) encodeState() []byte {
	outputs := 0
	for _, s := range r.all {
		outputs += len(s.Outputs)
	}
	w := &stateWriter{at: map[string]uint32{}}
	w.b = make([]byte, 0, stateHeader+len(r.segs)*stateSegment+len(r.all)*stateSummary+outputs*stateOutput+len(r.linked)*stateLink+len(r.all)*64)
	w.b = append(w.b, stateMagic...)
	w.u32(uint32(len(r.segs)))
	w.u32(uint32(len(r.all)))
	w.u32(uint32(len(r.linked)))
	w.u32(uint32(outputs))
	lenAt := len(w.b)
	w.u32(0)
	w.u32(0)
	for i := range r.segs {
		s := &r.segs[i]
		w.u32(s.number)
		w.u32(0)
		w.u64(uint64(s.covered))
		w.u64(uint64(s.anchorOff))
		w.b = append(w.b, s.anchor[:]...)
	}
	first := 0
	for _, s := range r.all {
		for _, t := range []string{s.Run, s.Experiment, s.Address, s.Kind, s.Nature, string(s.Execution), string(s.Capture), string(s.Validation), s.State, s.Host} {
			w.str(t)
		}
		w.b = append(append(w.b, s.Key[:]...), s.HostClass[:]...)
		w.u32(uint32(s.Revision))
		w.u32(uint32(s.Generation))
		w.u32(uint32(s.Attempt))
		w.u32(uint32(len(s.Outputs)))
		w.u64(uint64(s.Started.Unix()))
		w.u32(uint32(s.Started.Nanosecond()))
		w.u32(s.segment)
		w.u64(uint64(s.Wall))
		w.u64(uint64(s.offset))
		w.u32(uint32(s.size))
		w.u32(uint32(first))
		first += len(s.Outputs)
	}
	for _, s := range r.all {
		for _, o := range s.Outputs {
			for _, t := range []string{o.Name, o.Role, o.MediaType, string(o.Sensitivity)} {
				w.str(t)
			}
			w.b = append(w.b, o.Digest[:]...)
			w.u64(uint64(o.Size))
			w.u64(uint64(o.Rows))
			tree := uint32(0)
			if o.Tree {
				tree = 1
			}
			w.u32(tree)
			w.u32(0)
		}
	}
	for _, l := range r.linked {
		w.str(l.Run)
		w.str(l.Provider)
		w.str(l.Extraction)
	}
	binary.LittleEndian.PutUint32(w.b[lenAt:], uint32(len(w.text)))
	w.b = append(w.b, w.text...)
	w.u32(crc32.Checksum(w.b, castagnoli))
	return w.b
}

// stateReader reads fixed rows; ok goes false where a string lies outside the text.
type stateReader struct {
	b    []byte
	text string
	ok   bool
}

func (d *stateReader) u32() uint32 {
	v := binary.LittleEndian.Uint32(d.b)
	d.b = d.b[4:]
	return v
}

func (d *stateReader) u64() uint64 {
	v := binary.LittleEndian.Uint64(d.b)
	d.b = d.b[8:]
	return v
}

func (d *stateReader) str() string {
	off, n := uint64(d.u32()), uint64(d.u32())
	if off+n > uint64(len(d.text)) {
		d.ok = false
		return ""
	}
	return d.text[off : off+n]
}

func (d *stateReader) digest() (v digest.Digest) {
	copy(v[:], d.b)
	d.b = d.b[len(v):]
	return v
}

// state is what the file holds.
type state struct {
	segs  []segment
	all   []Summary
	links []Link
}

func parseState(b []byte) (*state, error) {
	if len(b) < stateHeader+4 || string(b[:16]) != stateMagic {
		return nil, errors.New("it is not a state file of version 1")
	}
	le := binary.LittleEndian
	body := b[:len(b)-4]
	if crc32.Checksum(body, castagnoli) != le.Uint32(b[len(b)-4:]) {
		return nil, errors.New("the checksum does not fit")
	}
	segs, sums, links, outs := uint64(le.Uint32(b[16:])), uint64(le.Uint32(b[20:])), uint64(le.Uint32(b[24:])), uint64(le.Uint32(b[28:]))
	text := uint64(le.Uint32(b[32:]))
	rows := segs*stateSegment + sums*stateSummary + outs*stateOutput + links*stateLink
	if stateHeader+rows+text != uint64(len(body)) {
		return nil, errors.New("its length does not fit its header")
	}
	d := &stateReader{b: body[stateHeader : stateHeader+rows], text: string(body[stateHeader+rows:]), ok: true}
	st := &state{segs: make([]segment, segs), all: make([]Summary, sums), links: make([]Link, links)}
	for i := range st.segs {
		s := &st.segs[i]
		s.number = d.u32()
		d.u32()
		s.covered, s.anchorOff = int64(d.u64()), int64(d.u64())
		d.b = d.b[copy(s.anchor[:], d.b):]
		if s.covered < 0 || s.anchorOff < 0 || s.anchorOff > s.covered || i > 0 && s.number <= st.segs[i-1].number {
			return nil, errors.New("its segments make no sense")
		}
	}
	outputs := make([]Output, outs)
	for i := range st.all {
		s := &st.all[i]
		s.Run, s.Experiment, s.Address, s.Kind, s.Nature = d.str(), d.str(), d.str(), d.str(), d.str()
		s.Execution, s.Capture, s.Validation = Execution(d.str()), Capture(d.str()), Validation(d.str())
		s.State, s.Host = d.str(), d.str()
		s.Key, s.HostClass = d.digest(), d.digest()
		s.Revision, s.Generation, s.Attempt = int(d.u32()), int(d.u32()), int(d.u32())
		n := uint64(d.u32())
		sec, nsec := int64(d.u64()), int64(d.u32())
		s.Started = time.Unix(sec, nsec).UTC()
		s.segment = d.u32()
		s.Wall, s.offset, s.size = time.Duration(d.u64()), int64(d.u64()), int(d.u32())
		first := uint64(d.u32())
		if first+n > outs {
			return nil, fmt.Errorf("the outputs of record %d lie outside", i)
		}
		if n > 0 {
			s.Outputs = outputs[first : first+n : first+n]
		}
	}
	for i := range outputs {
		o := &outputs[i]
		o.Name, o.Role, o.MediaType, o.Sensitivity = d.str(), d.str(), d.str(), Sensitivity(d.str())
		o.Digest = d.digest()
		o.Size, o.Rows = int64(d.u64()), int64(d.u64())
		o.Tree = d.u32() == 1
		d.u32()
	}
	for i := range st.links {
		st.links[i] = Link{Run: d.str(), Provider: d.str(), Extraction: d.str()}
	}
	if !d.ok {
		return nil, errors.New("a text lies outside")
	}
	return st, nil
}

// loadState fills an empty index; whether it still fits the journal is found by refresh.
func (r *Records) loadState() error {
	b, err := vfs.ReadFile(r.fs, r.statePath(), maxState)
	if err != nil {
		return err
	}
	st, err := parseState(b)
	if err != nil {
		return err
	}
	n := len(st.all)
	r.segs, r.all, r.order = st.segs, make([]*Summary, 0, n), make([]*entry, 0, n)
	r.byRun = make(map[string]*entry, n)
	r.byKey, r.byAddr = make(map[digest.Digest][]*entry, n), make(map[string][]*entry, n)
	for i := range st.all {
		r.add(&st.all[i])
	}
	for _, l := range st.links {
		r.addLink(l)
	}
	return nil
}
