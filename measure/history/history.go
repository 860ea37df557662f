package history

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/flameox/flameox/internal/git"
	"github.com/flameox/flameox/internal/ijson"
	"github.com/flameox/flameox/internal/stats"
	"github.com/flameox/flameox/measure/changepoint"
	"github.com/flameox/flameox/measure/document"
	"github.com/flameox/flameox/measure/identity"
)

// Input is a point before it has a place.
type Input struct {
	Value    float64
	Document map[string]any
}

// Point is a result in its history.
type Point struct {
	Revision string         `json:"revision"`
	Started  string         `json:"started_at"`
	Producer string         `json:"producer"`
	Key      string         `json:"ingest_key"`
	RunKey   string         `json:"run_key"`
	Value    float64        `json:"value"`
	Changed  []FactChange   `json:"changed_facts"` // ignored by the policy, and others than at the point before
	Warnings []string       `json:"warnings"`
	Judged   bool           `json:"judged"`            // it is one of those that changes are looked for in
	Why      string         `json:"why_not,omitempty"` // it is not
	Document map[string]any `json:"-"`
	ignored  map[string]any
	at       int // of its revision in the order; -1 where it has no place
}

// FactChange is a fact that the policy ignores and that changed.
type FactChange struct {
	Pointer string `json:"pointer"`
	Before  any    `json:"before"` // null where it was not there
	After   any    `json:"after"`
}

// Change is a revision from which on the level is another.
type Change struct {
	Revision string       `json:"revision"` // the first of the new level
	After    string       `json:"after"`    // the last measured one of the old level
	Commits  int          `json:"commits"`  // in which the change lies: 1 where every one was measured; 0 where the order is not known
	Before   float64      `json:"median_before"`
	Now      float64      `json:"median_after"`
	Effect   float64      `json:"effect"` // relative; a difference where values are not positive
	Relative bool         `json:"relative"`
	P        float64      `json:"p"`
	Verdict  string       `json:"verdict"` // regressed, improved, changed
	Facts    []FactChange `json:"changed_facts"`
}

// Boundary is where a stretch begins in which changes are looked for.
type Boundary struct {
	Kind string `json:"kind"` // accepted
	At   string `json:"at"`   // revision
	Note string `json:"note,omitempty"`
}

// Document is a history.
type Document struct {
	SchemaVersion string         `json:"schema_version"` // flameox/history/v1
	Series        string         `json:"series"`
	Estimator     string         `json:"estimator"`
	Policy        string         `json:"identity_schema"`
	Project       string         `json:"project"`
	Workload      string         `json:"workload"`
	Parameters    map[string]any `json:"parameters"`
	Quantity      string         `json:"quantity"`
	Unit          string         `json:"unit"`
	Direction     string         `json:"direction,omitempty"`
	Ordering      string         `json:"ordering"` // ancestry, started-at
	OrderingNote  string         `json:"ordering_note"`
	Points        []Point        `json:"points"` // oldest first
	Boundaries    []Boundary     `json:"boundaries"`
	Changes       []Change       `json:"changes"`
	Note          string         `json:"note,omitempty"` // why there are no changes to speak of
}

// The orders.
const (
	Ancestry  = "ancestry"
	StartedAt = "started-at"
)

// Options of Make.
type Options struct {
	Series, Estimator string
	Policy            identity.Policy
	Target            string    // whose ancestors are the history: HEAD where it says nothing
	Repo              *git.Repo // nil where there is none
	MinEffect         float64   // a relative change up to this is none
	Accepted          []Acceptance
}

// minRevisions are needed on either side of a change.
const minRevisions = 3

// Make makes the history of points of one series.
func Make(ctx context.Context, in []Input, o Options) (*Document, error) {
	if len(in) == 0 {
		return nil, errors.New("a history has points")
	}
	d := describe(in[0].Document, o)
	for _, x := range in {
		d.Points = append(d.Points, point(x, o.Policy))
	}
	order, err := d.order(ctx, o)
	if err != nil {
		return nil, err
	}
	d.facts()
	d.judge()
	d.changes(order, o)
	return d, nil
}

