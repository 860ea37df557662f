package extract

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/stages/kind"
)

// Document extracts from one payload that is in the store, in a worker like any extraction, and leaves the parts below the task's folder. fail
// says what the worker did wrong; err what flameox could not do.
func Document(ctx context.Context, t *graph.Task, p *kind.Project, x providers.Extractor, a providers.Artifact) (out *evidence.Outcome, parts []evidence.Part, fail *cache.Note, err error) {
	req := request{
		Job: jobExtract, Provider: x.Name(), Version: x.Version(), Input: providers.Input{Artifacts: []providers.Artifact{a}},
		Options: []byte("null"), Budget: evidence.DefaultBudget(), Out: filepath.Join(t.Dir, "rows"),
	}
	if err := os.MkdirAll(req.Out, 0o700); err != nil {
		return nil, nil, nil, fmt.Errorf("make a folder for the rows of %s: %w", a.Name, err)
	}
	res, fail, err := ask(ctx, t, p.Self, &req)
	if err != nil || fail != nil {
		return nil, nil, fail, err
	}
	return &res.Outcome, res.Parts, nil, nil
}
