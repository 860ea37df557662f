package selftrace

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Recorder keeps spans in memory until they are written. A nil *Recorder is one that records nothing. It may be used from several goroutines.
type Recorder struct {
	now   func() time.Time
	begun time.Time
	title string

	mu    sync.Mutex
	spans []event
	on    map[int64]*lane // goroutines with a span that is open
	free  []*lane
	lanes int
}

// event is a span that ended.
type event struct {
	name, of string
	start    time.Duration // since the recorder was made
	took     time.Duration
	lane     int
	notes    []note
}

type note struct {
	key   string
	value int64
}

// lane is a row of the trace. depth is how many spans are open on it.
type lane struct{ id, depth int }

// New is an empty recorder. title names the process in the trace, such as the command that is traced; now is the clock, whose monotonic part is used.
func New(title string, now func() time.Time) *Recorder {
	return &Recorder{now: now, begun: now(), title: title, on: map[int64]*lane{}}
}

type key struct{}

// With is a context in which spans are recorded by r.
func With(ctx context.Context, r *Recorder) context.Context {
	return context.WithValue(ctx, key{}, r)
}

// From is the recorder of a context, nil where there is none.
func From(ctx context.Context) *Recorder {
	r, _ := ctx.Value(key{}).(*Recorder)
	return r
}

// Span is a stretch of time in one goroutine. The zero value is one that is not recorded.
type Span struct {
	r        *Recorder
	name, of string
	start    time.Duration
	lane     *lane
	routine  int64
	notes    []note
}

// Begin starts a span. End is to be called by the same goroutine.
func Begin(ctx context.Context, name string) Span { return From(ctx).Begin(name, "") }

// About starts a span about something, such as an address, whose text is made only where it is recorded.
func About[T fmt.Stringer](r *Recorder, name string, of T) Span {
	if r == nil {
		return Span{}
	}
	return r.Begin(name, of.String())
}

// Begin starts a span about something; of may be "".
func (r *Recorder) Begin(name, of string) Span {
	if r == nil {
		return Span{}
	}
	id := routine()
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.on[id]
	if l == nil {
		l = r.take()
		r.on[id] = l
	}
	l.depth++
	return Span{r: r, name: name, of: of, lane: l, routine: id, start: r.now().Sub(r.begun)}
}

// take is the lowest lane that no goroutine is on.
func (r *Recorder) take() *lane {
	if len(r.free) == 0 {
		r.lanes++
		return &lane{id: r.lanes}
	}
	low := 0
	for i, l := range r.free {
		if l.id < r.free[low].id {
			low = i
		}
	}
	l := r.free[low]
	r.free = slices.Delete(r.free, low, low+1)
	return l
}

// Note adds a figure to the span.
func (s *Span) Note(key string, value int64) {
	if s.r != nil {
		s.notes = append(s.notes, note{key, value})
	}
}

// End ends the span.
func (s Span) End() {
	if s.r == nil {
		return
	}
	r := s.r
	r.mu.Lock()
	defer r.mu.Unlock()
	r.spans = append(r.spans, event{name: s.name, of: s.of, start: s.start, took: r.now().Sub(r.begun) - s.start, lane: s.lane.id, notes: s.notes})
	if s.lane.depth--; s.lane.depth == 0 {
		delete(r.on, s.routine)
		r.free = append(r.free, s.lane)
	}
}

// routine is the number of this goroutine. The runtime tells it in the first line of a stack only ("goroutine 7 [running]:"). It is asked for where a
// span is recorded and nowhere else: the alternative is a lane in every signature between here and the command.
func routine() int64 {
	var buf [64]byte
	head := buf[:runtime.Stack(buf[:], false)]
	head = bytes.TrimPrefix(head, []byte("goroutine "))
	digits, _, _ := bytes.Cut(head, []byte(" "))
	n, err := strconv.ParseInt(string(digits), 10, 64)
	if err != nil {
		return 0 // all such share a lane, which is the worst that comes of it
	}
	return n
}
