package store

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/flameox/flameox/evidence/shred"
	"github.com/flameox/flameox/internal/ijson"
	"github.com/flameox/flameox/internal/vfs"
	"github.com/flameox/flameox/measure/document"
	"github.com/flameox/flameox/measure/store/keys"
)

// A row group ends at the first of these. The bytes bound what a merge has to hold.
const (
	groupRows  = 16 << 10
	groupBytes = 32 << 20
)

// chunk is how many documents are parsed beside each other before they are checked one after the other.
const chunk = 512

// Rejected is a document that was not taken in.
type Rejected struct {
	Name string
	Code document.Code
	Text string
}

// Report is what became of a batch.
type Report struct {
	Ingested  int
	Duplicate int
	Orders    int // work orders among the documents
	Rejected  []Rejected
}

// String is "ingested 42, duplicate 3, rejected 1 (unit-conflict)".
func (r Report) String() string {
	out := fmt.Sprintf("ingested %d, duplicate %d", r.Ingested, r.Duplicate)
	if len(r.Rejected) == 0 {
		return out
	}
	var codes []string
	for _, x := range r.Rejected {
		codes = append(codes, string(x.Code))
	}
	slices.Sort(codes)
	return fmt.Sprintf("%s, rejected %d (%s)", out, len(r.Rejected), strings.Join(slices.Compact(codes), ", "))
}

// Ingest takes documents in, each for itself: one that is rejected leaves no trace, and the others are stored. What was accepted is durable when Ingest returns and in the
// file after Publish. An error is one of the store; documents that could not be read are malformed.
func (s *Store) Ingest(ctx context.Context, inputs []Input) (Report, error) {
	if len(inputs) == 0 {
		return Report{}, nil
	}
	l, err := s.lock(ctx)
	if err != nil {
		return Report{}, err
	}
	defer l.Release()
	b, err := s.begin(ctx)
	if err != nil {
		return Report{}, err
	}
	defer b.end()
	for len(inputs) > 0 {
		if err := ctx.Err(); err != nil {
			return Report{}, err
		}
		n := min(chunk, len(inputs))
		for _, p := range b.parse(inputs[:n]) {
			if err := b.take(p); err != nil {
				return Report{}, err
			}
		}
		inputs = inputs[n:]
	}
	if err := b.commit(); err != nil {
		return Report{}, err
	}
	return b.report, nil
}

// batch is one ingest under way.
type batch struct {
	s      *Store
	snap   *Snapshot
	index  *keys.Index
	units  map[string]any // project and quantity, to unit
	added  []keys.Pair
	seen   map[keys.Digest]keys.Digest
	orders map[string]*orderState
	buffer *shred.Buffer
	temp   *os.File
	w      *shred.Writer
	report Report
}

// orderState is a work order that came with the batch, or that the store has.
type orderState struct {
	text shred.Raw // nil: not known
	used bool      // a row of this batch has it
	new  bool      // it came with this batch
}

// What the index says of a work order's reference.
var wanted, attached = keys.Of("wanted"), keys.Of("attached")

// begin opens the index, and makes it again where it is not of this state.
func (s *Store) begin(ctx context.Context) (*batch, error) {
	snap, err := s.snapshot()
	if err != nil {
		snap.Close()
		return nil, err
	}
	b := &batch{s: s, snap: snap, seen: map[keys.Digest]keys.Digest{}, orders: map[string]*orderState{}, buffer: shred.NewBuffer(s.layout.fields)}
	if err := snap.completed(); err != nil {
		b.end()
		return nil, err
	}
	index, fresh, err := keys.Open(s.dir, snap.state())
	if err != nil {
		b.end()
		return nil, fmt.Errorf("read the index of the store: %w", err)
	}
	b.index = index
	if b.units, _ = index.Extra()["units"].(map[string]any); b.units == nil {
		b.units = map[string]any{}
	}
	if fresh {
		if err := b.rebuild(ctx); err != nil {
			b.end()
			return nil, err
		}
	}
	return b, nil
}

func (b *batch) end() {
	if b.index != nil {
		b.index.Close()
	}
	b.snap.Close()
	if b.temp != nil {
		b.temp.Close()
		os.Remove(b.temp.Name())
	}
}

// parse does what needs no store, beside each other.
func (b *batch) parse(inputs []Input) []parsed {
	out := make([]parsed, len(inputs))
	now := b.s.now()
	var wait sync.WaitGroup
	n := min(runtime.GOMAXPROCS(0), len(inputs))
	for w := range n {
		wait.Go(func() {
			for i := w; i < len(inputs); i += n {
				out[i] = inputs[i].parse(now)
			}
		})
	}
	wait.Wait()
	return out
}

func (b *batch) reject(name string, list []document.Rejection) {
	r := Rejected{Name: name, Code: list[0].Code}
	var lines []string
	for _, x := range list {
		lines = append(lines, x.Problem.String())
	}
	r.Text = strings.Join(lines, "\n  ")
	b.report.Rejected = append(b.report.Rejected, r)
}

func (b *batch) refuse(name string, code document.Code, format string, args ...any) {
	b.report.Rejected = append(b.report.Rejected, Rejected{name, code, fmt.Sprintf(format, args...)})
}

// get asks the batch first: what it accepted is visible to what follows.
func (b *batch) get(name keys.Digest) (keys.Digest, bool, error) {
	if v, ok := b.seen[name]; ok {
		return v, true, nil
	}
	return b.index.Get(name)
}

func (b *batch) set(name, value keys.Digest) {
	b.seen[name] = value
	b.added = append(b.added, keys.Pair{Name: name, Value: value})
}

