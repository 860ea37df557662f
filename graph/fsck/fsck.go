package fsck

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/graph/cas"
	"github.com/flameox/flameox/graph/gc"
	"github.com/flameox/flameox/internal/digest"
)

// Code says what is wrong.
type Code string

// The codes. The first group means lost evidence, the second costs time only.
const (
	BlobAbsent       Code = "blob_absent"
	BlobDamaged      Code = "blob_damaged"
	BlobUnreadable   Code = "blob_unreadable"
	TreeUnreadable   Code = "tree_unreadable"
	RecordUnreadable Code = "record_unreadable"
	JournalCorrupt   Code = "journal_corrupt"
	JournalSegment   Code = "journal_segment_missing"
	JournalUnknown   Code = "journal_unknown_frame"

	JournalTorn  Code = "journal_torn_tail"
	StateStale   Code = "state_stale"
	InputsAbsent Code = "inputs_absent"
	StrayFile    Code = "stray_file"
	CopyDamaged  Code = "copy_damaged"
	CacheBroken  Code = "cache_broken"
)

// Problem is one finding.
type Problem struct {
	Code    Code          `json:"code"`
	Path    string        `json:"path,omitempty"`
	Digest  digest.Digest `json:"digest,omitzero"`
	Runs    []string      `json:"runs,omitempty"` // that lose evidence
	Loss    bool          `json:"loss"`           // evidence is lost
	Text    string        `json:"text"`           // what is wrong, on one line
	Meaning string        `json:"meaning"`        // what follows from it
	Done    string        `json:"done,omitempty"` // what was done about it
}

// Line is the problem on one line.
func (p *Problem) Line() string {
	s := p.Text + ": " + p.Meaning
	if p.Done != "" {
		s += "; " + p.Done
	}
	return s
}

// Report is what was found.
type Report struct {
	Full        bool      `json:"full"`
	Runs        int       `json:"runs"`
	Links       int       `json:"links"`
	Blobs       int       `json:"blobs"`
	Bytes       int64     `json:"bytes"`        // of all blobs
	Orphans     int       `json:"orphans"`      // blobs that no record refers to: harmless
	OrphanBytes int64     `json:"orphan_bytes"` // of them
	Adopted     int       `json:"adopted"`      // complete leftovers of killed processes, now blobs
	Removed     int       `json:"removed"`      // other leftovers
	Collected   int       `json:"collected"`    // runs that gave up artifacts to gc: no loss by accident
	Busy        bool      `json:"busy"`         // a process is writing, so leftovers were not looked at
	Problems    []Problem `json:"problems"`
}

// OK says that nothing is wrong.
func (r *Report) OK() bool { return len(r.Problems) == 0 }

// Lost says whether evidence is lost.
func (r *Report) Lost() bool {
	return slices.ContainsFunc(r.Problems, func(p Problem) bool { return p.Loss })
}

type checker struct {
	store *cas.Store
	recs  *cache.Records
	rep   *Report
	state map[digest.Digest]cas.Presence // of blobs looked at
	refs  map[digest.Digest][]string     // runs by blob
	trees map[digest.Digest]treeRefs
	given map[string]bool // runs that gave up artifacts to a collection
}

