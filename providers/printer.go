package providers

// Printer is a Provider some of whose payloads only the producer's own program reads, and prints as text that others may read: perf script. It is
// a Reader without a script: the program is the maintained reader, and what it prints is parsed here. The engine finds the program where the capture found
// it, asks it for its version, and runs it over the payload, bounded in memory, time and output; what it printed is handed to Validate and Extract as
// Input.Reading, whose Version is the program's. The version is part of the key of what is read.
//
// A run has one such payload. Text that somebody printed before is a payload that is read without a program.
type Printer interface {
	Provider
	// Prints says whether the program is needed for a payload: by its media type where that is declared, else by its content.
	Prints(a Artifact) bool
	// Printing is the program: a name to be looked up, or a path. argv is the command of the capture, nil for an import; options are the
	// extraction's, nil for a validation. An error says which argument to write.
	Printing(argv []string, options any) (string, error)
	// Asks is the command that makes the program say its version, and how that is read.
	Asks(program string) (argv []string, version func(stdout []byte) (string, error))
	// Print is the command that prints a payload; options are nil for a validation, which may print less.
	Print(program string, options any, payload string) ([]string, error)
	// Missing says what to do where there is no such program, or another version than the capture had.
	Missing(program, version string) string
}
