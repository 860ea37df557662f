// Command flameox is a declarative engine for performance evidence.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/flameox/flameox/cmd/flameox/internal/cmdline"
	"github.com/flameox/flameox/cmd/flameox/internal/manual"
	"github.com/flameox/flameox/cmd/flameox/internal/measuring"
	"github.com/flameox/flameox/graph/broker"
	"github.com/flameox/flameox/internal/flags"
	"github.com/flameox/flameox/internal/view"
	"github.com/flameox/flameox/stages/adapter/contain"
	"github.com/flameox/flameox/stages/extract"
	"github.com/flameox/flameox/stages/reduce"
)

func main() {
	collectLate()
	os.Exit(run(os.Args))
}

// run is main with an exit code, so that script tests can call it.
func run(args []string) int {
	broker.MaybeSupervise()
	if len(args) > 1 && args[1] == extract.WorkerCommand {
		if err := extract.Serve(context.Background(), cmdline.Providers(), args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	}
	if len(args) > 1 && args[1] == contain.Command {
		fmt.Fprintln(os.Stderr, contain.Serve(args[2:]))
		return 1
	}
	if len(args) > 1 && args[1] == reduce.BridgeCommand {
		code, err := reduce.Serve(context.Background(), args[2:])
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		return code
	}
	err := flags.Run(manual.Install(newApp(), args[min(1, len(args)):]), args)
	if err == nil {
		return cmdline.ExitOK
	}
	var coded *cmdline.ExitError
	if errors.As(err, &coded) {
		if coded.Err != nil {
			fmt.Fprintln(os.Stderr, "Error: "+view.Lines(coded.Err.Error()))
		}
		return coded.Code
	}
	fmt.Fprintln(os.Stderr, "Error: "+view.Lines(err.Error()))
	var usage *flags.UsageError
	if errors.As(err, &usage) && measuring.Refuses(usage.Command) {
		return cmdline.ExitWork // 2, which these commands give what they refuse
	}
	return cmdline.ExitFailure
}
