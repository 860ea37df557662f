package graph

import (
	"time"

	"github.com/flameox/flameox/graph/facet"
	"github.com/flameox/flameox/internal/digest"
)

// PlanFormat is the version of the plan document; its schema is schemas/plan.schema.json.
const PlanFormat = 1

// PlanDocument is a plan as data: what `plan -json` prints and `plan -out` saves.
type PlanDocument struct {
	Format        int               `json:"format_version"`
	Flameox       string            `json:"flameox"`
	Created       time.Time         `json:"created"`
	Experiment    string            `json:"experiment"` // folder below the project root
	HostClass     map[string]string `json:"host_class"`
	Host          string            `json:"host,omitempty"`           // of plan -host: the machine it was made for as if on it
	Variables     []string          `json:"variables,omitempty"`      // as given with -var: name=value
	VariableFiles []string          `json:"variable_files,omitempty"` // as given with -var-file
	Withheld      []string          `json:"withheld,omitempty"`       // sensitive variables that were given with -var: apply needs them again
	Target        []string          `json:"target,omitempty"`
	Exclude       []string          `json:"exclude,omitempty"`
	Replace       []string          `json:"replace,omitempty"`
	Summary       PlanSummary       `json:"summary"`
	Stages        []PlannedStage    `json:"stages"`
	Servers       []PlannedServer   `json:"servers,omitempty"` // that will be started
	Trees         []PlannedTree     `json:"trees,omitempty"`   // of a saved plan: the files behind the sources of what is to run
	// Digest is over the document without it, so that an edited file is noticed.
	Digest digest.Digest `json:"digest,omitzero"`
}

// PlanSummary counts the stages by state.
type PlanSummary struct {
	Run      int `json:"run"`
	TopUp    int `json:"top_up"`
	MayRun   int `json:"may_run"`
	Blocked  int `json:"blocked"`
	Cached   int `json:"cached"`
	Excluded int `json:"excluded"`
	// EstimateNS is the sum of what is known; Unknown counts the stages to run of which nothing is known.
	EstimateNS   int64 `json:"estimate_ns"`
	MayRunNS     int64 `json:"estimate_may_run_ns"` // what the stages that may run would take on top, as far as it is known
	EstimateRuns int   `json:"estimate_runs"`       // earlier runs it comes from
	Unknown      int   `json:"estimate_unknown"`
	Elsewhere    bool  `json:"estimate_from_another_host"`
}

// PlannedStage is the decision about one instance.
type PlannedStage struct {
	Address  string           `json:"address"`
	Kind     string           `json:"kind"`
	State    State            `json:"state"`
	Reasons  []Reason         `json:"reasons,omitempty"`
	Have     int              `json:"have"`
	Want     int              `json:"want"`
	Reuse    string           `json:"reuse,omitempty"` // how long a result stands: a duration or never; nothing where it stands for ever
	Runs     []string         `json:"runs,omitempty"`  // the current results
	After    string           `json:"after,omitempty"`
	Blocked  *PlannedBlock    `json:"blocked,omitempty"`
	Estimate int64            `json:"estimate_ns,omitempty"`
	Keys     []digest.Digest  `json:"keys,omitempty"`
	Manifest []facet.Manifest `json:"manifests,omitempty"` // of what is to run, so that a refusal can say what moved
}

// PlannedServer is a server and how many of the stages that run, or may, have it started.
type PlannedServer struct {
	Address string `json:"address"`
	Stages  int    `json:"stages"`
}

// PlannedTree is a tree by its files, so that a refusal can name those that moved.
type PlannedTree struct {
	Root  digest.Digest `json:"root"`
	Files []PlannedFile `json:"files"`
}

// PlannedFile is one file of a tree.
type PlannedFile struct {
	Path   string        `json:"path"`
	Digest digest.Digest `json:"digest"`
	Exec   bool          `json:"exec,omitempty"`
}

// PlannedBlock is why a stage cannot run, and the one thing to do.
type PlannedBlock struct {
	Why string `json:"why"`
	Do  string `json:"do,omitempty"`
}

// Summary counts.
func (p *Plan) Summary() PlanSummary {
	var s PlanSummary
	for _, d := range p.Decisions {
		s.Add(d.State, d.Estimate, d.EstimateRuns, d.EstimateElsewhere)
	}
	return s
}

// Add counts one more decision, with its estimate.
func (s *PlanSummary) Add(state State, estimate time.Duration, runs int, elsewhere bool) {
	switch state {
	case Run:
		s.Run++
	case TopUp:
		s.TopUp++
	case MayRun:
		s.MayRun++
		s.MayRunNS += estimate.Nanoseconds()
	case Blocked:
		s.Blocked++
	case Cached:
		s.Cached++
	case Excluded:
		s.Excluded++
	}
	if state != Run && state != TopUp {
		return
	}
	if runs == 0 {
		s.Unknown++
	}
	s.EstimateNS += estimate.Nanoseconds()
	s.EstimateRuns += runs
	s.Elsewhere = s.Elsewhere || elsewhere
}

// Stale says whether there is work to do.
func (s *PlanSummary) Stale() bool { return s.Run+s.TopUp+s.MayRun > 0 }

// Document is the plan as data.
func (p *Plan) Document(s *Store, hostClass map[string]string) *PlanDocument {
	doc := &PlanDocument{
		Format: PlanFormat, Flameox: s.Version, Created: s.Now().UTC(), Experiment: s.Experiment,
		HostClass: hostClass, Summary: p.Summary(), Stages: []PlannedStage{},
	}
	doc.Servers = p.servers()
	for _, d := range p.Decisions {
		st := d.planned()
		if d.State == Run || d.State == TopUp {
			st.Manifest = d.Manifests()
		}
		doc.Stages = append(doc.Stages, st)
	}
	return doc
}

// Planned is the decision as data, without manifests and the node's address.
func (d *Decision) Planned() PlannedStage {
	st := PlannedStage{
		Kind: d.Node.Kind, State: d.State, Reasons: d.Reasons,
		Have: d.Have, Want: d.Want, Reuse: d.Node.Reuse.String(), Estimate: d.Estimate.Nanoseconds(), Keys: d.Keys(),
	}
	for _, r := range d.Records {
		st.Runs = append(st.Runs, r.Run)
	}
	if d.After != nil {
		st.After = d.After.Address.String()
	}
	if d.Block != nil {
		st.Blocked = &PlannedBlock{Why: d.Block.Why, Do: d.Block.Do}
	}
	return st
}

// planned is Planned with the address.
func (d *Decision) planned() PlannedStage {
	st := d.Planned()
	st.Address = d.Node.Address.String()
	return st
}

// Manifests are what the keys of the actions are made of.
func (d *Decision) Manifests() (out []facet.Manifest) {
	for _, a := range d.actions {
		out = append(out, a.Manifest)
	}
	return out
}

// servers are the servers that stages which run stand on, in the order of the graph.
func (p *Plan) servers() (out []PlannedServer) {
	count := map[*Node]int{}
	for _, d := range p.Decisions {
		if d.State != Run && d.State != TopUp && d.State != MayRun {
			continue
		}
		for _, u := range d.Node.Leases() {
			count[u]++
		}
	}
	for _, n := range p.Graph.Nodes {
		if count[n] > 0 {
			out = append(out, PlannedServer{n.Address.String(), count[n]})
		}
	}
	return out
}
