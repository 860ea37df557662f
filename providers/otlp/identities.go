package otlp

import (
	"fmt"
	"hash/maphash"
	"slices"
	"strings"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/formats/otlp"
)

// identities finds spans that share trace and span id. It keeps eight bytes a span, so a long file costs little; what eight bytes have in
// common is looked at once more in full.
type identities struct {
	seed   maphash.Seed // what it hashes differently each time is not seen outside
	made   bool
	hashes []uint64
}

func (i *identities) hash(s *otlp.Span) uint64 {
	if !i.made {
		i.seed, i.made = maphash.MakeSeed(), true
	}
	return maphash.String(i.seed, s.TraceID) ^ 31*maphash.String(i.seed, s.SpanID)
}

func (i *identities) add(s *otlp.Span) { i.hashes = append(i.hashes, i.hash(s)) }

// duplicates is what to say of spans that are not unique, or nil. again reads the payload once more.
func (i *identities) duplicates(again func(otlp.Handler) error) (*evidence.Limitation, error) {
	slices.Sort(i.hashes)
	twice := map[uint64]bool{}
	for n := 1; n < len(i.hashes); n++ {
		if i.hashes[n] == i.hashes[n-1] {
			twice[i.hashes[n]] = true
		}
	}
	i.hashes = nil
	if len(twice) == 0 {
		return nil, nil
	}
	d := &second{ids: i, suspects: twice, seen: map[[2]string]bool{}}
	if err := again(d); err != nil {
		return nil, err
	}
	if d.n == 0 {
		return nil, nil
	}
	return &evidence.Limitation{Code: Duplicates, Text: fmt.Sprintf("%d spans have the trace and span id of an earlier one (%s); all are kept, told apart by source_ordinal", d.n, strings.Join(d.first, ", "))}, nil
}

// second looks at the spans whose hashes are not unique.
type second struct {
	ids      *identities
	suspects map[uint64]bool
	seen     map[[2]string]bool
	n        int64
	first    []string
}

func (d *second) Span(s *otlp.Span) error {
	if !d.suspects[d.ids.hash(s)] {
		return nil
	}
	key := [2]string{s.TraceID, s.SpanID}
	if !d.seen[key] {
		d.seen[key] = true
		return nil
	}
	if d.n++; len(d.first) < 5 {
		d.first = append(d.first, fmt.Sprintf("span:%d", s.Ordinal))
	}
	return nil
}
func (d *second) Scope(*otlp.Scope) error       { return nil }
func (d *second) Resource(*otlp.Resource) error { return nil }