// take checks a document against what is there.
func (b *batch) take(p parsed) error {
	switch {
	case p.err != nil:
		b.refuse(p.name, document.Malformed, "%v", p.err)
		return nil
	case p.rejected != nil:
		b.reject(p.name, p.rejected)
		return nil
	case p.order != nil:
		return b.takeOrder(p)
	}
	r := p.row
	result, attempt := keys.Of("result", r.producer, r.key), keys.Of("attempt", r.attempt)
	if was, ok, err := b.get(result); err != nil {
		return err
	} else if ok {
		if was == keys.Of(r.payload) {
			b.report.Duplicate++
			return nil
		}
		b.refuse(p.name, document.IdempotencyConflict, "the store has another result of %s with the key %s; where the same work order was run twice, give the second run a run key, or a slot, of its own", r.producer, r.key)
		return nil
	}
	quantity := r.project + "\x00" + r.quantity
	if unit, ok := b.units[quantity]; ok && unit != r.unit {
		b.refuse(p.name, document.UnitConflict, "%s is in %s, and in %v everywhere else in the project %s; convert it where it is measured", r.quantity, r.unit, unit, r.project)
		return nil
	}
	if was, ok, err := b.get(attempt); err != nil {
		return err
	} else if ok && was != keys.Of(r.signature) {
		b.refuse(p.name, document.AttemptConflict, "another result of the attempt %s has other facts; all results of one attempt have the same project, source, revision, benchmark, workload, subject, environment, run key and trees", r.attempt)
		return nil
	}
	if err := b.attach(r); err != nil {
		return err
	}
	if err := b.buffer.Add(r.columns); err != nil {
		return fmt.Errorf("store %s: %w", p.name, err)
	}
	b.set(result, keys.Of(r.payload))
	b.set(attempt, keys.Of(r.signature))
	b.units[quantity] = r.unit
	b.report.Ingested++
	if b.buffer.Rows() >= groupRows || b.buffer.Bytes() >= groupBytes {
		return b.flush()
	}
	return nil
}

// takeOrder remembers an order for the results that follow and those that are there.
func (b *batch) takeOrder(p parsed) error {
	text, err := ijson.Canonical(p.order)
	if err != nil {
		return err
	}
	b.report.Orders++
	o := b.orders[p.ref]
	if o == nil {
		o = &orderState{}
		b.orders[p.ref] = o
	}
	o.text, o.new = text, true
	return nil
}

// attach gives a row its work order.
func (b *batch) attach(r *row) error {
	if r.order == "" {
		return nil
	}
	o := b.orders[r.order]
	if o == nil {
		o = &orderState{}
		b.orders[r.order] = o
		text, err := os.ReadFile(b.s.orderPath(r.order))
		if err == nil {
			o.text, o.new = text, true
		} else if at, ok, err := b.get(keys.Of("order", r.order)); err != nil {
			return err
		} else if ok && at == attached {
			if o.text, err = b.snap.order(r.order); err != nil {
				return err
			}
		}
	}
	name := keys.Of("order", r.order)
	if o.text == nil {
		b.set(name, wanted)
		return nil
	}
	o.used = true
	r.columns["work_order"] = o.text
	_, ok, err := b.get(name)
	if err == nil && !ok {
		b.set(name, attached) // where earlier rows want it, it stays wanted until publishing has attached it to all
	}
	return err
}

// orderPath is where an order waits for the results that refer to it.
func (s *Store) orderPath(ref string) string {
	return filepath.Join(s.dir, filepath.Base(document.OrderFile(ref)))
}

// flush writes what is buffered as a row group of the segment.
func (b *batch) flush() (err error) {
	if b.buffer.Rows() == 0 {
		return nil
	}
	if b.temp == nil {
		if b.temp, err = os.CreateTemp(b.s.dir, "writing-"); err != nil {
			return fmt.Errorf("write the store's segment: %w", err)
		}
		if b.w, err = shred.NewWriter(b.temp, b.s.layout.fields, b.s.layout.meta); err != nil {
			return err
		}
	}
	if err := b.w.Write(b.buffer); err != nil {
		return fmt.Errorf("write the store's segment: %w", err)
	}
	b.buffer.Reset()
	return nil
}

// commit makes what was accepted durable. The rename of the segment is the moment from which it counts.
func (b *batch) commit() error {
	for ref, o := range b.orders {
		at, ok, err := b.get(keys.Of("order", ref))
		if err != nil {
			return err
		}
		if o.new && (!ok || at == wanted) {
			if err := vfs.WriteFile(osFS, b.s.orderPath(ref), o.text, 0o644, true); err != nil {
				return fmt.Errorf("keep a work order for later: %w", err)
			}
		}
	}
	if err := b.flush(); err != nil || b.w == nil {
		return err
	}
	if err := b.w.Close(); err != nil {
		return fmt.Errorf("write the store's segment: %w", err)
	}
	if err := b.temp.Sync(); err != nil {
		return fmt.Errorf("write the store's segment: %w", err)
	}
	if err := b.temp.Chmod(0o644); err != nil {
		return fmt.Errorf("write the store's segment: %w", err)
	}
	n := folded(b.snap.base) + 1
	if k := len(b.snap.pending); k > 0 {
		n = max(n, b.snap.pending[k-1]+1)
	}
	b.snap.pending = append(b.snap.pending, n)
	// The index first: what it says of a segment that never comes makes it one of another state.
	if err := b.index.Save(b.added, map[string]any{"units": b.units}, b.snap.state()); err != nil {
		return err
	}
	if err := os.Rename(b.temp.Name(), filepath.Join(b.s.dir, segmentName(n))); err != nil {
		return fmt.Errorf("write the store's segment: %w", err)
	}
	b.temp.Close()
	b.temp = nil
	return osFS.SyncDir(b.s.dir)
}
