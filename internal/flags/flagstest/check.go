package flagstest

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/internal/flags"
)

// Check walks every command of the app that newApp makes and fails t for each that breaks a promise of
// internal/flags: flags before and after positionals, all four spellings, values that start with a dash, bool flags
// without a value, whole list elements, --, numbers, help, unknown flags. It also fails for two flags of one
// name on the way to a command, but for those that shadows lists as "command -flag", where the command's own is meant, and for a flag or a command without a usage text. newApp must return a fresh app each time.
func Check(t *testing.T, newApp func() *cli.App, shadows ...string) {
	t.Helper()
	app := newApp()
	app.Setup()
	checkNames(t, app.Name, app.Flags)
	visit(app.Commands, nil, app.Flags, func(path []string, c *cli.Command, outer []cli.Flag) {
		t.Run(strings.Join(path, "_"), func(t *testing.T) {
			p := &prober{t: t, newApp: newApp, path: path, required: requiredArgs(c, app)}
			if c.Usage == "" {
				t.Errorf("command %s has no usage text", strings.Join(path, " "))
			}
			name := strings.Join(path, " ")
			checkNames(t, name, append(slices.DeleteFunc(slices.Clone(outer), func(f cli.Flag) bool {
				return slices.Contains(shadows, name+" -"+f.Names()[0])
			}), c.Flags...))
			if c.SkipFlagParsing {
				return
			}
			p.help(len(c.Subcommands) > 0)
			if len(c.Subcommands) > 0 {
				return
			}
			p.positionals()
			p.unknown()
			for _, f := range c.Flags {
				p.flag(f)
			}
		})
	})
}

func visit(commands []*cli.Command, path []string, outer []cli.Flag, do func([]string, *cli.Command, []cli.Flag)) {
	for _, c := range commands {
		if c.Name == "help" {
			continue
		}
		here := append(slices.Clone(path), c.Name)
		do(here, c, outer)
		visit(c.Subcommands, here, append(slices.Clone(outer), c.Flags...), do)
	}
}

func checkNames(t *testing.T, path string, fs []cli.Flag) {
	t.Helper()
	seen := map[string]bool{}
	for _, f := range fs {
		if f == cli.VersionFlag {
			continue // its alias -v may mean something else in a command
		}
		for _, n := range f.Names() {
			if seen[n] {
				t.Errorf("%s: two flags are called -%s", path, n)
			}
			seen[n] = true
		}
		if d, ok := f.(cli.DocGenerationFlag); ok && d.GetUsage() == "" {
			t.Errorf("%s: flag -%s has no usage text", path, f.Names()[0])
		}
	}
}

// seen is what an action got.
type seen struct {
	ran   bool
	args  []string
	flags map[string]string
}

func (s seen) equal(o seen) bool {
	return s.ran == o.ran && slices.Equal(s.args, o.args) && fmt.Sprint(s.flags) == fmt.Sprint(o.flags)
}

type prober struct {
	t        *testing.T
	newApp   func() *cli.App
	path     []string
	required []string // arguments that required flags need
}

// run gives args to the command, whose action is replaced by one that only looks.
func (p *prober) run(args ...string) (seen, error) {
	app := p.newApp()
	var got seen
	quiet(app)
	visit(app.Commands, nil, nil, func(_ []string, c *cli.Command, _ []cli.Flag) {
		c.Before, c.After = nil, nil
		dropActions(c.Flags)
		if len(c.Subcommands) > 0 && c.Action == nil {
			return
		}
		c.Action = func(ctx *cli.Context) error {
			got = seen{ran: true, args: ctx.Args().Slice(), flags: map[string]string{}}
			for _, l := range ctx.Lineage() {
				for _, n := range l.LocalFlagNames() {
					got.flags[n] = text(ctx, n)
				}
			}
			return nil
		}
	})
	line := append([]string{app.Name}, p.path...)
	err := flags.Run(app, append(line, args...))
	return got, err
}

func quiet(app *cli.App) {
	app.Writer, app.ErrWriter = io.Discard, io.Discard
	app.Before, app.After = nil, nil
	dropActions(app.Flags)
}

// must runs args with the required flags and fails the test on an error.
func (p *prober) must(args ...string) seen {
	p.t.Helper()
	got, err := p.run(append(slices.Clone(p.required), args...)...)
	if err != nil {
		p.t.Errorf("%s %q: %v", strings.Join(p.path, " "), args, err)
	}
	return got
}

