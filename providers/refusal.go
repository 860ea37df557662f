package providers

import (
	"errors"
	"fmt"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/formats/profile"
)

// Codes of refusals that several providers share.
const (
	InputBudget  = "input_budget"     // the payload is larger than may be read
	MemoryBudget = "memory_budget"    // what it holds needs more memory than may be used
	Overflow     = "weights_overflow" // a sum of its weights fits no number
	TooMuch      = "profile_limits"   // its stacks pass a limit of every profile
)

// Refusal says why a payload can be no evidence. It is the payload's fault, or with Missing that of a reader which is not there.
type Refusal struct {
	evidence.Limitation
	Missing bool
}

func (r *Refusal) Error() string { return r.Text }

// Refuse makes a *Refusal.
func Refuse(code, format string, args ...any) error {
	return &Refusal{Limitation: evidence.Limitation{Code: code, Text: fmt.Sprintf(format, args...)}}
}

// Refused is the outcome of an extraction that err ended because of the payload, or of a bound before any row was written. ok is false for an
// error of another kind, and for none. sink is nil for a validation.
func Refused(err error, sink *evidence.Sink) (out evidence.Outcome, ok bool) {
	var bad *Refusal
	var over *profile.OverflowError
	var limit *profile.LimitError
	var full *evidence.BudgetError
	out.State = evidence.Incompatible
	switch {
	case errors.As(err, &bad):
		if bad.Missing {
			out.State = evidence.Unavailable
		}
		out.Limitations = []evidence.Limitation{bad.Limitation}
	case errors.As(err, &over):
		out.Limitations = []evidence.Limitation{{Code: Overflow, Text: over.Error()}}
	case errors.As(err, &limit):
		out.Limitations = []evidence.Limitation{{Code: TooMuch, Text: limit.Error()}}
	case errors.As(err, &full) && (sink == nil || sink.Rows() == 0):
		out.Limitations = []evidence.Limitation{{Code: MemoryBudget, Text: full.Error()}}
	default:
		return evidence.Outcome{}, false
	}
	return out, true
}
