package manual

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/flameox/flameox/cmd/flameox/internal/cmdline"
)

// Roff is the manual page of one command in section 1. Date is YYYY-MM-DD, or "" where it is not known.
func Roff(p *Page, version, date string) string {
	var b strings.Builder
	title(&b, p, version, date)
	b.WriteString(".SH SYNOPSIS\n")
	roffSynopsis(&b, p)
	if len(p.Body) > 0 {
		b.WriteString(".SH DESCRIPTION\n")
		roffBody(&b, p.Body)
	}
	if len(p.Commands) > 0 {
		b.WriteString(".SH COMMANDS\n")
		for _, c := range p.Commands {
			fmt.Fprintf(&b, ".TP\n\\fB%s\\fR\n%s\n", escape(c.Name), text(c.Usage))
		}
	}
	roffOptions(&b, ".SH OPTIONS", p.Options)
	roffExamples(&b, ".SH EXAMPLES", p.Examples)
	if p.program() {
		roffProgram(&b)
	} else {
		b.WriteString(".SH SEE ALSO\n.BR flameox (1)\n")
	}
	return b.String()
}

// RoffAll is the manual page of the program with all its commands in it.
func RoffAll(pages []*Page, version, date string) string {
	var b strings.Builder
	p := pages[0]
	title(&b, p, version, date)
	b.WriteString(".SH SYNOPSIS\n")
	roffSynopsis(&b, p)
	if len(p.Body) > 0 {
		b.WriteString(".SH DESCRIPTION\n")
		roffBody(&b, p.Body)
	}
	roffOptions(&b, ".SH OPTIONS", p.Options)
	b.WriteString(".SH COMMANDS\n")
	for _, c := range pages[1:] {
		fmt.Fprintf(&b, ".SS %s\n", quote(strings.Join(c.Path[1:], " ")))
		roffSynopsis(&b, c)
		fmt.Fprintf(&b, ".PP\n%s\n", text(sentence(c.Usage)))
		if len(c.Body) > 0 {
			b.WriteString(".PP\n")
			roffBody(&b, c.Body)
		}
		roffOptions(&b, "", c.Options[:max(0, len(c.Options)-1)]) // -help is everywhere
		roffExamples(&b, "", c.Examples)
	}
	roffExamples(&b, ".SH EXAMPLES", p.Examples)
	roffProgram(&b)
	return b.String()
}

func title(b *strings.Builder, p *Page, version, date string) {
	name := strings.Join(p.Path, "-")
	fmt.Fprintf(b, ".TH %s 1 %s %s %s\n", quote(strings.ToUpper(name)), `"`+date+`"`, quote("flameox "+version), quote("flameox"))
	fmt.Fprintf(b, ".SH NAME\n%s \\- %s\n", escape(name), text(p.Usage))
}

func roffSynopsis(b *strings.Builder, p *Page) {
	fmt.Fprintf(b, "\\fB%s\\fR", escape(p.Name()))
	if rest := strings.TrimPrefix(synopsis(p), p.Name()); rest != "" {
		b.WriteString(escape(rest))
	}
	b.WriteString("\n")
}

func roffBody(b *strings.Builder, body []Block) {
	for i, block := range body {
		if i > 0 {
			b.WriteString(".PP\n")
		}
		if block.Text != "" {
			b.WriteString(text(block.Text) + "\n")
		}
		if len(block.Verbatim) > 0 {
			verbatim(b, block.Verbatim)
		}
	}
}

func roffOptions(b *strings.Builder, heading string, list []Option) {
	if heading != "" && len(list) > 0 {
		b.WriteString(heading + "\n")
	}
	for _, o := range list {
		b.WriteString(".TP\n")
		for i, n := range o.Names {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString("\\fB\\-" + escape(n) + "\\fR")
			if o.Value != "" {
				b.WriteString(" \\fI" + escape(o.Value) + "\\fR")
			}
		}
		b.WriteString("\n" + text(o.Explanation()) + "\n")
	}
}

func roffExamples(b *strings.Builder, heading string, list []Example) {
	if len(list) == 0 {
		return
	}
	if heading != "" {
		b.WriteString(heading + "\n")
	} else {
		b.WriteString(".PP\n")
	}
	var lines []string
	for _, e := range list {
		lines = append(lines, e.Line)
	}
	verbatim(b, lines)
}

// roffProgram is what holds for all commands.
func roffProgram(b *strings.Builder) {
	b.WriteString(".SH EXIT STATUS\n")
	for _, c := range cmdline.ExitCodes() {
		fmt.Fprintf(b, ".TP\n\\fB%s\\fR\n%s\n", strconv.Itoa(c.Code), text(c.Meaning))
	}
	list := func(heading string, rows [][2]string) {
		b.WriteString(".SH " + heading + "\n")
		for _, r := range rows {
			fmt.Fprintf(b, ".TP\n\\fB%s\\fR\n%s\n", escape(r[0]), text(r[1]))
		}
	}
	list("FILES", [][2]string{
		{"flameox.hcl, *.flameox.hcl", "the experiment: all files of these names in the folder"},
		{".flameox/", "the store, at the root of the repository and shared by its worktrees: results, artifacts, evidence"},
	})
	list("ENVIRONMENT", [][2]string{
		{"FLAMEOX_VAR_name", "the value of the variable called name, where -var and -var-file do not set it"},
		{"NO_COLOR", "no colour, where it is set to anything"},
	})
	b.WriteString(".SH SEE ALSO\n.BR git (1),\n.BR go (1)\n")
}

func verbatim(b *strings.Builder, lines []string) {
	b.WriteString(".RS 4\n.nf\n")
	for _, l := range lines {
		b.WriteString(guard(escape(l)) + "\n")
	}
	b.WriteString(".fi\n.RE\n")
}

// text is a paragraph with a new line after each sentence, as roff wants it to set the space between them.
func text(s string) string {
	words := strings.Fields(s)
	var b strings.Builder
	for i, w := range words {
		switch {
		case i == 0:
		case endsSentence(words[i-1]) && w[0] >= 'A' && w[0] <= 'Z':
			b.WriteString("\n")
		default:
			b.WriteString(" ")
		}
		b.WriteString(escape(w))
	}
	return guard(b.String())
}

func endsSentence(w string) bool {
	return strings.HasSuffix(w, ".") && !strings.HasSuffix(w, "..")
}

func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] + "." }

var escapes = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`)

// escape makes every character of s stand for itself.
func escape(s string) string { return escapes.Replace(s) }

// guard keeps a line that begins like a request from being one.
func guard(line string) string {
	if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
		return `\&` + line
	}
	return line
}

func quote(s string) string { return `"` + strings.ReplaceAll(escape(s), `"`, `\(dq`) + `"` }