func text(v any, path ...string) string {
	s, _ := document.At(v, path...).(string)
	return s
}

func describe(doc map[string]any, o Options) *Document {
	d := &Document{SchemaVersion: "flameox/history/v1", Series: o.Series, Estimator: o.Estimator, Policy: o.Policy.Name, Project: identity.Project(doc),
		Workload: text(doc, "coordinates", "workload", "name"), Quantity: text(doc, "coordinates", "quantity", "name"), Unit: text(doc, "coordinates", "quantity", "unit"),
		Direction: text(doc, "coordinates", "quantity", "direction"), Boundaries: []Boundary{}, Changes: []Change{}}
	if d.Parameters, _ = document.At(doc, "coordinates", "workload", "parameters").(map[string]any); d.Parameters == nil {
		d.Parameters = map[string]any{}
	}
	return d
}

func point(in Input, p identity.Policy) Point {
	doc := in.Document
	out := Point{Revision: text(doc, "revision", "key"), Started: text(doc, "provenance", "started_at"), Producer: text(doc, "producer", "name"), Key: text(doc, "ingest_key"),
		RunKey: text(doc, "provenance", "run_key"), Value: in.Value, Changed: []FactChange{}, Warnings: []string{}, Document: doc, ignored: map[string]any{}, at: -1}
	for _, f := range p.Split(doc)[identity.Ignore] {
		out.ignored[f.Pointer] = f.Value
	}
	list, _ := document.At(doc, "quality", "warnings").([]any)
	for _, w := range list {
		if s, ok := w.(string); ok {
			out.Warnings = append(out.Warnings, s)
		}
	}
	return out
}

// order puts the points in order. It gives the revisions of the history, the oldest first, nil where their order is not known.
func (d *Document) order(ctx context.Context, o Options) ([]string, error) {
	byTime := func(a, b Point) int {
		return cmp.Or(strings.Compare(instant(a.Started), instant(b.Started)), strings.Compare(a.Key, b.Key), strings.Compare(a.Producer, b.Producer))
	}
	revisions, note, err := ancestry(ctx, o)
	if err != nil {
		return nil, err
	}
	place := map[string]int{}
	for i, r := range revisions {
		place[r] = i
	}
	known := 0
	for i := range d.Points {
		if at, ok := place[d.Points[i].Revision]; ok {
			d.Points[i].at = at
			known++
		}
	}
	if known == 0 {
		if note == "" {
			note = fmt.Sprintf("the checkout %s has none of the revisions", o.Repo.Root)
		}
		d.Ordering, d.OrderingNote = StartedAt, "revision order is not available: "+note+"; points are in the order in which they were measured"
		slices.SortStableFunc(d.Points, byTime)
		return nil, nil
	}
	d.Ordering, d.OrderingNote = Ancestry, note
	slices.SortStableFunc(d.Points, func(a, b Point) int {
		// What has no place comes last: it is no part of this history.
		if (a.at < 0) != (b.at < 0) {
			return cmp.Compare(b.at, a.at)
		}
		return cmp.Or(cmp.Compare(a.at, b.at), byTime(a, b))
	})
	return revisions, nil
}

// instant makes times of different precision comparable as texts.
func instant(s string) string {
	s = strings.TrimSuffix(s, "Z")
	if !strings.Contains(s, ".") {
		s += "."
	}
	return (s + "000000000")[:min(len(s)+9, 29)]
}

// ancestry is the target's ancestors and itself, the oldest first; note says why there are none, or whose ancestors they are.
func ancestry(ctx context.Context, o Options) (list []string, note string, err error) {
	if o.Repo == nil {
		return nil, "this folder is in no git checkout", nil
	}
	target := o.Target
	if target == "" {
		target = "HEAD"
	}
	list, err = o.Repo.Ancestors(ctx, target)
	if err != nil && o.Target == "" {
		return nil, fmt.Sprintf("git says: %v", err), nil
	}
	if err != nil {
		return nil, "", fmt.Errorf("order the history of %s: %w", target, err)
	}
	return list, "in the order of the ancestors of " + target, nil
}

