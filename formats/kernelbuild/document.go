package kernelbuild

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/internal/digest"
)

// Schema is what every document says of itself.
const Schema = "flameox.kernel-build.v1"

// Name of the document within a run.
const Name = "kernel-build.json"

// The media type of the document, and the roles of what is kept.
const (
	MediaType      = "application/vnd.flameox.kernel-build+json"
	Role           = "kernel_build"        // the document
	RoleOutput     = "compiler_output"     // a file that the compiler dumped
	RoleReproducer = "compiler_reproducer" // what makes the compiler do one pass again
)

// MaxFiles is how many files a document lists: with itself a run has a hundred artifacts.
const MaxFiles = 99

// maxBytes of a document. Ninety-nine stages and a hundred limitations are far below it.
const maxBytes = 16 << 20

// Unknown is the version of a producer that is not known, and whether kernels came from a cache, which no producer says.
const Unknown = "unknown"

// Outcome is what became of a build.
type Outcome string

// The outcomes.
const (
	Succeeded    Outcome = "succeeded"    // the program ended as it should, and files are there
	Failed       Outcome = "failed"       // it ended otherwise, whatever it left
	Inconclusive Outcome = "inconclusive" // it ended as it should and left no file: nothing was compiled, or it came from a cache
)

// Document is kernel-build.json.
type Document struct {
	Schema      string                `json:"schema_version"`
	Producer    string                `json:"producer"`
	Version     string                `json:"producer_version"` // as the environment has it, or Unknown
	Outcome     Outcome               `json:"outcome"`
	Exit        *int                  `json:"exit"`         // null where a signal ended the program
	Cache       string                `json:"cache_status"` // Unknown
	Target      string                `json:"target,omitempty"`
	Workload    Workload              `json:"workload"`
	Environment map[string]string     `json:"environment"` // what the capture added, with ${out.dir} for the staging folder
	Stages      []Stage               `json:"stages"`
	Limitations []evidence.Limitation `json:"limitations"`
}

// Workload is what was run.
type Workload struct {
	Definition string            `json:"definition"` // address of the workload, with its axes
	Command    []string          `json:"command"`
	Facets     map[string]string `json:"facets"`           // SHA-256 of each facet of the capture's key
	Device     map[string]string `json:"device,omitempty"` // the class of machine, as the key has it
}

// Stage is one file.
type Stage struct {
	Ordinal     int     `json:"ordinal"` // from 1: by folder and kernel, and within those as one is made from the other
	Name        string  `json:"name"`    // path below the output folder; unique
	Group       string  `json:"group"`   // the folder that it was dumped to, below the output folder
	Kernel      string  `json:"kernel"`  // the file's name without what tells its kind
	Kind        string  `json:"kind"`    // ttir, ttgir, llir, ptx, cubin, ...
	Role        string  `json:"role"`
	Predecessor *string `json:"predecessor"` // name of the stage that it was made from; null where that is not known
	MediaType   string  `json:"media_type"`
	SHA256      string  `json:"sha256"`
	Bytes       int64   `json:"bytes"`
}

// The codes of documents that are refused.
const (
	EmptyFile     = "payload_empty"
	Truncated     = "payload_truncated"
	NotJSON       = "payload_not_json"
	UnknownSchema = "schema_version_unknown"
	Invalid       = "document_invalid"
	Contradiction = "document_contradicts_itself"
)

// Error says why a document cannot be read.
type Error struct{ Code, Text string }

func (e *Error) Error() string { return e.Text }

func refuse(code, format string, args ...any) error {
	return &Error{code, fmt.Sprintf(format, args...)}
}

// Encode is the document's bytes: the same for the same document. The error says what of it contradicts itself.
func (d *Document) Encode() ([]byte, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(d); err != nil {
		return nil, fmt.Errorf("write %s: %w", Name, err)
	}
	return b.Bytes(), nil
}

// Parse reads a document strictly. The error is an *Error.
func Parse(data []byte) (*Document, error) {
	switch {
	case len(bytes.TrimSpace(data)) == 0:
		return nil, refuse(EmptyFile, "the document is empty")
	case len(data) > maxBytes:
		return nil, refuse(Invalid, "the document has %d bytes and may have %d", len(data), maxBytes)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	var head struct {
		Schema *string `json:"schema_version"`
	}
	if err := d.Decode(&head); err != nil {
		var wrong *json.UnmarshalTypeError
		switch {
		case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
			return nil, refuse(Truncated, "the document ends in the middle: %v", err)
		case errors.As(err, &wrong):
			return nil, refuse(UnknownSchema, "the document is no %s: %v", Schema, err)
		}
		return nil, refuse(NotJSON, "the document is not JSON: %v", err)
	}
	if head.Schema == nil || *head.Schema != Schema {
		return nil, refuse(UnknownSchema, "the document does not say that it is a %s", Schema)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, refuse(Invalid, "something follows the document")
	}
	d = json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	var doc Document
	if err := d.Decode(&doc); err != nil {
		return nil, refuse(Invalid, "the document is no %s: %v", Schema, err)
	}
	if err := doc.check(); err != nil {
		return nil, err
	}
	return &doc, nil
}

// check finds what a document contradicts itself in.
func (d *Document) check() error {
	switch d.Outcome {
	case Succeeded, Inconclusive:
		if (len(d.Stages) > 0) != (d.Outcome == Succeeded) {
			return refuse(Contradiction, "the outcome is %s with %d files", d.Outcome, len(d.Stages))
		}
	case Failed:
	default:
		return refuse(Invalid, "the outcome %q is none of succeeded, failed and inconclusive", d.Outcome)
	}
	switch {
	case d.Producer == "" || d.Version == "":
		return refuse(Invalid, "the document names no producer, or no version; one that is not known is %q", Unknown)
	case d.Cache != Unknown:
		return refuse(Invalid, "cache_status is %q; no producer says it, so it is %q", d.Cache, Unknown)
	case len(d.Stages) > MaxFiles:
		return refuse(Invalid, "the document has %d stages and may have %d", len(d.Stages), MaxFiles)
	}
	at := map[string]*Stage{}
	for i := range d.Stages {
		s := &d.Stages[i]
		sum, err := digest.Parse(s.SHA256)
		switch {
		case s.Ordinal != i+1:
			return refuse(Contradiction, "stage %d has the ordinal %d", i+1, s.Ordinal)
		case s.Name == "" || s.Kind == "" || s.Bytes < 0:
			return refuse(Invalid, "stage %d has no name, no kind or no size", i+1)
		case at[s.Name] != nil:
			return refuse(Contradiction, "two stages are called %q", s.Name)
		case err != nil || sum.IsZero():
			return refuse(Invalid, "stage %q has no SHA-256", s.Name)
		case s.Role != RoleOutput && s.Role != RoleReproducer:
			return refuse(Invalid, "stage %q has the role %q", s.Name, s.Role)
		}
		at[s.Name] = s
	}
	for i := range d.Stages {
		s := &d.Stages[i]
		if s.Predecessor == nil {
			continue
		}
		switch p := at[*s.Predecessor]; {
		case p == nil:
			return refuse(Contradiction, "stage %q is made from %q, which is no stage", s.Name, *s.Predecessor)
		case p.Group != s.Group:
			return refuse(Contradiction, "stage %q is made from %q, which is in another folder", s.Name, p.Name)
		case p.Ordinal >= s.Ordinal:
			return refuse(Contradiction, "stage %q comes before %q, which it is made from", s.Name, p.Name)
		}
	}
	return nil
}
