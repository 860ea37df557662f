package cache

import (
	"encoding/json"
	"time"

	"github.com/flameox/flameox/graph/facet"
	"github.com/flameox/flameox/internal/address"
	"github.com/flameox/flameox/internal/digest"
)

// Execution says how far the process came.
type Execution string

// The states of an execution.
const (
	ExecutionNotApplicable Execution = "not_applicable" // nothing was started: an import, an extraction in process
	ExecutionSucceeded     Execution = "succeeded"      // it exited, with an expected status
	ExecutionFailed        Execution = "failed"         // it could not start, or exited with another status or a signal
	ExecutionTimedOut      Execution = "timed_out"
	ExecutionCancelled     Execution = "cancelled"
)

// Capture says what became of the artifacts.
type Capture string

// The states of a capture.
const (
	CaptureRegistered  Capture = "registered"  // every required output is in the store
	CapturePartial     Capture = "partial"     // some are; the rest is named in Limitations
	CaptureFailed      Capture = "failed"      // none is
	CaptureQuarantined Capture = "quarantined" // an output was refused at the no-follow boundary
)

// Validation says whether the result may be reused and built upon. Only "passed" is reused.
type Validation string

// The states of a validation.
const (
	ValidationPassed Validation = "passed"
	ValidationFailed Validation = "failed"
	ValidationError  Validation = "error" // the validator itself could not say
)

// Sensitivity is how far an artifact may travel.
type Sensitivity string

// The levels, in rising order.
const (
	Public    Sensitivity = "public"
	Internal  Sensitivity = "internal"
	Sensitive Sensitivity = "sensitive"
)

// Output is one artifact of a run.
type Output struct {
	Name        string        `json:"name"`                  // path below the output folder, or stdout, stderr
	Role        string        `json:"role,omitempty"`        // what it is to its provider: benchmark, profile, table
	MediaType   string        `json:"media_type,omitempty"`  // as declared, not guessed
	Digest      digest.Digest `json:"digest"`                // of the blob, or of the root of the tree
	Size        int64         `json:"size"`                  // bytes; of a tree, of all its files
	Tree        bool          `json:"tree,omitempty"`        // the digest is a tree's
	Sensitivity Sensitivity   `json:"sensitivity,omitempty"` // internal where empty
	Rows        int64         `json:"rows,omitempty"`        // of a table part
}

// Note is a limitation or a reason: a stable code and a sentence.
type Note struct {
	Code string `json:"code"`
	Text string `json:"text"`
}

// Host is what was seen of the machine at the time of the run.
type Host struct {
	Name       string            `json:"name,omitempty"`
	Class      map[string]string `json:"class,omitempty"`      // in the key of measurements
	Covariates map[string]string `json:"covariates,omitempty"` // recorded and compared, never keyed
	Volatile   map[string]string `json:"volatile,omitempty"`   // load, temperatures: recorded only
}

// Origin says which bundle brought a record from another store.
type Origin struct {
	Host     string        `json:"host,omitempty"` // that wrote the bundle, as it calls itself
	Bundle   digest.Digest `json:"bundle"`         // SHA-256 of the manifest of the bundle
	Imported time.Time     `json:"imported"`       // UTC, wall clock
}

// Record is one attempt at a stage: immutable once committed. A later document about the
// same run (a registration) is a Record with the same Run and the next Revision.
type Record struct {
	Run        string         `json:"run"`                  // 26 characters, sortable by the order of commits on one machine
	Revision   int            `json:"revision"`             // from 1
	Experiment string         `json:"experiment,omitempty"` // folder of the configuration below the project root, "" for the root
	Address    string         `json:"address"`              // at the time of the run; no part of any key
	Block      string         `json:"block"`
	Axes       address.Axes   `json:"axes,omitempty"`
	Kind       string         `json:"kind"`   // "capture.gobench"
	Nature     string         `json:"nature"` // pure, measurement, observation
	Key        digest.Digest  `json:"key"`    // the set key: attempts of one measurement share it
	Generation int            `json:"generation"`
	Attempt    int            `json:"attempt"` // from 1; 1 for a pure stage
	Action     digest.Digest  `json:"action"`  // the key of this attempt: facet.Attempt of Key, Generation and Attempt
	Manifest   facet.Manifest `json:"manifest"`

	Execution  Execution  `json:"execution"`
	Capture    Capture    `json:"capture"`
	Validation Validation `json:"validation"`
	Invalid    []Note     `json:"invalid,omitempty"` // why validation is not passed
	Exit       *int       `json:"exit,omitempty"`
	Signal     string     `json:"signal,omitempty"`
	Cause      string     `json:"cause,omitempty"` // of a termination that we began: timeout, cancelled, output_limit, memory_limit, storage_reserve

	Started time.Time         `json:"started"` // UTC, wall clock; never used for order
	WallNS  int64             `json:"wall_ns"` // monotonic
	Host    Host              `json:"host"`
	Source  map[string]string `json:"source,omitempty"` // what was checked out: revision, branch; recorded, never keyed
	Version string            `json:"flameox"`          // version of flameox

	Outputs     []Output                   `json:"outputs,omitempty"`
	Limitations []Note                     `json:"limitations,omitempty"`
	Semantics   json.RawMessage            `json:"semantics,omitempty"` // effective options, scope, bounds, filters, containment
	Producer    string                     `json:"producer,omitempty"`  // as the artifact states it
	State       string                     `json:"state,omitempty"`     // of an extraction: complete, partial, empty, incompatible, unavailable
	Argv        []string                   `json:"argv,omitempty"`      // with every runtime token substituted
	Env         []string                   `json:"env,omitempty"`       // the whole environment but the mark, as NAME=value
	Dir         string                     `json:"dir,omitempty"`       // working directory, absolute, as it was
	Labels      map[string]string          `json:"labels,omitempty"`
	Results     map[string]json.RawMessage `json:"results,omitempty"` // result attributes of the stage kind
	Origin      *Origin                    `json:"origin,omitempty"`  // nil for what ran here

	Verdict       string         `json:"verdict,omitempty"` // on the results, of a document that was registered: pass, fail, inconclusive, unsupported; "" where none was asked for
	Registrations []Registration `json:"registrations,omitempty"`
}

// Valid says whether the record may be reused.
func (r *Record) Valid() bool { return r.Validation == ValidationPassed }

// Fail makes the attempt invalid, for one more reason, and returns the record.
func (r *Record) Fail(code, text string) *Record {
	r.Validation = ValidationFailed
	r.Invalid = append(r.Invalid, Note{Code: code, Text: text})
	return r
}

// Link says which extraction holds the evidence of a run. The newest link of a (Run, Provider) wins.
type Link struct {
	Run        string `json:"run"`        // of the capture or the import
	Provider   string `json:"provider"`   // of the extractor
	Extraction string `json:"extraction"` // run of the extraction
}
