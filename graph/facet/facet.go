// Package facet holds what a stage's key is made of, in a form that can be read later.
//
// A key answers one question: may this earlier result stand for the stage as it
// is declared now? It is the SHA-256 over the digests of the stage's facets. The
// manifest, the readable list of what each facet holds, is stored beside every
// result, so any later run on any machine can be told which part moved. Nothing
// enters a key that is not in the manifest: the digest is computed from the manifest.
//
// The encoding that is hashed is length-prefixed text, not JSON: it is in
// docs/formats/keys.md, byte by byte. It must never change; what a stage
// computes is versioned by the stage's implementation version instead.
package facet

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/flameox/flameox/internal/digest"
)

// Name is one of the facets of a key.
type Name string

// The facets, in the order in which a key hashes them and a person reads them.
const (
	Definition  Name = "definition"  // stage kind, implementation version, effective options
	Command     Name = "command"     // argv with runtime tokens, relative working directory, environment
	Executables Name = "executables" // what really runs, by content
	Inputs      Name = "inputs"      // sources and upstream output, by content
	Identity    Name = "identity"    // servers, targets, models, data sets it stands on
	HostClass   Name = "host_class"  // of measurements: the class of machine
)

// Order lists all facets in key order.
var Order = []Name{Definition, Command, Executables, Inputs, Identity, HostClass}

// Entry is one named fact of a facet. Name and Value are hashed; Note and Tree are for people:
// Note says where the fact was seen (a real path, a version), Tree that Value is
// the digest of a stored tree whose files can be compared one by one.
type Entry struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Note  string `json:"note,omitempty"`
	Tree  bool   `json:"tree,omitempty"`
}

// Facet is a named list of facts. Entries keep the order in which they were added when that
// order means something (argv); everything else is added in sorted order by its maker.
type Facet struct {
	Name    Name    `json:"name"`
	Entries []Entry `json:"entries"`
}

// Add appends a fact.
func (f *Facet) Add(name, value string) {
	f.Entries = append(f.Entries, Entry{Name: name, Value: value})
}

// AddNote appends a fact with a note that is not part of the key.
func (f *Facet) AddNote(name, value, note string) {
	f.Entries = append(f.Entries, Entry{Name: name, Value: value, Note: note})
}

// AddTree appends the digest of a stored tree.
func (f *Facet) AddTree(name string, root digest.Digest) {
	f.Entries = append(f.Entries, Entry{Name: name, Value: root.String(), Tree: true})
}

// Digest is the SHA-256 over the facet's name and its entries' names and values.
func (f *Facet) Digest() digest.Digest {
	d, _ := f.digest(nil)
	return d
}

// digest hashes in buf and returns it, grown, for the next.
func (f *Facet) digest(buf []byte) (digest.Digest, []byte) {
	h := newHash(buf, "flameox facet 1")
	h.text(string(f.Name))
	h.count(len(f.Entries))
	for _, e := range f.Entries {
		h.text(e.Name)
		h.text(e.Value)
	}
	return h.sum(), h.b
}

// Manifest is everything a key is made of: at most one facet of each name, in Order.
type Manifest struct {
	Facets []Facet `json:"facets"`
}

// New makes a manifest of the facets that have entries, in key order. Two facets of one name are a
// mistake of the caller and panic.
func New(facets ...Facet) Manifest {
	var m Manifest
	for _, name := range Order {
		found := false
		for _, f := range facets {
			if f.Name != name || len(f.Entries) == 0 {
				continue
			}
			if found {
				panic("facet: two facets called " + string(name))
			}
			found = true
			m.Facets = append(m.Facets, f)
		}
	}
	return m
}

// Key is the SHA-256 over the digests of the manifest's facets.
func (m *Manifest) Key() digest.Digest {
	h := newHash(nil, "flameox key 1")
	h.count(len(m.Facets))
	buf := make([]byte, 0, 1024)
	for i := range m.Facets {
		h.text(string(m.Facets[i].Name))
		var d digest.Digest
		d, buf = m.Facets[i].digest(buf)
		h.bytes(d[:])
	}
	return h.sum()
}

