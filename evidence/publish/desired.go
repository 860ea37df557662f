package publish

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/internal/digest"
)

// Part is one file of an extraction that should be visible, under the run of the capture it belongs to. A
// run has at most one part per table and provider.
type Part struct {
	Run      string
	Table    string
	Provider string
	Path     string        // of the immutable file; only read where the part is not published yet
	Digest   digest.Digest // of its content
	From     string        // address of the stage that made it; only messages say it
	Given    bool          // it was given up on purpose: that it is missing is nothing to tell
}

// RunRef is one row of the runs table that should be visible. Digest changes when the row does.
type RunRef struct {
	Run    string
	Digest digest.Digest
	From   string // address of the stage; only messages say it
}

// Desired is what should be visible.
type Desired struct {
	Parts []Part
	Runs  []RunRef
	// Load returns the row of one of Runs. It is called for rows that are not published yet.
	Load func(run string) (*evidence.Run, error)
}

// Rows makes the runs of a Desired from rows that are at hand.
func Rows(rows []evidence.Run) ([]RunRef, func(string) (*evidence.Run, error), error) {
	refs := make([]RunRef, len(rows))
	index := make(map[string]int, len(rows))
	for i := range rows {
		b, err := json.Marshal(&rows[i])
		if err != nil {
			return nil, nil, fmt.Errorf("run %s: %w", rows[i].Run, err)
		}
		refs[i] = RunRef{rows[i].Run, digest.Sum(b), rows[i].Address}
		index[rows[i].Run] = i
	}
	return refs, func(run string) (*evidence.Run, error) {
		i, ok := index[run]
		if !ok {
			return nil, fmt.Errorf("run %s is not among the given rows", run)
		}
		return &rows[i], nil
	}, nil
}

// key is what can be published once in a table.
type key struct{ run, provider string }

// source is a part or a row of the runs table, as the planner sees it.
type source struct {
	key
	digest digest.Digest
	path   string // "" of a row of the runs table
	from   string
	given  bool
}

// byTable sorts the desired parts by table, and says which could be part of no view. Records can be of another version, so one that
// this one cannot place stands in nobody's way but its own.
func (d *Desired) byTable() (map[string][]source, []LeftOut) {
	type full struct {
		table string
		key
	}
	type named struct {
		table string
		source
	}
	all := make([]named, 0, len(d.Parts)+len(d.Runs))
	for _, p := range d.Parts {
		all = append(all, named{p.Table, source{key{p.Run, p.Provider}, p.Digest, p.Path, p.From, p.Given}})
	}
	for _, r := range d.Runs {
		all = append(all, named{evidence.RunsTable, source{key{run: r.Run}, r.Digest, "", r.From, false}})
	}
	count := make(map[full]int, len(all))
	for _, s := range all {
		count[full{s.table, s.key}]++
	}
	out := map[string][]source{}
	var refused []LeftOut
	for i, s := range all {
		k := full{s.table, s.key}
		_, known := evidence.Lookup(s.table)
		why, try := "", again(s.from)
		switch {
		case !known || (s.table == evidence.RunsTable && i < len(d.Parts)):
			why, try = "it is no table that parts can fill", "use the version of flameox that made it, or "+try
		case s.run == "" || s.digest.IsZero():
			why = "its record names no run or no content"
		case count[k] > 1:
			why = fmt.Sprintf("its record names %d parts where one can be", count[k])
		}
		if why == "" {
			out[s.table] = append(out[s.table], s.source)
			continue
		}
		refused = append(refused, leftOut(s.table, s.source, why, try))
	}
	return out, refused
}

// set is the identity of a set of parts: the sum of the digests of its members, lane by lane. Adding and
// removing one member costs the same whatever the size, so a publication of one run does not look at all.
type set [4]uint64

func member(table string, k key, d digest.Digest) (s set) {
	h := sha256.New()
	for _, f := range []string{table, k.run, k.provider, string(d[:])} {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(f)))
		h.Write(n[:])
		h.Write([]byte(f))
	}
	var sum [sha256.Size]byte
	h.Sum(sum[:0])
	for i := range s {
		s[i] = binary.BigEndian.Uint64(sum[8*i:])
	}
	return s
}

func (s *set) add(o set) {
	for i := range s {
		s[i] += o[i]
	}
}

func (s *set) remove(o set) {
	for i := range s {
		s[i] -= o[i]
	}
}

// MarshalText is 64 hexadecimal digits.
func (s set) MarshalText() ([]byte, error) {
	var b [32]byte
	for i := range s {
		binary.BigEndian.PutUint64(b[8*i:], s[i])
	}
	return []byte(hex.EncodeToString(b[:])), nil
}

// UnmarshalText reads what MarshalText writes.
func (s *set) UnmarshalText(text []byte) error {
	d, err := digest.Parse(string(text))
	if err != nil {
		return err
	}
	for i := range s {
		s[i] = binary.BigEndian.Uint64(d[8*i:])
	}
	return nil
}
