package providers

// Registrar is an Extractor whose documents say something of the run that left them, and are appended to that run: what a program found out
// about its own outputs. The engine takes the document from what the run left, validates and extracts the immutable payload, and
// appends it to the run's record by compare-and-swap. Whatever the document is not the authority on, such as the command, the machine and
// the sources, stays the run's.
//
// The outcome of Extract has the result "producer", the name of who wrote the document, and Outcome.Producer with its version; where
// Registered.Verdict is set, also the result "verdict".
type Registrar interface {
	Extractor
	Registers() Registered
}

// Registered is what a document is to the run that it is registered with.
type Registered struct {
	Role      string // of the artifact that it becomes
	MediaType string
	About     string // role of the artifact of the run that lists what the document is about; "" for the run as a whole
	Verdict   bool   // it says whether the run's results are right: pass, fail, inconclusive or unsupported
}
