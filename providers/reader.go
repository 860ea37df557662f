package providers

// Reader is a Provider whose payloads are read by the producer's own library, in the language that the producer is written in:
// the format is private to the library, and changes with it. The provider embeds a script that runs the library's reader over the payloads
// and prints what it says as a stream; it starts nothing itself. The engine runs the script in an interpreter that has the library, bounded
// in memory, time and output, spools the stream, and hands it to Validate and Extract as Input.Reading. What the stream means, what is heavy
// and what is kept, the provider decides in Go.
//
// The script is run as `INTERPRETER FLAGS SCRIPT probe`, which prints one JSON object, a ReaderIdentity, and as
// `INTERPRETER FLAGS SCRIPT JOB ARGUMENT PAYLOAD…`, which prints the stream; JOB is validate or extract. It has no input, writes nothing but its
// streams, and exits 0 also where a payload is refused or the library is missing: the stream says so.
type Reader interface {
	Provider
	// Script is the program. Its digest is part of the key of what is read with it.
	Script() Script
	// Interpreter is the program that runs the script: a name to be looked up, or a path. argv is the command of the capture, nil for
	// an import; options are the extraction's, nil for a validation. An error says which argument to write.
	Interpreter(argv []string, options any) (string, error)
	// Probe is the command that answers like `SCRIPT probe` for the library that the planned command argv will load, when it is run where and as
	// the workload is.
	Probe(argv []string) ([]string, error)
	// Argument is what the script is told of the extraction's options, which are nil for a validation.
	Argument(options any) (string, error)
	// Missing says what to do where an interpreter has no library; version is the one that is needed, "" for any.
	Missing(interpreter, version string) string
}

// Script is an embedded program that runs a producer's reader.
type Script struct {
	Collector
	Library string   // that must be there, as its package index names it
	Flags   []string // of the interpreter, so that nothing but what is installed with it is loaded
}

// ReaderIdentity is a probe's answer.
type ReaderIdentity struct {
	Library string   `json:"library"`
	Version string   `json:"version"`           // of the library; empty where it is not there
	Runtime string   `json:"runtime,omitempty"` // name and version of the interpreter
	Files   []string `json:"files,omitempty"`   // absolute: what the library does is in these, and they are keyed by content
	Error   string   `json:"error,omitempty"`   // why the library could not be loaded
}

// Reading is what a Reader's script left of one job, over all payloads in their order.
type Reading struct {
	Path    string `json:"path"`              // of the spooled stream
	Version string `json:"version,omitempty"` // of the library that must have read it; "" for any
	Failure string `json:"failure,omitempty"` // why the script did not come to its end; the stream may break off then
}
