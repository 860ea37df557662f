package git

import (
	"context"
	"fmt"
	"strings"
)

// Ancestors are the commits that a revision descends from, and itself: parents before children, and of several lines of history the commits of one after
// those of the other.
func (r *Repo) Ancestors(ctx context.Context, revision string) ([]string, error) {
	if strings.HasPrefix(revision, "-") {
		return nil, fmt.Errorf("%q is no revision", revision)
	}
	out, err := r.run(ctx, r.Root, "rev-list", "--topo-order", "--reverse", revision, "--")
	if err != nil {
		return nil, err
	}
	return strings.Fields(string(out)), nil
}
