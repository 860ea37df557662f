package manual

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/cmd/flameox/internal/cmdline"
)

const (
	width   = 80 // columns of a help page
	margin  = "   "
	longest = 26 // columns of a name that still has its explanation beside it
)

// Install makes every command of app answer -help with its page. args are the program's arguments: writing all pages
// takes longer than most of the start, so they are written only where the arguments ask for one.
func Install(app *cli.App, args []string) *cli.App {
	if slices.ContainsFunc(args, asksForHelp) {
		return write(app)
	}
	before := app.Before
	app.Before = func(c *cli.Context) error {
		// A group, and the program itself, answer with their page where no command of theirs is named.
		if group := app.Command(c.Args().First()); group == nil || len(group.Subcommands) > 0 {
			write(app)
		}
		if before == nil {
			return nil
		}
		return before(c)
	}
	return app
}

// asksForHelp says whether arg may be what asks for a page. A value of another flag that looks the same costs some time only.
func asksForHelp(arg string) bool {
	name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
	return name == "help" || name == "h"
}

// write gives every command of app its page.
func write(app *cli.App) *cli.App {
	pages := Pages(app)
	// cli prints help through a template only; a page is a template that is one string.
	template := func(p *Page) string { return "{{" + strconv.Quote(Help(p, pages[0])) + "}}" }
	app.CustomAppHelpTemplate = template(pages[0])
	var walk func(path []string, commands []*cli.Command)
	walk = func(path []string, commands []*cli.Command) {
		for _, c := range commands {
			here := append(append([]string{}, path...), c.Name)
			if p := Find(pages, here); p != nil {
				c.CustomHelpTemplate = template(p)
			}
			walk(here, c.Subcommands)
		}
	}
	walk(nil, app.Commands)
	return app
}

// Help is the page of p, a command of program, at 80 columns. Only an example may be wider: it has to be one line to be copied.
func Help(p, program *Page) string {
	var b strings.Builder
	section := func(name string) {
		if b.Len() > 0 {
			b.WriteString("\n")
		}
		b.WriteString(name + ":\n")
	}
	section("NAME")
	hang(&b, margin, p.Name()+" - ", p.Usage)
	section("USAGE")
	b.WriteString(margin + synopsis(p) + "\n")
	if len(p.Body) > 0 {
		section("DESCRIPTION")
		for i, block := range p.Body {
			if i > 0 {
				b.WriteString("\n")
			}
			for _, line := range block.Verbatim {
				b.WriteString(margin + "  " + line + "\n")
			}
			if block.Text != "" {
				hang(&b, margin, "", block.Text)
			}
		}
	}
	if len(p.Commands) > 0 {
		section("COMMANDS")
		var rows [][2]string
		for _, c := range p.Commands {
			rows = append(rows, [2]string{c.Name, c.Usage})
		}
		if p.program() {
			rows = append(rows, [2]string{"help", "show the page of a command: flameox help COMMAND"})
		}
		table(&b, rows)
	}
	if len(p.Options) > 0 {
		section("OPTIONS")
		var rows [][2]string
		for _, o := range p.Options {
			rows = append(rows, [2]string{o.Head(), o.Explanation()})
		}
		table(&b, rows)
		if !p.program() {
			var heads []string
			for _, o := range program.Options[:len(program.Options)-1] { // -help is listed already
				if slices.ContainsFunc(p.Options, func(own Option) bool { return own.Names[0] == o.Names[0] }) {
					continue // the command's own is meant there
				}
				heads = append(heads, o.Head())
			}
			b.WriteString("\n")
			hang(&b, margin, "", "Also, as everywhere: "+strings.Join(heads, ", "))
		}
	}
	if p.program() {
		section("EXIT CODES")
		var rows [][2]string
		for _, c := range cmdline.ExitCodes() {
			rows = append(rows, [2]string{strconv.Itoa(c.Code), c.Meaning})
		}
		table(&b, rows)
	}
	if len(p.Examples) > 0 {
		section("EXAMPLES")
		for _, e := range p.Examples {
			b.WriteString(margin + e.Line + "\n")
		}
	}
	return b.String()
}

func (p *Page) program() bool { return len(p.Path) == 1 }

func synopsis(p *Page) string {
	s := p.Name()
	if len(p.Commands) > 0 {
		s += " COMMAND"
	}
	if len(p.Options) > 1 { // more than -help
		s += " [options]"
	}
	if p.Args != "" {
		s += " " + p.Args
	}
	return s
}

// Head is the flag as it is typed: "-parallelism N, -max-parallel N".
func (o Option) Head() string {
	var parts []string
	for _, n := range o.Names {
		if n = "-" + n; o.Value != "" {
			n += " " + o.Value
		}
		parts = append(parts, n)
	}
	return strings.Join(parts, ", ")
}

// Explanation is what it does, and what holds without it.
func (o Option) Explanation() string {
	usage := strings.TrimPrefix(o.Usage, o.Value+": ") // the value's name stands right beside it
	if o.Default == "" {
		return usage
	}
	return fmt.Sprintf("%s (default %s)", usage, o.Default)
}

// table writes names with their explanations beside them, or below where a name is too long.
func table(b *strings.Builder, rows [][2]string) {
	column := 0
	for _, r := range rows {
		if n := utf8.RuneCountInString(r[0]); n <= longest {
			column = max(column, n)
		}
	}
	for _, r := range rows {
		head := r[0]
		if n := utf8.RuneCountInString(head); n > column {
			b.WriteString(margin + head + "\n")
			head = strings.Repeat(" ", column)
		} else {
			head += strings.Repeat(" ", column-n)
		}
		hang(b, margin, head+"  ", r[1])
	}
}

// hang writes text behind first, wrapped, with later lines below where it began.
func hang(b *strings.Builder, indent, first, text string) {
	pad := indent + strings.Repeat(" ", utf8.RuneCountInString(first))
	line, empty := indent+first, true
	for _, w := range strings.Fields(text) {
		if !empty && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(w) > width {
			b.WriteString(strings.TrimRight(line, " ") + "\n")
			line, empty = pad, true
		}
		if !empty {
			line += " "
		}
		line, empty = line+w, false
	}
	b.WriteString(strings.TrimRight(line, " ") + "\n")
}
