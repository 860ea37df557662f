package publish

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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
}

// ErrRebuild says that an Update cannot continue from what is there: call Publish with everything.
var ErrRebuild = errors.New("the published evidence has to be rebuilt from all parts")

// Publish makes the view show exactly what is desired. Where it already does, nothing is written.
func (p *Publisher) Publish(ctx context.Context, d Desired) (Report, error) {
	old, why := p.current()
	if old == nil {
		return p.rebuild(ctx, d, why)
	}
	byTable, err := d.byTable()
	if err != nil {
		return Report{}, err
	}
	var s set
	for name, sources := range byTable {
		for _, src := range sources {
			s.add(member(name, src.key, src.digest))
		}
	}
	if s == old.m.Set {
		return p.unchanged(old), nil
	}
	report, err := p.publish(ctx, old, d, byTable, nil)
	if v := (*viewError)(nil); errors.As(err, &v) {
		return p.rebuild(ctx, d, v.Error())
	}
	return report, err
}

// Update makes the view show exactly what is desired of the given runs and leaves the others alone: a run of
// them that desired does not mention disappears. Its cost follows from the runs, not from what is published.
// ErrRebuild is returned where the view cannot be continued from.
func (p *Publisher) Update(ctx context.Context, d Desired, runs []string) (Report, error) {
	old, why := p.current()
	if old == nil {
		return Report{}, fmt.Errorf("%w: %s", ErrRebuild, why)
	}
	byTable, err := d.byTable()
	if err != nil {
		return Report{}, err
	}
	scope := make(map[string]bool, len(runs))
	for _, r := range runs {
		scope[r] = true
	}
	for _, sources := range byTable {
		for _, s := range sources {
			if !scope[s.run] {
				return Report{}, fmt.Errorf("publishing run %s: it is not among the runs of the update", s.run)
			}
		}
	}
	report, err := p.publish(ctx, old, d, byTable, scope)
	if v := (*viewError)(nil); errors.As(err, &v) {
		return Report{}, fmt.Errorf("%w: %w", ErrRebuild, err)
	}
	return report, err
}

// Rebuild writes the view anew, whatever is there.
func (p *Publisher) Rebuild(ctx context.Context, d Desired) (Report, error) {
	return p.rebuild(ctx, d, "asked for")
}

func (p *Publisher) rebuild(ctx context.Context, d Desired, why string) (Report, error) {
	byTable, err := d.byTable()
	if err != nil {
		return Report{}, err
	}
	report, err := p.publish(ctx, nil, d, byTable, nil)
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

func (p *Publisher) unchanged(g *Generation) Report {
	r := Report{Generation: g.Number}
	for _, t := range g.m.Tables {
		r.Rows += g.Rows(t.Name)
	}
	return r
}

// publish makes a generation of old and the desired parts and switches to it.
func (p *Publisher) publish(ctx context.Context, old *Generation, d Desired, byTable map[string][]source, scope map[string]bool) (_ Report, err error) {
	var plans []*tablePlan
	report := Report{}
	moved := old == nil
	total := set{}
	if old != nil {
		total = old.m.Set
	}
	for _, def := range evidence.Tables() {
		plan, err := planTable(old, &def, byTable[def.Name], scope, sizeOf)
		if err != nil {
			return Report{}, err
		}
		total.add(plan.set)
		moved = moved || plan.moved
		report.Added += plan.report.Added
		report.Superseded += plan.report.Superseded
		report.Removed += plan.report.Removed
		plans = append(plans, plan)
	}
	if !moved {
		return p.unchanged(old), nil
	}
	b, err := p.begin(ctx, old, &report)
	if err != nil {
		return Report{}, fmt.Errorf("publishing evidence at %s: %w", p.dir, err)
	}
	m := &manifest{Format: manifestFormat, Generation: b.number, Created: p.now().UTC(), Oldest: b.oldest, Set: total}
	for _, plan := range plans {
		t, err := b.table(plan, old, d.Load)
		if err != nil {
			b.abandon()
			return Report{}, fmt.Errorf("publishing evidence at %s: %w", p.dir, err)
		}
		for _, s := range t.Segments {
			report.Rows += s.Rows
		}
		m.Tables = append(m.Tables, t)
	}
	if err := b.commit(m); err != nil {
		return Report{}, fmt.Errorf("publishing evidence at %s: %w", p.dir, err)
	}
	report.Generation, report.Changed = b.number, true
	return report, nil
}

// sizeOf estimates what a source adds to a segment.
func sizeOf(s source) int64 {
	if s.path == "" {
		return 256 // a row of the runs table among others
	}
	info, err := os.Stat(s.path)
	if err != nil {
		return 0 // reading it will say so
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
	w := &segmentWriter{b: b, def: def, schema: schema, out: columns.NewBuffer(schema), load: load}
	defer w.abandon()
	if def.Name == evidence.RunsTable {
		w.runs = evidence.NewRunAppender()
	}
	for _, group := range plan.groups {
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