// Facet is the facet called name, or nil.
func (m *Manifest) Facet(name Name) *Facet {
	for i := range m.Facets {
		if m.Facets[i].Name == name {
			return &m.Facets[i]
		}
	}
	return nil
}

// Attempt is the key of the i-th attempt (from 1) of generation g (from 0) of the measurement whose set key is key.
func Attempt(key digest.Digest, g, i int) digest.Digest {
	h := newHash(nil, "flameox attempt 1")
	h.bytes(key[:])
	h.count(g)
	h.count(i)
	return h.sum()
}

// Change is one fact that two manifests do not share. Old or New is empty where the fact is missing.
type Change struct {
	Facet Name   `json:"facet"`
	Name  string `json:"name"`
	Old   string `json:"old,omitempty"`
	New   string `json:"new,omitempty"`
	Tree  bool   `json:"tree,omitempty"`
	Note  string `json:"note,omitempty"`
}

// Diff lists the facts in which b differs from a, by facet in key order. Lists whose entries
// share a name (argv elements are named by position) are compared entry by entry.
func Diff(a, b *Manifest) []Change {
	var out []Change
	for _, name := range Order {
		fa, fb := a.Facet(name), b.Facet(name)
		if fa == nil {
			fa = &Facet{Name: name}
		}
		if fb == nil {
			fb = &Facet{Name: name}
		}
		if fa.Digest() == fb.Digest() {
			continue
		}
		out = append(out, diffEntries(name, fa.Entries, fb.Entries)...)
	}
	return out
}

func diffEntries(name Name, a, b []Entry) (out []Change) {
	old := map[string][]Entry{}
	for _, e := range a {
		old[e.Name] = append(old[e.Name], e)
	}
	for _, e := range b {
		o := old[e.Name]
		if len(o) == 0 {
			out = append(out, Change{Facet: name, Name: e.Name, New: e.Value, Tree: e.Tree, Note: e.Note})
			continue
		}
		old[e.Name] = o[1:]
		if o[0].Value != e.Value {
			out = append(out, Change{Facet: name, Name: e.Name, Old: o[0].Value, New: e.Value, Tree: e.Tree && o[0].Tree, Note: e.Note})
		}
	}
	for _, e := range a {
		if rest := old[e.Name]; len(rest) > 0 {
			old[e.Name] = rest[1:]
			out = append(out, Change{Facet: name, Name: e.Name, Old: rest[0].Value, Tree: rest[0].Tree, Note: rest[0].Note})
		}
	}
	if len(out) == 0 {
		// The same facts in another order.
		out = append(out, Change{Facet: name, Name: "order", Old: names(a), New: names(b)})
	}
	return out
}

func names(es []Entry) string {
	s := make([]string, len(es))
	for i, e := range es {
		s[i] = e.Name
	}
	return strings.Join(s, " ")
}

// Valid says what is wrong with a manifest that was read from disk, or nil.
func (m *Manifest) Valid() error {
	last := -1
	for _, f := range m.Facets {
		i := slices.Index(Order, f.Name)
		if i < 0 {
			return fmt.Errorf("manifest has the facet %q, which this version of flameox does not know", f.Name)
		}
		if i <= last {
			return fmt.Errorf("manifest has the facet %q twice or out of order", f.Name)
		}
		last = i
	}
	return nil
}

// hasher collects what is hashed, for one call of SHA-256: a plan makes thousands of small digests, and a call for every
// word costs more than the hashing.
type hasher struct{ b []byte }

// newHash begins in buf, whatever that held; nil is a new buffer.
func newHash(buf []byte, domain string) hasher {
	if buf == nil {
		buf = make([]byte, 0, 512)
	}
	h := hasher{buf[:0]}
	h.text(domain)
	return h
}

func (h *hasher) count(n int) { h.b = binary.BigEndian.AppendUint64(h.b, uint64(n)) }

func (h *hasher) text(s string) {
	h.count(len(s))
	h.b = append(h.b, s...)
}

func (h *hasher) bytes(p []byte) {
	h.count(len(p))
	h.b = append(h.b, p...)
}

func (h *hasher) sum() digest.Digest { return digest.Sum(h.b) }
