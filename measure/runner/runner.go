package runner

import (
	"context"
	"os"
	"slices"
	"time"

	"github.com/flameox/flameox/graph/broker"
	"github.com/flameox/flameox/measure/harness"
	"github.com/flameox/flameox/measure/harness/asv"
	"github.com/flameox/flameox/measure/harness/googlebenchmark"
	"github.com/flameox/flameox/measure/harness/pyperf"
)

// Refusal is an order that cannot be applied exactly. Nothing was measured, and nothing was left.
type Refusal = harness.Refusal

// Case is one workload of a suite. Its Text is what a filter is searched in.
type Case = harness.Case

// Options are how this invocation runs an order; nothing of them is in the results' identity.
type Options struct {
	Broker          *broker.Broker // one is made where it is nil
	Environ         []string       // that the harness inherits; os.Environ() where nil
	AllowCollectors bool           // run the commands that the order names under collectors
	Root            string         // of the project: what {root} in a collector's argument stands for
	// Exclude are absolute paths that are no part of a measured tree: the store, and the folder of results.
	Exclude []string
	Version string // of the program, recorded in the results
	// Progress is told of every case when it has ended; nil where nobody listens.
	Progress func(Done)
	Now      func() time.Time // the clock of started_at; time.Now where nil
	// Load is the load average over a minute and how it was read; the machine's where nil.
	Load func() (value float64, probe string, ok bool)
}

// Done is a case that has ended.
type Done struct {
	Index, Of int // from 1
	Case      Case
	Results   []map[string]any // of the case, without conditions
}

// Ran is what an order left.
type Ran struct {
	OrderHash string           // sha256:…
	OrderFile string           // the copy of the order, absolute
	Files     []string         // of the results in the order of their cases, absolute
	Results   []map[string]any // the same, as documents
	Warnings  []string         // that every result carries
}

// Harnesses are all, by name.
func Harnesses() []harness.Harness {
	return []harness.Harness{asv.New(), googlebenchmark.New(), pyperf.New()}
}

// HarnessNamed is the harness that orders call by a name.
func HarnessNamed(name string) (harness.Harness, bool) {
	for _, h := range Harnesses() {
		if h.About().Name == name {
			return h, true
		}
	}
	return nil, false
}

// Names are those of all harnesses.
func Names() []string {
	var out []string
	for _, h := range Harnesses() {
		out = append(out, h.About().Name)
	}
	slices.Sort(out)
	return out
}

func (o Options) now() time.Time {
	if o.Now != nil {
		return o.Now().UTC()
	}
	return time.Now().UTC()
}

func (o Options) environ() []string {
	if o.Environ != nil {
		return o.Environ
	}
	return os.Environ()
}

// Cases are those that running the order would measure, in their order. Nothing is measured, and nothing is left. The error is a *Refusal where Run would refuse
// the order.
func Cases(ctx context.Context, order map[string]any, opts Options) ([]Case, error) {
	p, err := prepare(ctx, order, opts)
	if err != nil {
		return nil, err
	}
	defer p.close()
	return p.cases, nil
}

// Run applies a resolved order and leaves its results in the folder out, which is made. The error is a *Refusal where the order cannot be applied exactly; then out is as it was. Where ctx ends, the case that ran is
// ended and left out, and the results before it stay.
func Run(ctx context.Context, order map[string]any, out string, opts Options) (*Ran, error) {
	p, err := prepare(ctx, order, opts)
	if err != nil {
		return nil, err
	}
	defer p.close()
	return p.run(ctx, out)
}
