package graph

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/flameox/flameox/graph/cas"
	"github.com/flameox/flameox/graph/facet"
	"github.com/flameox/flameox/internal/digest"
)

// mostSavedFiles bounds the files that a saved plan names. Of trees beyond it a refusal says that they moved, not in which file.
const mostSavedFiles = 20_000

// Bind adds what a saved plan needs to say later, in any state of the project, what moved: the files behind its trees.
func (doc *PlanDocument) Bind(s *Store) {
	seen := map[string]bool{}
	left := mostSavedFiles
	for _, st := range doc.Stages {
		for _, m := range st.Manifest {
			for _, f := range m.Facets {
				for _, e := range f.Entries {
					root, err := digest.Parse(e.Value)
					if !e.Tree || err != nil || seen[e.Value] {
						continue
					}
					seen[e.Value] = true
					files, err := s.tree(root)
					if err != nil || len(files) > left {
						continue // the refusal names the tree
					}
					left -= len(files)
					t := PlannedTree{Root: root, Files: []PlannedFile{}}
					for _, file := range files {
						t.Files = append(t.Files, PlannedFile{Path: file.Path, Digest: file.Digest, Exec: file.Exec})
					}
					doc.Trees = append(doc.Trees, t)
				}
			}
		}
	}
}

// Seal fills the digest in and returns the file's bytes.
func (doc *PlanDocument) Seal() ([]byte, error) {
	plain, err := doc.canonical()
	if err != nil {
		return nil, err
	}
	doc.Digest = digest.Sum(plain)
	b, err := json.MarshalIndent(doc, "", "  ")
	return append(b, '\n'), err
}

// canonical are the bytes that the digest is over: the document without it, as it is after having been written and read.
func (doc *PlanDocument) canonical() ([]byte, error) {
	plain := *doc
	plain.Digest = digest.Digest{}
	b, err := json.Marshal(&plain)
	if err != nil {
		return nil, err
	}
	// Text that is no UTF-8, as names of files may be, is written as a replacement, and that is written otherwise the second time.
	var again PlanDocument
	if err := json.Unmarshal(b, &again); err != nil {
		return nil, err
	}
	return json.Marshal(&again)
}

