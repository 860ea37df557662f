package stages

import (
	"github.com/flameox/flameox/stages/adapter"
	"github.com/flameox/flameox/stages/environment"
	"github.com/flameox/flameox/stages/environment/node"
	"github.com/flameox/flameox/stages/environment/python"
	"github.com/flameox/flameox/stages/host"
)

// Hosts are the declared classes of machine, in the order of the configuration.
func (e *Experiment) Hosts() []*host.Declared {
	var out []*host.Declared
	for _, inst := range e.Expansion.Instances {
		if c := e.compiled.Of(inst); c != nil {
			if d, ok := c.Value.(*host.Declared); ok {
				out = append(out, d)
			}
		}
	}
	return out
}

// Environment is a declared environment by its address.
type Environment struct {
	Address     string
	Type        string // host, python, node
	Interpreter string // of one that flameox builds: what its base is looked up by
	Host        *environment.Host
}

// Environments are the declared environments, in the order of the configuration.
func (e *Experiment) Environments() []Environment {
	var out []Environment
	for _, inst := range e.Expansion.Instances {
		if c := e.compiled.Of(inst); c != nil {
			if h, ok := c.Value.(*environment.Host); ok {
				env := Environment{Address: inst.Address().String(), Type: inst.Block.Labels[0], Host: h}
				switch o := inst.Options.(type) {
				case *python.Options:
					env.Interpreter = o.Interpreter
				case *node.Options:
					env.Interpreter = o.Interpreter
				}
				out = append(out, env)
			}
		}
	}
	return out
}

// Adapters are the declared programs of third parties, in the order of the configuration.
func (e *Experiment) Adapters() []*adapter.Adapter {
	var out []*adapter.Adapter
	for _, inst := range e.Expansion.Instances {
		if c := e.compiled.Of(inst); c != nil {
			if a, ok := c.Value.(*adapter.Adapter); ok {
				out = append(out, a)
			}
		}
	}
	return out
}
