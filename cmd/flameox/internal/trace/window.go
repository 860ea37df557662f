package trace

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/flameox/flameox/cmd/flameox/internal/paging"
	"github.com/flameox/flameox/evidence"
)

// place is where a row stands among all: by its beginning, its event, and its number among the rows of one event.
type place struct {
	start, event int64
	nth          uint32
}

func (a place) compare(b place) int {
	return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.event, b.event), cmp.Compare(a.nth, b.nth))
}

// window is what is asked for.
type window struct {
	start, end       int64 // from the origin
	bounded          bool  // end was said
	kind             string
	name, thread     string
	byName, byThread bool
	limit            int
	after            *place
	files            []string

	rows []row // the first ones behind after, limit and one at most
	seen map[[2]int64]uint32
}

type row struct {
	place
	values map[string]any
}

// maxText is the number of bytes of one text that an answer repeats.
const maxText = 4096

// read fills the document. The rows are gone through twice, and no more of them are held than an answer has.
func (w *window) read(ctx context.Context, doc *Document) error {
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	n := 0
	each := func(columns []string, fn func([]evidence.Column, []any)) error {
		for _, f := range w.files {
			err := evidence.Scan(f, evidence.ScanOptions{Columns: columns}, func(cols []evidence.Column, r []any) error {
				if n++; n%8192 == 0 && ctx.Err() != nil {
					return context.Cause(ctx)
				}
				fn(cols, r)
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	}
	if err := each([]string{"start_ns", "duration_ns", "artifact"}, func(_ []evidence.Column, r []any) {
		start := r[0].(int64)
		first, last = min(first, start), max(last, start)
		if d, ok := r[1].(int64); ok {
			last = max(last, start+d)
		}
		doc.Artifact = r[2].(string)
	}); err != nil {
		return err
	}
	doc.State = NoEvents
	if first > last {
		doc.End = w.end
		doc.Start = w.start
		return nil
	}
	doc.Origin, doc.Start, doc.End = first, w.start, last-first+1
	if w.bounded {
		doc.End = w.end
	}
	w.seen = map[[2]int64]uint32{}
	if err := each(nil, func(cols []evidence.Column, r []any) { w.look(doc, cols, r) }); err != nil {
		return err
	}
	if len(w.rows) > w.limit {
		w.rows, doc.Truncated = w.rows[:w.limit], true
	}
	for _, r := range w.rows {
		doc.Events = append(doc.Events, r.values)
		for k, v := range r.values {
			if s, ok := v.(string); ok && len(s) > maxText {
				r.values[k] = strings.ToValidUTF8(s[:maxText], "")
				doc.CutTexts++
			}
		}
	}
	if doc.Returned = len(doc.Events); doc.Total > 0 {
		doc.State = "events"
	}
	return nil
}

// look takes a row if it lies in the window and is among the first behind the cursor.
func (w *window) look(doc *Document, cols []evidence.Column, r []any) {
	value := func(name string) any {
		i := slices.IndexFunc(cols, func(c evidence.Column) bool { return c.Name == name })
		if i < 0 {
			return nil
		}
		return r[i]
	}
	start := value("start_ns").(int64)
	from := start - doc.Origin
	d, _ := value("duration_ns").(int64)
	// What has no duration lies at one instant, and an instant at the beginning of the window is in it.
	if from >= doc.End || d > 0 && from+d <= doc.Start || d == 0 && from < doc.Start {
		return
	}
	if w.kind != "" && value("kind") != w.kind || w.byName && value("name") != w.name {
		return
	}
	if id, ok := value("thread_id").(int64); w.byThread && value("thread") != w.thread && !(ok && strconv.FormatInt(id, 10) == w.thread) {
		return
	}
	doc.Total++
	p := place{start: start, event: value("event").(int64)}
	if value("kind") == evidence.TraceCounter { // each series is a row
		k := [2]int64{p.start, p.event}
		p.nth = w.seen[k]
		w.seen[k]++
	}
	if w.after != nil && p.compare(*w.after) <= 0 {
		return
	}
	i, _ := slices.BinarySearchFunc(w.rows, p, func(r row, p place) int { return r.compare(p) })
	if i > w.limit {
		return
	}
	values := make(map[string]any, len(cols))
	for j, c := range cols {
		if c.Name != "provider" && c.Name != "provider_version" && c.Name != "artifact" {
			values[c.Name] = r[j]
		}
	}
	w.rows = slices.Insert(w.rows, i, row{p, values})
	if len(w.rows) > w.limit+1 {
		w.rows = w.rows[:w.limit+1]
	}
}

func (w *window) last() place { return w.rows[len(w.rows)-1].place }

const cursorSize = len(paging.Question{}) + 8 + 8 + 4

func encode(of paging.Question, p place) string {
	b := of[:]
	b = binary.BigEndian.AppendUint64(b, uint64(p.start))
	b = binary.BigEndian.AppendUint64(b, uint64(p.event))
	b = binary.BigEndian.AppendUint32(b, p.nth)
	return base64.RawURLEncoding.EncodeToString(b)
}

func decode(text string, of paging.Question) (*place, error) {
	if text == "" {
		return nil, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(raw) != cursorSize {
		return nil, fmt.Errorf("-cursor is %q, which is no cursor; the last line of an answer names the next one", text)
	}
	if paging.Question(raw[:len(of)]) != of {
		return nil, errors.New("the cursor belongs to another window: of another run, with other bounds or filters, or the rows were extracted anew; ask again without -cursor")
	}
	raw = raw[len(of):]
	return &place{int64(binary.BigEndian.Uint64(raw)), int64(binary.BigEndian.Uint64(raw[8:])), binary.BigEndian.Uint32(raw[16:])}, nil
}