func (p *prober) wantArgs(want []string, args ...string) {
	p.t.Helper()
	if got := p.must(args...); !slices.Equal(got.args, want) {
		p.t.Errorf("%s %q: positionals %q, want %q", strings.Join(p.path, " "), args, got.args, want)
	}
}

func (p *prober) help(group bool) {
	lines := [][]string{{"-help"}, {"--help"}, {"x", "-help"}}
	if group {
		lines = lines[:2]
	}
	for _, args := range lines {
		if got, err := p.run(args...); err != nil || got.ran {
			p.t.Errorf("%s %q: error %v, action ran: %v; want help only", strings.Join(p.path, " "), args, err, got.ran)
		}
	}
}

func (p *prober) positionals() {
	p.wantArgs([]string{"p", "q"}, "p", "q")
	p.wantArgs([]string{"help"}, "help")
	p.wantArgs([]string{"-", "-5", "-1.5"}, "-", "-5", "-1.5")
	p.wantArgs([]string{"p", "-no-such-flag", "--", "-help"}, "p", "--", "-no-such-flag", "--", "-help")
	p.wantArgs([]string{`a["x=1,y=2"]`, ""}, `a["x=1,y=2"]`, "")
}

func (p *prober) unknown() {
	for _, args := range [][]string{{"-no-such-flag"}, {"p", "--no-such-flag=x"}} {
		got, err := p.run(append(slices.Clone(p.required), args...)...)
		p.wantUsage(got, err, args, "-no-such-flag")
	}
}

func (p *prober) wantUsage(got seen, err error, args []string, text string) {
	p.t.Helper()
	var usage *flags.UsageError
	if !errors.As(err, &usage) || flags.ExitCode(err) != 1 || got.ran || !strings.Contains(err.Error(), text) {
		p.t.Errorf("%s %q: error %v (action ran: %v), want a usage error with %q", strings.Join(p.path, " "), args, err, got.ran, text)
	}
	if err != nil && strings.Count(err.Error(), "\n") != 1 {
		p.t.Errorf("%s %q: the error has not two lines: %v", strings.Join(p.path, " "), args, err)
	}
}

// flag proves the promises for one flag.
func (p *prober) flag(f cli.Flag) {
	value, known := sample(f)
	for _, name := range f.Names() {
		if name == "help" || name == "h" {
			continue
		}
		if len(name) > 4 {
			args := []string{"-" + name + "qx"}
			got, err := p.run(append(slices.Clone(p.required), args...)...)
			p.wantUsage(got, err, args, "did you mean")
		}
		if value == "" {
			p.bool(name)
			continue
		}
		if _, err := p.run(append(slices.Clone(p.required), "p", "-"+name)...); err == nil {
			p.t.Errorf("-%s without its value is no error", name)
		}
		if !known {
			continue
		}
		want := p.must("-"+name+"="+value, "p", "q")
		if !want.ran || want.flags[name] == "" {
			p.t.Errorf("-%s=%s did not reach the action", name, value)
		}
		for _, args := range [][]string{
			{"-" + name, value, "p", "q"}, {"--" + name, value, "p", "q"}, {"--" + name + "=" + value, "p", "q"},
			{"p", "-" + name, value, "q"}, {"p", "q", "-" + name + "=" + value}, {"p", "q", "--" + name, value},
		} {
			if got := p.must(args...); !got.equal(want) {
				p.t.Errorf("%q gives %v, but -%s first gives %v", args, got, name, want)
			}
		}
		if s, ok := whole(f); ok {
			if got := p.must("-"+name, s, "p"); got.flags[name] != s {
				p.t.Errorf("-%s %q became %q", name, s, got.flags[name])
			}
		}
	}
}

func (p *prober) bool(name string) {
	want := p.must("-"+name, "p")
	if !slices.Equal(want.args, []string{"p"}) {
		p.t.Errorf("-%s took a positional: %q", name, want.args)
	}
	for _, args := range [][]string{{"--" + name, "p"}, {"p", "-" + name}, {"p", "--" + name + "=true"}} {
		if got := p.must(args...); !got.equal(want) {
			p.t.Errorf("%q gives %v, but -%s first gives %v", args, got, name, want)
		}
	}
	if got := p.must("-"+name, "false"); !slices.Equal(got.args, []string{"false"}) {
		p.t.Errorf("-%s false: positionals %q, want [false]", name, got.args)
	}
}
