package flags

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/internal/suggest"
)

// level is one command on the way from the program to the command that runs.
type level struct {
	name     string // as it is passed on to cli; "" for the program
	path     string // "flameox evidence export", for messages
	flags    []cli.Flag
	commands []*cli.Command
	action   bool // runs something itself, so that a positional need not be a subcommand
	raw      bool // SkipFlagParsing: everything after the name is passed as it is
	given    []string
	seen     map[cli.Flag]bool
}

// line is a command line that was understood.
type line struct {
	levels      []*level
	positionals []string
	dash        int // positionals before --, or -1
}

// canonical is the line in the one form that cli reads without surprises: each level's flags
// as single arguments before the next level's name, then --, then the positionals.
func (l *line) canonical() []string {
	var out []string
	for i, v := range l.levels {
		if i > 0 {
			out = append(out, v.name)
		}
		out = append(out, v.given...)
	}
	if l.last().raw {
		return append(out, l.positionals...)
	}
	if len(l.positionals) > 0 {
		out = append(out, "--")
		out = append(out, l.positionals...)
	}
	return out
}

func (l *line) last() *level { return l.levels[len(l.levels)-1] }

// read understands args, which have no program name.
func read(app *cli.App, args []string) (*line, error) {
	root := &level{path: app.HelpName, flags: app.Flags, commands: app.Commands, action: hasAction(app), raw: app.SkipFlagParsing}
	if root.action {
		root.commands = nil
	}
	l := &line{levels: []*level{root}, dash: -1}
	if helpAsked(app, args) {
		args = append(append([]string{}, args[1:]...), "-help")
	}
	for len(args) > 0 && !l.last().raw {
		arg := args[0]
		args = args[1:]
		switch {
		case arg == "--":
			l.dash = len(l.positionals)
			l.positionals = append(l.positionals, args...)
			args = nil
		case l.isPositional(arg):
			if err := l.positional(arg); err != nil {
				return nil, err
			}
		default:
			rest, err := l.flag(arg, args)
			if err != nil {
				return nil, err
			}
			args = rest
		}
	}
	l.positionals = append(l.positionals, args...)
	if l.helpGiven() {
		l.positionals, l.dash = nil, -1
		return l, nil
	}
	return l, l.complete()
}

// helpAsked says that args are "help" or "help COMMAND…". It is read as "COMMAND… -help" so that a command that does
// not exist is answered like everywhere else, and because cli's own help command changes a global when it runs.
func helpAsked(app *cli.App, args []string) bool {
	return !app.HideHelp && !app.HideHelpCommand && len(args) > 0 && (args[0] == "help" || args[0] == "h")
}

// hasAction says that the program itself takes positionals. Setup gives every app an action, so
// only an app without commands counts.
func hasAction(app *cli.App) bool {
	for _, c := range app.Commands {
		if !isHelp(c) {
			return false
		}
	}
	return true
}

// isPositional says whether arg is no flag: anything without a dash, a lone dash, and a negative number unless
// a flag has that very name.
func (l *line) isPositional(arg string) bool {
	if len(arg) < 2 || arg[0] != '-' {
		return true
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(arg[1:], "-"), "=")
	if f, _ := l.lookup(name); f != nil {
		return false
	}
	_, err := strconv.ParseFloat(arg, 64)
	// -inf, -nan and -infinity are numbers to ParseFloat and mistyped flags to a person.
	return err == nil && (arg[1] >= '0' && arg[1] <= '9' || arg[1] == '.')
}

// positional enters the subcommand called arg, or keeps arg.
func (l *line) positional(arg string) error {
	at := l.last()
	if len(at.commands) == 0 || len(l.positionals) > 0 {
		l.positionals = append(l.positionals, arg)
		return nil
	}
	for _, c := range at.commands {
		if c.HasName(arg) {
			flags := c.Flags
			if !c.HideHelp && cli.HelpFlag != nil && find(flags, cli.HelpFlag.Names()[0]) == nil {
				// cli adds the help flag only when the command runs.
				flags = append(append([]cli.Flag{}, flags...), cli.HelpFlag)
			}
			l.levels = append(l.levels, &level{
				name: c.Name, path: at.path + " " + c.Name, flags: flags,
				commands: c.Subcommands, action: c.Action != nil, raw: c.SkipFlagParsing,
			})
			return nil
		}
	}
	if at.action {
		l.positionals = append(l.positionals, arg)
		return nil
	}
	return &UsageError{Problem: fmt.Sprintf("unknown command %q for %q%s", arg, at.path, didYouMean("", arg, commandNames(at.commands))), Command: at.path}
}

