package cache

import (
	"strings"
	"time"
)

// A registration appends something to a run after the run: a document in which what ran says how right its results are. The run stays what it
// was, command, machine, key and artifacts; its record gains a revision that has one more output and says where that is from. There is no
// frame of another kind for it, so whoever knows records knows registrations: the index, bundles, the collection and the checks.

// RolePrefixRegistered begins the role of an output that was registered. Such an output is no artifact of the run's own producer: it is in no
// extraction of the run, and a run whose own artifacts are whole stands also where a registered one is lost.
const RolePrefixRegistered = "registered:"

// Registration says where a registered output is from.
type Registration struct {
	Output   string    `json:"output"`             // name of the output
	Provider string    `json:"provider"`           // that read it
	Version  int       `json:"version"`            // implementation version of the provider
	Producer string    `json:"producer,omitempty"` // who wrote it, as it says itself, with the version
	Verdict  string    `json:"verdict,omitempty"`  // of it: pass, fail, inconclusive, unsupported
	From     string    `json:"from"`               // the artifact of the run, or the file, that it was taken from
	Pipeline string    `json:"pipeline,omitempty"` // the artifact of the run that lists what the document is about, such as a build of kernels; "" where the run has none
	By       string    `json:"by"`                 // run of the stage that registered it and holds its rows
	Reviewed int       `json:"reviewed"`           // the revision that it was appended to
	When     time.Time `json:"when"`               // UTC, wall clock
}

// Registered says whether the output was appended after the run.
func (o *Output) Registered() bool { return strings.HasPrefix(o.Role, RolePrefixRegistered) }

// Registration is what was registered by a provider; nil where nothing was.
func (r *Record) Registration(provider string) *Registration {
	for i := range r.Registrations {
		if r.Registrations[i].Provider == provider {
			return &r.Registrations[i]
		}
	}
	return nil
}

// Output is the output called name, or nil.
func (r *Record) Output(name string) *Output {
	for i := range r.Outputs {
		if r.Outputs[i].Name == name {
			return &r.Outputs[i]
		}
	}
	return nil
}
