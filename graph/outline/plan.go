package outline

import (
	"strconv"
	"time"

	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/facet"
)

// Plan is a decision about every stage, in the order of the graph.
type Plan struct {
	Stages  []Stage
	Servers []string // addresses of all servers, in the order of the graph
	// Withheld are the variables that are sensitive: their values are in no document.
	Withheld []string

	lazy func() ([]byte, bool) // what Again and manifests need; nil once it is decoded
}

// Stage is the decision about one instance.
type Stage struct {
	Block string // "capture.gobench.sort"
	Key   string // of the instance: "impl=a,rows=1000", or ""
	// Planned is the decision as a document has it, but for its address and, unless Manifests were asked for, its manifests.
	Planned      graph.PlannedStage
	EstimateRuns int
	Elsewhere    bool      // the estimate comes from another class of machine
	Started      time.Time // of the newest of the current results; zero where there is none
	Host         string    // that made it

	more more
}

// more is what deciding again needs.
type more struct {
	manifests []facet.Manifest
	keyed     []string // roots of sources in coded manifests
	coded     string   // manifests that are not decoded yet; texts are nil where they are
	texts     []string
	needs     []int // stages that it stands on
	waits     []int // stages that only have to be done before
	servers   []int
	nature    graph.Nature
	attempts  int
	reuse     graph.Reuse
	fixed     bool // it cannot be decided again without its stage
}

// Address is the stage's address as a document has it.
func (s *Stage) Address() string {
	if s.Key == "" {
		return s.Block
	}
	return s.Block + "[" + strconv.Quote(s.Key) + "]"
}

// Of is the outline of a plan. fixed says that none of its stages may be decided again.
func Of(p *graph.Plan, withheld []string, fixed bool) *Plan {
	o := &Plan{Withheld: withheld, Stages: make([]Stage, 0, len(p.Decisions))}
	number := make(map[*graph.Node]int, len(p.Decisions))
	servers := map[*graph.Node]int{}
	for _, n := range p.Graph.Nodes {
		if n.Lease {
			servers[n] = len(o.Servers)
			o.Servers = append(o.Servers, n.Address.String())
		}
	}
	for i, d := range p.Decisions {
		n := d.Node
		number[n] = i
		s := Stage{Block: n.Address.Block, Key: n.Address.Axes.Key()}
		s.decide(d)
		s.more = more{
			manifests: s.more.manifests, nature: n.Nature, attempts: n.Attempts, reuse: n.Reuse, fixed: fixed,
			needs: numbers(number, n.Needs()), waits: numbers(number, n.Waits()), servers: numbers(servers, n.Leases()),
		}
		for _, a := range d.Actions() {
			s.more.fixed = s.more.fixed || a.Blocked != nil
		}
		o.Stages = append(o.Stages, s)
	}
	return o
}

func numbers(of map[*graph.Node]int, nodes []*graph.Node) (out []int) {
	for _, n := range nodes {
		out = append(out, of[n])
	}
	return out
}

// decide takes over a decision. One that could not be asked what its key is made of has no manifests, whatever it had before.
func (s *Stage) decide(d *graph.Decision) {
	s.more.manifests, s.more.coded, s.more.texts = d.Manifests(), "", nil
	s.Planned, s.EstimateRuns, s.Elsewhere = d.Planned(), d.EstimateRuns, d.EstimateElsewhere
	s.Started, s.Host = time.Time{}, ""
	if n := len(d.Records); n > 0 {
		s.Started, s.Host = d.Records[n-1].Started, d.Records[n-1].Host
	}
}

// Ready says whether everything is there that Started and Document need.
func (p *Plan) Ready() bool {
	if len(p.Servers) == 0 {
		return true
	}
	return p.expand()
}

// Summary counts.
func (p *Plan) Summary() graph.PlanSummary {
	var sum graph.PlanSummary
	for i := range p.Stages {
		s := &p.Stages[i]
		sum.Add(s.Planned.State, time.Duration(s.Planned.Estimate), s.EstimateRuns, s.Elsewhere)
	}
	return sum
}

// Started are the servers that stages which run, or may, have started, in the order of the graph. Nothing, where the rest of a remembered plan
// cannot be read any more: Ready says so before.
func (p *Plan) Started() (out []graph.PlannedServer) {
	if len(p.Servers) == 0 || !p.Ready() {
		return nil
	}
	count := make([]int, len(p.Servers))
	for i := range p.Stages {
		switch p.Stages[i].Planned.State {
		case graph.Run, graph.TopUp, graph.MayRun:
			for _, k := range p.Stages[i].more.servers {
				count[k]++
			}
		}
	}
	for k, n := range count {
		if n > 0 {
			out = append(out, graph.PlannedServer{Address: p.Servers[k], Stages: n})
		}
	}
	return out
}

// Document is the plan as data. What it says of the moment, the machine and the command line is the caller's to fill in. It is false where
// the remembered manifests cannot be read any more.
func (p *Plan) Document() (*graph.PlanDocument, bool) {
	sum := p.Summary()
	if sum.Run+sum.TopUp > 0 && !p.expand() {
		return nil, false
	}
	doc := &graph.PlanDocument{Format: graph.PlanFormat, Summary: sum, Servers: p.Started(), Stages: make([]graph.PlannedStage, len(p.Stages))}
	for i := range p.Stages {
		s := &p.Stages[i]
		doc.Stages[i] = s.Planned
		doc.Stages[i].Address = s.Address()
		if s.Planned.State == graph.Run || s.Planned.State == graph.TopUp {
			if !s.more.expand() {
				return nil, false
			}
			doc.Stages[i].Manifest = s.more.manifests
		}
	}
	return doc, true
}
