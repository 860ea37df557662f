package capability

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/stages/environment"
	"github.com/flameox/flameox/stages/kind"
)

// State is what a provider can do in one place.
type State string

// The states, the best first.
const (
	Available    State = "available"     // its producer is there in a version that was tried out
	Unqualified  State = "unqualified"   // its producer is there and nothing speaks against it; no record covers the version or the platform
	CaptureOnly  State = "capture-only"  // it runs, and nothing is read out of what it leaves
	ImportOnly   State = "import-only"   // it reads files and runs nothing
	AnalysisOnly State = "analysis-only" // it reads what others captured
	Blocked      State = "blocked"       // it could not be found out, or something is in the way
	Incompatible State = "incompatible"  // its producer is there in a version that cannot be used
	Absent       State = "absent"        // its producer is not there
)

var order = []State{Available, Unqualified, CaptureOnly, ImportOnly, AnalysisOnly, Blocked, Incompatible, Absent}

// Place is where a producer is looked for.
type Place struct {
	Name        string // address of the environment, "" for the caller's PATH
	Type        string // of the environment: host, python, node
	Interpreter string // of one that flameox builds: what its base is looked up by
	Host        *environment.Host
}

// Finding is what a provider can do in one place.
type Finding struct {
	State       State  `json:"state"`
	Environment string `json:"environment,omitempty"` // address; the caller's PATH where missing
	Executable  string `json:"executable,omitempty"`  // what was asked, absolute
	Version     string `json:"version,omitempty"`     // of the producer
	Why         string `json:"why,omitempty"`         // of every state but available, and what else is to be known
	Do          string `json:"do,omitempty"`          // the one thing to do
	Probe       string `json:"probe"`                 // none, lock: the lock was read, passive: the program was resolved, active: it was asked
}

// Report is what is known of a provider here.
type Report struct {
	Provider       string                    `json:"provider"`
	Version        int                       `json:"version"` // of the implementation
	Doc            string                    `json:"doc"`
	Modes          []string                  `json:"modes"`    // capture, extract, import
	Formats        []string                  `json:"formats"`  // that import takes
	Findings       []Finding                 `json:"findings"` // one a place, the best first; at least one
	Qualifications []providers.Qualification `json:"qualifications"`
}

// State is the best of all places.
func (r *Report) State() State { return r.Findings[0].State }

// Look says what a provider can do in the places. named says that the user asked for this provider, so programs of the project may be started.
func Look(ctx context.Context, p *kind.Project, provider providers.Provider, places []Place, named bool) (*Report, error) {
	r := &Report{Provider: provider.Name(), Version: provider.Version(), Doc: provider.Doc(), Modes: []string{}, Formats: []string{}, Qualifications: []providers.Qualification{}}
	_, captures := provider.(providers.Capturer)
	_, extracts := provider.(providers.Extractor)
	im, imports := provider.(providers.Importer)
	for _, m := range []struct {
		name string
		is   bool
	}{{"capture", captures}, {"extract", extracts}, {"import", imports}} {
		if m.is {
			r.Modes = append(r.Modes, m.name)
		}
	}
	if imports {
		for _, f := range im.Formats() {
			r.Formats = append(r.Formats, f.Name)
		}
	}
	if q, ok := provider.(providers.Qualified); ok {
		r.Qualifications = q.Qualifications()
	}
	locator, located := provider.(providers.Locator)
	switch {
	case !captures && imports:
		r.Findings = []Finding{{State: ImportOnly, Probe: "none", Why: "files are read, nothing is run"}}
	case !captures:
		r.Findings = []Finding{{State: AnalysisOnly, Probe: "none", Why: "it reads what others captured"}}
	case !located:
		f := Finding{State: Available, Probe: "none"}
		if !extracts {
			f.State, f.Why = CaptureOnly, "any program; no rows are made of what it leaves but its time and resources"
		}
		r.Findings = []Finding{r.qualify(f, platform())}
	default:
		for _, place := range places {
			at := locator.Locate()
			built := place.Host.Runtime != nil && at.Language == place.Type
			if place.Host.Runtime != nil && !built && at.Library != "" {
				continue // a library of another language
			}
			f, err := look(ctx, p, provider, at, place, built, named)
			if err != nil {
				return nil, err
			}
			f.Environment = place.Name
			r.Findings = append(r.Findings, r.qualify(f, platform()))
		}
	}
	if len(r.Findings) == 0 {
		return nil, fmt.Errorf("there is no place to look for %s in", provider.Name())
	}
	slices.SortStableFunc(r.Findings, func(a, b Finding) int { return slices.Index(order, a.State) - slices.Index(order, b.State) })
	return r, nil
}

func platform() string { return runtime.GOOS + "/" + runtime.GOARCH }

// qualify makes what no record covers unqualified.
func (r *Report) qualify(f Finding, platform string) Finding {
	if f.State != Available && f.State != CaptureOnly {
		return f
	}
	var claims, on []string
	for _, q := range r.Qualifications {
		if q.Covers(f.Version, platform) || f.Version == "" && slices.Contains(q.Platforms, platform) {
			return f
		}
		for _, p := range q.Platforms {
			if p == platform && !slices.Contains(claims, q.Claim()) {
				claims = append(claims, q.Claim())
			}
			if !slices.Contains(on, p) {
				on = append(on, p)
			}
		}
	}
	f.State = Unqualified
	switch {
	case len(claims) > 0:
		f.Why = "qualified are " + strings.Join(claims, ", ")
	case len(on) > 0:
		f.Why = fmt.Sprintf("qualified on %s, and this is %s", strings.Join(on, ", "), platform)
	default:
		f.Why = "nothing was tried out"
	}
	return f
}
