package flags

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"
)

// Run runs app with args, the program's name first, as os.Args has it.
func Run(app *cli.App, args []string) error {
	return RunContext(context.Background(), app, args)
}

// RunContext is Run under a context. It returns a *UsageError for arguments that no command
// can mean, and otherwise what the command's action returned.
func RunContext(ctx context.Context, app *cli.App, args []string) error {
	prepare(app)
	if len(args) == 0 {
		args = []string{app.Name}
	}
	if app.EnableBashCompletion && args[len(args)-1] == completionFlag {
		return app.RunContext(ctx, args)
	}
	line, err := read(app, args[1:])
	if err != nil {
		return err
	}
	ctx = context.WithValue(ctx, dashKey{}, line.dash)
	return app.RunContext(ctx, append([]string{args[0]}, line.canonical()...))
}

// completionFlag is the last argument when a shell asks for completions; cli defines it.
const completionFlag = "--generate-bash-completion"

type dashKey struct{}

// BeforeDash is how many positionals of the command stood before --, and whether there was a --
// at all. Commands that take another command after -- tell the two apart by it.
func BeforeDash(c *cli.Context) (n int, ok bool) {
	n, found := c.Context.Value(dashKey{}).(int)
	if !found || n < 0 {
		return 0, false
	}
	return n, true
}

// ExitCode is the status with which a process ends after Run returned err: 0 for nil, what an error
// with ExitCode() int asks for, otherwise 1.
func ExitCode(err error) int {
	if err == nil {
		return 0
	}
	var coder interface{ ExitCode() int }
	if errors.As(err, &coder) {
		return coder.ExitCode()
	}
	return 1
}

// UsageError is a command line that cannot be meant as it is written.
type UsageError struct {
	Problem string // one line, without a full stop
	Command string // "flameox plan"
}

// Error is the problem and where to read more, on two lines.
func (e *UsageError) Error() string {
	return fmt.Sprintf("%s\nsee \"%s -help\"", e.Problem, e.Command)
}

// ExitCode is 1.
func (e *UsageError) ExitCode() int { return 1 }

// Usage is a *UsageError about the command that c runs, for mistakes that only its action can see.
func Usage(c *cli.Context, format string, args ...any) error {
	return &UsageError{Problem: fmt.Sprintf(format, args...), Command: c.Command.HelpName}
}

// prepare turns off in app what would contradict the package's promises.
func prepare(app *cli.App) {
	app.DisableSliceFlagSeparator = true
	// cli's default handler calls os.Exit from inside Run.
	app.ExitErrHandler = func(*cli.Context, error) {}
	app.OnUsageError = usageError
	app.Setup()
	walk(app.Commands, func(c *cli.Command) {
		c.OnUsageError = usageError
		if len(c.Subcommands) == 0 {
			// Otherwise "flameox query help" would print help instead of passing the positional.
			c.HideHelpCommand = true
		}
	})
}

func walk(commands []*cli.Command, visit func(*cli.Command)) {
	for _, c := range commands {
		if isHelp(c) {
			continue
		}
		visit(c)
		walk(c.Subcommands, visit)
	}
}

// isHelp recognizes cli's own help command. It is one global value, shared by all apps, that becomes its own
// subcommand once it has run: it must be neither changed nor walked.
func isHelp(c *cli.Command) bool { return c.Name == "help" }

// usageError gives the errors of conversion ("invalid value "x" for flag -n: parse error") their form.
func usageError(c *cli.Context, err error, _ bool) error {
	var usage *UsageError
	if errors.As(err, &usage) {
		return err
	}
	name := c.App.HelpName
	if c.Command != nil && c.Command.HelpName != "" {
		name = c.Command.HelpName
	}
	return &UsageError{Problem: err.Error(), Command: name}
}

// takesValue says whether f needs a value. A flag without one is a bool flag.
func takesValue(f cli.Flag) bool {
	if g, ok := f.(*cli.GenericFlag); ok {
		b, isBool := g.Value.(interface{ IsBoolFlag() bool })
		return !isBool || !b.IsBoolFlag()
	}
	d, ok := f.(cli.DocGenerationFlag)
	return !ok || d.TakesValue()
}

// find is the flag called name, or nil.
func find(flags []cli.Flag, name string) cli.Flag {
	for _, f := range flags {
		if slices.Contains(f.Names(), name) {
			return f
		}
	}
	return nil
}
