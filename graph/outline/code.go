package outline

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"time"
	"unsafe"

	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/facet"
	"github.com/flameox/flameox/internal/digest"
)

// errForm is all that is said of bytes that are no plan: it is made anew then.
var errForm = errors.New("no outline of a plan")

var states = []graph.State{graph.Cached, graph.Run, graph.TopUp, graph.MayRun, graph.Blocked, graph.Excluded}

// writer appends; texts that repeat are numbers of a table.
type writer struct {
	b     []byte
	at    map[string]int
	texts []string
}

func (w *writer) num(n int)     { w.b = binary.AppendUvarint(w.b, uint64(n)) }
func (w *writer) text(s string) { w.num(len(s)); w.b = append(w.b, s...) }

// word is a text that repeats.
func (w *writer) word(s string) {
	i, ok := w.at[s]
	if !ok {
		i = len(w.texts)
		w.at[s] = i
		w.texts = append(w.texts, s)
	}
	w.num(i)
}

func (w *writer) numbers(list []int) {
	w.num(len(list))
	for _, n := range list {
		w.num(n)
	}
}

func (w *writer) flag(b bool) {
	if b {
		w.b = append(w.b, 1)
	} else {
		w.b = append(w.b, 0)
	}
}

// done is the table of texts, then what was written.
func (w *writer) done() []byte {
	head := &writer{}
	head.num(len(w.texts))
	for _, t := range w.texts {
		head.text(t)
	}
	return append(head.b, w.b...)
}

func newWriter() *writer { return &writer{at: map[string]int{}} }

// Encode is the plan in two parts: what is printed, and what Again and the manifests of a document need.
func (p *Plan) Encode() (shown, lazy []byte, err error) {
	w, l := newWriter(), newWriter()
	w.num(len(p.Stages))
	w.num(len(p.Servers))
	for _, s := range p.Servers {
		w.text(s)
	}
	w.num(len(p.Withheld))
	for _, s := range p.Withheld {
		w.text(s)
	}
	for i := range p.Stages {
		if err := p.Stages[i].encode(w); err != nil {
			return nil, nil, err
		}
		p.Stages[i].more.encode(l)
	}
	return w.done(), l.done(), nil
}

func (s *Stage) encode(w *writer) error {
	d := &s.Planned
	w.word(s.Block)
	w.text(s.Key)
	w.word(d.Kind)
	w.word(string(d.State))
	w.num(d.Have)
	w.num(d.Want)
	w.word(d.Reuse)
	w.word(d.After)
	w.num(len(d.Runs))
	for _, r := range d.Runs {
		w.text(r)
	}
	w.num(len(d.Keys))
	for _, k := range d.Keys {
		w.b = append(w.b, k[:]...)
	}
	w.flag(!s.Started.IsZero())
	if !s.Started.IsZero() {
		w.b = binary.AppendVarint(w.b, s.Started.Unix())
		w.num(s.Started.Nanosecond())
		w.word(s.Host)
	}
	w.flag(d.Estimate != 0 || s.EstimateRuns != 0)
	if d.Estimate != 0 || s.EstimateRuns != 0 {
		w.b = binary.AppendVarint(w.b, d.Estimate)
		w.num(s.EstimateRuns)
		w.flag(s.Elsewhere)
	}
	w.flag(d.Blocked != nil)
	if d.Blocked != nil {
		w.word(d.Blocked.Why)
		w.word(d.Blocked.Do)
	}
	if len(d.Reasons) == 0 {
		w.word("")
		return nil
	}
	b, err := json.Marshal(d.Reasons)
	w.word(string(b))
	return err
}

func (m *more) encode(w *writer) {
	w.numbers(m.needs)
	w.numbers(m.waits)
	w.numbers(m.servers)
	w.word(string(m.nature))
	w.num(m.attempts)
	w.flag(m.reuse.Never)
	w.b = binary.AppendVarint(w.b, int64(m.reuse.Age))
	w.flag(m.fixed)
	roots := m.roots()
	w.num(len(roots))
	for _, root := range roots {
		w.word(root)
	}
	// Few of them are ever decoded: their length is in front.
	before := w.b
	w.b = nil
	m.encodeManifests(w)
	list := w.b
	w.b = before
	w.num(len(list))
	w.b = append(w.b, list...)
}

func (m *more) encodeManifests(w *writer) {
	w.num(len(m.manifests))
	for i := range m.manifests {
		w.num(len(m.manifests[i].Facets))
		for _, f := range m.manifests[i].Facets {
			w.word(string(f.Name))
			w.num(len(f.Entries))
			for _, e := range f.Entries {
				w.word(e.Name)
				w.word(e.Value)
				w.word(e.Note)
				w.flag(e.Tree)
			}
		}
	}
}

// reader takes apart what writer wrote. Texts are parts of the bytes that it was made from, which nobody may change. After anything that does not fit, bad
// is true and everything is zero.
type reader struct {
	b     string
	texts []string
	bad   bool
}

func newReader(b []byte) *reader {
	r := &reader{b: unsafe.String(unsafe.SliceData(b), len(b))}
	n := r.count()
	r.texts = make([]string, 0, n)
	for range n {
		r.texts = append(r.texts, r.text())
	}
	return r
}

func (r *reader) fail() { r.b, r.bad = "", true }

func (r *reader) uvarint() uint64 {
	var n uint64
	for i := 0; i < len(r.b) && i < binary.MaxVarintLen64; i++ {
		c := r.b[i]
		n |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			r.b = r.b[i+1:]
			return n
		}
	}
	r.fail()
	return 0
}

