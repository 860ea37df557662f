package managed

import (
	"context"

	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/graph/facet"
)

// Runtime is an environment that flameox builds.
type Runtime interface {
	// Describe says what the environment is, from its lock and its interpreter alone: it builds nothing, and is exact before
	// anything is built. The error may be a *graph.BlockedError.
	Describe(ctx context.Context, in *graph.Results) (*Description, error)
	// Ready makes sure that the environment stands as described, and builds it where it does not, from what is in the store.
	Ready(ctx context.Context, t *graph.Task, d *Description) (*Place, error)
}

// Description is what an environment is made of.
type Description struct {
	Manifest facet.Manifest // of the stage that builds it; its key is the environment's
	Facts    []facet.Entry  // for the executables facet of what runs in it
	// Programs are the names of what the environment runs by itself, and the file that each really is: the interpreter.
	Programs map[string]string
	Hint     string // how a program of it is started, where a name is not found: a clause
	Value    any    // the runtime's own
}

// Place is an environment that stands.
type Place struct {
	Dir      string
	Bin      string            // goes first in PATH
	Programs map[string]string // the names of Description.Programs, as files of the environment
	Scripts  map[string]string // of the programs that the interpreter runs, by name: the file, which goes before the arguments
	Env      map[string]string // variables that say where it lies; recorded, not keyed
	Notes    []cache.Note      // what happened on the way: it was damaged and built again
}
