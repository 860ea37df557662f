package flags_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/internal/flags"
	"github.com/flameox/flameox/internal/flags/flagstest"
)

// onOff is a flag value without argument, of the kind that the flag package calls boolean.
type onOff struct{ on bool }

func (o *onOff) Set(s string) error { o.on = s == "true"; return nil }
func (o *onOff) String() string     { return fmt.Sprint(o != nil && o.on) }
func (o *onOff) IsBoolFlag() bool   { return true }

// upper is a flag value with an argument.
type upper struct{ s string }

func (u *upper) Set(s string) error { u.s = strings.ToUpper(s); return nil }
func (u *upper) String() string     { return u.s }

type call struct {
	command string
	args    []string
	flags   map[string]string
	dash    string
}

// newApp has a command with a flag of every kind, a group, a command that takes another command, and global flags.
func newApp(got *call) *cli.App {
	action := func(c *cli.Context) error {
		if got == nil {
			return nil
		}
		*got = call{command: c.Command.HelpName, args: c.Args().Slice(), flags: map[string]string{}, dash: "none"}
		if n, ok := flags.BeforeDash(c); ok {
			got.dash = fmt.Sprint(n)
		}
		for _, x := range c.Lineage() {
			for _, name := range x.LocalFlagNames() {
				got.flags[name] = fmt.Sprint(render(x, name))
			}
		}
		return nil
	}
	return &cli.App{
		Name: "app", Usage: "a synthetic application", Version: "1",
		Writer: &bytes.Buffer{}, ErrWriter: &bytes.Buffer{},
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "C", Usage: "directory"},
			&cli.BoolFlag{Name: "no-color", Usage: "no colour"},
		},
		Commands: []*cli.Command{
			{Name: "all", Aliases: []string{"a"}, Usage: "every kind", Action: action, Flags: []cli.Flag{
				&cli.BoolFlag{Name: "json", Aliases: []string{"j"}, Usage: "JSON"},
				&cli.BoolFlag{Name: "yes", Value: true, Usage: "on by default"},
				&cli.StringFlag{Name: "name", Aliases: []string{"n"}, Usage: "name", EnvVars: []string{"APP_TEST_NAME"}},
				&cli.PathFlag{Name: "out", Usage: "file"},
				&cli.StringSliceFlag{Name: "target", Usage: "pattern", EnvVars: []string{"APP_TEST_TARGET"}},
				&cli.IntFlag{Name: "int", Usage: "number"},
				&cli.Int64Flag{Name: "int64", Usage: "number"},
				&cli.UintFlag{Name: "uint", Usage: "number"},
				&cli.Uint64Flag{Name: "uint64", Usage: "number"},
				&cli.Float64Flag{Name: "float", Usage: "number"},
				&cli.DurationFlag{Name: "age", Usage: "duration"},
				&cli.TimestampFlag{Name: "at", Layout: time.RFC3339, Usage: "time"},
				&cli.IntSliceFlag{Name: "ints", Usage: "numbers"},
				&cli.Int64SliceFlag{Name: "int64s", Usage: "numbers"},
				&cli.UintSliceFlag{Name: "uints", Usage: "numbers"},
				&cli.Uint64SliceFlag{Name: "uint64s", Usage: "numbers"},
				&cli.Float64SliceFlag{Name: "floats", Usage: "numbers"},
				&cli.GenericFlag{Name: "upper", Value: &upper{}, Usage: "text"},
				&cli.GenericFlag{Name: "on", Value: &onOff{}, Usage: "switch"},
			}},
			{Name: "group", Usage: "commands", Subcommands: []*cli.Command{
				{Name: "export", Usage: "export", Action: action, Flags: []cli.Flag{&cli.StringFlag{Name: "to", Usage: "place", Required: true, EnvVars: []string{"APP_TEST_TO"}}}},
				{Name: "list", Usage: "list", Action: action},
			}},
			{Name: "exec", Usage: "run a command", Action: action, Flags: []cli.Flag{&cli.BoolFlag{Name: "v", Usage: "verbose"}}},
			{Name: "raw", Usage: "pass everything on", Action: action, SkipFlagParsing: true},
			{Name: "fail", Usage: "fail", Action: func(*cli.Context) error { return cli.Exit("no", 4) }},
		},
	}
}

