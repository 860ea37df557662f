package target

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/flameox/flameox/graph/broker"
	"github.com/flameox/flameox/internal/ijson"
)

// Operation is what a provider is asked to do.
type Operation string

// The operations.
const (
	Describe Operation = "describe" // say what the target is, and change nothing
	Prepare  Operation = "prepare"  // make the target, which may build it
)

// answerLimit is more than any description needs.
const answerLimit = 4 << 20

// Provider is a project's command that knows its targets.
type Provider struct {
	Command []string
	Dir     string // where it runs: that of the project's file
	Env     []string
	Broker  *broker.Broker
	Stderr  io.Writer // what the provider says, while it says it
}

// Ask asks for one target. side names it in errors ("the baseline"). Nothing has been measured when it fails.
func (p Provider) Ask(ctx context.Context, op Operation, a Argument, side string) (Description, error) {
	at := "@" + a.Configuration
	if a.SourceRef != Workspace {
		at += "=" + a.SourceRef
	}
	if len(p.Command) == 0 {
		return nil, fmt.Errorf("%s, %s, needs a provider: set provider.command in benchx.conf.json to the command that knows this project's targets, or give a path", at, side)
	}
	scratch, err := os.MkdirTemp("", "flameox-target-")
	if err != nil {
		return nil, fmt.Errorf("ask the target provider for %s: %w", at, err)
	}
	defer os.RemoveAll(scratch)
	request, answer, said := filepath.Join(scratch, "request.json"), filepath.Join(scratch, "answer.json"), filepath.Join(scratch, "stderr")
	text, err := ijson.Canonical(map[string]any{"schema_version": "benchx/target-provider-request/0.1.0", "operation": string(op), "source_ref": a.SourceRef, "configuration": a.Configuration})
	if err != nil {
		return nil, fmt.Errorf("ask the target provider for %s: %w", at, err)
	}
	if err := os.WriteFile(request, append(text, '\n'), 0o600); err != nil {
		return nil, fmt.Errorf("ask the target provider for %s: %w", at, err)
	}
	done := make(chan struct{})
	quiet := make(chan struct{})
	go func() {
		defer close(quiet)
		follow(said, p.Stderr, done)
	}()
	res, err := p.Broker.Run(ctx, broker.Command{Argv: p.Command, Dir: p.Dir, Env: p.Env, Stdin: request, Stdout: answer, Stderr: said})
	close(done)
	<-quiet
	if err != nil {
		return nil, fmt.Errorf("the target provider could not be asked to %s %s, %s: %w", op, at, side, err)
	}
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("stopped while the target provider was to %s %s, %s: %w", op, at, side, ctx.Err())
	case res.Signal != "":
		return nil, fmt.Errorf("the target provider failed to %s %s, %s: it was ended by %s", op, at, side, res.Signal)
	case res.Exit != 0:
		return nil, fmt.Errorf("the target provider failed to %s %s, %s: exit %d; what it said stands above", op, at, side, res.Exit)
	case res.StdoutBytes > answerLimit:
		return nil, fmt.Errorf("the target provider wrote %d bytes to its standard output, which takes the description of %s and nothing else: write messages to standard error", res.StdoutBytes, at)
	}
	text, err = os.ReadFile(answer)
	if err != nil {
		return nil, fmt.Errorf("read what the target provider said of %s: %w", at, err)
	}
	d, err := check(text, "the target provider wrote to its standard output for "+at)
	if err != nil {
		return nil, err
	}
	if kind := d.Kind(); kind == Artifact {
		return nil, fmt.Errorf("the target provider described %s as an artifact, which is deferred: only targets of the kinds %s and %s can be measured", at, Build, WorkingTree)
	}
	return d, nil
}

// follow copies what a file gets until done, and then the rest.
func follow(file string, to io.Writer, done <-chan struct{}) {
	var f *os.File
	defer func() {
		if f != nil {
			f.Close()
		}
	}()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for ended := false; !ended; {
		select {
		case <-done:
			ended = true
		case <-tick.C:
		}
		if f == nil {
			var err error
			if f, err = os.Open(file); err != nil {
				f = nil // it is not made yet
				continue
			}
		}
		if _, err := io.Copy(to, f); err != nil && !errors.Is(err, io.EOF) {
			return
		}
	}
}
