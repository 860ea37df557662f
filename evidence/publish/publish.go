package publish

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/evidence/columns"
)

// keepOld is how long a generation lives after it was replaced: longer than any query that a person waits for.
const keepOld = time.Hour

// Publisher writes the published view at one place. One writer at a time: the caller holds the lock.
type Publisher struct {
	dir    string // the link
	now    func() time.Time
	noSync bool                        // tests that do not cut the power
	fault  func(op, path string) error // tests that fail a step
}

// New makes a publisher of the view at dir (".flameox/evidence"): dir becomes a symbolic link, and the
// generations lie beside it in dir+".d". now is the clock, UTC or not.
func New(dir string, now func() time.Time) *Publisher {
	return &Publisher{dir: dir, now: now}
}

// Report is what a publication did.
type Report struct {
	Generation int64  // the current one
	Changed    bool   // a new generation was made
	Rebuilt    string // why everything was written anew; "" where it was not
	Added      int    // parts and runs that are new, superseding ones included
	Superseded int    // parts and runs that were replaced by another content
	Removed    int    // parts and runs that are no longer desired
	Segments   int    // segments written
	Bytes      int64  // bytes of them
	Rows       int64  // rows of the view, of all tables
	Expired    int    // old generations deleted
	// LeftOut is what should be visible and could not be read, by table, run and provider. Every publication tries it again.
	LeftOut  []LeftOut
	NewlyOut []LeftOut // of LeftOut, what the generation before was not without
}

// ErrRebuild says that an Update cannot continue from what is there: call Publish with everything.
var ErrRebuild = errors.New("the published evidence has to be rebuilt from all parts")

// Publish makes the view show what is desired, without the parts and runs that cannot be read: those are in the report. Where it
// already does, nothing is written.
func (p *Publisher) Publish(ctx context.Context, d Desired) (Report, error) {
	byTable, refused := d.byTable()
	w := work{byTable: byTable, refused: refused, load: d.Load}
	old, why := p.current()
	if old == nil {
		return p.rebuild(ctx, w, why)
	}
	var s set
	for name, sources := range byTable {
		for _, src := range sources {
			s.add(member(name, src.key, src.digest))
		}
	}
	sortLeftOut(refused)
	if s == old.m.Set && sameLeftOut(refused, old.m.LeftOut) {
		return p.unchanged(old, refused), nil
	}
	report, err := p.publish(ctx, old, w)
	if v := (*viewError)(nil); errors.As(err, &v) {
		return p.rebuild(ctx, w, v.Error())
	}
	return report, err
}

// Update makes the view show what is desired of the given runs and leaves the others alone: a run of
// them that desired does not mention disappears. Its cost follows from the runs, not from what is published.
// ErrRebuild is returned where the view cannot be continued from.
func (p *Publisher) Update(ctx context.Context, d Desired, runs []string) (Report, error) {
	old, why := p.current()
	if old == nil {
		return Report{}, fmt.Errorf("%w: %s", ErrRebuild, why)
	}
	scope := make(map[string]bool, len(runs))
	for _, r := range runs {
		scope[r] = true
	}
	for _, part := range d.Parts {
		if !scope[part.Run] {
			return Report{}, fmt.Errorf("publishing run %s: it is not among the runs of the update", part.Run)
		}
	}
	for _, r := range d.Runs {
		if !scope[r.Run] {
			return Report{}, fmt.Errorf("publishing run %s: it is not among the runs of the update", r.Run)
		}
	}
	byTable, refused := d.byTable()
	report, err := p.publish(ctx, old, work{byTable: byTable, refused: refused, load: d.Load, scope: scope})
	if v := (*viewError)(nil); errors.As(err, &v) {
		return Report{}, fmt.Errorf("%w: %w", ErrRebuild, err)
	}
	return report, err
}

// work is what one publication is about.
type work struct {
	byTable map[string][]source
	refused []LeftOut // that no view could hold
	load    func(string) (*evidence.Run, error)
	scope   map[string]bool // runs that it speaks of; nil is all of them
}

func (p *Publisher) rebuild(ctx context.Context, w work, why string) (Report, error) {
	w.scope = nil
	report, err := p.publish(ctx, nil, w)
	report.Rebuilt = why
	return report, err
}

// current is the generation to continue from, or why there is none.
func (p *Publisher) current() (*Generation, string) {
	g, err := Pin(p.dir)
	if errors.Is(err, ErrNotPublished) {
		return nil, "nothing was published"
	}
	if err == nil {
		err = g.intact()
	}
	if err != nil {
		return nil, err.Error()
	}
	return g, ""
}

func (p *Publisher) unchanged(g *Generation, left []LeftOut) Report {
	r := Report{Generation: g.Number, LeftOut: left}
	for _, t := range g.m.Tables {
		r.Rows += g.Rows(t.Name)
	}
	return r
}

