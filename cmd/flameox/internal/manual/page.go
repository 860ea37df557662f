package manual

import (
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/internal/pattern"
)

// Page is what is known of a command, or of the program.
type Page struct {
	Path     []string // "flameox", "bundle", "export"
	Usage    string   // one line, without a full stop
	Args     string   // "RUN|ADDRESS ..."; "" where there are none
	Body     []Block
	Examples []Example
	Options  []Option
	Commands []Entry // of a group, and of the program
}

// Name is the command as it is typed: "flameox bundle export".
func (p *Page) Name() string { return strings.Join(p.Path, " ") }

// Block is a paragraph to be wrapped, or lines that stay as they are.
type Block struct {
	Text     string
	Verbatim []string // without their common indentation
}

// Entry is a command in a list.
type Entry struct{ Name, Usage string }

// Option is a flag.
type Option struct {
	Names   []string // without dashes, the usual one first
	Value   string   // "FILE"; "" of a switch
	Usage   string   // without backquotes
	Default string   // "" where there is none worth telling
}

// Example is a command line for sh.
type Example struct {
	Line string // as it is shown
	Exit int    // the code it ends with
}

// Pages are the program and every command that is not hidden, in the order in which they are declared.
func Pages(app *cli.App) []*Page {
	program := &Page{Path: []string{app.Name}, Usage: app.Usage, Options: options(app.Flags, !app.HideHelp)}
	program.Body, program.Examples = describe(app.Description)
	pages := []*Page{program}
	var add func(parent *Page, commands []*cli.Command)
	add = func(parent *Page, commands []*cli.Command) {
		for _, c := range commands {
			if c.Hidden || c.Name == "help" {
				continue
			}
			parent.Commands = append(parent.Commands, Entry{c.Name, c.Usage})
			p := &Page{
				Path: append(slices.Clone(parent.Path), c.Name), Usage: c.Usage, Args: c.ArgsUsage,
				Options: options(c.Flags, !c.HideHelp),
			}
			p.Body, p.Examples = describe(c.Description)
			pages = append(pages, p)
			add(p, c.Subcommands)
		}
	}
	add(program, app.Commands)
	return pages
}

// Find is the page of the command that names lead to, without the program's own; nil where there is none.
func Find(pages []*Page, names []string) *Page {
	for _, p := range pages {
		if slices.Equal(p.Path[1:], names) {
			return p
		}
	}
	return nil
}

var placeholder = pattern.Lazy{Expr: "`([^`]*)`"}

// NewOption is a flag as people read it.
func NewOption(f cli.Flag) Option {
	o := Option{Names: f.Names()}
	d, ok := f.(cli.DocGenerationFlag)
	if !ok {
		return o
	}
	o.Usage = d.GetUsage()
	if m := placeholder.FindStringSubmatch(o.Usage); m != nil {
		o.Value = m[1]
		o.Usage = strings.Replace(o.Usage, m[0], m[1], 1)
	}
	if !d.TakesValue() {
		o.Value = ""
		return o
	}
	if o.Value == "" {
		o.Value = "VALUE"
	}
	text := d.GetDefaultText()
	if s, err := strconv.Unquote(text); err == nil {
		text = s
	}
	if text != "0" && text != "0s" {
		o.Default = text
	}
	return o
}

func options(flags []cli.Flag, help bool) (out []Option) {
	for _, f := range flags {
		if v, ok := f.(cli.VisibleFlag); ok && !v.IsVisible() || slices.Contains(f.Names(), "help") {
			continue
		}
		out = append(out, NewOption(f))
	}
	if help {
		out = append(out, Option{Names: []string{"help", "h"}, Usage: "show this page"})
	}
	return out
}

var exits = pattern.Lazy{Expr: `\s# exits (\d+)`}

// describe splits a Description into what is said and what is shown. Lines are joined to paragraphs, whatever width they were written for.
func describe(text string) (body []Block, examples []Example) {
	var words, lines []string
	flush := func() {
		if len(words) > 0 {
			body = append(body, Block{Text: strings.Join(words, " ")})
		}
		if len(lines) > 0 {
			body = append(body, Block{Verbatim: lines})
		}
		words, lines = nil, nil
	}
	inExamples := false
	for line := range strings.SplitSeq(text, "\n") {
		trimmed := strings.TrimSpace(line)
		switch {
		case trimmed == "Examples:":
			flush()
			inExamples = true
		case trimmed == "":
			flush()
		case inExamples:
			e := Example{Line: trimmed}
			if m := exits.FindStringSubmatch(trimmed); m != nil {
				e.Exit, _ = strconv.Atoi(m[1])
			}
			examples = append(examples, e)
		case line != strings.TrimLeft(line, " \t"):
			if len(words) > 0 {
				flush()
			}
			lines = append(lines, trimmed)
		default:
			if len(lines) > 0 {
				flush()
			}
			words = append(words, strings.Fields(trimmed)...)
		}
	}
	flush()
	return body, examples
}
