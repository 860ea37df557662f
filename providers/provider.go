// Package providers connects maintained producers (benchmark frameworks, profilers, tracers) to
// evidence. One package below it is one producer, named as its users name it.
//
// A provider owns discovery, version qualification, capture options and argv, validation, bounded
// extraction, and its limitations. It never starts a process, touches the store, or decides policy:
// it is given what it needs and returns values. Providers never import stages or each other.
package providers

import (
	"context"
	"io"
	"strings"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/formats/profile"
	"github.com/flameox/flameox/internal/digest"
)

// Provider connects one maintained producer format to evidence.
type Provider interface {
	// Name is the producer's, as its users write it.
	Name() string
	// Version is the implementation version: raised whenever the output for the same input changes.
	Version() int
	// Doc is one sentence for listings.
	Doc() string
}

// Workload is what a provider may know of the program it measures. Strings may hold runtime tokens.
type Workload struct {
	Argv       []string
	Dir        string // relative to the project root
	Env        map[string]string
	Protocol   string // execution_protocol of the workload, "" where it declares none
	ExpectExit []int  // statuses that count as success; [0] where nothing is declared
}

// Nature of a capture's result.
type Nature string

// A capture is a measurement unless its provider says that it shares the machine.
const (
	Measurement Nature = "measurement" // exclusive, host class in the key
	Shared      Nature = "shared"      // a measurement without host class that may run beside others
)

// Capturer plans how its producer runs over a workload.
type Capturer interface {
	Provider
	// Options returns a pointer to a new struct of capture options with lang's tags (arg, default,
	// doc, facet); the fields hold the defaults after decoding.
	Options() any
	// Plan returns what to run. It is pure: no file is read, nothing is started. An error says which
	// argument to change.
	Plan(w Workload, options any) (Invocation, error)
	Nature() Nature
}

// Stream names where an output comes from when it is not a file.
type Stream string

// The streams of a process.
const (
	Stdout Stream = "stdout"
	Stderr Stream = "stderr"
)

// RoleLog is the role of a stream that is kept for people and that the producer's validator and extractor do not read: it is
// in no extraction's input or key, so equal payloads are extracted once whatever was printed beside them. A provider
// that reads a stream gives it a role of its own.
const RoleLog = "log"

// DeclaredOutput is an artifact that a run leaves. Exactly one of Path and Stream is set.
type DeclaredOutput struct {
	Name      string // within the run
	Path      string // below the run's output folder; ** and * allowed. A file that several match is the first's
	Stream    Stream
	Role      string
	MediaType string
	Required  bool
	Sensitive bool // format floor: the artifact may carry user content
}

// Invocation is a planned run of a producer. Argv and Env may hold the token out.dir, made with token.Make("out.dir").
type Invocation struct {
	Argv    []string
	Env     map[string]string // added to the workload's
	Outputs []DeclaredOutput
	// Exits are further statuses with which the producer comes to its own end, such as that of a test run with failures. They fail no run: whether what was
	// left is valid, the Validator says.
	Exits       []int
	Programs    []string // further programs that it starts, by the name it looks them up with or a path: their content is in the key
	Collectors  []Collector
	Scope       Scope
	Limitations []evidence.Limitation
	// Paced says that how much the program does follows from how long it takes, as in a benchmark that repeats until a time is over: then the
	// time that a run took says nothing of its speed.
	Paced bool
	// Folders are made below the run's output folder before the program starts, for a producer that makes none itself.
	Folders []string
	// Inventory is set where the outputs are whatever the producer leaves; nil where what is refused of them makes the run invalid.
	Inventory *Inventory
}

// Collector is an embedded source that runs inside the workload's interpreter, materialized read-only by digest.
type Collector struct {
	Name    string
	Content []byte
}

// Scope is what the run covers, published as run semantics.
type Scope struct {
	Mode         string            `json:"mode,omitempty"`
	ProcessScope string            `json:"process_scope,omitempty"`
	Bounds       map[string]string `json:"bounds,omitempty"`
	Filters      map[string]string `json:"filters,omitempty"`
}