// facts says what changed from one point to the next.
func (d *Document) facts() {
	for i := 1; i < len(d.Points); i++ {
		d.Points[i].Changed = differences(d.Points[i-1].ignored, d.Points[i].ignored)
	}
}

func differences(a, b map[string]any) []FactChange {
	names := map[string]bool{}
	for k := range a {
		names[k] = true
	}
	for k := range b {
		names[k] = true
	}
	out := []FactChange{}
	for _, k := range document.Keys(names) {
		if x, err := ijson.Canonical(a[k]); err == nil {
			if y, err := ijson.Canonical(b[k]); err == nil && string(x) == string(y) {
				continue
			}
		}
		out = append(out, FactChange{k, a[k], b[k]})
	}
	return out
}

// judge decides which points changes are looked for in: those with a place, of clean trees. Where no tree was clean, those of others as well.
func (d *Document) judge() {
	clean := slices.ContainsFunc(d.Points, func(p Point) bool { return text(p.Document, "provenance", "subject_dirty") == "clean" })
	for i := range d.Points {
		p := &d.Points[i]
		switch state := text(p.Document, "provenance", "subject_dirty"); {
		case d.Ordering == Ancestry && p.at < 0:
			p.Why = "its revision is not part of this history"
		case clean && state != "clean":
			p.Why = "its tree was " + state + ", so it is not what the revision is"
		default:
			p.Judged = true
		}
	}
}

// value is one revision's.
type value struct {
	revision string
	x        float64
	first    int // index of its first point
	last     int
}

// values are the medians of the judged points by revision.
func (d *Document) values() []value {
	var out []value
	var of []float64
	flush := func() {
		if len(of) > 0 {
			out[len(out)-1].x = stats.Median(of)
		}
		of = nil
	}
	for i, p := range d.Points {
		if !p.Judged {
			continue
		}
		if n := len(out); n == 0 || out[n-1].revision != p.Revision {
			flush()
			out = append(out, value{revision: p.Revision, first: i})
		}
		out[len(out)-1].last = i
		of = append(of, p.Value)
	}
	flush()
	return out
}

// changes looks for changes between acceptances.
func (d *Document) changes(order []string, o Options) {
	values := d.values()
	place := map[string]int{}
	for i, r := range order {
		place[r] = i
	}
	accepted := map[int]bool{}
	for _, a := range o.Accepted {
		if a.Series != d.Series {
			continue
		}
		at := slices.IndexFunc(values, func(v value) bool { return v.revision == a.Revision })
		if at < 0 {
			continue
		}
		accepted[at] = true
		d.Boundaries = append(d.Boundaries, Boundary{"accepted", a.Revision, a.Note})
	}
	from := 0
	for to := 1; to <= len(values); to++ {
		if to < len(values) && !accepted[to] {
			continue
		}
		d.search(values, from, to, place, o)
		from = to
	}
	if n := len(values); n < 2*minRevisions && len(d.Changes) == 0 {
		d.Note = fmt.Sprintf("%d revisions are too few to tell a change from chance; it takes %d on either side", n, minRevisions)
	}
}

func (d *Document) search(values []value, from, to int, place map[string]int, o Options) {
	x := make([]float64, 0, to-from)
	for _, v := range values[from:to] {
		x = append(x, v.x)
	}
	positive := !slices.ContainsFunc(x, func(v float64) bool { return !(v > 0) })
	for _, c := range changepoint.Find(x, changepoint.Options{MinSegment: minRevisions, MinEffect: o.MinEffect}) {
		v, before := values[from+c.At], values[from+c.At-1]
		out := Change{Revision: v.revision, After: before.revision, Before: c.Before, Now: c.After, Effect: c.Effect, Relative: positive, P: c.P, Verdict: "changed",
			Facts: differences(d.Points[before.last].ignored, d.Points[v.first].ignored)}
		if len(place) > 0 {
			out.Commits = place[v.revision] - place[before.revision]
		}
		switch up := c.Effect > 0; {
		case d.Direction == "":
		case up == (d.Direction == "lower-is-better"):
			out.Verdict = "regressed"
		default:
			out.Verdict = "improved"
		}
		d.Changes = append(d.Changes, out)
	}
}