func (r *reader) varint() int64 {
	u := r.uvarint()
	return int64(u>>1) ^ -int64(u&1)
}

// num is a number of at most 31 bits.
func (r *reader) num() int {
	n := r.uvarint()
	if n > 1<<31 {
		r.fail()
		return 0
	}
	return int(n)
}

// count is how many more things follow, each of at least one byte.
func (r *reader) count() int {
	n := r.num()
	if n > len(r.b) {
		r.fail()
		return 0
	}
	return n
}

func (r *reader) take(n int) string {
	if n > len(r.b) {
		r.fail()
		return ""
	}
	s := r.b[:n]
	r.b = r.b[n:]
	return s
}

func (r *reader) text() string { return r.take(r.num()) }

func (r *reader) word() string {
	n := r.num()
	if n >= len(r.texts) {
		r.fail()
		return ""
	}
	return r.texts[n]
}

func (r *reader) flag() bool {
	s := r.take(1)
	if s > "\x01" {
		r.fail()
	}
	return s == "\x01"
}

// numbers are numbers below limit.
func (r *reader) numbers(limit int) (out []int) {
	for range r.count() {
		n := r.num()
		if n >= limit {
			r.fail()
			return nil
		}
		out = append(out, n)
	}
	return out
}

// Decode reads a plan. The bytes are not to be changed while it is used; lazy is read when it is needed.
func Decode(shown []byte, lazy func() ([]byte, bool)) (*Plan, error) {
	r := newReader(shown)
	n := r.num()
	if n > len(r.b) {
		return nil, errForm
	}
	p := &Plan{Stages: make([]Stage, n), lazy: lazy}
	for range r.count() {
		p.Servers = append(p.Servers, r.text())
	}
	for range r.count() {
		p.Withheld = append(p.Withheld, r.text())
	}
	reasons := map[string][]graph.Reason{}
	// Most stages have one run and one key: they share two allocations.
	runs, keys := make([]string, 0, n), make([]digest.Digest, 0, n)
	for i := range p.Stages {
		if !p.Stages[i].decode(r, reasons, &runs, &keys) {
			return nil, errForm
		}
	}
	if r.bad || r.b != "" {
		return nil, errForm
	}
	return p, nil
}

func (s *Stage) decode(r *reader, reasons map[string][]graph.Reason, runs *[]string, keys *[]digest.Digest) bool {
	d := &s.Planned
	s.Block, s.Key = r.word(), r.text()
	d.Kind, d.State = r.word(), graph.State(r.word())
	d.Have, d.Want = r.num(), r.num()
	d.Reuse, d.After = r.word(), r.word()
	first := len(*runs)
	for range r.count() {
		*runs = append(*runs, r.text())
	}
	if n := len(*runs); n > first {
		d.Runs = (*runs)[first:n:n]
	}
	first = len(*keys)
	for range r.count() {
		var k digest.Digest
		copy(k[:], r.take(len(k)))
		*keys = append(*keys, k)
	}
	if n := len(*keys); n > first {
		d.Keys = (*keys)[first:n:n]
	}
	if r.flag() {
		sec, nsec := r.varint(), r.num()
		s.Started, s.Host = time.Unix(sec, int64(nsec)).UTC(), r.word()
	}
	if r.flag() {
		d.Estimate, s.EstimateRuns, s.Elsewhere = r.varint(), r.num(), r.flag()
	}
	if r.flag() {
		d.Blocked = &graph.PlannedBlock{Why: r.word(), Do: r.word()}
	}
	if text := r.word(); text != "" {
		list, ok := reasons[text]
		if !ok {
			if json.Unmarshal([]byte(text), &list) != nil {
				return false
			}
			reasons[text] = list
		}
		d.Reasons = list
	}
	known := false
	for _, st := range states {
		known = known || st == d.State
	}
	return known && !r.bad
}

// expand decodes what Again and manifests need.
func (p *Plan) expand() bool {
	if p.lazy == nil {
		return true
	}
	b, ok := p.lazy()
	if !ok {
		return false
	}
	r := newReader(b)
	for i := range p.Stages {
		if !p.Stages[i].more.decode(r, len(p.Stages), len(p.Servers)) {
			return false
		}
	}
	if r.bad || r.b != "" {
		return false
	}
	p.lazy = nil
	return true
}

func (m *more) decode(r *reader, stages, servers int) bool {
	m.needs, m.waits, m.servers = r.numbers(stages), r.numbers(stages), r.numbers(servers)
	m.nature, m.attempts = graph.Nature(r.word()), r.num()
	m.reuse = graph.Reuse{Never: r.flag(), Age: time.Duration(r.varint())}
	m.fixed = r.flag()
	for range r.count() {
		m.keyed = append(m.keyed, r.word())
	}
	m.coded, m.texts = r.text(), r.texts
	return !r.bad
}

// expand decodes the manifests.
func (m *more) expand() bool {
	if m.texts == nil {
		return true
	}
	r := &reader{b: m.coded, texts: m.texts}
	for range r.count() {
		var man facet.Manifest
		for range r.count() {
			f := facet.Facet{Name: facet.Name(r.word())}
			n := r.count()
			f.Entries = make([]facet.Entry, n)
			for k := range n {
				f.Entries[k] = facet.Entry{Name: r.word(), Value: r.word(), Note: r.word(), Tree: r.flag()}
			}
			man.Facets = append(man.Facets, f)
		}
		m.manifests = append(m.manifests, man)
	}
	m.texts = nil
	return !r.bad && r.b == ""
}