// Artifact is one immutable payload from the store.
type Artifact struct {
	Name      string
	Role      string
	MediaType string
	Digest    digest.Digest
	Size      int64
	Path      string // of the read-only blob
}

// Open opens the payload.
func (a Artifact) Open() (io.ReadCloser, error) { return evidence.OpenPayload(a.Path) }

// Paths is what an extraction may know of where the capture ran: recorded, canonical, independent of the extractor's own directory.
type Paths struct {
	Root string `json:"root"` // absolute project root at capture; files below it become relative to it
	Dir  string `json:"dir"`  // absolute working directory at capture
	// Outputs is the absolute folder in which the outputs of builds were laid out, each below a folder of its own that
	// is named by content. A file there is the build's, whatever that folder is called.
	Outputs string `json:"outputs,omitempty"`
	// Environments is the absolute folder in which managed environments stand, each below a folder of its own that is named by
	// its key. A file there is a package's, whichever other packages it was installed with.
	Environments string `json:"environments,omitempty"`
}

// File is how evidence names a file that a producer named: relative to the build output, the environment or the project root
// that it lies below, else as it is. So the same program has the same names whichever build of it ran, and wherever.
func (p Paths) File(name string) string {
	for _, folder := range [...]string{p.Outputs, p.Environments} {
		if folder == "" {
			continue
		}
		if below := profile.File(folder, name); below != name {
			if _, file, ok := strings.Cut(below, "/"); ok {
				return file
			}
		}
	}
	return profile.File(p.Root, name)
}

// Input is what validation and extraction see: the same immutable payloads, without logs.
type Input struct {
	Artifacts  []Artifact
	Paths      Paths
	Exit       int
	ExpectExit []int
	Reading    *Reading // of a Reader; nil where no reader ran, as for the validation of an import
}

// Find returns the only artifact of a role; an error says how many there are.
func (in Input) Find(role string) (Artifact, error) { return findRole(in.Artifacts, role) }

// Receipt is what a validator found.
type Receipt struct {
	Valid       bool
	Reasons     []evidence.Limitation // why not valid
	Limitations []evidence.Limitation
	Producer    string // version as the artifact states it
}

// Validator checks a captured payload before it may be reused. An error means that the validator could not say; a payload that is
// wrong is a Receipt that is not valid. A provider without it has every capture with an expected exit accepted. Like extraction it
// runs in a worker process, bounded in memory and time, so nothing it keeps outlives the call.
type Validator interface {
	Provider
	Validate(ctx context.Context, in Input) (Receipt, error)
}

// Extractor normalizes payloads into rows.
type Extractor interface {
	Provider
	// ExtractOptions returns a pointer to a new struct of extraction options, as Capturer.Options does, or nil.
	ExtractOptions() any
	// Extract reads the payloads and fills sink. It must be deterministic: the same input and options give
	// the same rows in the same order. A payload it must refuse is an Outcome with state Incompatible, not an error.
	Extract(ctx context.Context, in Input, options any, budget evidence.Budget, sink *evidence.Sink) (evidence.Outcome, error)
}

// Importer accepts existing files.
type Importer interface {
	Provider
	// Formats are the labels that `import "<format>" "<name>"` accepts, with the media type each stands for.
	Formats() []Format
}

// Format is one importable file format.
type Format struct {
	Name      string
	MediaType string
	Role      string // of the artifact it becomes
	// Detect says whether the first bytes of a file are this format's. It looks at content only.
	Detect func(head []byte) bool
}

// Prober names what the resolved executable is. It reads the result of a bounded probe that the engine ran.
type Prober interface {
	Provider
	// Probe returns the argv that makes the executable say its version, and how to read the answer. An error beside a version says that
	// this version cannot be used; without one, that what was asked has no producer.
	Probe(argv []string) (probe []string, version func(stdout, stderr []byte) (string, error))
}
