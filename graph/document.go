package graph

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/flameox/flameox/graph/facet"
	"github.com/flameox/flameox/internal/digest"
)

// PlanFormat is the version of the plan document; its schema is schemas/plan.schema.json.
const PlanFormat = 1

// PlanDocument is a plan as data: what `plan -json` prints and `plan -out` saves.
type PlanDocument struct {
	Format        int               `json:"format_version"`
	Flameox       string            `json:"flameox"`
	Created       time.Time         `json:"created"`
	Experiment    string            `json:"experiment"` // folder below the project root
	HostClass     map[string]string `json:"host_class"`
	Variables     []string          `json:"variables,omitempty"`      // as given with -var: name=value
	VariableFiles []string          `json:"variable_files,omitempty"` // as given with -var-file
	Withheld      []string          `json:"withheld,omitempty"`       // sensitive variables that were given with -var: apply needs them again
	Target        []string          `json:"target,omitempty"`
	Exclude       []string          `json:"exclude,omitempty"`
	Replace       []string          `json:"replace,omitempty"`
	Summary       PlanSummary       `json:"summary"`
	Stages        []PlannedStage    `json:"stages"`
	// Digest is over the document without it, so that an edited file is noticed.
	Digest digest.Digest `json:"digest,omitzero"`
}

// PlanSummary counts the stages by state.
type PlanSummary struct {
	Run      int `json:"run"`
	TopUp    int `json:"top_up"`
	MayRun   int `json:"may_run"`
	Blocked  int `json:"blocked"`
	Cached   int `json:"cached"`
	Excluded int `json:"excluded"`
	// EstimateNS is the sum of what is known; Unknown counts the stages to run of which nothing is known.
	EstimateNS   int64 `json:"estimate_ns"`
	EstimateRuns int   `json:"estimate_runs"` // earlier runs it comes from
	Unknown      int   `json:"estimate_unknown"`
	Elsewhere    bool  `json:"estimate_from_another_host"`
}

// PlannedStage is the decision about one instance.
type PlannedStage struct {
	Address  string           `json:"address"`
	Kind     string           `json:"kind"`
	State    State            `json:"state"`
	Reasons  []Reason         `json:"reasons,omitempty"`
	Have     int              `json:"have"`
	Want     int              `json:"want"`
	Runs     []string         `json:"runs,omitempty"` // the current results
	After    string           `json:"after,omitempty"`
	Blocked  *PlannedBlock    `json:"blocked,omitempty"`
	Estimate int64            `json:"estimate_ns,omitempty"`
	Keys     []digest.Digest  `json:"keys,omitempty"`
	Manifest []facet.Manifest `json:"manifests,omitempty"` // of what is to run, so that a refusal can say what moved
}

// PlannedBlock is why a stage cannot run, and the one thing to do.
type PlannedBlock struct {
	Why string `json:"why"`
	Do  string `json:"do,omitempty"`
}

// Summary counts.
func (p *Plan) Summary() PlanSummary {
	s := PlanSummary{
		Run: p.Count(Run), TopUp: p.Count(TopUp), MayRun: p.Count(MayRun),
		Blocked: p.Count(Blocked), Cached: p.Count(Cached), Excluded: p.Count(Excluded),
	}
	for _, d := range p.Decisions {
		if d.State != Run && d.State != TopUp {
			continue
		}
		if d.Estimate == 0 {
			s.Unknown++
		}
		s.EstimateNS += d.Estimate.Nanoseconds()
		s.EstimateRuns += d.EstimateRuns
		s.Elsewhere = s.Elsewhere || d.EstimateElsewhere
	}
	return s
}

// Document is the plan as data.
func (p *Plan) Document(s *Store, hostClass map[string]string) *PlanDocument {
	doc := &PlanDocument{
		Format: PlanFormat, Flameox: s.Version, Created: s.Now().UTC(), Experiment: s.Experiment,
		HostClass: hostClass, Summary: p.Summary(), Stages: []PlannedStage{},
	}
	for _, d := range p.Decisions {
		st := PlannedStage{
			Address: d.Node.Address.String(), Kind: d.Node.Kind, State: d.State, Reasons: d.Reasons,
			Have: d.Have, Want: d.Want, Estimate: d.Estimate.Nanoseconds(), Keys: d.Keys(),
		}
		for _, r := range d.Records {
			st.Runs = append(st.Runs, r.Run)
		}
		if d.After != nil {
			st.After = d.After.Address.String()
		}
		if d.Block != nil {
			st.Blocked = &PlannedBlock{Why: d.Block.Why, Do: d.Block.Do}
		}
		if d.State == Run || d.State == TopUp {
			for _, a := range d.actions {
				st.Manifest = append(st.Manifest, a.Manifest)
			}
		}
		doc.Stages = append(doc.Stages, st)
	}
	return doc
}