// publish makes a generation of old and the desired parts and switches to it.
func (p *Publisher) publish(ctx context.Context, old *Generation, w work) (_ Report, err error) {
	var plans []*tablePlan
	report := Report{}
	gone := old == nil
	total := set{}
	left := slices.Clone(w.refused)
	var before []LeftOut
	if old != nil {
		total, before = old.m.Set, old.m.LeftOut
	}
	for _, l := range before {
		if w.scope != nil && !w.scope[l.Run] {
			left = append(left, l)
		}
	}
	for _, def := range evidence.Tables() {
		plan, err := planTable(old, &def, w.byTable[def.Name], w.scope)
		if err != nil {
			return Report{}, err
		}
		total.add(plan.set)
		gone = gone || plan.gone
		report.Superseded += plan.report.Superseded
		report.Removed += plan.report.Removed
		plans = append(plans, plan)
	}
	if !gone {
		// Parts that stay unreadable must not cost a generation each time.
		bad, good, err := examine(ctx, plans, w.load)
		if err != nil {
			return Report{}, err
		}
		if !good {
			left = append(left, bad...)
			sortLeftOut(left)
			if sameLeftOut(left, before) {
				return p.unchanged(old, left), nil
			}
			for _, plan := range plans {
				plan.fresh = nil
			}
		}
	}
	b, err := p.begin(ctx, old, &report)
	if err != nil {
		return Report{}, fmt.Errorf("publishing evidence at %s: %w", p.dir, err)
	}
	b.set, b.left = total, left
	m := &manifest{Format: manifestFormat, Generation: b.number, Created: p.now().UTC(), Oldest: b.oldest}
	for _, plan := range plans {
		t, err := b.table(plan, old, w.load)
		if err != nil {
			b.abandon()
			return Report{}, fmt.Errorf("publishing evidence at %s: %w", p.dir, err)
		}
		for _, s := range t.Segments {
			report.Rows += s.Rows
		}
		m.Tables = append(m.Tables, t)
	}
	sortLeftOut(b.left)
	m.Set, m.LeftOut = b.set, b.left
	if err := b.commit(m); err != nil {
		return Report{}, fmt.Errorf("publishing evidence at %s: %w", p.dir, err)
	}
	report.Generation, report.Changed, report.LeftOut = b.number, true, slices.Clone(b.left)
	report.NewlyOut = newlyOut(report.LeftOut, before)
	return report, nil
}

// examine looks at new parts until it finds one that can be published. Where there is none it says what is wrong with each.
func examine(ctx context.Context, plans []*tablePlan, load func(string) (*evidence.Run, error)) (bad []LeftOut, good bool, err error) {
	for _, plan := range plans {
		if len(plan.fresh) == 0 {
			continue
		}
		in := newPartReader(plan.def, load)
		for _, s := range plan.fresh {
			if err := ctx.Err(); err != nil {
				return nil, false, err
			}
			l := in.examine(s)
			if l == nil {
				return nil, true, nil
			}
			bad = append(bad, *l)
		}
	}
	return bad, false, nil
}

// sizeOf estimates what a source adds to a segment.
func sizeOf(s source) int64 {
	if s.path == "" {
		return 256 // a row of the runs table among others
	}
	info, err := os.Stat(s.path)
	if err != nil {
		return 0 // reading it says so
	}
	return info.Size()
}

// table makes one table of the new generation.
func (b *builder) table(plan *tablePlan, old *Generation, load func(string) (*evidence.Run, error)) (table, error) {
	def := plan.def
	t := table{Name: def.Name, Schema: schemaDigest(def)}
	if err := b.mkdir(filepath.Join(b.tmp, def.Name)); err != nil {
		return t, err
	}
	schema := def.PublishedSchema()
	w := &segmentWriter{b: b, def: def, schema: schema, out: columns.NewBuffer(schema), in: newPartReader(def, load)}
	defer w.abandon()
	for _, group := range plan.groups(sizeOf) {
		if len(group) == 1 && group[0].whole() {
			s := *group[0].segment
			if err := b.link(old.path(def.Name, s.Name), filepath.Join(b.tmp, def.Name, s.Name+".parquet")); err != nil {
				return t, err
			}
			if err := b.link(old.partsPath(def.Name, s.Name), filepath.Join(b.tmp, "parts", def.Name+"."+s.Name+".json")); err != nil {
				return t, err
			}
			t.Segments = append(t.Segments, s)
			continue
		}
		if err := w.write(group, old); err != nil {
			return t, err
		}
		t.Segments = append(t.Segments, w.done...)
		w.done = nil
	}
	if len(t.Segments) == 0 {
		return t, b.empty(def, schema, old)
	}
	return t, nil
}
