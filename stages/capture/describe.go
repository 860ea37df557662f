package capture

import (
	"fmt"
	"strings"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/graph/facet"
	"github.com/flameox/flameox/internal/token"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/stages/environment/python"
	"github.com/flameox/flameox/stages/program"
)

// keep takes what the run left, and what its provider says about it.
func (s *stage) keep(t *graph.Task, rec *cache.Record, manifest *facet.Manifest) error {
	var leftOut []evidence.Limitation
	if s.invocation.Inventory == nil {
		if err := program.PutOutputs(t, rec, s.invocation.Outputs); err != nil {
			return err
		}
	} else {
		var err error
		if leftOut, err = program.PutInventory(t, rec, s.invocation.Outputs, *s.invocation.Inventory); err != nil {
			return err
		}
		for _, l := range leftOut {
			rec.Limitations = append(rec.Limitations, cache.Note{Code: l.Code, Text: l.Text})
		}
	}
	d, ok := s.provider.(providers.Describer)
	if !ok {
		return nil
	}
	doc, err := d.Describe(s.left(t, rec, manifest, leftOut))
	if err != nil {
		return fmt.Errorf("describe what %s left: %w", s.inst.Address(), err)
	}
	sum, err := t.Batch.PutBytes(doc.Content)
	if err != nil {
		return fmt.Errorf("keep %s: %w", doc.Name, err)
	}
	rec.Outputs = append(rec.Outputs, cache.Output{Name: doc.Name, Role: doc.Role, MediaType: doc.MediaType, Digest: sum, Size: int64(len(doc.Content))})
	return nil
}

// left is the run as its provider may know it. Nothing in it is of this run alone, such as its times.
func (s *stage) left(t *graph.Task, rec *cache.Record, manifest *facet.Manifest, leftOut []evidence.Limitation) providers.Left {
	l := providers.Left{
		Options: s.options, Invocation: s.invocation, Succeeded: rec.Execution == cache.ExecutionSucceeded, Exit: rec.Exit, LeftOut: leftOut,
		Workload: s.definition, Facets: map[string]string{}, Packages: map[string]string{}, Device: map[string]string{},
	}
	for _, a := range s.workload.Program.Command {
		l.Command = append(l.Command, token.Display(a))
	}
	l.Outputs, _ = program.Artifacts(t.Store, rec.Outputs)
	for i := range l.Outputs {
		l.Outputs[i].Path = "" // it is not durable yet, and reading it is a worker's
	}
	for i := range manifest.Facets {
		f := &manifest.Facets[i]
		l.Facets[string(f.Name)] = f.Digest().String()
		for _, e := range f.Entries {
			switch f.Name {
			case facet.HostClass:
				l.Device[e.Name] = e.Value
			case facet.Executables:
				addPackage(l.Packages, e)
			}
		}
	}
	return l
}

// addPackage adds the version of a package that an interpreter has: of a lock, or as it stands on the machine. Of one that a lock has in several versions, for several
// platforms, it is not known which was loaded.
func addPackage(packages map[string]string, e facet.Entry) {
	name, ok := strings.CutPrefix(e.Name, program.DistributionFact)
	if !ok {
		if name, ok = strings.CutPrefix(e.Name, python.PackageFact); !ok {
			return
		}
		name, _, _ = strings.Cut(name, " ; ")
	}
	if v, twice := packages[name]; twice && v != e.Value {
		packages[name] = ""
		return
	}
	packages[name] = e.Value
}
