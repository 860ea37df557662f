package exporting

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/cmd/flameox/internal/cmdline"
	"github.com/flameox/flameox/cmd/flameox/internal/profiles"
	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/evidence/interchange"
	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/internal/view"
	"github.com/flameox/flameox/stages/program"
	"github.com/flameox/flameox/stages/workspace"
)

func exportSamples(c *cli.Context, w *workspace.Workspace, out io.Writer) (string, []interchange.Loss, error) {
	chosen, err := choose(c, w)
	if err != nil {
		return "", nil, err
	}
	var runs []interchange.Run
	for _, rec := range chosen {
		if err := cmdline.MayShow(c, rec); err != nil {
			return "", nil, err
		}
		of, err := samplesOf(c, w.Store, rec)
		if err != nil {
			return "", nil, err
		}
		runs = append(runs, of...)
	}
	if len(runs) == 0 {
		return "", nil, fmt.Errorf("%s has no samples in the table measurements; `flameox export -help` lists the formats of profiles", c.Args().First())
	}
	n, losses, err := interchange.WriteBenchfmt(out, runs)
	if err != nil {
		return "", nil, err
	}
	if n == 0 {
		return "", nil, fmt.Errorf("%s has measurements, and none of them is a sample", c.Args().First())
	}
	return fmt.Sprintf("%s of %s", view.Plural(n, "sample", "samples"), view.Plural(len(runs), "run", "runs")), losses, nil
}

// choose is the run that is named, with the other attempts at its result where it was named by its address, or those of every instance that an address selects.
func choose(c *cli.Context, w *workspace.Workspace) ([]*cache.Record, error) {
	name := c.Args().First()
	matches, err := cmdline.RunsAt(w.Store, name)
	matches = slices.DeleteFunc(slices.Clone(matches), func(r *cache.Summary) bool { return r.Experiment != w.Store.Experiment || !r.Valid() })
	if err != nil || len(matches) == 0 { // a run's id, or a stage for which another's result stands
		rec, err := cmdline.FindRun(c, w, name)
		if err != nil {
			return nil, err
		}
		return []*cache.Record{rec}, nil
	}
	newest := map[string]*cache.Summary{}
	for _, r := range matches {
		newest[r.Address] = r
	}
	var out []*cache.Record
	for _, r := range matches {
		if n := newest[r.Address]; r.Key != n.Key || r.Generation != n.Generation {
			continue
		}
		rec, err := r.Record()
		if err != nil {
			return nil, err
		}
		out = append(out, rec)
	}
	slices.SortStableFunc(out, func(x, y *cache.Record) int { return strings.Compare(x.Address, y.Address) })
	return out, nil
}

// samplesOf are the parts of measurements of a run: its own, and those of the extractions that are linked to it.
func samplesOf(c *cli.Context, s *graph.Store, rec *cache.Record) (out []interchange.Run, err error) {
	add := func(provider string, from *cache.Record) error {
		if err := cmdline.MayShow(c, from); err != nil {
			return err
		}
		if p := c.String(profiles.ProviderFlag.Name); p != "" && p != provider {
			return nil
		}
		r := interchange.Run{Provider: provider, About: rec.Address + ", run " + rec.Run + ", on " + rec.Host.Name + ", " + rec.Started.UTC().Format("2006-01-02 15:04:05 MST")}
		for _, o := range from.Outputs {
			if o.Role != program.RoleTable+evidence.MeasurementsTable {
				continue
			}
			if s.Lost(o) {
				return fmt.Errorf("the rows of run %s are lost; `flameox apply` makes them again", from.Run)
			}
			r.Files = append(r.Files, s.CAS.Path(o.Digest))
		}
		if len(r.Files) > 0 {
			out = append(out, r)
		}
		return nil
	}
	if provider, ok := strings.CutPrefix(rec.Kind, "extract."); ok {
		return out, add(provider, rec)
	}
	for _, l := range s.Cache.Links() {
		if l.Run != rec.Run {
			continue
		}
		sum, err := s.Cache.Run(l.Extraction)
		if err != nil {
			return nil, err
		}
		x, err := sum.Record()
		if err != nil {
			return nil, err
		}
		if err := add(l.Provider, x); err != nil {
			return nil, err
		}
	}
	return out, nil
}
