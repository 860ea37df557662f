package timeline

import (
	"cmp"
	"container/heap"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"unsafe"
)

// partRecords are sorted in memory at once.
const partRecords = 1 << 18

// readRecords are read of a sorted part at once.
const readRecords = 512

const recordSize = int(unsafe.Sizeof(record{}))

// order sorts records whatever order they came in: by track, what they are within, time, and as the trace has them.
func order(a, b *record) int {
	switch {
	case a.track != b.track:
		return cmp.Compare(a.track, b.track)
	case a.within != b.within:
		return cmp.Compare(a.within, b.within)
	case a.start != b.start:
		return cmp.Compare(a.start, b.start)
	case a.ordinal != b.ordinal:
		return cmp.Compare(a.ordinal, b.ordinal)
	}
	return cmp.Compare(a.shapes, b.shapes) // the series of one counter
}

// spill sorts more records than memory holds.
type spill struct {
	part  []record
	keys  []uint32
	most  int // records in memory
	file  *os.File
	parts []int64 // records of each sorted part in file
	out   []record
}

func (s *spill) add() (*record, error) {
	if len(s.part) == s.most {
		if err := s.flush(); err != nil {
			return nil, err
		}
	}
	if cap(s.part) == len(s.part) {
		s.part = slices.Grow(s.part, max(1024, min(len(s.part), s.most-len(s.part))))
	}
	s.part = s.part[:len(s.part)+1]
	return &s.part[len(s.part)-1], nil
}

// sort orders keys, which are indexes of part.
func (s *spill) sort() {
	s.keys = s.keys[:0]
	for i := range s.part {
		s.keys = append(s.keys, uint32(i))
	}
	slices.SortFunc(s.keys, func(a, b uint32) int { return order(&s.part[a], &s.part[b]) })
}

func (s *spill) flush() error {
	if s.file == nil {
		f, err := os.CreateTemp("", "flameox-trace-")
		if err != nil {
			return fmt.Errorf("sorting a trace: %w", err)
		}
		s.file = f
		// Without a name nothing is left behind, whatever ends this process.
		if err := os.Remove(f.Name()); err != nil {
			return fmt.Errorf("sorting a trace: %w", err)
		}
	}
	s.sort()
	if s.out == nil {
		s.out = make([]record, 4096)
	}
	n := 0
	write := func() error {
		if _, err := s.file.Write(memory(s.out[:n])); err != nil {
			return fmt.Errorf("sorting a trace: %w", err)
		}
		n = 0
		return nil
	}
	for _, k := range s.keys {
		if n == len(s.out) {
			if err := write(); err != nil {
				return err
			}
		}
		s.out[n] = s.part[k]
		n++
	}
	if err := write(); err != nil {
		return err
	}
	s.parts = append(s.parts, int64(len(s.part)))
	s.part = s.part[:0]
	return nil
}

// memory is the bytes of records, which hold no pointer.
func memory(r []record) []byte {
	if len(r) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&r[0])), len(r)*recordSize)
}

func (s *spill) close() {
	if s.file != nil {
		s.file.Close()
	}
}

// each calls fn with every record in order. The record is good until fn returns.
func (s *spill) each(ctx context.Context, fn func(*record) error) error {
	n := 0
	step := func(r *record) error {
		if n++; n%8192 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		return fn(r)
	}
	if len(s.parts) == 0 {
		s.sort()
		for _, k := range s.keys {
			if err := step(&s.part[k]); err != nil {
				return err
			}
		}
		return nil
	}
	if len(s.part) > 0 {
		if err := s.flush(); err != nil {
			return err
		}
	}
	s.part, s.keys, s.out = nil, nil, nil
	var m merge
	var at int64
	for _, records := range s.parts {
		p := &run{src: io.NewSectionReader(s.file, at, records*int64(recordSize)), buf: make([]record, readRecords)}
		at += records * int64(recordSize)
		if ok, err := p.next(); err != nil {
			return err
		} else if ok {
			m = append(m, p)
		}
	}
	heap.Init(&m)
	for len(m) > 0 {
		p := m[0]
		if err := step(p.head); err != nil {
			return err
		}
		ok, err := p.next()
		if err != nil {
			return err
		}
		if ok {
			heap.Fix(&m, 0)
		} else {
			heap.Pop(&m)
		}
	}
	return nil
}

// run is one sorted part that is read back.
type run struct {
	src   *io.SectionReader
	buf   []record
	n, at int
	head  *record
}

func (p *run) next() (bool, error) {
	if p.at == p.n {
		read, err := io.ReadFull(p.src, memory(p.buf))
		if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
			return false, fmt.Errorf("sorting a trace: %w", err)
		}
		if p.n, p.at = read/recordSize, 0; p.n == 0 {
			return false, nil
		}
	}
	p.head = &p.buf[p.at]
	p.at++
	return true, nil
}

type merge []*run

func (m merge) Len() int           { return len(m) }
func (m merge) Less(i, j int) bool { return order(m[i].head, m[j].head) < 0 }
func (m merge) Swap(i, j int)      { m[i], m[j] = m[j], m[i] }
func (m *merge) Push(x any)        { *m = append(*m, x.(*run)) }
func (m *merge) Pop() any {
	last := (*m)[len(*m)-1]
	*m = (*m)[:len(*m)-1]
	return last
}
