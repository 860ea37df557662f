package lang

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/flameox/flameox/internal/suggest"
	"github.com/flameox/flameox/internal/token"
)

// summary is the first line of a diagnostic: stable, so that documentation and editors can rely on it. What
// differs from case to case is in the detail.
type summary string

const (
	sumNoConfig        summary = "No configuration"
	sumUnreadable      summary = "Cannot read file"
	sumFileTooLarge    summary = "File too large"
	sumNotText         summary = "Not a text file"
	sumTooDeep         summary = "Nested too deeply"
	sumBadNumber       summary = "Number out of range"
	sumSyntax          summary = "Syntax error"
	sumUnknownBlock    summary = "Unknown block type"
	sumLabels          summary = "Wrong labels"
	sumBadName         summary = "Invalid name"
	sumUnknownKind     summary = "Unknown kind of block"
	sumUnknownArg      summary = "Unknown argument"
	sumMissingArg      summary = "Missing argument"
	sumMisplacedArg    summary = "Argument outside of a block"
	sumUnknownNested   summary = "Unknown nested block"
	sumDuplicate       summary = "Duplicate declaration"
	sumVersion         summary = "Unsupported flameox version"
	sumUnknownName     summary = "Unknown name"
	sumUnknownVariable summary = "Unknown variable"
	sumUnknownLocal    summary = "Unknown local value"
	sumUnknownRef      summary = "Unknown reference"
	sumIncomplete      summary = "Incomplete reference"
	sumNotAllowed      summary = "Reference not allowed here"
	sumNotKnown        summary = "Result not known yet"
	sumUnknownResult   summary = "Unknown result"
	sumUnknownToken    summary = "Unknown runtime value"
	sumNotValue        summary = "Block used as a value"
	sumComputedRef     summary = "Reference is not literal"
	sumWrongKind       summary = "Wrong kind of reference"
	sumUnknownInstance summary = "Unknown instance"
	sumChooseInstance  summary = "Instance not chosen"
	sumCycle           summary = "Dependency cycle"
	sumNoValue         summary = "No value for variable"
	sumBadVariable     summary = "Invalid value for variable"
	sumBadVarFile      summary = "Invalid variable file"
	sumInvalidValue    summary = "Invalid value"
	sumExpression      summary = "Invalid expression"
	sumTooLarge        summary = "Value too large"
	sumNUL             summary = "NUL byte in a string"
	sumTokenCut        summary = "Runtime value changed"
	sumSensitive       summary = "Sensitive value exposed"
	sumBadAxis         summary = "Invalid axis"
	sumUnknownAxis     summary = "Unknown axis"
	sumAxisValue       summary = "Unknown axis value"
	sumTooMany         summary = "Too many instances"
	sumNoResult        summary = "Result not available"
	sumEmptyAxis       summary = "Empty axis"
	sumNoInstances     summary = "No instances"
)

// SyntaxError is the summary of what could not be parsed at all: what else the file holds is then unknown.
const SyntaxError = string(sumSyntax)

// catalogue is every summary, in the order of the constants.
var catalogue = []summary{
	sumNoConfig, sumUnreadable, sumFileTooLarge, sumNotText, sumTooDeep, sumBadNumber, sumSyntax, sumUnknownBlock, sumLabels, sumBadName,
	sumUnknownKind, sumUnknownArg, sumMissingArg, sumMisplacedArg, sumUnknownNested, sumDuplicate, sumVersion, sumUnknownName,
	sumUnknownVariable, sumUnknownLocal, sumUnknownRef, sumIncomplete, sumNotAllowed, sumNotKnown, sumUnknownResult, sumUnknownToken,
	sumNotValue, sumComputedRef, sumWrongKind, sumUnknownInstance, sumChooseInstance, sumCycle, sumNoValue, sumBadVariable,
	sumBadVarFile, sumInvalidValue, sumExpression, sumTooLarge, sumNUL, sumTokenCut, sumSensitive, sumBadAxis, sumUnknownAxis, sumAxisValue,
	sumTooMany, sumNoResult, sumEmptyAxis, sumNoInstances,
}

// Summaries lists the summary of every diagnostic this package can make, sorted.
func Summaries() []string {
	var list []string
	for _, s := range catalogue {
		list = append(list, string(s))
	}
	slices.Sort(list)
	return list
}

func errorAt(s summary, r hcl.Range, format string, args ...any) *hcl.Diagnostic {
	return &hcl.Diagnostic{Severity: hcl.DiagError, Summary: string(s), Detail: fmt.Sprintf(format, args...), Subject: &r}
}

