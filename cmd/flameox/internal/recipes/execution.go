package recipes

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/cmd/flameox/internal/cmdline"
	"github.com/flameox/flameox/internal/flags"
	"github.com/flameox/flameox/stages/workspace"
)

var changedColumns = []column{{"change", "change", "", false}, {"what", "what", "", false}, {"file", "file", "", false}, {"line", "line", "", true}, {"line_to", "to", "", true}}

// changed is the question what two runs ran differently, whatever the context. An arc that only one of them took is how a line that both ran changed.
func changed(c *cli.Context, w *workspace.Workspace, since string) (string, error) {
	if c.NArg() != 1 {
		return "", flags.Usage(c, "-since compares two runs; give the other one, too")
	}
	after, err := cmdline.FindRun(c, w, c.Args().First())
	if err != nil {
		return "", err
	}
	before, err := cmdline.FindRun(c, w, since)
	if err != nil {
		return "", err
	}
	if after.Run == before.Run {
		return "", fmt.Errorf("-since %s is the same run, %s", since, after.Run)
	}
	one := func(run string) string {
		return fmt.Sprintf("SELECT DISTINCT 'line' AS what, file, line, NULL::BIGINT AS line_to FROM coverage_lines WHERE run = %[1]s"+
			" UNION ALL SELECT DISTINCT 'arc', file, line_from, line_to FROM coverage_arcs WHERE run = %[1]s", text(run))
	}
	return fmt.Sprintf(`WITH a AS (%s), b AS (%s)
SELECT 'added' AS change, what, file, line, line_to, %[3]s AS run FROM (FROM b EXCEPT FROM a)
UNION ALL SELECT 'removed', what, file, line, line_to, %[4]s FROM (FROM a EXCEPT FROM b)
ORDER BY file, line, line_to NULLS FIRST, what, change`, one(before.Run), one(after.Run), text(after.Run), text(before.Run)), nil
}
