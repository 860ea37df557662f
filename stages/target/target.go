// Package target is the stage kind that says what is measured. In this version it is the working tree; what it
// holds enters keys through the content of the files that stages read, never through a revision.
package target

import (
	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/lang"
	"github.com/flameox/flameox/stages/kind"
)

// Kind is the block `target "<what>" "<name>"`.
type Kind struct{}

// Options of `target "working_tree"`.
type Options struct{}

// Target is what stages that stand on it see.
type Target struct {
	// Identity is what it contributes to a key.
	Identity string
}

// BlockType describes the block.
func (Kind) BlockType() lang.BlockType {
	return lang.BlockType{
		Type: "target", Labels: []string{"what", "name"},
		Doc: "What is measured.",
		Schemas: map[string]*lang.Schema{
			"working_tree": {
				Doc:     "The files of the project as they are now. Stages that stand on it run in the live tree: an input that changes while a stage runs makes the attempt invalid.",
				Options: &Options{},
				Stage:   true,
			},
		},
	}
}

// Compile makes an identity node.
func (Kind) Compile(inst *lang.Instance, c *kind.Compiler) (*kind.Compiled, error) {
	return &kind.Compiled{
		Node:  c.Node(inst, graph.Identity, nil),
		Value: &Target{Identity: "working_tree"},
	}, nil
}
