package profiles

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/cmd/flameox/internal/cmdline"
	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/evidence/callgraph"
	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/internal/suggest"
	"github.com/flameox/flameox/stages/program"
	"github.com/flameox/flameox/stages/workspace"
)

// Flags of every command that shows a profile.
var (
	MetricFlag   = &cli.StringFlag{Name: "metric", Usage: "the `METRIC` to weigh by; the producer's default where it is left out"}
	ProviderFlag = &cli.StringFlag{Name: "provider", Usage: "the `PROVIDER` whose rows are meant, where several extracted the run"}
)

// Opened is the profile of a run, with what a reader must know to judge it.
type Opened struct {
	Record     *cache.Record // of the capture or the import
	Extraction *cache.Record // that made the rows
	Provider   string
	Profile    *callgraph.Profile
	Metric     callgraph.Metric
	Total      int64 // of all samples in Metric; what a budget dropped is in it where the extraction says so
	digests    []string
}

// Of is what an answer is about, in every document.
type Of struct {
	Run         string           `json:"run"`                  // of the capture or the import
	Address     string           `json:"address"`              // of the stage at the time of the run
	Host        string           `json:"host,omitempty"`       // where it ran
	Started     time.Time        `json:"started"`              // UTC, wall clock
	Extraction  string           `json:"extraction"`           // run of the extraction that made the rows
	Provider    string           `json:"provider"`             // that extracted
	Producer    string           `json:"producer,omitempty"`   // version of the producer, as the artifact states it
	Metric      callgraph.Metric `json:"metric"`               // all weights are of it, in its unit
	Total       int64            `json:"total"`                // weight of all samples
	State       string           `json:"state"`                // of the evidence: complete, partial, empty
	ProfileOf   string           `json:"profile_of,omitempty"` // the stage without the profiler that the run belongs to
	Limitations []cache.Note     `json:"limitations"`          // what the rows do not say
}

// Open finds the run that name stands for and opens its profile.
func Open(c *cli.Context, w *workspace.Workspace, name string) (*Opened, error) {
	rec, err := cmdline.FindRun(c, w, name)
	if err != nil {
		return nil, err
	}
	return OpenRecord(c, w.Store, rec, c.String(MetricFlag.Name))
}

// OpenRecord opens the profile of a run in the metric called metric, or in the producer's default for "".
func OpenRecord(c *cli.Context, s *graph.Store, rec *cache.Record, metric string) (*Opened, error) {
	if err := cmdline.MayShow(c, rec); err != nil {
		return nil, err
	}
	o := &Opened{Record: rec}
	var err error
	if strings.HasPrefix(rec.Kind, "extract.") {
		o.Extraction, o.Provider = rec, strings.TrimPrefix(rec.Kind, "extract.")
		if p := c.String(ProviderFlag.Name); p != "" && p != o.Provider {
			return nil, fmt.Errorf("run %s of %s holds the rows of %s, not of %s", rec.Run, rec.Address, o.Provider, p)
		}
		err = o.source(s)
	} else {
		err = o.extraction(s, c.String(ProviderFlag.Name))
	}
	if err != nil {
		return nil, err
	}
	if err := cmdline.MayShow(c, o.Extraction); err != nil {
		return nil, err
	}
	if err := o.rows(s, metric); err != nil {
		return nil, err
	}
	return o, nil
}

// source finds the run that an extraction's rows are the evidence of: the newest, where equal artifacts share the extraction.
func (o *Opened) source(s *graph.Store) error {
	links := s.Cache.Links()
	for _, l := range slices.Backward(links) {
		if l.Extraction != o.Extraction.Run {
			continue
		}
		sum, err := s.Cache.Run(l.Run)
		if err != nil {
			continue // it was collected; the rows stand by themselves
		}
		o.Record, err = sum.Record()
		return err
	}
	return nil
}

// extraction finds the extraction whose rows are the evidence of the run.
func (o *Opened) extraction(s *graph.Store, provider string) error {
	var names []string
	for _, l := range s.Cache.Links() {
		if l.Run != o.Record.Run || provider != "" && l.Provider != provider {
			continue
		}
		sum, err := s.Cache.Run(l.Extraction)
		if err != nil {
			return err
		}
		rec, err := sum.Record()
		if err != nil {
			return err
		}
		if !hasProfile(rec) && o.Extraction != nil {
			continue
		}
		if hasProfile(rec) {
			names = append(names, l.Provider)
		}
		o.Extraction, o.Provider = rec, l.Provider
	}
	switch {
	case len(names) > 1:
		slices.Sort(names)
		return fmt.Errorf("several providers extracted a profile from run %s of %s; choose one by -provider: %s", o.Record.Run, o.Record.Address, strings.Join(names, ", "))
	case o.Extraction == nil && provider != "":
		return fmt.Errorf("%s extracted nothing from run %s of %s; `flameox show %s` says what is there", provider, o.Record.Run, o.Record.Address, o.Record.Run)
	case o.Extraction == nil && !o.Record.Valid():
		return fmt.Errorf("run %s of %s failed, so nothing was extracted from it; `flameox show %s` says why", o.Record.Run, o.Record.Address, o.Record.Run)
	case o.Extraction == nil:
		return fmt.Errorf("no rows were extracted from run %s of %s: a %s leaves none, or `flameox apply` has not extracted them yet", o.Record.Run, o.Record.Address, o.Record.Kind)
	}
	return nil
}

