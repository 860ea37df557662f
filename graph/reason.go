package graph

import (
	"github.com/flameox/flameox/graph/facet"
	"github.com/flameox/flameox/internal/digest"
)

// State is what will become of a node.
type State string

// The states of a decision.
const (
	Cached   State = "cached"
	Run      State = "run"
	TopUp    State = "top_up"  // some of the wanted attempts are there
	MayRun   State = "may_run" // runs only if a pure stage upstream, which runs, changes its output
	Blocked  State = "blocked"
	Excluded State = "excluded"
)

// Code is why a node is not cached. The facets of a key are codes too: the part that changed.
type Code string

// The reasons, one per facet and those that are no facet's.
const (
	NeverRan              Code = "never_ran"
	MoreAttempts          Code = "more_attempts"
	InvalidAttempts       Code = "invalid_attempts"
	EvidenceLost          Code = "evidence_lost"
	PreviousFailed        Code = "previous_failed"
	Replaced              Code = "replaced"
	Upstream              Code = "upstream"
	Expired               Code = "expired"
	ImplementationChanged Code = "implementation_changed"
	DefinitionChanged     Code = Code(facet.Definition)
	CommandChanged        Code = Code(facet.Command)
	ExecutablesChanged    Code = Code(facet.Executables)
	InputsChanged         Code = Code(facet.Inputs)
	IdentityChanged       Code = Code(facet.Identity)
	HostClassChanged      Code = Code(facet.HostClass)
)

// Reason is one cause of a decision, as data.
type Reason struct {
	Code    Code           `json:"code"`
	Text    string         `json:"text,omitempty"`  // a sentence, where the code does not say it all
	Since   string         `json:"since,omitempty"` // the run that was compared with
	Changes []facet.Change `json:"changes,omitempty"`
	Files   []FileChange   `json:"files,omitempty"` // the files behind a changed tree
}

// FileChange is one file that differs between two stored trees. Old or New is zero where the file is missing.
type FileChange struct {
	Path string        `json:"path"`
	Old  digest.Digest `json:"old"`
	New  digest.Digest `json:"new"`
}

// implementationEntry is the name of the fact of the definition facet that holds the implementation version.
const implementationEntry = "version"