// ReadPlan reads a saved plan. Where the error is ErrPlanEdited, ErrPlanPrinted or a *PlanVersionError, the document is returned with it, so that it
// can be shown; it is not to be applied.
func ReadPlan(b []byte) (*PlanDocument, error) {
	var head struct {
		Format int `json:"format_version"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return nil, fmt.Errorf("this is not a saved plan: %w", err)
	}
	if head.Format == 0 {
		return nil, errors.New("this is not a saved plan: it has no format_version")
	}
	doc := new(PlanDocument)
	err := json.Unmarshal(b, doc)
	if head.Format != PlanFormat {
		return doc, &PlanVersionError{Version: head.Format}
	}
	if err != nil || doc.Stages == nil {
		return nil, fmt.Errorf("this is not a saved plan: %w", cmp.Or(err, errors.New("it lists no stages")))
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if dec.Decode(new(PlanDocument)) != nil {
		return doc, ErrPlanEdited
	}
	if doc.Digest.IsZero() {
		return doc, ErrPlanPrinted
	}
	plain, err := doc.canonical()
	if err != nil {
		return nil, err
	}
	if digest.Sum(plain) != doc.Digest {
		return doc, ErrPlanEdited
	}
	return doc, nil
}

// ErrPlanEdited says that a saved plan is not what flameox wrote.
var ErrPlanEdited = errors.New("the plan file was edited after it was saved; a plan is bound to what it was made from, so make it again")

// ErrPlanPrinted says that a plan was printed by -json and not saved.
var ErrPlanPrinted = errors.New("the plan was printed with -json, which binds it to nothing; save one with plan -out=FILE")

// PlanVersionError says that a plan has a format that this flameox does not know.
type PlanVersionError struct{ Version int }

func (e *PlanVersionError) Error() string {
	if e.Version > PlanFormat {
		return fmt.Sprintf("the plan has format version %d, and this flameox reads %d: apply it with the flameox that made it, or make it again with this one", e.Version, PlanFormat)
	}
	return fmt.Sprintf("the plan has format version %d, and this flameox reads %d: make it again", e.Version, PlanFormat)
}

// StalePlanError says what moved since a plan was saved.
type StalePlanError struct{ Moved []Move }

// Move is one thing that moved since a plan was saved.
type Move struct {
	Stage string // "" where it is not one stage's
	Text  string
	File  string // the file that moved, where it is one
}

// mostMovesShown lines are shown of a refusal.
const mostMovesShown = 40

func (e *StalePlanError) Error() string {
	var b strings.Builder
	b.WriteString("the saved plan no longer holds, because this moved since it was made:\n")
	for i, m := range e.Moved {
		if i == mostMovesShown {
			fmt.Fprintf(&b, "  (%d more)\n", len(e.Moved)-i)
			break
		}
		b.WriteString("  ")
		if m.Stage != "" {
			b.WriteString(m.Stage + ": ")
		}
		b.WriteString(m.Text + "\n")
	}
	b.WriteString("Make the plan again.")
	return b.String()
}

// Check says whether a saved plan still describes what would be done now. A *StalePlanError lists what moved, down to the files where the
// store or the plan knows them.
func (p *Plan) Check(s *Store, saved *PlanDocument, hostClass map[string]string) error {
	now := p.Document(s, hostClass)
	for i, d := range p.Decisions { // all of them are to be compared, not only what is to run
		now.Stages[i].Manifest = nil
		for _, a := range d.actions {
			now.Stages[i].Manifest = append(now.Stages[i].Manifest, a.Manifest)
		}
	}
	for _, t := range saved.Trees {
		files := make([]cas.File, len(t.Files))
		for i, f := range t.Files {
			files[i] = cas.File{Path: f.Path, Digest: f.Digest, Exec: f.Exec}
		}
		s.knowOld(t.Root, files)
	}
	return holds(saved, now, s)
}

// Holds says whether a saved plan still describes now; a *StalePlanError lists what moved.
func (doc *PlanDocument) Holds(now *PlanDocument) error { return holds(doc, now, nil) }

// holds compares two plans. With a store it knows the manifests of earlier results and the files of trees.
func holds(doc, now *PlanDocument, s *Store) error {
	var moved []Move
	add := func(stage, format string, args ...any) {
		moved = append(moved, Move{Stage: stage, Text: fmt.Sprintf(format, args...)})
	}
	if doc.Experiment != now.Experiment {
		add("", "the experiment: the plan is of %q, this is %q", doc.Experiment, now.Experiment)
	}
	for _, name := range union(doc.HostClass, now.HostClass) {
		if doc.HostClass[name] != now.HostClass[name] {
			add("", "host class: %s %q → %q", name, doc.HostClass[name], now.HostClass[name])
		}
	}
	current := map[string]*PlannedStage{}
	for i := range now.Stages {
		current[now.Stages[i].Address] = &now.Stages[i]
	}
	seen := map[string]bool{}
	for i := range doc.Stages {
		was := &doc.Stages[i]
		is := current[was.Address]
		seen[was.Address] = true
		switch {
		case is == nil:
			add(was.Address, "no longer in the configuration")
		case was.Reuse != is.Reuse:
			add(was.Address, "reuse %s → %s", reuseWord(was.Reuse), reuseWord(is.Reuse))
		case !slices.Equal(was.Keys, is.Keys):
			moved = append(moved, keyMoves(was, is, s)...)
		case was.Want != is.Want:
			add(was.Address, "results wanted %d → %d", was.Want, is.Want)
		case was.State != is.State:
			add(was.Address, "was %s, is %s%s", stateWord(was.State), stateWord(is.State), because(is))
		case !slices.Equal(was.Runs, is.Runs) || was.Have != is.Have:
			add(was.Address, "other results stand for it: %s → %s", runsWord(was.Runs), runsWord(is.Runs))
		}
	}
	for _, st := range now.Stages {
		if !seen[st.Address] {
			add(st.Address, "new in the configuration")
		}
	}
	if len(moved) > 0 {
		return &StalePlanError{Moved: moved}
	}
	return nil
}

func reuseWord(s string) string {
	if s == "" {
		return "for ever"
	}
	return s
}

func runsWord(runs []string) string {
	if len(runs) == 0 {
		return "none"
	}
	return strings.Join(runs, ", ")
}

func stateWord(s State) string { return strings.ReplaceAll(string(s), "_", " ") }

func because(s *PlannedStage) string {
	if s.Blocked != nil {
		return " (" + s.Blocked.Why + ")"
	}
	if len(s.Reasons) == 0 {
		return ""
	}
	r := s.Reasons[0]
	if r.Text != "" {
		return " (" + r.Text + ")"
	}
	return " (" + stateWord(State(r.Code)) + ")"
}

// keyMoves says which facts of the keys moved, as far as both plans or the store know them.
func keyMoves(was, is *PlannedStage, s *Store) (out []Move) {
	old := was.Manifest
	if len(old) == 0 && s != nil {
		old = s.manifests(was.Runs)
	}
	for i := range min(len(old), len(is.Manifest)) {
		for _, c := range facet.Diff(&old[i], &is.Manifest[i]) {
			out = append(out, s.factMoves(was.Address, c)...)
		}
	}
	if len(out) == 0 {
		for _, r := range is.Reasons {
			for _, c := range r.Changes {
				out = append(out, s.factMoves(was.Address, c)...)
			}
		}
	}
	switch {
	case len(out) > 0:
	case len(is.Keys) == 0:
		out = append(out, Move{Stage: was.Address, Text: "what it stands on has to run first" + because(is)})
	case len(was.Keys) == 0:
		out = append(out, Move{Stage: was.Address, Text: "what it stands on does not have to run any more"})
	default:
		out = append(out, Move{Stage: was.Address, Text: "what it is made from changed"})
	}
	return out
}

// factMoves are the moves that one change of a fact is: one for each file of a tree, where those are known.
func (s *Store) factMoves(address string, c facet.Change) (out []Move) {
	kind := strings.ReplaceAll(string(c.Facet), "_", " ")
	if c.Tree && s != nil {
		for _, f := range s.fileChanges(c) {
			text := fmt.Sprintf("%s: %s %s → %s", kind, f.Path, short(f.Old), short(f.New))
			if f.Old == f.New {
				text = fmt.Sprintf("%s: %s is executable now, or no longer", kind, f.Path)
			}
			out = append(out, Move{Stage: address, File: f.Path, Text: text})
		}
	}
	if len(out) == 0 {
		name := c.Name
		if c.Note != "" {
			name = c.Note
		}
		out = append(out, Move{Stage: address, Text: fmt.Sprintf("%s: %s %s → %s", kind, name, shorten(c.Old), shorten(c.New))})
	}
	return out
}

// manifests are what the keys of runs were made of; nothing of a run that is not known any more.
func (s *Store) manifests(runs []string) (out []facet.Manifest) {
	for _, run := range runs {
		sum, err := s.Cache.Run(run)
		if err != nil {
			return nil
		}
		rec, err := sum.Record()
		if err != nil {
			return nil
		}
		out = append(out, rec.Manifest)
	}
	return out
}

// short writes a digest as a person compares two of them; that of no file is a word.
func short(d digest.Digest) string {
	if d.IsZero() {
		return "nothing"
	}
	return d.Short()
}

// shorten does the same with the value of a fact, which may be a digest.
func shorten(s string) string {
	if d, err := digest.Parse(s); err == nil {
		return d.Short()
	}
	if s == "" {
		return "nothing"
	}
	return s
}

func union(a, b map[string]string) []string {
	seen := map[string]bool{}
	for k := range a {
		seen[k] = true
	}
	for k := range b {
		seen[k] = true
	}
	out := make([]string, 0, len(seen))
	for k := range seen {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
