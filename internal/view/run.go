package view

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// Failure is what is said of a stage that failed: what happened, what was kept, what to try.
type Failure struct {
	Address string
	After   time.Duration
	What    string   // "python exited 1"
	Quote   []string // the lines that say most
	From    string   // where they come from: "last line of stderr"
	Kept    []string // "stderr", "partial benchmark.json"
	Logs    string   // command that shows what was kept, or ""
	Try     []string // commands
}

// Write writes the failure.
func (v *Failure) Write(w io.Writer, o Options) error {
	p := newPage(o)
	p.failure(v)
	return p.writeTo(w)
}

func (p *page) failure(v *Failure) {
	l := line{{p.g.fail + " ", bad}}.add(strong, clean(v.Address)).add(plain, "   failed")
	if v.After > 0 {
		l = l.add(plain, " after "+p.o.symbols(Duration(v.After)))
	}
	if v.What != "" {
		l = l.add(plain, ": "+clean(v.What))
	}
	p.put(4, l)
	for i, q := range v.Quote {
		l := line{{"    " + clean(q), plain}}
		if v.From != "" && i == len(v.Quote)-1 {
			l = l.add(faint, "          ("+clean(v.From)+")")
		}
		p.put(6, l)
	}
	switch {
	case len(v.Kept) > 0:
		l := line{{"    kept: ", plain}}.add(plain, clean(strings.Join(v.Kept, ", ")))
		if v.Logs != "" {
			l = l.add(plain, "       ").add(strong, clean(v.Logs))
		}
		p.put(10, l)
	case v.Logs != "":
		p.put(10, line{{"    logs: ", plain}, {clean(v.Logs), strong}})
	}
	for i, t := range v.Try {
		label := "    try:  "
		if i > 0 {
			label = "          "
		}
		p.put(10, line{{label, plain}, {clean(t), strong}})
	}
}

// RunDetails is everything about one run.
type RunDetails struct {
	Run, Address, Kind string
	Status             string // "valid", "failed: exit 3", in the words of the caller
	Good               bool   // the result stands
	Reasons            []Note // why not
	Fields             []Field
	Facts              []Fact // the key, facet by facet
	Results            []Field
	Outputs            []Output
	Limitations        []Note
}

// Field is one named line. Empty values are left out.
type Field struct{ Name, Value string }

// Note is a code with its sentence.
type Note struct{ Code, Text string }

// Output is one artifact.
type Output struct {
	Name   string
	Role   string
	Size   int64
	Digest string // short
	Mark   string // "sensitive", "tree", or ""
}

// Write writes the details.
func (v *RunDetails) Write(w io.Writer, o Options) error {
	p := newPage(o)
	l := line{{clean(v.Address), strong}}.add(plain, "   run "+clean(v.Run))
	if v.Kind != "" && !strings.HasPrefix(v.Address, v.Kind+".") {
		l = l.add(plain, "   "+clean(v.Kind))
	}
	st := bad
	if v.Good {
		st = good
	}
	p.put(4, l.add(plain, "   ").add(st, clean(v.Status)))
	p.notes(v.Reasons)
	p.fields(v.Fields)
	if len(v.Results) > 0 {
		p.put(0, line{{"results:", faint}})
		p.fields(v.Results)
	}
	if len(v.Facts) > 0 {
		p.put(0, line{{"key:", faint}})
		p.facts(v.Facts)
	}
	if len(v.Outputs) > 0 {
		p.put(0, line{{"artifacts:", faint}})
		t := &Table{Columns: []Column{{Path: true}, {Right: true, Keep: true}, {Keep: true}, {}, {}}}
		for _, a := range v.Outputs {
			t.Rows = append(t.Rows, []string{a.Name, Bytes(a.Size), a.Digest, a.Role, a.Mark})
		}
		p.table(t, 2)
	}
	if len(v.Limitations) > 0 {
		p.put(0, line{{"limitations:", faint}})
		p.notes(v.Limitations)
	}
	return p.writeTo(w)
}

func (p *page) notes(list []Note) {
	for _, n := range list {
		l := line{{"  ", plain}}.add(work, clean(n.Code))
		if n.Text != "" {
			l = l.add(plain, ": "+clean(n.Text))
		}
		p.put(4, l)
	}
}

func (p *page) fields(list []Field) {
	n := 12
	for _, f := range list {
		if f.Value != "" {
			n = max(n, len([]rune(f.Name)))
		}
	}
	for _, f := range list {
		if f.Value != "" {
			p.put(n+4, line{{"  ", plain}}.add(plain, clean(f.Name)).pad(n+4).add(plain, p.o.symbols(clean(f.Value))))
		}
	}
}

// LogsHeader stands before the output of a run.
type LogsHeader struct {
	Address string
	Newest  RunRef
	Status  string // "exited 1 after 3.1 s"
	Good    bool
	Command string
	Dir     string
}

// Write writes the header.
func (v *LogsHeader) Write(w io.Writer, o Options) error {
	p := newPage(o)
	st := bad
	if v.Good {
		st = good
	}
	p.put(4, line{{clean(v.Address), strong}}.add(plain, "   "+v.Newest.text(o)+"   ").add(st, p.o.symbols(clean(v.Status))))
	p.fields([]Field{{"command", v.Command}, {"in", v.Dir}})
	return p.writeTo(w)
}

// LogsSection stands before one stream or file: its name and size, in a rule as wide as the output.
type LogsSection struct {
	Name string
	Size int64
	Cut  int64 // bytes at the beginning that are not shown
}

// Write writes the heading.
func (v *LogsSection) Write(w io.Writer, o Options) error {
	p := newPage(o)
	text := fmt.Sprintf("%s  %s", clean(v.Name), Bytes(v.Size))
	if v.Cut > 0 {
		text += fmt.Sprintf(", without the first %s", Bytes(v.Cut))
	}
	width := o.Width
	if width == 0 {
		width = 60
	}
	l := line{{strings.Repeat(p.g.rule, 2) + " ", faint}}.add(strong, text).add(faint, " ")
	l = l.add(faint, strings.Repeat(p.g.rule, max(0, min(width, 100)-l.width())))
	p.put(0, l)
	return p.writeTo(w)
}