func render(c *cli.Context, name string) any {
	if _, ok := c.Generic(name).(flag.Getter); !ok {
		return c.Generic(name) // cli's Value panics for these
	}
	switch v := c.Value(name).(type) {
	case cli.StringSlice:
		return strings.Join(v.Value(), "|")
	case cli.Timestamp:
		return v.Value()
	default:
		return v
	}
}

func TestArgumentsMeanWhatAPersonTypes(t *testing.T) {
	for _, c := range []struct {
		name  string
		args  string
		list  []string // instead of args, where a value has spaces
		want  []string
		flags map[string]string
		cmd   string
		dash  string
	}{
		{name: "flags before positionals", args: "all -json -name x p q", want: []string{"p", "q"}, flags: map[string]string{"json": "true", "name": "x"}},
		{name: "flags after positionals", args: "all p -json q -name x", want: []string{"p", "q"}, flags: map[string]string{"json": "true", "name": "x"}},
		{name: "two dashes", args: "all p --json --name=x", want: []string{"p"}, flags: map[string]string{"json": "true", "name": "x"}},
		{name: "value after an equals sign keeps later ones", args: "all -name=a=b", flags: map[string]string{"name": "a=b"}},
		{name: "empty value", args: "all -name= p", want: []string{"p"}, flags: map[string]string{"name": ""}},
		{name: "value that looks like a flag", args: "all -name -json p", want: []string{"p"}, flags: map[string]string{"name": "-json"}},
		{name: "value that is two dashes", args: "all -name -- p", want: []string{"p"}, flags: map[string]string{"name": "--"}},
		{name: "bool takes no positional", args: "all -json false", want: []string{"false"}, flags: map[string]string{"json": "true"}},
		{name: "bool is turned off with an equals sign", args: "all -yes=false p", want: []string{"p"}, flags: map[string]string{"yes": "false"}},
		{name: "boolean value type takes no positional", args: "all -on p", want: []string{"p"}, flags: map[string]string{"on": "true"}},
		{name: "value type takes its value", args: "all -upper p q", want: []string{"q"}, flags: map[string]string{"upper": "P"}},
		{name: "after -- everything is positional", args: "all -json -- -name x --", want: []string{"-name", "x", "--"}, flags: map[string]string{"json": "true"}, dash: "0"},
		{name: "-- between positionals", args: "exec p -- ls -l", want: []string{"p", "ls", "-l"}, dash: "1"},
		{name: "-- at the end", args: "exec p --", want: []string{"p"}, dash: "1"},
		{name: "commas are not split", args: `all -target capture.x.sort["a=1,b=2"] -target y`, flags: map[string]string{"target": `capture.x.sort["a=1,b=2"]|y`}},
		{name: "a lone dash is positional", args: "all - -json", want: []string{"-"}, flags: map[string]string{"json": "true"}},
		{name: "negative numbers are positional", args: "all -5 -1.5e3 -.5 -json", want: []string{"-5", "-1.5e3", "-.5"}, flags: map[string]string{"json": "true"}},
		{name: "negative values of numbers", args: "all -int -5 -float=-0.5 -age -3s", flags: map[string]string{"int": "-5", "float": "-0.5", "age": "-3s"}},
		{name: "the last of a scalar wins, also by alias", args: "all -n a -name b -n c", flags: map[string]string{"name": "c", "n": "c"}},
		{name: "a positional called help", args: "all help", want: []string{"help"}},
		{name: "a positional named like a command", args: "exec all", want: []string{"all"}},
		{name: "a positional named like a set flag", args: "all json -json", want: []string{"json"}, flags: map[string]string{"json": "true"}},
		{name: "an empty positional", list: []string{"all", "", "p"}, want: []string{"", "p"}},
		{name: "spaces and newlines stay", list: []string{"all", "-name", " a\n b ", "x y"}, want: []string{"x y"}, flags: map[string]string{"name": " a\n b "}},
		{name: "a global flag before the command", args: "-C dir all p", want: []string{"p"}, flags: map[string]string{"C": "dir"}},
		{name: "a global flag after the command", args: "all p -C dir -no-color", want: []string{"p"}, flags: map[string]string{"C": "dir", "no-color": "true"}},
		{name: "a subcommand", args: "group export p -to x", want: []string{"p"}, flags: map[string]string{"to": "x"}, cmd: "app group export"},
		{name: "an alias of a command", args: "a p", want: []string{"p"}, cmd: "app all"},
		{name: "raw commands see everything", args: "raw -x -- -json p", want: []string{"-x", "--", "-json", "p"}, cmd: "app raw"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got call
			args := c.list
			if args == nil {
				args = strings.Fields(c.args)
			}
			if err := flags.Run(newApp(&got), append([]string{"app"}, args...)); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, got.args, equalEmpty); d != "" {
				t.Errorf("positionals (-want +got):\n%s", d)
			}
			for name, want := range c.flags {
				if have, ok := got.flags[name]; !ok || have != want {
					t.Errorf("flag -%s = %q (set: %v), want %q", name, have, ok, want)
				}
			}
			if c.cmd != "" && got.command != c.cmd {
				t.Errorf("ran %q, want %q", got.command, c.cmd)
			}
			if c.dash != "" && got.dash != c.dash {
				t.Errorf("BeforeDash = %s, want %s", got.dash, c.dash)
			}
		})
	}
}

