package providers

import "github.com/flameox/flameox/evidence"

// Inventory bounds what is taken of a producer that leaves any number of files, as a compiler does. The outputs of such an
// invocation are not promised: what matches is taken in the order of paths as far as the bounds go, and what passes one, or is no
// regular file with one name, is left out and said. It makes no run invalid.
type Inventory struct {
	Files     int   // that are taken
	FileBytes int64 // of one file
	Bytes     int64 // of all files
}

// Describer is a Capturer that writes a document about what each of its runs left, which is kept with the run.
type Describer interface {
	Capturer
	// Describe makes the document. It is pure, and is asked before the outputs are validated: also of a run that failed.
	Describe(run Left) (Document, error)
}

// Left is a run of a capture as far as its provider may know it.
type Left struct {
	Workload   string     // address of the workload, with its axes
	Command    []string   // of the workload; tokens as ${name}
	Options    any        // of the capture
	Invocation Invocation // as planned
	Succeeded  bool       // it ended by itself, with a status that the workload expects
	Exit       *int       // nil where it did not end by itself
	Outputs    []Artifact // that were taken, without paths: their content is for validators
	LeftOut    []evidence.Limitation
	Facets     map[string]string // SHA-256 of each facet of the key
	Packages   map[string]string // distributions of the interpreter that ran, by normalized name, with versions; empty where it is none or they are not known
	Device     map[string]string // the class of machine, as the key has it; empty where it has none
}

// Document is an artifact that a provider made.
type Document struct {
	Name      string
	Role      string
	MediaType string
	Content   []byte
}
