package completion

import (
	"slices"
	"strings"
	"unicode"

	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/cmd/flameox/internal/manual"
	"github.com/flameox/flameox/internal/pattern"
)

// Kind says what an answer is.
type Kind string

// The kinds.
const (
	Words Kind = "words" // the list and nothing else
	Files Kind = "files" // whatever files there are
	Dirs  Kind = "dirs"
)

// Candidate is a word that may stand where the cursor is.
type Candidate struct{ Value, About string }

// Answer is what may stand where the cursor is. The candidates begin with what is typed.
type Answer struct {
	Kind Kind
	List []Candidate
}

// Source knows what is not in the command line. Each returns what begins with prefix, or more.
type Source interface {
	// Named are the values of a placeholder such as ADDRESS; before are the positionals before it. ok is false for a
	// placeholder that it knows nothing of.
	Named(placeholder, prefix string, before []string) (list []Candidate, ok bool)
}

// state is a command line that has been understood up to the word that is being typed.
type state struct {
	app         *cli.App
	flags       []cli.Flag     // of the innermost command first
	commands    []*cli.Command // that may come next
	args        string         // ArgsUsage
	positionals []string
	pending     cli.Flag // wants a value
	dash        bool     // -- was there
	help        bool     // "help": only commands follow
	raw         bool
	given       map[string][]string // values by the flag's first name
}

// read understands the complete words of a line. What is wrong with them is not said here; the command will.
func read(app *cli.App, words []string) *state {
	s := &state{app: app, flags: slices.Clone(app.Flags), commands: app.Commands, given: map[string][]string{}}
	for i, w := range words {
		switch {
		case s.raw || s.dash:
			s.positionals = append(s.positionals, w)
		case s.pending != nil:
			s.give(s.pending, w)
			s.pending = nil
		case w == "--":
			s.dash = true
		case len(w) > 1 && w[0] == '-':
			name, value, has := strings.Cut(strings.TrimPrefix(w[1:], "-"), "=")
			f := s.flag(name)
			switch {
			case f == nil:
			case has || manual.NewOption(f).Value == "":
				s.give(f, value)
			default:
				s.pending = f
			}
		case i == 0 && (w == "help" || w == "h"):
			s.help = true
		default:
			s.positional(w)
		}
	}
	return s
}

func (s *state) give(f cli.Flag, value string) {
	s.given[f.Names()[0]] = append(s.given[f.Names()[0]], value)
}

func (s *state) flag(name string) cli.Flag {
	for _, f := range s.flags {
		if slices.Contains(f.Names(), name) {
			return f
		}
	}
	return nil
}

func (s *state) positional(w string) {
	if len(s.positionals) == 0 {
		for _, c := range s.commands {
			if c.HasName(w) {
				s.flags = append(slices.Clone(c.Flags), s.flags...)
				s.commands, s.args, s.raw = c.Subcommands, c.ArgsUsage, c.SkipFlagParsing
				return
			}
		}
	}
	s.positionals = append(s.positionals, w)
}

// Complete is what may stand in the place of typed behind words, which do not have the program's name.
func Complete(s *state, typed string, src Source) Answer {
	a := Answer{Kind: Words}
	switch {
	case s.pending != nil:
		a = value(manual.NewOption(s.pending), typed, src)
	case !s.dash && !s.raw && !s.help && strings.HasPrefix(typed, "-"):
		dashes := typed[:1]
		if strings.HasPrefix(typed, "--") {
			dashes = "--"
		}
		if name, part, ok := strings.Cut(typed[len(dashes):], "="); ok {
			f := s.flag(name)
			if f == nil {
				break
			}
			a = value(manual.NewOption(f), part, src)
			for i := range a.List {
				a.List[i].Value = dashes + name + "=" + a.List[i].Value
			}
			break
		}
		a.List = s.flagNames(dashes)
	case s.help || len(s.commands) > 0 && len(s.positionals) == 0:
		a.List = commandNames(s.commands)
		if !s.help && s.args == "" && len(s.app.Commands) == len(s.commands) {
			a.List = append(a.List, Candidate{"help", "show the page of a command"})
		}
	default:
		a = s.argument(typed, src)
	}
	a.List = slices.DeleteFunc(a.List, func(c Candidate) bool {
		// A terminal would take a control character for an order.
		return !strings.HasPrefix(c.Value, typed) || strings.ContainsFunc(c.Value, unicode.IsControl)
	})
	return a
}

func commandNames(commands []*cli.Command) (out []Candidate) {
	for _, c := range commands {
		if !c.Hidden && c.Name != "help" {
			out = append(out, Candidate{c.Name, c.Usage})
		}
	}
	return out
}

// flagNames are the flags that may still be given: those that may be repeated, and those that were not.
func (s *state) flagNames(dashes string) (out []Candidate) {
	for _, f := range s.flags {
		if v, ok := f.(cli.VisibleFlag); ok && !v.IsVisible() || slices.Contains(f.Names(), "help") {
			continue
		}
		repeated := false
		if d, ok := f.(cli.DocGenerationSliceFlag); ok {
			repeated = d.IsSliceFlag()
		}
		if _, given := s.given[f.Names()[0]]; given && !repeated {
			continue
		}
		o := manual.NewOption(f)
		for _, n := range o.Names {
			out = append(out, Candidate{dashes + n, o.Usage})
		}
	}
	return append(out, Candidate{dashes + "help", "show the page of the command"})
}

// value completes the value of a flag.
func value(o manual.Option, typed string, src Source) Answer {
	if list := Choices(o); list != nil {
		a := Answer{Kind: Words}
		for _, v := range list {
			a.List = append(a.List, Candidate{Value: v})
		}
		return a
	}
	return named([]string{o.Value}, typed, nil, src)
}

var choices = pattern.Lazy{Expr: `^: ([a-z0-9-]+(?:, [a-z0-9-]+)* or [a-z0-9-]+)`}

// Choices are the only values that a flag takes, where its usage lists them behind the placeholder; nil where any value may do.
func Choices(o manual.Option) []string {
	_, rest, ok := strings.Cut(o.Usage, o.Value)
	if !ok || o.Value == "" {
		return nil
	}
	m := choices.FindStringSubmatch(rest)
	if m == nil {
		return nil
	}
	return strings.Split(strings.Replace(m[1], " or ", ", ", 1), ", ")
}

// argument completes a positional.
func (s *state) argument(typed string, src Source) Answer {
	list := positionals(s.args)
	n := len(s.positionals)
	if len(list) == 0 || n >= len(list) && !list[len(list)-1].repeated {
		return Answer{Kind: Words}
	}
	return named(list[min(n, len(list)-1)].names, typed, s.positionals, src)
}