// Seal fills the digest in and returns the file's bytes.
func (doc *PlanDocument) Seal() ([]byte, error) {
	doc.Digest = digest.Digest{}
	plain, err := json.Marshal(doc)
	if err != nil {
		return nil, err
	}
	doc.Digest = digest.Sum(plain)
	b, err := json.MarshalIndent(doc, "", "  ")
	return append(b, '\n'), err
}

// ReadPlan reads a saved plan. A document that was edited is returned together with ErrPlanEdited, so that it can be shown.
func ReadPlan(b []byte) (*PlanDocument, error) {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	var doc PlanDocument
	if err := dec.Decode(&doc); err != nil {
		return nil, fmt.Errorf("this is not a saved plan: %w", err)
	}
	if doc.Format == 0 {
		return nil, errors.New("this is not a saved plan: it has no format_version")
	}
	if doc.Format != PlanFormat {
		return nil, fmt.Errorf("the plan has format version %d, and this flameox reads %d; make the plan again", doc.Format, PlanFormat)
	}
	want := doc.Digest
	doc.Digest = digest.Digest{}
	plain, err := json.Marshal(&doc)
	if err != nil {
		return nil, err
	}
	doc.Digest = want
	if digest.Sum(plain) != want {
		return &doc, ErrPlanEdited
	}
	return &doc, nil
}

// ErrPlanEdited says that a saved plan is not what flameox wrote.
var ErrPlanEdited = errors.New("the plan file was edited after it was saved; a plan is bound to what it was made from, so make it again")

// StalePlanError says what moved since a plan was saved.
type StalePlanError struct{ Moved []string }

func (e *StalePlanError) Error() string {
	return "the saved plan no longer holds, because this moved since it was made:\n  " + strings.Join(e.Moved, "\n  ") + "\nMake the plan again."
}

// Holds says whether a saved plan still describes now; a *StalePlanError lists what moved.
func (doc *PlanDocument) Holds(now *PlanDocument) error {
	var moved []string
	if doc.Experiment != now.Experiment {
		moved = append(moved, fmt.Sprintf("the experiment: the plan is of %q, this is %q", doc.Experiment, now.Experiment))
	}
	for _, name := range union(doc.HostClass, now.HostClass) {
		if doc.HostClass[name] != now.HostClass[name] {
			moved = append(moved, fmt.Sprintf("host class: %s %q → %q", name, doc.HostClass[name], now.HostClass[name]))
		}
	}
	current := map[string]PlannedStage{}
	for _, s := range now.Stages {
		current[s.Address] = s
	}
	for _, was := range doc.Stages {
		is, ok := current[was.Address]
		delete(current, was.Address)
		switch {
		case !ok:
			moved = append(moved, was.Address+": no longer in the configuration")
		case !slices.Equal(was.Keys, is.Keys):
			moved = append(moved, keyMoves(was, is)...)
		case was.State != is.State:
			moved = append(moved, fmt.Sprintf("%s: was %s, is %s%s", was.Address, was.State, is.State, because(is)))
		case !slices.Equal(was.Runs, is.Runs) || was.Have != is.Have || was.Want != is.Want:
			moved = append(moved, fmt.Sprintf("%s: other results stand for it", was.Address))
		}
	}
	for _, s := range now.Stages {
		if _, ok := current[s.Address]; ok {
			moved = append(moved, s.Address+": new in the configuration")
		}
	}
	if len(moved) > 0 {
		return &StalePlanError{Moved: moved}
	}
	return nil
}

func because(s PlannedStage) string {
	if len(s.Reasons) == 0 {
		return ""
	}
	r := s.Reasons[0]
	if r.Text != "" {
		return " (" + r.Text + ")"
	}
	return " (" + string(r.Code) + ")"
}

// keyMoves says which facts of the keys moved, as far as both plans hold them.
func keyMoves(was, is PlannedStage) (out []string) {
	if len(was.Manifest) == 1 && len(is.Manifest) == 1 {
		for _, c := range facet.Diff(&was.Manifest[0], &is.Manifest[0]) {
			out = append(out, fmt.Sprintf("%s: %s: %s %s → %s", was.Address, c.Facet, c.Name, shorten(c.Old), shorten(c.New)))
		}
	}
	if len(out) == 0 {
		for _, r := range is.Reasons {
			for _, c := range r.Changes {
				out = append(out, fmt.Sprintf("%s: %s: %s %s → %s", was.Address, c.Facet, c.Name, shorten(c.Old), shorten(c.New)))
			}
		}
	}
	if len(out) == 0 {
		out = append(out, was.Address+": what it is made from changed")
	}
	return out
}

// shorten writes a digest as a person compares two of them.
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
