package protocol

import "encoding/json"

// Version of the protocol.
const Version = 1

// Phase is what an adapter is asked.
type Phase string

// The phases, in the order in which a run goes through them.
const (
	PhaseProbe    Phase = "probe"    // who it is
	PhasePlan     Phase = "plan"     // what goes in front of the command, and what comes out
	PhaseValidate Phase = "validate" // whether an artifact is whole
	PhaseExtract  Phase = "extract"  // what is in it
)

// The bounds of what an adapter says.
const (
	MaxResponse = 1 << 20 // bytes of a response
	maxPrefix   = 64
	maxArgument = 4096
	maxOutputs  = 64
	maxNotes    = 100
	maxText     = 1000
	maxName     = 200
)

// What an adapter may write in a prefix for what it cannot know.
const (
	OutDir = "${out.dir}" // the folder for what the run leaves
	Self   = "${adapter}" // the adapter's own program, as it was approved
)

// Request is one question.
type Request struct {
	APIVersion int               `json:"api_version"`
	Phase      Phase             `json:"phase"`
	Command    []string          `json:"command,omitempty"` // of plan: the workload's, to be looked at; runtime values are written as ${name}
	Options    map[string]string `json:"options,omitempty"` // of plan, validate and extract: the capture's
	Artifact   *Artifact         `json:"artifact,omitempty"`
	Exit       *int              `json:"exit,omitempty"` // of validate: status of the command; missing where a signal ended it
}

// Artifact is one payload from the store. It cannot change.
type Artifact struct {
	Name      string `json:"name"` // as the plan declared it
	Kind      string `json:"kind"`
	MediaType string `json:"media_type"`
	SHA256    string `json:"sha256"`
	Bytes     int64  `json:"bytes"`
	Path      string `json:"path"` // where it can be read
}

// Note is a limitation or a reason: a stable code and a sentence.
type Note struct {
	Code string `json:"code"`
	Text string `json:"text"`
}

// Probe is the answer of who it is.
type Probe struct {
	Name    string
	Version string
	Doc     string
}

// Plan is the answer of what goes in front of the command.
type Plan struct {
	Prefix           []string // a program and its arguments; empty where the command runs as it is
	Outputs          []Output
	Permissions      []string // what the prefix needs of the machine, for people
	Overhead         string   // what it costs, for people
	Limitations      []Note
	ExtractorVersion string
}

// Output is a file that the run leaves.
type Output struct {
	Path      string // below the output folder
	Kind      string
	MediaType string
	Required  bool // true where the adapter says nothing
	Sensitive bool
}

// Validated is the answer of whether an artifact is whole.
type Validated struct {
	Valid            bool
	Reasons          []Note // why not
	Limitations      []Note
	ValidatorVersion string
	Producer         string // version, as the artifact states it
}

// Extracted is the answer of what is in an artifact.
type Extracted struct {
	Summary          json.RawMessage // an object, without white space
	Limitations      []Note
	ExtractorVersion string
}
