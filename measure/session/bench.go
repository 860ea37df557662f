package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/flameox/flameox/measure/runner"
)

// Joining makes a bench one side of a session that other calls join.
type Joining struct {
	Labels      []string // NAME=VALUE
	Round, Slot *int
	// Shared says that the run key was given: without it no two calls would have one.
	Shared bool
}

// Benching is one order that is about to be measured.
type Benching struct {
	Settings *Settings
	Side     *Side
	order    map[string]any
	file     string
}

// PrepareBench looks at everything that a bench needs before it runs.
func (s *Settings) PrepareBench(ctx context.Context, h *Host, text string, j Joining) (*Benching, error) {
	labels, err := j.check()
	if err != nil {
		return nil, err
	}
	side, err := s.Side(ctx, h, text, "target")
	if err != nil {
		return nil, err
	}
	for name, value := range labels {
		side.label(name, value)
	}
	b := &Benching{Settings: s, Side: side, file: "order.json"}
	round, slot := -1, -1
	if j.Round != nil {
		round = *j.Round
	}
	if j.Slot != nil {
		slot = *j.Slot
		b.file = fmt.Sprintf("order-%04d.json", slot)
	}
	for i := 2; slot < 0; i++ {
		// Calls without a slot may add other cases to a run.
		if _, err := os.Lstat(filepath.Join(s.Out, "orders", b.file)); err != nil {
			break
		}
		b.file = fmt.Sprintf("order.%d.json", i)
	}
	if b.order, err = s.order(side, s.filter(), round, slot); err != nil {
		return nil, err
	}
	if len(s.Cases) > 0 {
		if _, err := s.cases(ctx, h, side, s.filter()); err != nil {
			return nil, err
		}
	}
	return b, nil
}

func (j Joining) check() (map[string]string, error) {
	labels, err := Labels(j.Labels)
	if err != nil {
		return nil, err
	}
	joins := len(labels) > 0 || j.Round != nil || j.Slot != nil
	switch {
	case joins && !j.Shared:
		return nil, errors.New("--label, --round and --slot make this call a part of a run that other calls share: give all of them the same --run-key KEY")
	case (len(labels) > 0 || j.Round != nil) && j.Slot == nil:
		return nil, errors.New("--label and --round need --slot K, the position of this call among all of the run: without it the results of two calls would have one key")
	case j.Round != nil && *j.Round < 0:
		return nil, fmt.Errorf("--round %d must be 0 or more", *j.Round)
	case j.Slot != nil && *j.Slot < 0:
		return nil, fmt.Errorf("--slot %d must be 0 or more", *j.Slot)
	}
	return labels, nil
}

// Run measures the order. What was delivered stays whatever the error is.
func (b *Benching) Run(ctx context.Context, h *Host) (*runner.Ran, error) {
	release, err := h.alone(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	return b.Settings.run(ctx, h, b.Side, b.order, b.file)
}
