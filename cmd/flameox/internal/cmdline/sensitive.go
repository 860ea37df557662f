package cmdline

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/cache"
)

// MayShow is an error where a run's artifacts are sensitive and the flag that shows them was not given.
func MayShow(c *cli.Context, rec *cache.Record) error {
	if c.Bool(SensitiveFlag.Name) || !graph.IsSensitive(rec.Outputs) {
		return nil
	}
	return fmt.Errorf("what run %s of %s left is sensitive and is not shown; -%s shows it", rec.Run, rec.Address, SensitiveFlag.Name)
}
