// Package render shows diagnostics to people, with the source underlined, and to programs, as JSON.
//
// It is kept apart from the language so that any part of the product can show a diagnostic that carries a
// range, also one about a stage that failed much later. It never decides what is wrong. What it prints comes from files nobody has vetted, so
// control characters are made visible and never reach the terminal, and sensitive values are never printed.
package render

import "github.com/hashicorp/hcl/v2"

// Steps is a chain of references, in a diagnostic's Extra: it is shown instead of an excerpt.
type Steps []Step

// Step says that From, in Range, needs To.
type Step struct {
	From, To string
	Range    hcl.Range
}