func commandNames(commands []*cli.Command) (names []string) {
	for _, c := range commands {
		if !c.Hidden {
			names = append(names, c.Name)
		}
	}
	return names
}

// flag reads the flag arg, whose value may be the first of rest, and returns what is left of rest.
func (l *line) flag(arg string, rest []string) ([]string, error) {
	at := l.last()
	name := strings.TrimPrefix(arg[1:], "-")
	name, value, hasValue := strings.Cut(name, "=")
	if name == "" || name[0] == '-' {
		return nil, &UsageError{Problem: fmt.Sprintf("%q is no flag: write -name or -name=value", arg), Command: at.path}
	}
	f, owner := l.lookup(name)
	if f == nil {
		return nil, &UsageError{Problem: fmt.Sprintf("unknown flag -%s for %q%s", name, at.path, didYouMean("-", name, l.flagNames())), Command: at.path}
	}
	if owner.seen == nil {
		owner.seen = map[cli.Flag]bool{}
	}
	owner.seen[f] = true
	canonical := "-" + f.Names()[0]
	if !takesValue(f) {
		if hasValue {
			canonical += "=" + value
		}
		owner.given = append(owner.given, canonical)
		return rest, nil
	}
	if !hasValue {
		if len(rest) == 0 {
			return nil, &UsageError{Problem: fmt.Sprintf("flag -%s needs a value", name), Command: at.path}
		}
		value, rest = rest[0], rest[1:]
	}
	owner.given = append(owner.given, canonical+"="+value)
	return rest, nil
}

// lookup finds the flag called name, innermost command first.
func (l *line) lookup(name string) (cli.Flag, *level) {
	for i := len(l.levels) - 1; i >= 0; i-- {
		if f := find(l.levels[i].flags, name); f != nil {
			return f, l.levels[i]
		}
	}
	return nil, nil
}

func (l *line) flagNames() (names []string) {
	for i := len(l.levels) - 1; i >= 0; i-- {
		for _, f := range l.levels[i].flags {
			if v, ok := f.(cli.VisibleFlag); !ok || v.IsVisible() {
				names = append(names, f.Names()...)
			}
		}
	}
	return names
}

// didYouMean suggests the nearest of known, or nothing. Names of one letter are near to everything and are left out.
func didYouMean(prefix, name string, known []string) string {
	var long []string
	for _, k := range known {
		if len(k) > 1 {
			long = append(long, k)
		}
	}
	near := suggest.Nearest(name, long)
	if near == "" {
		return ""
	}
	return fmt.Sprintf(": did you mean %s%s?", prefix, near)
}

// helpGiven says whether help was asked for at the innermost level, and makes that level's help the only thing it was given:
// cli looks up a remaining positional as a help topic.
func (l *line) helpGiven() bool {
	if cli.HelpFlag == nil {
		return false
	}
	help := cli.HelpFlag.Names()[0]
	for _, v := range l.levels {
		for f, seen := range v.seen {
			if seen && f.Names()[0] == help && !takesValue(f) {
				v.given = nil
				l.last().given = []string{"-" + help}
				return true
			}
		}
	}
	return false
}

// complete says which required flags are missing. cli would print the whole help.
func (l *line) complete() error {
	for _, v := range l.levels {
		var missing []string
		for _, f := range v.flags {
			r, ok := f.(cli.RequiredFlag)
			if !ok || !r.IsRequired() || v.seen[f] || fromEnvironment(f) {
				continue
			}
			missing = append(missing, "-"+f.Names()[0])
		}
		if len(missing) > 0 {
			return &UsageError{Problem: fmt.Sprintf("%s needs %s", v.path, strings.Join(missing, " and ")), Command: v.path}
		}
	}
	return nil
}

func fromEnvironment(f cli.Flag) bool {
	d, ok := f.(cli.DocGenerationFlag)
	if !ok {
		return false
	}
	for _, name := range d.GetEnvVars() {
		if _, set := os.LookupEnv(name); set {
			return true
		}
	}
	return false
}
