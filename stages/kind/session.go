package kind

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/facet"
)

// Session is what runs together for one attempt of a stage. Blocks that refer to the stage may join it while the configuration is compiled; it is read
// when the stage is asked for its actions.
type Session struct {
	Leases   []Lease // that the stage uses, in the order of their numbers in its key
	samplers []Sampler
}

// Uses says whether the stage uses a lease.
func (s *Session) Uses(l Lease) bool { return slices.Contains(s.Leases, l) }

// Suits says why a stage cannot use what it asks for.
func (s *Session) Suits(n *graph.Node) error {
	for _, l := range s.Leases {
		if d, ok := l.(Demanding); ok {
			if err := d.Suits(n); err != nil {
				return fmt.Errorf("it uses %s: %w", l.Address(), err)
			}
		}
	}
	return nil
}

// Sampler watches the processes of a session.
type Sampler struct {
	Name     string // for messages
	Of       Lease  // whose processes; nil for all of the session
	Interval time.Duration
}

// Join adds a sampler.
func (s *Session) Join(x Sampler) { s.samplers = append(s.samplers, x) }

// Every is how often the processes of a lease, or of the command for nil, are sampled; 0 where nothing says it. The most frequent sampler wins.
func (s *Session) Every(l Lease) (every time.Duration) {
	if s == nil {
		return 0
	}
	for _, x := range s.samplers {
		if (x.Of == nil || x.Of == l) && (every == 0 || x.Interval < every) {
			every = x.Interval
		}
	}
	return every
}

// Facts say how the session is watched, for the definition facet: what is watched more often is another measurement.
func (s *Session) Facts() (out []facet.Entry) {
	for _, x := range s.samplers {
		of := "session"
		if x.Of != nil {
			of = "server#" + strconv.Itoa(1+slices.Index(s.Leases, x.Of))
		}
		out = append(out, facet.Entry{Name: "sampled " + of, Value: x.Interval.String(), Note: "interval of " + x.Name})
	}
	return out
}
