package evidence

import (
	"fmt"
	"slices"
	"time"
)

// Limitation is something that evidence does not say, or says with a restriction: a stable code that
// tools may test, and a sentence for people.
type Limitation struct {
	Code string `json:"code"`
	Text string `json:"text"`
}

// String is "code: text", the form in which the runs table holds it.
func (l Limitation) String() string { return l.Code + ": " + l.Text }

// State says how much of what an artifact holds became rows.
type State string

// The states of evidence. They are shown by every command that shows the evidence; a comparison never
// uses a partial side silently.
const (
	Complete     State = "complete"     // everything the tables can hold
	Partial      State = "partial"      // something was cut or could not be read; the limitations say what
	Empty        State = "empty"        // the artifact is valid and holds no sample
	Incompatible State = "incompatible" // a version or a structure that is not qualified: refused
	Unavailable  State = "unavailable"  // there is no artifact or no reader
)

// states are all states from the best to the worst: partial stands behind empty, so that rows which are missing are not hidden by an
// artifact that holds none.
var states = []State{Complete, Empty, Partial, Unavailable, Incompatible}

// Known says whether s is one of the five states.
func (s State) Known() bool { return slices.Contains(states, s) }

// Worse is the worse of two states, of which either may be "" for none. One that this version does not know can be claimed to be no better
// than any.
func Worse(a, b State) State {
	rank := func(s State) int {
		i := slices.Index(states, s)
		if i < 0 && s != "" {
			i = len(states)
		}
		return i
	}
	if rank(b) > rank(a) {
		return b
	}
	return a
}

// Outcome is what an extraction says beside its rows.
type Outcome struct {
	State       State          `json:"state"`
	Limitations []Limitation   `json:"limitations,omitempty"`
	Producer    string         `json:"producer,omitempty"` // version of the producer, as the artifact states it
	Results     map[string]any `json:"results,omitempty"`  // result attributes that expressions may read
}

// Budget bounds one extraction. A zero field is no bound. What has a weight keeps its heaviest and says
// what was dropped; what has none is refused.
type Budget struct {
	InputBytes  int64         // bytes of native payload that may be read
	Rows        int64         // rows of all tables together
	OutputBytes int64         // bytes of all Parquet files together
	Memory      int64         // bytes of resident memory of the worker
	Wall        time.Duration // wall time of the worker
	Stacks      int           // distinct call stacks that are kept
	Frames      int           // distinct frames that are kept
	StackDepth  int           // frames of one stack; a deeper one is cut at the root and counted
}

// DefaultBudget is what an extraction gets that asks for nothing: enough for any profile a person looks
// at, small enough that a damaged file cannot fill a laptop.
func DefaultBudget() Budget {
	return Budget{
		InputBytes:  4 << 30,
		Rows:        5_000_000,
		OutputBytes: 2 << 30,
		Memory:      2 << 30,
		Wall:        10 * time.Minute,
		Stacks:      200_000,
		Frames:      200_000,
		StackDepth:  2048,
	}
}

// BudgetError says which bound an extraction would have crossed. Put and Close return it; errors.As
// finds it.
type BudgetError struct {
	What  string // rows, output bytes
	Table string // the table that was being written
	Limit int64
}

// Error names the bound and what raises it.
func (e *BudgetError) Error() string {
	return fmt.Sprintf("writing table %s: the extraction's budget of %d %s is used up; capture less in one run, or split the stage with a matrix", e.Table, e.Limit, e.What)
}
