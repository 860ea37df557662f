package managed

import (
	"fmt"
	"slices"

	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/broker"
	"github.com/flameox/flameox/graph/cas"
	"github.com/flameox/flameox/internal/digest"
)

// StepError is a step of building an environment that failed.
type StepError struct {
	What   string // "fetch the packages"
	Detail string
}

func (e *StepError) Error() string { return "could not " + e.What + ": " + e.Detail }

// Ending is how a tool ended, in a word or two.
func Ending(res *broker.Result) string {
	switch {
	case res.Cause != "":
		return res.Cause
	case res.Signal != "":
		return res.Signal
	}
	return fmt.Sprintf("exit status %d", res.Exit)
}

// Variables are environment variables as a process gets them, sorted.
func Variables(vars map[string]string) []string {
	out := make([]string, 0, len(vars))
	for name, v := range vars {
		out = append(out, name+"="+v)
	}
	slices.Sort(out)
	return out
}

// Kept is the tree called name that the newest valid run under a key left; ok is false where none is whole in the store. It is looked up by key:
// nothing else of the run matters.
func Kept(t *graph.Task, key digest.Digest, name string) (tree digest.Digest, ok bool) {
	for _, r := range slices.Backward(t.Store.Cache.Lookup(key)) {
		if !r.Valid() {
			continue
		}
		for _, o := range r.Outputs {
			if o.Tree && o.Name == name && t.Store.CAS.CheckTree(o.Digest) == cas.Present {
				return o.Digest, true
			}
		}
	}
	return tree, false
}
