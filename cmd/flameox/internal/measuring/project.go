package measuring

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/cmd/flameox/internal/cmdline"
	"github.com/flameox/flameox/graph/broker"
	"github.com/flameox/flameox/internal/view"
	"github.com/flameox/flameox/measure/config"
	"github.com/flameox/flameox/measure/document"
	"github.com/flameox/flameox/measure/runner"
	"github.com/flameox/flameox/measure/session"
	"github.com/flameox/flameox/measure/store"
	"github.com/flameox/flameox/measure/target"
)

// The exit codes of these commands, beside 0.
const (
	exitRejected = 1 // some documents were not taken in; everything else was done
	exitRefused  = 2 // refused, wrong usage, or nothing to compare
)

// Refuses says whether wrong use of a command, as flags.UsageError names it, ends with 2: these commands keep the codes of their contract.
func Refuses(command string) bool {
	_, rest, _ := strings.Cut(command, " ")
	name, _, _ := strings.Cut(rest, " ")
	return slices.Contains([]string{"bench", "compare", "config", "head", "history", "ingest", "run", "series", "target"}, name)
}

// refused ends a command that did nothing. An error that has a code keeps it.
func refused(err error) error {
	var coded *cmdline.ExitError
	if err == nil || errors.As(err, &coded) {
		return err
	}
	return &cmdline.ExitError{Code: exitRefused, Err: err}
}

func refusedf(format string, args ...any) error { return refused(fmt.Errorf(format, args...)) }

// project is the configuration of the working directory. What is not read any more is said.
func project(c *cli.Context) (*config.Config, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, refusedf("find the project: %w", err)
	}
	p, err := config.Find(dir)
	if err != nil {
		return nil, refused(err)
	}
	if len(p.Legacy) > 0 {
		fmt.Fprintf(c.App.ErrWriter, "%s is not read any more: settings belong in %s\n", strings.Join(p.Legacy, " and "), config.FileName)
	}
	return p, nil
}

// interruptible is a context that Ctrl-C ends.
func interruptible(c *cli.Context) (context.Context, func()) {
	return signal.NotifyContext(c.Context, os.Interrupt, syscall.SIGTERM)
}

// host is what a session works with. Its deliveries go to the store, where one is given, and are published by close, which a command must call.
type host struct {
	*session.Host
	c      *cli.Context
	store  *store.Store
	report store.Report
	close  func() error
}

// newHost gets ready to measure. Without a store, files are all that is left.
func newHost(c *cli.Context, p *config.Config, deliver bool) (*host, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	b := broker.New(broker.Options{Store: "measure"})
	path := p.StorePath(os.Getenv)
	h := &host{c: c, Host: &session.Host{
		Broker: b, Environ: os.Environ(), Dir: dir, Exclude: []string{path, store.Beside(path)}, Version: cmdline.Version(),
		Provider: target.Provider{Command: p.Provider, Dir: p.Root, Env: os.Environ(), Broker: b, Stderr: c.App.ErrWriter},
		Log:      func(format string, args ...any) { fmt.Fprintf(c.App.ErrWriter, format+"\n", args...) },
		Done:     progress(c.App.ErrWriter),
		Alone:    func(ctx context.Context) (func(), error) { return alone(ctx, c.App.ErrWriter, c.Command.HelpName) },
	}}
	h.close = b.Close
	if !deliver {
		return h, nil
	}
	if h.store, err = store.Open(path); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	h.Deliver = h.deliver
	h.close = func() error {
		// Also after Ctrl-C: what was taken in is in the file when the command returns.
		return errors.Join(h.store.Publish(context.WithoutCancel(c.Context)), b.Close())
	}
	return h, nil
}

// rejectedError is a store that did not take everything in.
type rejectedError struct {
	path   string
	report store.Report
}

func (e *rejectedError) Error() string {
	lines := []string{fmt.Sprintf("the store %s rejected results (%s)", e.path, e.report)}
	for _, r := range e.report.Rejected {
		lines = append(lines, fmt.Sprintf("%s: %s: %s", r.Name, r.Code, r.Text))
	}
	return strings.Join(lines, "\n  ")
}

func (h *host) deliver(ctx context.Context, ran *runner.Ran) error {
	inputs := []store.Input{{Name: ran.OrderFile}}
	for _, f := range ran.Files {
		inputs = append(inputs, store.Input{Name: f})
	}
	report, err := h.store.Ingest(ctx, inputs)
	if err != nil {
		return fmt.Errorf("deliver the results, which are in files, to the store: %w", err)
	}
	h.report.Ingested += report.Ingested
	h.report.Duplicate += report.Duplicate
	h.report.Rejected = append(h.report.Rejected, report.Rejected...)
	if len(report.Rejected) > 0 {
		return &rejectedError{h.store.Path(), report}
	}
	return nil
}

// ended is the error of a command that measured: rejected documents, an interruption, and a refusal have codes of their own.
func ended(ctx context.Context, err error) error {
	var rejection *rejectedError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &rejection):
		return &cmdline.ExitError{Code: exitRejected, Err: err}
	case ctx.Err() != nil:
		var stopped *session.StoppedError
		if errors.Is(err, context.Canceled) && !errors.As(err, &stopped) {
			err = errors.New("interrupted: what ran was ended and left no result; what had ended before is kept")
		}
		return &cmdline.ExitError{Code: cmdline.ExitInterrupted, Err: err}
	}
	return refused(err)
}

// progress says what every case gave.
func progress(w io.Writer) func(*session.Side, runner.Done) {
	return func(_ *session.Side, d runner.Done) {
		var what []string
		for _, doc := range d.Results {
			status, _ := document.At(doc, "measurement", "status").(string)
			if m, ok := newSummary(doc).Median(); ok {
				status = m
			} else if said, _ := document.At(doc, "provenance", "info", "message").(string); said != "" && len(what) == 0 {
				status += " (" + view.Lines(said) + ")" // once for all quantities of the case
			}
			what = append(what, status)
		}
		fmt.Fprintf(w, "  %d/%d %s: %s\n", d.Index, d.Of, view.Lines(d.Case.Text()), strings.Join(what, ", "))
	}
}
