package reduce

import (
	"errors"
	"fmt"
	"path"

	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/internal/digest"
)

// mostConflicts is how often an append to the run is tried again because somebody else appended meanwhile.
const mostConflicts = 10

// register appends the result to the run that left the original, by compare-and-swap on its newest revision. The same bytes are appended once.
func (r *reduction) register() error {
	for try := 1; ; try++ {
		if err := r.task.Store.Cache.Refresh(); err != nil {
			return err
		}
		sum, err := r.task.Store.Cache.Run(r.run)
		if err != nil {
			return fmt.Errorf("register the result with run %s: %w", r.run, err)
		}
		run, err := sum.Record()
		if err != nil {
			return fmt.Errorf("register the result with run %s: %w", r.run, err)
		}
		if has(run, r.final.Digest) {
			return nil
		}
		out := r.final
		out.Name = unused(run, "shrinkray/"+path.Base(r.final.Name))
		out.Role = cache.RolePrefixRegistered + RoleCandidate
		if graph.IsSensitive(run.Outputs) {
			out.Sensitivity = graph.Stricter(out.Sensitivity, cache.Sensitive)
		}
		run.Outputs = append(run.Outputs, out)
		run.Registrations = append(run.Registrations, cache.Registration{
			Output: out.Name, Provider: "shrinkray", Version: version, Producer: producer, From: r.original.Name, By: r.task.Run, Reviewed: run.Revision,
			When: r.task.Store.Now().UTC(),
		})
		run.Revision++
		// The blob is durable already.
		err = r.task.Store.Cache.Commit(nil, []*cache.Record{run}, nil)
		var conflict *cache.ConflictError
		if errors.As(err, &conflict) && try < mostConflicts {
			continue
		}
		if err != nil {
			return fmt.Errorf("register the result with run %s: %w", r.run, err)
		}
		return nil
	}
}

// has says whether the bytes were registered with the run before.
func has(run *cache.Record, sum digest.Digest) bool {
	for i := range run.Outputs {
		if o := &run.Outputs[i]; o.Registered() && o.Role == cache.RolePrefixRegistered+RoleCandidate && o.Digest == sum {
			return true
		}
	}
	return false
}

func unused(run *cache.Record, name string) string {
	for n, taken := 2, name; ; n++ {
		if run.Output(taken) == nil {
			return taken
		}
		taken = fmt.Sprintf("%s.%d", name, n)
	}
}