func warningAt(s summary, r hcl.Range, format string, args ...any) *hcl.Diagnostic {
	d := errorAt(s, r, format, args...)
	d.Severity = hcl.DiagWarning
	return d
}

// errorNowhere is an error that no range belongs to, such as one about the command line.
func errorNowhere(s summary, format string, args ...any) *hcl.Diagnostic {
	return &hcl.Diagnostic{Severity: hcl.DiagError, Summary: string(s), Detail: fmt.Sprintf(format, args...)}
}

// place is "flameox.hcl:12" for the middle of a sentence.
func place(r hcl.Range) string { return fmt.Sprintf("%s:%d", r.Filename, r.Start.Line) }

// fromHCL gives diagnostics of the HCL library one of our summaries. Its own goes to the front of the detail, because it
// is not ours to keep stable. where says in which instance it happened, or is empty. With hide, nothing that could hold a value is kept.
func fromHCL(s summary, diags hcl.Diagnostics, where string, hide bool) hcl.Diagnostics {
	out := make(hcl.Diagnostics, 0, len(diags))
	for _, d := range diags {
		c := *d
		c.Summary = string(s)
		c.Extra = nil // the library's own, which may keep large values alive
		switch {
		case hide:
			c.Detail = "The expression cannot be evaluated. The reason is not shown, because a sensitive variable takes part in it."
			c.Expression, c.EvalContext = nil, nil
		case d.Summary == "" || strings.HasPrefix(d.Detail, d.Summary):
		default:
			c.Detail = d.Summary + ". " + d.Detail
		}
		// The library quotes what it shows, and with it the bytes that delimit runtime tokens.
		c.Detail = strings.ReplaceAll(token.Display(strings.ReplaceAll(c.Detail, `\x00`, "\x00")), "?.", "?")
		c.Detail = cut(c.Detail)
		if where != "" {
			c.Detail += "\nThis is in " + where + "."
		}
		out = append(out, &c)
	}
	return out
}

// maxDetail bounds a message of the library, which may hold a whole value.
const maxDetail = 2000

func cut(s string) string {
	if len(s) <= maxDetail {
		return s
	}
	return strings.ToValidUTF8(s[:maxDetail], "") + "..."
}

// sortDiags orders by file and position; what has no position comes last.
func sortDiags(diags hcl.Diagnostics) hcl.Diagnostics {
	sort.SliceStable(diags, func(i, j int) bool {
		a, b := diags[i].Subject, diags[j].Subject
		switch {
		case a == nil || b == nil:
			return a != nil && b == nil
		case a.Filename != b.Filename:
			return a.Filename < b.Filename
		}
		return a.Start.Byte < b.Start.Byte
	})
	return diags
}

// suggester finds what somebody may have meant. It gives up after a while: a file with thousands of
// unknown names is not a file of typing errors, and comparing all of them with all known names is quadratic.
type suggester struct{ asked int }

const (
	maxAsked = 200
	maxKnown = 5000
)

// tired says that no more suggestions will come, so that what they would be chosen from need not be collected.
func (s *suggester) tired() bool { return s.asked > maxAsked }

// didYouMean is ` Did you mean "x"?` with a leading space, or "".
func (s *suggester) didYouMean(name string, known []string) string {
	s.asked++
	if len(name) < 3 {
		// Every short name is near every other.
		if i := slices.IndexFunc(known, func(k string) bool { return strings.EqualFold(k, name) }); i >= 0 {
			return fmt.Sprintf(" Did you mean %q?", known[i])
		}
		return ""
	}
	if s.tired() || len(known) > maxKnown || len(name) > 200 {
		return ""
	}
	if near := suggest.Nearest(name, known); near != "" && near != name {
		return fmt.Sprintf(" Did you mean %q?", near)
	}
	return ""
}

// oneOf is `"a", "b" or "c"`.
func oneOf(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = fmt.Sprintf("%q", n)
	}
	return oneOfPlain(quoted)
}

func oneOfPlain(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}

// maxNamed is how many names of a long list someOf shows.
const maxNamed = 6

// someOf is the first of n names: `"a", "b" and 40 more`. Only maxNamed names need to be there.
func someOf(names []string, n int) string {
	if n <= maxNamed {
		return oneOf(names)
	}
	quoted := make([]string, maxNamed)
	for i := range quoted {
		quoted[i] = fmt.Sprintf("%q", names[i])
	}
	return fmt.Sprintf("%s and %d more", strings.Join(quoted, ", "), n-maxNamed)
}
