package runner

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/flameox/flameox/graph/broker"
	"github.com/flameox/flameox/measure/harness"
)

// mark is the attempt in the mark of every process of an order. It is one for all: the mark is in the environment of what is measured, and must not make two cases differ.
const mark = "order"

// starter starts the processes of an order, one at a time. Whatever one leaves behind is ended with it.
func (p *prepared) starter(b *broker.Broker) harness.Start {
	return func(ctx context.Context, c harness.Command) (harness.Exit, error) {
		r, err := b.Run(ctx, broker.Command{
			Argv: c.Argv, Dir: c.Dir, Env: p.place.Env, Mark: b.Mark(mark), Stdout: c.Stdout, Stderr: c.Stderr, Timeout: c.Timeout, Grace: -1,
			// Beside a measurement nothing of ours should wake up; memory is not watched.
			SampleEvery: 10 * time.Second,
		})
		var start *broker.StartError
		switch {
		case err != nil && ctx.Err() != nil:
			return harness.Exit{}, ctx.Err()
		case errors.As(err, &start):
			return harness.Exit{}, &Refusal{Text: start.Error()}
		case err != nil:
			return harness.Exit{}, err
		case r.Cause == broker.CauseCancelled:
			return harness.Exit{}, context.Cause(ctx)
		}
		return harness.Exit{Status: r.Exit, Signal: r.Signal, TimedOut: r.Cause == broker.CauseTimeout, Started: r.Started, Ended: r.Started.Add(r.Wall)}, nil
	}
}

// plain is the error without the path that the sentence around it already names.
func plain(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}