// Fsck checks the store. It hashes blobs whose stat identity moved, or with full all of them. An error means that it could not go on;
// what is wrong with the store is in the report.
func Fsck(store *cas.Store, recs *cache.Records, full bool) (*Report, error) {
	c := &checker{
		store: store, recs: recs, rep: &Report{Full: full, Problems: []Problem{}},
		state: map[digest.Digest]cas.Presence{}, refs: map[digest.Digest][]string{}, trees: map[digest.Digest]treeRefs{},
	}
	var err error
	if c.given, err = gc.Collected(store.FS(), store.Dir()); err != nil {
		return c.rep, err
	}
	for _, step := range []func() error{c.leftovers, c.journal, c.blobs, c.records, c.copies, c.caches} {
		if err := step(); err != nil {
			return c.rep, err
		}
	}
	slices.SortStableFunc(c.rep.Problems, func(a, b Problem) int {
		if a.Loss != b.Loss {
			if a.Loss {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.Code, b.Code)
	})
	return c.rep, store.Save()
}

func (c *checker) add(p Problem) { c.rep.Problems = append(c.rep.Problems, p) }

func (c *checker) leftovers() error {
	swept, err := c.store.Sweep()
	c.rep.Busy, c.rep.Adopted, c.rep.Removed = swept.Busy, len(swept.Adopted), len(swept.Removed)
	return err
}

func (c *checker) journal() error {
	if err := c.recs.Refresh(); err != nil {
		return err
	}
	problems, err := c.recs.CheckJournal()
	if err != nil {
		return err
	}
	for _, p := range problems {
		where := fmt.Sprintf("%s, bytes %d to %d", c.rel(p.Path), p.Offset, p.Offset+p.Length)
		out := Problem{Path: p.Path}
		switch p.Kind {
		case cache.CorruptFrame:
			out.Code, out.Loss, out.Text = JournalCorrupt, true, where+": "+p.Why
			out.Meaning = "what was recorded there is lost; its stages run again, and their old outputs stay as blobs"
		case cache.MissingSegment:
			out.Code, out.Loss, out.Text = JournalSegment, true, c.rel(p.Path)+" is missing and "+p.Why
			out.Meaning = "all runs recorded in it are lost, unless the file can be brought back"
		case cache.UnknownFrame:
			out.Code, out.Text, out.Meaning = JournalUnknown, where+": "+p.Why, "this flameox ignores it"
		case cache.TornTail:
			out.Code, out.Text = JournalTorn, where+": "+p.Why
			out.Meaning = "a process was stopped before its commit was done, so nothing is lost; the next commit moves it to quarantine"
		case cache.StaleState:
			out.Code, out.Text, out.Meaning = StateStale, c.rel(p.Path)+": "+p.Why, "it is only an index of the journal"
			if err := c.recs.Rebuild(); err != nil {
				return err
			}
			out.Done = "it was made again"
		}
		c.add(out)
	}
	c.rep.Runs, c.rep.Links = len(c.recs.All()), len(c.recs.Links())
	return nil
}

// blobs looks at every file in the store.
func (c *checker) blobs() error {
	return c.store.Walk(func(b cas.Blob) error {
		if b.Digest.IsZero() {
			c.add(Problem{
				Code: StrayFile, Path: b.Path, Text: c.rel(b.Path) + " is not a blob",
				Meaning: "flameox did not put it there and ignores it",
			})
			return nil
		}
		c.rep.Blobs++
		c.rep.Bytes += b.Size
		if c.rep.Full {
			c.state[b.Digest] = c.store.Verify(b.Digest)
		} else {
			c.state[b.Digest] = c.store.Check(b.Digest)
		}
		return nil
	})
}

// records asks of every record what it refers to, then says what is bad and who needs it.
func (c *checker) records() error {
	inputs := map[digest.Digest][]string{} // trees of manifests: they explain, they are no evidence
	for _, s := range c.recs.All() {
		if c.given[s.Run] {
			c.rep.Collected++
		}
		for _, o := range s.Outputs {
			// What a collection took is not missed; what it left because others need it is looked at like the rest.
			p, looked := c.state[o.Digest]
			given := c.given[s.Run] && (looked && p == cas.Absent || !looked && c.store.Check(o.Digest) == cas.Absent)
			if !given {
				c.refer(c.refs, o.Digest, s.Run)
			}
			if o.Tree && !given {
				c.tree(o.Digest, s.Run, !c.given[s.Run])
			}
		}
		rec, err := s.Record()
		if err != nil {
			c.add(Problem{
				Code: RecordUnreadable, Runs: []string{s.Run}, Loss: true, Text: err.Error(),
				Meaning: "the run's outputs are known, its manifest and results are lost",
			})
			continue
		}
		for _, f := range rec.Manifest.Facets {
			for _, e := range f.Entries {
				if d, err := digest.Parse(e.Value); e.Tree && err == nil {
					if !c.given[s.Run] {
						c.refer(inputs, d, s.Run)
					}
					c.tree(d, s.Run, false)
				}
			}
		}
	}
	bad := map[digest.Digest]cas.Presence{}
	for d, p := range c.state {
		if p != cas.Present {
			bad[d] = p
		}
	}
	for d := range c.refs {
		if p := c.presence(d); p != cas.Present {
			bad[d] = p
		}
	}
	for _, d := range sorted(bad) {
		if err := c.bad(d, bad[d]); err != nil {
			return err
		}
	}
	for _, d := range sorted(inputs) {
		if t := c.trees[d]; t.err != nil && len(c.refs[d]) == 0 {
			c.add(Problem{
				Code: InputsAbsent, Digest: d, Text: "the list of inputs " + d.Short() + " of " + runs(inputs[d]) + " cannot be read",
				Meaning: "`flameox why` cannot name the file that changed; results are not affected",
			})
		}
	}
	used := map[digest.Digest]bool{}
	for _, t := range c.trees {
		for _, d := range t.dirs {
			used[d] = true
		}
		for _, d := range t.files {
			used[d] = true
		}
	}
	return c.store.Walk(func(b cas.Blob) error {
		if !b.Digest.IsZero() && len(c.refs[b.Digest]) == 0 && !used[b.Digest] {
			c.rep.Orphans++
			c.rep.OrphanBytes += b.Size
		}
		return nil
	})
}

// bad quarantines a damaged blob and says who loses it. One that cannot be read stays where it is: the disk, or a limit
// on open files, may be at fault and not the content.
func (c *checker) bad(d digest.Digest, p cas.Presence) error {
	who := c.refs[d]
	var unreadable error
	if p == cas.Damaged {
		p, unreadable = c.store.Examine(d)
		if p == cas.Present {
			c.state[d] = p
			return nil // it could not be read a moment ago
		}
	}
	out := Problem{Digest: d, Path: c.store.Path(d), Runs: who, Loss: len(who) > 0}
	switch {
	case p == cas.Absent:
		out.Code, out.Text = BlobAbsent, "blob "+d.Short()+" is missing"
	case unreadable != nil:
		out.Code, out.Text = BlobUnreadable, "blob "+d.Short()+" cannot be read: "+unreadable.Error()
		out.Done = "it was left where it is; check again when it can be read"
	default:
		out.Code, out.Text = BlobDamaged, "blob "+d.Short()+" does not hold what its name says"
		to, err := c.store.Quarantine(d, "fsck found that its content does not fit its name")
		if err != nil {
			out.Done = "it could not be moved to quarantine: " + err.Error()
		} else {
			out.Done = "it was moved to " + c.rel(to)
		}
	}
	out.Meaning = "no record refers to it"
	if len(who) > 0 {
		out.Meaning = "evidence of " + runs(who) + " is lost; the next apply makes it again where the stage can"
	}
	c.add(out)
	return nil
}

type treeRefs struct {
	dirs, files []digest.Digest
	err         error
}

// tree adds what a tree consists of to what a run refers to.
func (c *checker) tree(root digest.Digest, run string, evidence bool) {
	t, ok := c.trees[root]
	if !ok {
		var files []cas.File
		if t.dirs, t.err = c.store.TreeDirs(root); t.err == nil {
			files, t.err = c.store.ReadTree(root)
		}
		seen := map[digest.Digest]bool{}
		for _, f := range files {
			if !seen[f.Digest] {
				seen[f.Digest] = true
				t.files = append(t.files, f.Digest)
			}
		}
		c.trees[root] = t
	}
	if !evidence {
		return
	}
	if t.err != nil {
		if !slices.ContainsFunc(c.rep.Problems, func(p Problem) bool { return p.Code == TreeUnreadable && p.Digest == root }) {
			c.add(Problem{
				Code: TreeUnreadable, Digest: root, Runs: []string{run}, Loss: true, Text: t.err.Error(),
				Meaning: "the directory that run " + run + " left cannot be laid out; the next apply makes it again",
			})
		}
		return
	}
	for _, list := range [][]digest.Digest{t.dirs, t.files} {
		for _, d := range list {
			c.refer(c.refs, d, run)
		}
	}
}

func (c *checker) refer(m map[digest.Digest][]string, d digest.Digest, run string) {
	if list := m[d]; len(list) == 0 || list[len(list)-1] != run {
		m[d] = append(list, run)
	}
}

func (c *checker) presence(d digest.Digest) cas.Presence {
	p, ok := c.state[d]
	if !ok {
		p = c.store.Check(d)
		c.state[d] = p
	}
	return p
}

// copies verifies trees that are laid out. A bad one is removed: the next use makes it again.
func (c *checker) copies() error {
	roots, err := c.store.LaidOut()
	if err != nil {
		return err
	}
	for _, root := range roots {
		ok, err := c.store.VerifyTree(root)
		if err == nil && ok {
			continue
		}
		why := "is not what was laid out"
		if err != nil {
			why = "belongs to a tree that cannot be read"
		}
		if err := c.store.DropTree(root); err != nil {
			return err
		}
		p := filepath.Join(c.store.Dir(), "trees", root.String())
		c.add(Problem{
			Code: CopyDamaged, Path: p, Digest: root, Text: c.rel(p) + " " + why,
			Meaning: "it is a copy and will be made again when needed", Done: "it was removed",
		})
	}
	return nil
}

func (c *checker) caches() error {
	for path, err := range cas.CheckCaches(c.store.Dir(), c.store.FS()) {
		c.add(Problem{
			Code: CacheBroken, Path: path, Text: c.rel(path) + ": " + err.Error(),
			Meaning: "files are hashed again, and it is replaced the next time it is saved",
		})
	}
	return nil
}

func (c *checker) rel(path string) string {
	if r, err := filepath.Rel(c.store.Dir(), path); err == nil {
		return r
	}
	return path
}

func runs(list []string) string {
	const shown = 3
	if len(list) == 1 {
		return "run " + list[0]
	}
	s := "runs " + strings.Join(list[:min(shown, len(list))], ", ")
	if n := len(list) - shown; n > 0 {
		s += fmt.Sprintf(" and %d more", n)
	}
	return s
}

func sorted[V any](m map[digest.Digest]V) []digest.Digest {
	out := make([]digest.Digest, 0, len(m))
	for d := range m {
		out = append(out, d)
	}
	slices.SortFunc(out, func(a, b digest.Digest) int { return slices.Compare(a[:], b[:]) })
	return out
}