func hasProfile(rec *cache.Record) bool {
	return slices.ContainsFunc(rec.Outputs, func(out cache.Output) bool { return out.Role == program.RoleTable+"frame_values" })
}

// rows opens the parts of the extraction.
func (o *Opened) rows(s *graph.Store, metric string) error {
	rec := o.Extraction
	if !hasProfile(rec) {
		if rec.State == string(evidence.Empty) {
			return fmt.Errorf("the profile of run %s is whole and empty: no sample was taken%s", o.Record.Run, because(rec.Limitations))
		}
		if !rec.Valid() {
			return fmt.Errorf("the extraction from run %s of %s did not work%s", o.Record.Run, o.Record.Address, because(rec.Invalid))
		}
		return fmt.Errorf("run %s of %s left no profile: %s extracts no stacks from it. `flameox show %s` says what is there", o.Record.Run, o.Record.Address, o.Provider, rec.Run)
	}
	parts := map[string][]string{}
	for _, out := range rec.Outputs {
		table, ok := strings.CutPrefix(out.Role, program.RoleTable)
		if !ok || !slices.Contains(callgraph.Tables(), table) {
			continue
		}
		if s.Lost(out) {
			return fmt.Errorf("the rows of run %s are lost; `flameox apply` makes them again", rec.Run)
		}
		parts[table] = append(parts[table], s.CAS.Path(out.Digest))
		o.digests = append(o.digests, out.Digest.String())
	}
	var err error
	if o.Profile, err = callgraph.Open(parts); err != nil {
		return err
	}
	if metric == "" {
		metric = o.standard()
	}
	if o.Metric, err = o.Profile.Metric(metric); err != nil {
		return err
	}
	o.Total, err = o.TotalOf(o.Metric)
	return err
}

func because(notes []cache.Note) string {
	if len(notes) == 0 {
		return ""
	}
	return ": " + notes[0].Text
}

// standard is the metric that the producer shows by itself, or the first where it names none.
func (o *Opened) standard() string {
	for _, key := range []string{"default_metric", "default_sample_type"} {
		var name string
		if json.Unmarshal(o.Extraction.Results[key], &name) == nil && name != "" {
			if m, err := o.Profile.Metric(name); err == nil {
				return m.Name + "/" + m.Unit
			}
		}
	}
	m := o.Profile.Metrics()[0]
	return m.Name + "/" + m.Unit
}

// TotalOf is what all samples weigh in a metric. The extraction knows it for its default metric, of whatever was cut; for others the rows have to say it.
func (o *Opened) TotalOf(m callgraph.Metric) (int64, error) {
	var said int64
	if m.Name+"/"+m.Unit == o.standard() && json.Unmarshal(o.Extraction.Results["total"], &said) == nil && said != 0 {
		return said, nil
	}
	values, err := o.Profile.Values(m)
	return callgraph.Total(values), err
}

// Of describes the answer.
func (o *Opened) Of() Of {
	d := Of{
		Run: o.Record.Run, Address: o.Record.Address, Host: o.Record.Host.Name, Started: o.Record.Started.UTC(), Extraction: o.Extraction.Run,
		Provider: o.Provider, Producer: o.Extraction.Producer, Metric: o.Metric, Total: o.Total, State: o.Extraction.State,
		Limitations: once(o.Record.Limitations, o.Extraction.Limitations),
	}
	if d.Producer == "" {
		d.Producer = o.Record.Producer
	}
	var sem struct {
		ProfileOf string `json:"profile_of"`
	}
	if json.Unmarshal(o.Record.Semantics, &sem) == nil {
		d.ProfileOf = sem.ProfileOf
	}
	return d
}

// frame is the one frame that name means.
func frame(values []callgraph.Value, name string) (callgraph.Value, error) {
	found := callgraph.Find(values, name)
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		var known []string
		for _, v := range values {
			known = append(known, v.Name())
		}
		if best := suggest.Nearest(name, known); best != "" {
			return callgraph.Value{}, fmt.Errorf("no frame of the profile is called %q. Did you mean %s?", name, best)
		}
		return callgraph.Value{}, fmt.Errorf("no frame of the profile is called %q; `flameox hotspots` lists them", name)
	}
	text := ""
	for _, v := range found[:min(10, len(found))] {
		text += "\n  " + v.ID[:12] + "  " + strings.TrimRight(v.Name()+"  "+v.Place(), " ")
	}
	if more := len(found) - 10; more > 0 {
		text += fmt.Sprintf("\n  (%d more)", more)
	}
	return callgraph.Value{}, errors.New(fmt.Sprintf("%d frames are called like %q; give a whole name, or the beginning of an identity:", len(found), name) + text)
}

// once is every note of the lists, in their order and each a single time: what a validator found of a payload, its extractor finds again.
func once(lists ...[]cache.Note) []cache.Note {
	out := []cache.Note{}
	for _, n := range slices.Concat(lists...) {
		if !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}
