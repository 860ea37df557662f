package graph

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/internal/address"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/selftrace"
)

// Selection narrows a plan.
type Selection struct {
	Target  []address.Pattern // only these and what they need
	Exclude []address.Pattern // not these; what stands on their stale results is blocked
	Replace []address.Pattern // run again although there is a valid result
}

// Decision is what will become of one node, and why.
type Decision struct {
	Node    *Node
	State   State
	Reasons []Reason
	Have    int              // valid results under the key
	Want    int              // results wanted
	Records []*cache.Summary // the current results: as many of Want as there are, oldest first
	After   *Node            // the upstream node that has to run first
	Block   *BlockedError
	// Estimate is how long running it will take; zero where nothing is known. EstimateElsewhere says that the
	// figures come from another class of machine.
	Estimate          time.Duration
	EstimateElsewhere bool
	EstimateRuns      int

	actions []*Action
	slots   []slot
	keyed   bool          // actions and slots are known
	unread  *BlockedError // why it is not known what stands for the node, also where it is excluded
}

// Keys are the set keys of the node's actions; empty while something upstream has to run first.
func (d *Decision) Keys() []digest.Digest {
	var out []digest.Digest
	for _, s := range d.slots {
		out = append(out, s.key)
	}
	return out
}

// Actions are the node's units of work; nil while something upstream has to run first.
func (d *Decision) Actions() []*Action { return d.actions }

// slot is the standing of one action: which records it has and how many attempts are missing.
type slot struct {
	key        digest.Digest
	generation int // the one that counts
	next       int // index of the next attempt
	missing    int
	records    []*cache.Summary
	level      cache.Sensitivity // of what an attempt leaves
}

// Plan is a decision for every node, in graph order.
type Plan struct {
	Graph     *Graph
	Decisions []*Decision // one a node that computes something
	by        map[*Node]*Decision
}

// Of is the decision for n, or nil where n computes nothing.
func (p *Plan) Of(n *Node) *Decision { return p.by[n] }

// Count is how many nodes are in one of the states.
func (p *Plan) Count(states ...State) int {
	n := 0
	for _, d := range p.Decisions {
		if slices.Contains(states, d.State) {
			n++
		}
	}
	return n
}

// Stale says whether there is work to do.
func (p *Plan) Stale() bool { return p.Count(Run, TopUp, MayRun) > 0 }

// Planner decides. It is made for one plan or one apply and is not safe for concurrent use.
type Planner struct {
	store    *Store
	now      time.Time
	results  *Results
	by       map[*Node]*Decision
	excluded map[*Node]bool
	replaced map[*Node]bool
	failed   map[*Node]bool         // of this apply
	made     map[string]bool        // runs of this apply: they stand for their stage until it ends, whatever reuse says
	lost     map[digest.Digest]bool // memo of what is missing from the store
	ahead    *ahead                 // during Plan; nil otherwise
	span     span
	trace    *selftrace.Recorder
}

// NewPlanner prepares decisions about g. An error names a pattern that selects nothing.
func NewPlanner(store *Store, g *Graph, sel Selection) (*Planner, error) {
	p := &Planner{
		store:   store,
		now:     store.Now(),
		results: &Results{records: map[*Node][]*cache.Summary{}},
		by:      map[*Node]*Decision{},
		lost:    map[digest.Digest]bool{},
		made:    map[string]bool{},
		failed:  map[*Node]bool{},
	}
	var err error
	if p.excluded, err = g.stages(sel.Exclude); err != nil {
		return nil, err
	}
	if p.replaced, err = g.stages(sel.Replace); err != nil {
		return nil, err
	}
	if len(sel.Target) > 0 {
		targets, err := g.stages(sel.Target)
		if err != nil {
			return nil, err
		}
		wanted := map[*Node]bool{}
		for i := len(g.Nodes) - 1; i >= 0; i-- {
			n := g.Nodes[i]
			if !targets[n] && !wanted[n] {
				p.excluded[n] = true
				continue
			}
			for _, d := range n.Upstream() {
				wanted[d] = true
			}
		}
	}
	return p, nil
}

