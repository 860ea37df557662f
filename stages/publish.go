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
	"github.com/flameox/flameox/graph/gc"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/selftrace"
	"github.com/flameox/flameox/internal/vfs"
	"github.com/flameox/flameox/stages/program"
)

// Publish brings the published view up to date with the store: a row of runs for every stage that was run or imported, the rows of the
// extraction that is linked to it, and what the engine sampled while it ran. What cannot be read is left out and in the report; the
// store then knows which of it is damaged, so that the next plan finds the evidence lost. The caller holds the append lock of the view.
func Publish(ctx context.Context, s *graph.Store) (publish.Report, error) {
	defer selftrace.Begin(ctx, "publish").End()
	collected, err := gc.Collected(vfs.OS{}, s.Dir)
	if err != nil {
		return publish.Report{}, fmt.Errorf("publish: %w", err)
	}
	report, err := publish.New(filepath.Join(s.Dir, "evidence"), s.Now).Publish(ctx, desired(s, collected))
	for _, l := range report.LeftOut {
		if l.Lost && !l.Given {
			// A disk that changes bytes leaves size and times as they were; a store that trusts those would never look again.
			s.CAS.Verify(l.Digest)
		}
	}
	return report, err
}

// rowVersion is raised whenever row makes another row of the same records: then every row is published anew.
const rowVersion = 2

// desired is what should be published. What runs gave up to a collection is not missed.
func desired(s *graph.Store, collected map[string]bool) publish.Desired {
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
		if strings.HasPrefix(r.Kind, "extract.") || strings.HasPrefix(r.Kind, "register.") { // its rows are under the run that they are evidence of
			continue
		}
		extractions := ""
		for _, l := range links[r.Run] {
			x := byRun[l.Extraction]
			if x == nil {
				continue
			}
			extractions += fmt.Sprintf(" %s %d", x.Run, x.Revision)
			d.Parts = append(d.Parts, parts(s, r.Run, l.Provider, x, collected)...)
		}
		d.Parts = append(d.Parts, parts(s, r.Run, "flameox", r, collected)...)
		// The row follows from the record, its revision, and the extractions that say how complete its evidence is.
		d.Runs = append(d.Runs, publish.RunRef{
			Run: r.Run, From: r.Address,
			Digest: digest.SumString(fmt.Sprintf("%d %s %d%s", rowVersion, r.Run, r.Revision, extractions)),
		})
	}
	d.Load = func(run string) (*evidence.Run, error) { return row(byRun, links, run) }
	return d
}

// parts are the table parts among the outputs of from, under the run that they are evidence of. Whether they can be read is not
// looked at: what is published already stays visible when its blob is lost, and the publisher examines what is new.
func parts(s *graph.Store, run, provider string, from *cache.Summary, collected map[string]bool) (out []publish.Part) {
	for _, o := range from.Outputs {
		if table, ok := strings.CutPrefix(o.Role, program.RoleTable); ok {
			out = append(out, publish.Part{Run: run, Table: table, Provider: provider, Path: s.CAS.Path(o.Digest), Digest: o.Digest, From: from.Address, Given: collected[from.Run]})
		}
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
	state, sensitive := evidence.State(""), graph.IsSensitive(rec.Outputs)
	for _, l := range links[run] {
		x := byRun[l.Extraction]
		if x == nil {
			continue
		}
		state = evidence.Worse(state, evidence.State(x.State))
		sensitive = sensitive || graph.IsSensitive(x.Outputs)
		// A row without the limitations of its evidence would say more than is known.
		xr, err := x.Record()
		if err != nil {
			return nil, fmt.Errorf("read the extraction of run %s: %w", run, err)
		}
		out.Limitations = append(out.Limitations, texts(xr.Limitations)...)
		if out.Producer == nil {
			out.Producer = text(xr.Producer)
		}
	}
	out.State = text(string(state))
	if sensitive {
		out.Sensitivity = text(string(cache.Sensitive))
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
