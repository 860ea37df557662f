package stages

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/evidence/publish"
	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/stages/program"
)

// Publish brings the published view up to date with the store: a row of runs for every capture and import, the rows of the
// extraction that is linked to it, and what the engine sampled while it ran. Damaged or missing parts are left out; they are the next
// plan's business. The caller holds the append lock of the view.
func Publish(ctx context.Context, s *graph.Store) (publish.Report, error) {
	d, err := desired(s)
	if err != nil {
		return publish.Report{}, err
	}
	return publish.New(filepath.Join(s.Dir, "evidence"), s.Now).Publish(ctx, d)
}

// Republish makes the published view anew from the store.
func Republish(ctx context.Context, s *graph.Store) (publish.Report, error) {
	d, err := desired(s)
	if err != nil {
		return publish.Report{}, err
	}
	return publish.New(filepath.Join(s.Dir, "evidence"), s.Now).Rebuild(ctx, d)
}

func desired(s *graph.Store) (publish.Desired, error) {
	d := publish.Desired{}
	byRun := map[string]*cache.Summary{}
	for _, r := range s.Cache.All() {
		byRun[r.Run] = r
	}
	links := map[string][]cache.Link{}
	for _, l := range s.Cache.Links() {
		links[l.Run] = append(links[l.Run], l)
	}
	for _, r := range s.Cache.All() {
		if !strings.HasPrefix(r.Kind, "capture.") && !strings.HasPrefix(r.Kind, "import.") {
			continue
		}
		state := ""
		for _, l := range links[r.Run] {
			x := byRun[l.Extraction]
			if x == nil {
				continue
			}
			state += x.Run
			d.Parts = append(d.Parts, parts(s, r.Run, l.Provider, x.Outputs)...)
		}
		d.Parts = append(d.Parts, parts(s, r.Run, "flameox", r.Outputs)...)
		// The row follows from the record, its revision, and the extraction that says how complete its evidence is.
		d.Runs = append(d.Runs, publish.RunRef{Run: r.Run, Digest: digest.SumString(fmt.Sprintf("%s %d %s", r.Run, r.Revision, state))})
	}
	d.Load = func(run string) (*evidence.Run, error) { return row(byRun, links, run) }
	return d, nil
}

// parts are the table parts among the outputs whose blobs are there.
func parts(s *graph.Store, run, provider string, outputs []cache.Output) (out []publish.Part) {
	for _, o := range outputs {
		table, ok := strings.CutPrefix(o.Role, program.RoleTable)
		if !ok || s.Lost(o) {
			continue
		}
		out = append(out, publish.Part{Run: run, Table: table, Provider: provider, Path: s.CAS.Path(o.Digest), Digest: o.Digest})
	}
	return out
}

// row is the row of the table runs.
func row(byRun map[string]*cache.Summary, links map[string][]cache.Link, run string) (*evidence.Run, error) {
	rec, err := byRun[run].Record()
	if err != nil {
		return nil, fmt.Errorf("read run %s: %w", run, err)
	}
	out := &evidence.Run{
		Run: rec.Run, Revision: int64(rec.Revision), Experiment: rec.Experiment, Address: rec.Address, Block: rec.Block, Axes: map[string]string{},
		Kind: rec.Kind, Nature: rec.Nature, Key: rec.Key.String(), Generation: int64(rec.Generation), Attempt: int64(rec.Attempt),
		Execution: string(rec.Execution), Capture: string(rec.Capture), Validation: string(rec.Validation), Valid: rec.Valid(),
		Invalid: texts(rec.Invalid), Signal: text(rec.Signal), Cause: text(rec.Cause), Started: rec.Started, WallNS: rec.WallNS,
		HostName: text(rec.Host.Name), HostClass: rec.Host.Class, Covariates: rec.Host.Covariates, Labels: rec.Labels,
		Semantics: text(string(rec.Semantics)), Limitations: texts(rec.Limitations), Producer: text(rec.Producer), Flameox: rec.Version,
	}
	out.SourceRevision, out.SourceBranch = text(rec.Source["revision"]), text(rec.Source["branch"])
	for _, a := range rec.Axes {
		out.Axes[a.Name] = a.Value
	}
	if rec.Exit != nil {
		e := int64(*rec.Exit)
		out.Exit = &e
	}
	var sem struct {
		Provider string `json:"provider"`
	}
	if json.Unmarshal(rec.Semantics, &sem) == nil {
		out.Provider = text(sem.Provider)
	}
	for _, l := range links[run] {
		x := byRun[l.Extraction]
		if x == nil {
			continue
		}
		out.State = text(x.State)
		if xr, err := x.Record(); err == nil {
			out.Limitations = append(out.Limitations, texts(xr.Limitations)...)
			if out.Producer == nil {
				out.Producer = text(xr.Producer)
			}
		}
	}
	return out, nil
}

func texts(notes []cache.Note) (out []string) {
	for _, n := range notes {
		out = append(out, n.Code+": "+n.Text)
	}
	return out
}

func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