// Plan decides about every node.
func (p *Planner) Plan(ctx context.Context, g *Graph) (*Plan, error) {
	p.trace = selftrace.From(ctx)
	defer p.trace.Begin("plan", "").End()
	plan := &Plan{Graph: g, by: p.by}
	p.ahead = lookAhead(ctx, g)
	defer func() {
		p.ahead.close()
		p.ahead = nil
	}()
	for _, n := range g.Nodes {
		if n.Stage == nil {
			continue
		}
		d, err := p.decide(ctx, n)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", n.Address, err)
		}
		plan.Decisions = append(plan.Decisions, d)
	}
	return plan, nil
}

// decide asks the store about n. What n needs has been decided before.
func (p *Planner) decide(ctx context.Context, n *Node) (*Decision, error) {
	defer selftrace.About(p.trace, "decide", n.Address).End()
	d := &Decision{Node: n, Want: n.Attempts}
	p.by[n] = d
	if p.excluded[n] {
		d.State = Excluded
	}
	if !p.upstreamReady(d) {
		if d.State != Excluded {
			p.estimate(d)
		}
		return d, nil
	}
	actions, err := p.actions(ctx, n)
	var blocked *BlockedError
	if errors.As(err, &blocked) {
		if d.State != Excluded {
			d.State, d.Block = Blocked, blocked
		}
		return d, nil
	}
	if err != nil {
		return nil, err
	}
	d.actions, d.keyed = actions, true
	d.Want = n.Attempts * len(actions)
	missing := 0
	for _, a := range actions {
		s, reasons, err := p.look(n, a)
		if err != nil {
			p.refuse(d, err)
			return d, nil
		}
		s.level = p.level(n)
		d.slots = append(d.slots, s)
		d.Records = append(d.Records, s.records...)
		d.Have += len(s.records)
		missing += s.missing
		for _, r := range reasons {
			if !slices.ContainsFunc(d.Reasons, func(o Reason) bool { return o.Code == r.Code && o.Since == r.Since }) {
				d.Reasons = append(d.Reasons, r)
			}
		}
	}
	p.results.records[n] = d.Records
	switch {
	case d.State == Excluded:
		d.Reasons = nil
	case missing == 0:
		d.State = Cached
	case d.Have > 0:
		d.State = TopUp
	default:
		d.State = Run
	}
	if missing > 0 && d.State != Excluded {
		for i, s := range d.slots {
			if b := actions[i].Blocked; b != nil && s.missing > 0 {
				d.State, d.Block, d.Reasons = Blocked, b, nil
				return d, nil
			}
		}
		p.explain(d)
		p.estimate(d)
	}
	return d, nil
}

// actions are the node's units of work, asked for now or while the plan was looking at the nodes before it.
func (p *Planner) actions(ctx context.Context, n *Node) ([]*Action, error) {
	if a, ok := p.ahead.of(ctx, n); ok {
		return a.actions, a.err
	}
	defer p.trace.Begin("actions", "").End()
	return n.Stage.Actions(ctx, p.results)
}

// upstreamReady says whether the results that d's node needs are all there; if not it sets d's state.
func (p *Planner) upstreamReady(d *Decision) bool {
	ready := true
	worst := func(s State, after *Node) {
		ready = false
		rank := map[State]int{"": 0, MayRun: 1, Run: 2, Blocked: 3, Excluded: 4}
		if rank[s] > rank[d.State] {
			d.State, d.After = s, after
		}
	}
	for _, u := range d.Node.needs {
		up := p.by[u]
		switch up.State {
		case Cached:
		case Run, TopUp:
			if u.Nature.Measures() || p.replaced[d.Node] {
				worst(Run, u)
			} else {
				worst(MayRun, u)
			}
		case MayRun:
			if p.replaced[d.Node] {
				worst(Run, u)
			} else {
				worst(MayRun, u)
			}
		case Blocked:
			worst(Blocked, u)
		case Excluded:
			if up.unread != nil || len(up.Records) == 0 || up.Have < up.Want {
				worst(Blocked, u)
			}
		}
	}
	for _, u := range d.Node.after {
		if p.by[u].State == Blocked {
			worst(Blocked, u)
		}
	}
	if ready {
		return true
	}
	switch d.State {
	case Blocked:
		why := "it needs " + d.After.Address.String()
		switch up := p.by[d.After]; {
		case up.State == Excluded && up.unread != nil:
			d.Block = &BlockedError{Why: why + ", which is excluded; " + up.unread.Why, Do: up.unread.Do}
		case up.State == Excluded:
			d.Block = &BlockedError{Why: why + ", which is excluded and has no valid result", Do: "leave it in, or run it first"}
		case p.failed[d.After]:
			d.Block = &BlockedError{Why: why + ", which failed"}
		default:
			d.Block = &BlockedError{Why: why + ", which is blocked"}
		}
	case Run, MayRun:
		d.Reasons = append(d.Reasons, Reason{Code: Upstream, Text: "after " + d.After.Address.String()})
		if p.replaced[d.Node] {
			d.Reasons = append(d.Reasons, Reason{Code: Replaced})
		}
	}
	return false
}

