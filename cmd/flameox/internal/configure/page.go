package configure

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/flameox/flameox/internal/view"
	"github.com/flameox/flameox/lang/reference"
)

// page writes the reference of the language for people. It remembers the first error of writing.
type page struct {
	w   io.Writer
	o   view.Options
	err error
}

// say writes a paragraph below a heading, if there is one.
func (p *page) say(heading, text string) {
	p.printf("\n")
	if heading != "" {
		p.text(heading)
	}
	p.text(text)
}

func (p *page) text(s string) {
	for _, l := range fold(s, p.o.Width) {
		p.printf("%s\n", l)
	}
}

func (p *page) printf(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

// table writes aligned columns. Nothing is shortened: the text of the last column goes on below where the line ends.
func (p *page) table(rows [][]string) {
	last := len(rows[0]) - 1
	widths := make([]int, last)
	for _, r := range rows {
		for i, w := range widths {
			widths[i] = max(w, utf8.RuneCountInString(r[i]))
		}
	}
	indent := 0
	for _, w := range widths {
		indent += w + gap
	}
	total, room := indent-gap, p.o.Width-indent
	below := p.o.Width > 0 && room < minDoc // no room beside the others: a line of its own
	if below {
		indent, room = 6, p.o.Width-6
	}
	aligned := p.o.Width <= 0 || total <= p.o.Width
	if p.o.Width <= 0 {
		room = 0
	}
	for n, r := range rows {
		if n == 0 && below { // a title there would be taken for a text
			r = append(slices.Clone(r[:last]), "")
		}
		var b strings.Builder
		for i, w := range widths {
			switch {
			case aligned:
				b.WriteString(r[i] + strings.Repeat(" ", w-utf8.RuneCountInString(r[i])+gap))
			case r[i] != "":
				b.WriteString(r[i] + strings.Repeat(" ", gap))
			}
		}
		for i, l := range fold(r[last], room) {
			if i > 0 || below && l != "" {
				b.WriteString("\n" + strings.Repeat(" ", indent))
			}
			b.WriteString(l)
		}
		for l := range strings.SplitSeq(b.String(), "\n") {
			p.printf("%s\n", strings.TrimRight(l, " "))
		}
	}
}

const (
	gap    = 2  // between two columns
	minDoc = 28 // the narrowest last column
)

// fold breaks text into lines of at most width columns; 0 is no limit.
func fold(text string, width int) []string {
	if width <= 0 {
		return []string{text}
	}
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width:
			lines = append(lines, line)
			line = word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}

// blocks lists blocks, one a line.
func (p *page) blocks(list []*reference.Block) {
	rows := [][]string{{"block", "what it is"}}
	for _, b := range list {
		rows = append(rows, []string{b.Header(), b.Doc})
	}
	p.table(rows)
}

func (p *page) functions(names []string) {
	p.say("Functions", strings.Join(names, " "))
}

// block is the reference page of one.
func (p *page) block(b *reference.Block) {
	head := b.Header()
	if n := nature(b); p.o.Width > 0 && len(head)+len(n) > p.o.Width {
		p.text(head)
		p.text(strings.TrimSpace(n))
	} else {
		p.printf("%s%s\n", head, n)
	}
	p.text(b.Doc)
	if b.Any != "" {
		p.say("", "Arguments of any name: "+b.Any+".")
	}
	var own, common []reference.Argument
	for _, a := range b.Arguments {
		if a.Common {
			common = append(common, a)
		} else {
			own = append(own, a)
		}
	}
	p.arguments("Arguments", own)
	for _, n := range b.Nested {
		heading := n.Type + " { }, a nested block: " + n.Doc
		if n.Repeated {
			heading += "; may be repeated"
		}
		p.arguments(heading, n.Arguments)
	}
	p.attributes("Runtime values of its own run", "", b.Own)
	p.attributes("Runtime values, for other stages", refersAs(b)+".", b.Tokens)
	p.attributes("Results, for output and check", refersAs(b)+".", b.Results)
	heading := "Arguments of every stage"
	if b.Measurement {
		heading = "Arguments of every measurement"
	}
	p.arguments(heading, common)
}

// nature is what the header adds about a stage.
func nature(b *reference.Block) string {
	switch {
	case b.Measurement && len(b.Implies) > 0:
		return "   measurement; brings " + strings.Join(b.Implies, ", ") + " with the same labels"
	case b.Measurement:
		return "   measurement"
	case b.Once:
		return "   at most once"
	}
	return ""
}

// refersAs is how the block is referred to.
func refersAs(b *reference.Block) string {
	if b.Kind != "" {
		return b.Type + "." + b.Kind + ".<name>"
	}
	return b.Type + ".<name>"
}

func (p *page) arguments(heading string, list []reference.Argument) {
	if len(list) == 0 {
		return
	}
	p.printf("\n")
	p.text(heading)
	titles := []string{"  argument", "takes", "default"}
	keyed := false
	for _, a := range list {
		keyed = keyed || a.Facet != "" || a.Exempt != ""
	}
	if keyed {
		titles = append(titles, "in key")
	}
	rows := [][]string{append(titles, "is")}
	for _, a := range list {
		row := []string{"  " + a.Name, takes(a), given(a)}
		if keyed {
			row = append(row, inKey(a))
		}
		rows = append(rows, append(row, a.Doc))
	}
	p.table(rows)
}

// takes is the type of an argument and, of a reference, to what and how many instances.
func takes(a reference.Argument) string {
	kinds := strings.Join(a.Kinds, "|")
	if kinds == "" {
		kinds = "any block"
	}
	switch a.Arity {
	case reference.One:
		return kinds + ", one"
	case reference.All:
		return kinds + ", all"
	}
	return a.Type
}

func given(a reference.Argument) string {
	if a.Required {
		return "required"
	}
	return a.Default
}

func inKey(a reference.Argument) string {
	if a.Facet != "" {
		return a.Facet
	}
	return "exempt"
}

func (p *page) attributes(heading, prefix string, list []reference.Attribute) {
	if len(list) == 0 {
		return
	}
	p.printf("\n")
	p.text(heading)
	rows := [][]string{{"  name", "type", "is"}}
	for _, a := range list {
		rows = append(rows, []string{"  " + prefix + a.Name, a.Type, a.Doc})
	}
	p.table(rows)
}