var equalEmpty = cmp.Transformer("list", func(s []string) string { return strings.Join(s, "\x00") + fmt.Sprint(len(s)) })

func TestMistakesAreOneLineWithTheNearestName(t *testing.T) {
	for args, want := range map[string]string{
		"all -jsno p":       "unknown flag -jsno for \"app all\": did you mean -json?\nsee \"app all -help\"",
		"all p --tarqet=x":  "unknown flag -tarqet for \"app all\": did you mean -target?\nsee \"app all -help\"",
		"exec ls -l":        "unknown flag -l for \"app exec\"\nsee \"app exec -help\"",
		"all -inf":          "unknown flag -inf for \"app all\": did you mean -int?\nsee \"app all -help\"",
		"al":                "unknown command \"al\" for \"app\": did you mean all?\nsee \"app -help\"",
		"group exprot":      "unknown command \"exprot\" for \"app group\": did you mean export?\nsee \"app group -help\"",
		"help zzzzzzzzzzzz": "unknown command \"zzzzzzzzzzzz\" for \"app\"\nsee \"app -help\"",
		"all p -name":       "flag -name needs a value\nsee \"app all -help\"",
		"all ---json":       "\"---json\" is no flag: write -name or -name=value\nsee \"app all -help\"",
		"all -=x":           "\"-=x\" is no flag: write -name or -name=value\nsee \"app all -help\"",
		"all -int x":        "invalid value \"x\" for flag -int: parse error\nsee \"app all -help\"",
		"all -json=x":       "invalid boolean value \"x\" for -json: parse error\nsee \"app all -help\"",
		"group export p":    "app group export needs -to\nsee \"app group export -help\"",
	} {
		var got call
		app := newApp(&got)
		err := flags.Run(app, append([]string{"app"}, strings.Fields(args)...))
		var usage *flags.UsageError
		if !errors.As(err, &usage) {
			t.Errorf("%s: error %v, want a *UsageError", args, err)
			continue
		}
		if err.Error() != want {
			t.Errorf("%s:\n got %s\nwant %s", args, err, want)
		}
		if flags.ExitCode(err) != 1 {
			t.Errorf("%s: exit code %d, want 1", args, flags.ExitCode(err))
		}
		if got.command != "" {
			t.Errorf("%s: the action ran", args)
		}
		if out := app.Writer.(*bytes.Buffer).String() + app.ErrWriter.(*bytes.Buffer).String(); out != "" {
			t.Errorf("%s: printed %q; only main prints errors", args, out)
		}
	}
}