// look finds what stands for one action: the newest n valid attempts of the newest generation. An error says that an artifact of
// one of those could not be read, so that whether the attempt stands is not known.
func (p *Planner) look(n *Node, a *Action) (slot, []Reason, error) {
	s := slot{key: a.Manifest.Key(), missing: n.Attempts, next: 1}
	all := p.store.Cache.Lookup(s.key)
	for _, r := range all {
		s.generation = max(s.generation, r.Generation)
	}
	var reasons []Reason
	if p.replaced[n] {
		if len(all) > 0 {
			s.generation++
		}
		return s, []Reason{{Code: Replaced, Text: "asked for by -replace"}}, nil
	}
	var invalid, lost, expired, failed int
	var valid []*cache.Summary
	for _, r := range all {
		if r.Generation != s.generation {
			continue
		}
		s.next = max(s.next, r.Attempt+1)
		switch {
		case !r.Valid():
			if r.Execution == cache.ExecutionFailed || r.Execution == cache.ExecutionTimedOut || r.Execution == cache.ExecutionCancelled {
				failed++
			} else {
				invalid++
			}
		case n.Reuse.Never && !p.made[r.Run]:
			expired++
		case n.Reuse.Age > 0 && p.now.Sub(r.Started) > n.Reuse.Age && !p.made[r.Run]:
			p.span.old(r, n.Reuse.Age)
			expired++
		default:
			if n.Reuse.Age > 0 {
				p.span.young(r, n.Reuse.Age)
			}
			valid = append(valid, r)
		}
	}
	// The newest first: an older one that is not needed is not looked at, whatever became of its artifacts.
	for i := len(valid) - 1; i >= 0 && len(s.records) < n.Attempts; i-- {
		gone, err := p.isLost(valid[i])
		switch {
		case err != nil:
			return s, nil, err
		case gone:
			lost++
		default:
			s.records = append(s.records, valid[i])
		}
	}
	slices.Reverse(s.records)
	s.missing = n.Attempts - len(s.records)
	if s.missing == 0 {
		return s, nil, nil
	}
	add := func(count int, code Code, one, many string) {
		switch {
		case count == 1:
			reasons = append(reasons, Reason{Code: code, Text: one})
		case count > 1:
			reasons = append(reasons, Reason{Code: code, Text: fmt.Sprintf(many, count)})
		}
	}
	add(lost, EvidenceLost, "artifacts of the earlier attempt are missing from the store", "artifacts of %d earlier attempts are missing from the store")
	add(failed, PreviousFailed, "", "%d times")
	add(invalid, InvalidAttempts, "", "%d times")
	switch {
	case expired > 0 && n.Reuse.Never:
		reasons = append(reasons, Reason{Code: Expired, Text: `reuse = "never"`})
	case expired > 0:
		reasons = append(reasons, Reason{Code: Expired, Text: fmt.Sprintf("older than reuse = %q", n.Reuse.Age)})
	}
	if len(s.records) > 0 {
		reasons = append(reasons, Reason{Code: MoreAttempts, Text: fmt.Sprintf("%d of %d attempts are there", len(s.records), n.Attempts)})
	}
	return s, reasons, nil
}

// Current are the records that stand for n as far as the planner has decided; none where it is stale or failed.
func (p *Planner) Current(n *Node) []*cache.Summary {
	if d := p.by[n]; d != nil && d.Have >= d.Want && d.State != Blocked {
		return d.Records
	}
	return nil
}

// Excluded says whether the selection leaves n out.
func (p *Planner) Excluded(n *Node) bool { return p.excluded[n] }
