package cmdline

import (
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/cache"
)

// Shown is a run as it may be shown: where it is sensitive and the flag that shows it was not given, without what derives from the content of artifacts:
// its results, and what a reader of artifacts said of them. That it ran, and how it ended, is no secret.
func Shown(c *cli.Context, rec *cache.Record) *cache.Record {
	if c.Bool(SensitiveFlag.Name) || !graph.IsSensitive(rec.Outputs) {
		return rec
	}
	out := *rec
	out.Results = nil
	out.Invalid, out.Limitations = silent(rec.Invalid), silent(rec.Limitations)
	return &out
}

// ours are the codes of the notes that quote no artifact: how a process ended, and what stood beside it. A note of a code that is not here may.
var ours = []string{
	"exit", "signal", "timeout", "cancelled", "output_limit", "memory_limit", "storage_reserve", "not_started", "process_left",
	"inputs_changed_during_run", "executable_changed", graph.Contended, "contention_unknown", graph.NotReproducible,
	"server_not_started", "server_exited", "server_ended", "shared_server", "existing_server",
}

func silent(notes []cache.Note) (out []cache.Note) {
	for _, n := range notes {
		if !slices.Contains(ours, n.Code) {
			n.Text = "what it says is sensitive; `flameox show -" + SensitiveFlag.Name + "` shows it"
		}
		out = append(out, n)
	}
	return out
}

// MayShow is an error where a run's artifacts are sensitive and the flag that shows them was not given.
func MayShow(c *cli.Context, rec *cache.Record) error {
	if c.Bool(SensitiveFlag.Name) || !graph.IsSensitive(rec.Outputs) {
		return nil
	}
	return fmt.Errorf("what run %s of %s left is sensitive and is not shown; -%s shows it", rec.Run, rec.Address, SensitiveFlag.Name)
}
