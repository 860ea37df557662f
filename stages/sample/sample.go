// Package sample is the stage kind that watches the processes of another stage while that runs: it joins the stage's session. What it sees is evidence
// of that stage's runs. It runs nothing by itself.
package sample

import (
	"fmt"
	"time"

	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/lang"
	"github.com/flameox/flameox/stages/kind"
	"github.com/flameox/flameox/stages/server"
)

// Bounds of the interval: what the broker's sampler can do.
const (
	shortest = 25 * time.Millisecond
	longest  = 10 * time.Second
)

// Kind is the block `sample "resources" "<name>"`.
type Kind struct{}

// Options of a sampler.
type Options struct {
	During   lang.Ref      `arg:"during" kinds:"capture" doc:"the stage whose session it joins, and in whose key it is" facet:"definition"`
	Of       lang.Ref      `arg:"of,optional" kinds:"server" doc:"only the processes of this server; without it those of the command and of every server of the session" facet:"definition"`
	Interval time.Duration `arg:"interval" default:"\"50ms\"" doc:"from 25ms to 10s; without a sampler processes are looked at every 250ms" facet:"definition"`
}

// BlockType describes the block.
func (Kind) BlockType() lang.BlockType {
	return lang.BlockType{
		Type: "sample", Labels: []string{"kind", "name"},
		Doc: "Watches the processes of another stage while that runs.",
		Schemas: map[string]*lang.Schema{"resources": {
			Doc: "Looks at memory, CPU time, threads and free space of the processes of a stage more often than is usual. The rows are in the table resources, " +
				"under the runs of that stage. A stage that is watched otherwise is another measurement, and runs again.",
			Options: &Options{},
			Stage:   true,
		}},
	}
}

// Compile joins the session of the stage.
func (Kind) Compile(inst *lang.Instance, c *kind.Compiler) (*kind.Compiled, error) {
	o := inst.Options.(*Options)
	if o.Interval < shortest || o.Interval > longest {
		return nil, fmt.Errorf("interval is %s: give %s to %s", o.Interval, shortest, longest)
	}
	session := c.Of(o.During.Instance).Session
	if session == nil {
		return nil, fmt.Errorf("%s starts no process that could be watched", o.During.Instance.Address())
	}
	sampler := kind.Sampler{Name: inst.Address().String(), Interval: o.Interval}
	of, err := kind.Value[*server.Server](c, o.Of)
	if err != nil {
		return nil, err
	}
	if of != nil {
		if !session.Uses(of) {
			return nil, fmt.Errorf("%s does not use %s: its command holds none of the server's tokens", o.During.Instance.Address(), of.Address())
		}
		if of.Shared() {
			return nil, fmt.Errorf("%s is shared, and what it uses belongs to no one stage: set its lease to \"fresh\", or leave of out", of.Address())
		}
		sampler.Of = of
	}
	session.Join(sampler)
	return &kind.Compiled{Node: c.Node(inst, graph.Definition, nil)}, nil
}
