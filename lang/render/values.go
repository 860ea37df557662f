package render

import (
	"encoding/json"
	"fmt"
	"io"
	"sort"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/flameox/flameox/internal/token"
)

const maxInvolved = 6

// involved are lines such as `matrix.rows is 1000` about what the diagnostic's expression refers to.
func involved(d *hcl.Diagnostic) []string {
	if d.Expression == nil || d.EvalContext == nil {
		return nil
	}
	seen := map[string]bool{}
	var lines []string
	for _, traversal := range d.Expression.Variables() {
		for len(traversal) > 0 {
			v, diags := traversal.TraverseAbs(d.EvalContext)
			if diags.HasErrors() {
				// Show the part that exists: it is what the rest was looked for in.
				traversal = traversal[:len(traversal)-1]
				if len(traversal) < 2 {
					break
				}
				continue
			}
			name := Path(traversal)
			if !v.IsMarked() && v.Type() == cty.String && v.IsKnown() && !v.IsNull() && token.Has(v.AsString()) {
				break // a value that exists only while a stage runs has nothing to show
			}
			if !seen[name] {
				seen[name] = true
				lines = append(lines, name+" is "+Value(v))
			}
			break
		}
	}
	sort.Strings(lines)
	if len(lines) > maxInvolved {
		lines = append(lines[:maxInvolved], fmt.Sprintf("and %d more", len(lines)-maxInvolved))
	}
	return lines
}

// AllRoot is the root of a traversal that stands for every instance of the block named after it. No user can write it.
const AllRoot = "*"

// Path is a traversal as it is written.
func Path(t hcl.Traversal) string {
	var b strings.Builder
	if len(t) > 1 && t.RootName() == AllRoot {
		first, _ := t[1].(hcl.TraverseAttr)
		return Path(append(hcl.Traversal{hcl.TraverseRoot{Name: first.Name}}, t[2:]...)) + "[*]"
	}
	for _, step := range t {
		switch s := step.(type) {
		case hcl.TraverseRoot:
			b.WriteString(s.Name)
		case hcl.TraverseAttr:
			b.WriteString("." + s.Name)
		case hcl.TraverseIndex:
			b.WriteString("[" + Value(s.Key) + "]")
		case hcl.TraverseSplat:
			b.WriteString("[*]")
		}
	}
	return b.String()
}

const maxString = 60

// Value is a short text of a value: strings quoted and cut, collections by their size, never anything sensitive.
func Value(v cty.Value) string {
	if v == cty.NilVal {
		return "nothing"
	}
	if v.ContainsMarked() {
		return "sensitive"
	}
	t := v.Type()
	switch {
	case !v.IsKnown():
		return "not known"
	case v.IsNull():
		return "null"
	case t == cty.String:
		s := token.Display(v.AsString())
		if r := []rune(s); len(r) > maxString {
			s = string(r[:maxString]) + "..."
		}
		return strconv.Quote(s)
	case t == cty.Number:
		return v.AsBigFloat().Text('g', 20)
	case t == cty.Bool:
		return strconv.FormatBool(v.True())
	case t.IsObjectType():
		return attributes("an object with", t.AttributeTypes())
	case t.IsMapType():
		return keys(v)
	case v.CanIterateElements():
		return count1(v.LengthInt(), "a list of %d element", "s")
	}
	return "a " + t.FriendlyName()
}

// keys is a map by its first keys: one that is missing is often a slip of one that is there.
func keys(v cty.Value) string {
	const most = 8
	n := v.LengthInt()
	if n == 0 {
		return "an empty map"
	}
	var names []string
	for it := v.ElementIterator(); it.Next() && len(names) < most; {
		k, _ := it.Element()
		names = append(names, Value(k))
	}
	text := "a map with " + strings.Join(names, ", ")
	if n > most {
		text += fmt.Sprintf(" and %d more", n-most)
	}
	return text
}

func count1(n int, format, plural string) string {
	if n != 1 {
		format += plural
	}
	return fmt.Sprintf(format, n)
}

func attributes(prefix string, types map[string]cty.Type) string {
	var names []string
	for n := range types {
		names = append(names, token.Display(n))
	}
	sort.Strings(names)
	switch {
	case len(names) == 0:
		return "an empty object"
	case len(names) > 8:
		return fmt.Sprintf("%s %s and %d more", prefix, strings.Join(names[:8], ", "), len(names)-8)
	}
	return prefix + " " + strings.Join(names, ", ")
}

// Document is diagnostics as data, for editors.
type Document struct {
	Valid       bool         `json:"valid"` // there is no error
	Errors      int          `json:"errors"`
	Warnings    int          `json:"warnings"`
	Diagnostics []Diagnostic `json:"diagnostics"`
}

// Diagnostic is one of them.
type Diagnostic struct {
	Severity string     `json:"severity"`
	Summary  string     `json:"summary"`
	Detail   string     `json:"detail,omitempty"`
	Block    string     `json:"block,omitempty"`
	Range    *Range     `json:"range,omitempty"`
	Line     string     `json:"line,omitempty"`
	Values   []string   `json:"values,omitempty"`
	Steps    []StepJSON `json:"steps,omitempty"`
}

// StepJSON is one reference of a cycle.
type StepJSON struct {
	From  string `json:"from"`
	To    string `json:"to"`
	Range Range  `json:"range"`
}

// Range is a place in a file.
type Range struct {
	File  string `json:"file"`
	Start Pos    `json:"start"`
	End   Pos    `json:"end"`
}

// Pos counts lines and columns (characters) from 1, bytes from 0.
type Pos struct {
	Line   int `json:"line"`
	Column int `json:"column"`
	Byte   int `json:"byte"`
}

func rangeOf(r hcl.Range) Range {
	return Range{r.Filename, Pos(r.Start), Pos(r.End)}
}

// JSON writes every diagnostic as one document for editors: {"valid", "errors", "warnings", "diagnostics": […]}.
func JSON(w io.Writer, diags hcl.Diagnostics, files map[string]*hcl.File) error {
	doc := Document{Valid: !diags.HasErrors(), Diagnostics: []Diagnostic{}}
	t := &text{files: files, starts: map[string][]int{}}
	for _, d := range diags {
		j := Diagnostic{Severity: "error", Summary: d.Summary, Detail: d.Detail, Values: involved(d)}
		if d.Severity == hcl.DiagWarning {
			j.Severity = "warning"
			doc.Warnings++
		} else {
			doc.Errors++
		}
		if d.Subject != nil && d.Subject.Filename != "" {
			r := rangeOf(*d.Subject)
			j.Range = &r
			j.Block = t.block(*d.Subject)
			if line, _, ok := t.line(*d.Subject); ok && len(line) <= 4096 {
				j.Line = string(line)
			}
		}
		if steps, ok := d.Extra.(Steps); ok {
			for _, s := range steps {
				j.Steps = append(j.Steps, StepJSON{s.From, s.To, rangeOf(s.Range)})
			}
		}
		doc.Diagnostics = append(doc.Diagnostics, j)
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(doc)
}