func TestHelpIsPrintedWhateverElseIsOnTheLine(t *testing.T) {
	for args, want := range map[string]string{
		"-help":                     "a synthetic application",
		"help":                      "a synthetic application",
		"help all":                  "app all - every kind",
		"h group export":            "app group export - export",
		"all p -help -unused-p":     "",
		"all p -h":                  "app all - every kind",
		"all p q --help -json":      "app all - every kind",
		"group -help":               "app group - commands",
		"group":                     "app group - commands",
		"group export -help":        "app group export - export",
		"group export -to x p -h q": "app group export - export",
	} {
		var got call
		app := newApp(&got)
		err := flags.Run(app, append([]string{"app"}, strings.Fields(args)...))
		if want == "" {
			if err == nil {
				t.Errorf("%s: an unknown flag was accepted beside -help", args)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", args, err)
		}
		if out := app.Writer.(*bytes.Buffer).String(); !strings.Contains(out, want) {
			t.Errorf("%s: help has no %q:\n%s", args, want, out)
		}
		if got.command != "" {
			t.Errorf("%s: the action ran", args)
		}
	}
}

func TestEnvironmentValuesAreNotSplitAndSatisfyRequiredFlags(t *testing.T) {
	t.Setenv("APP_TEST_TARGET", `x["a=1,b=2"]`)
	t.Setenv("APP_TEST_TO", "place")
	var got call
	if err := flags.Run(newApp(&got), []string{"app", "all"}); err != nil {
		t.Fatal(err)
	}
	if got.flags["target"] != `x["a=1,b=2"]` {
		t.Errorf("target = %q", got.flags["target"])
	}
	if err := flags.Run(newApp(&got), []string{"app", "group", "export"}); err != nil {
		t.Fatal(err)
	}
	if got.flags["to"] != "place" {
		t.Errorf("to = %q", got.flags["to"])
	}
}

func TestErrorsOfActionsKeepTheirExitCodeAndNothingExits(t *testing.T) {
	err := flags.Run(newApp(nil), []string{"app", "fail"})
	if flags.ExitCode(err) != 4 || err.Error() != "no" {
		t.Errorf("error %v with exit code %d, want no with 4", err, flags.ExitCode(err))
	}
	if got := flags.ExitCode(fmt.Errorf("apply: %w", err)); got != 4 {
		t.Errorf("wrapped: exit code %d, want 4", got)
	}
	if got := flags.ExitCode(errors.New("x")); got != 1 {
		t.Errorf("plain error: exit code %d, want 1", got)
	}
	if got := flags.ExitCode(nil); got != 0 {
		t.Errorf("no error: exit code %d, want 0", got)
	}
}

func TestAppWithoutCommandsTakesPositionals(t *testing.T) {
	var args []string
	app := &cli.App{Name: "one", Writer: &bytes.Buffer{}, Flags: []cli.Flag{&cli.BoolFlag{Name: "x"}},
		Action: func(c *cli.Context) error { args = c.Args().Slice(); return nil }}
	for range 2 {
		if err := flags.Run(app, []string{"one", "p", "-x", "help"}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(args, " "); got != "p help" {
			t.Errorf("positionals %q", got)
		}
	}
}

func TestTheContextReachesTheAction(t *testing.T) {
	type key struct{}
	app := &cli.App{Name: "one", Action: func(c *cli.Context) error {
		if c.Context.Value(key{}) != 1 {
			t.Error("the context's value is gone")
		}
		return nil
	}}
	if err := flags.RunContext(context.WithValue(context.Background(), key{}, 1), app, []string{"one"}); err != nil {
		t.Fatal(err)
	}
}

func TestEveryCommandOfTheSyntheticAppBehaves(t *testing.T) {
	flagstest.Check(t, func() *cli.App { return newApp(nil) })
}

func FuzzNoArgumentsPanicOrLosePositionals(f *testing.F) {
	f.Add("all\x00p\x00-json\x00--\x00-x")
	f.Add("all\x00-name\x00--\x00-5\x00-")
	f.Add("group\x00export\x00-to=x\x00help")
	f.Add("help\x00all\x00--")
	f.Fuzz(func(t *testing.T, joined string) {
		args := strings.Split(joined, "\x00")
		var got call
		_ = flags.Run(newApp(&got), append([]string{"app"}, args...))
		// Whatever follows the first -- that is no value reaches the action unchanged.
		var after call
		if err := flags.Run(newApp(&after), append([]string{"app", "all", "--"}, args...)); err != nil {
			t.Fatalf("after --: %v", err)
		}
		if strings.Join(after.args, "\x00") != joined {
			t.Fatalf("after --: %q became %q", args, after.args)
		}
	})
}
