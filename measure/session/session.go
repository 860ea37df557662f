package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/flameox/flameox/internal/ijson"
	"github.com/flameox/flameox/measure/comparison"
	"github.com/flameox/flameox/measure/runner"
	"github.com/flameox/flameox/measure/source"
)

// Comparing is a comparison that is about to be measured: everything that could be refused has been looked at.
type Comparing struct {
	Settings *Settings
	Profile  comparison.Profile
	Rounds   int
	// Baseline is the value of the varying coordinate, as a request for comparing the run names it; Label and Vary name the coordinate where the profile has several.
	Baseline, Label, Vary string
	// Left are benchmarks that run on neither side.
	Left []string

	sides   [2]*Side
	filters [2]string
}

// Asked is what a command says about comparing.
type Asked struct {
	Profile  string
	Rounds   int
	Label    string // NAME=BASE,CONTENDER of environments
	Vary     string // of variants
	Baseline string // of variants
}

// Unclean are the sides whose trees are not clean, in words.
func (c *Comparing) Unclean() (out []string) {
	seen := map[*Side]bool{}
	for _, s := range c.sides {
		if !seen[s] && s.Identity.State != source.Clean {
			what := "has changes that are not committed"
			switch {
			case s.Identity.State == source.Unknown:
				what = "cannot be told from its revision: git gave no answer"
			case s.Identity.Type != "git":
				what = "is under no version control"
			}
			out = append(out, fmt.Sprintf("the %s, %s, %s", s.Name, s.Identity.Root, what))
		}
		seen[s] = true
	}
	return out
}

// PrepareCompare looks at everything that a comparison needs before any of it runs.
func (s *Settings) PrepareCompare(ctx context.Context, h *Host, targets []string, a Asked) (*Comparing, error) {
	c := &Comparing{Settings: s, Profile: comparison.Profile(a.Profile), Rounds: a.Rounds}
	if a.Rounds < 1 {
		return nil, fmt.Errorf("--rounds %d must be 1 or more", a.Rounds)
	}
	switch c.Profile {
	case comparison.Revisions, comparison.Environments:
		if len(targets) != 2 {
			return nil, fmt.Errorf("the profile %s compares two targets, BASELINE and CONTENDER; there are %d", a.Profile, len(targets))
		}
		if a.Vary != "" || a.Baseline != "" {
			return nil, fmt.Errorf("--vary and --baseline are for the profile variants: under %s the first target is the baseline", a.Profile)
		}
	case comparison.Variants:
		if len(targets) != 1 {
			return nil, fmt.Errorf("the profile variants compares two values of one benchmark parameter in one target; there are %d targets", len(targets))
		}
		if a.Label != "" {
			return nil, errors.New("--label is for the profile environments: under variants the sides are values of a parameter")
		}
		return c, c.variants(ctx, h, targets[0], a)
	default:
		return nil, fmt.Errorf("--profile %s: there is no such profile; there are %s, %s and %s", a.Profile, comparison.Revisions, comparison.Environments, comparison.Variants)
	}
	return c, c.two(ctx, h, targets, a)
}

// two prepares the sides of revisions and environments.
func (c *Comparing) two(ctx context.Context, h *Host, targets []string, a Asked) error {
	var values [2]string
	switch {
	case c.Profile == comparison.Revisions && a.Label != "":
		return errors.New("--label is for the profile environments: under revisions the sides are told apart by their trees")
	case c.Profile == comparison.Environments && a.Label == "":
		return errors.New("the profile environments needs --label NAME=BASE,CONTENDER: what the sides are called")
	case c.Profile == comparison.Environments:
		var err error
		if c.Label, values[0], values[1], err = TwoValues(a.Label); err != nil {
			return err
		}
	}
	filter := c.Settings.filter()
	for i, name := range []string{"baseline", "contender"} {
		side, err := c.Settings.Side(ctx, h, targets[i], name)
		if err != nil {
			return err
		}
		if c.Label != "" {
			side.label(c.Label, values[i])
		}
		c.sides[i], c.filters[i] = side, filter
	}
	base, contender := c.sides[0], c.sides[1]
	if base.uri != contender.uri {
		return fmt.Errorf("the sides come from different sources, %s and %s, and are compared as one: where they are one, say so with --source-uri URI", base.uri, contender.uri)
	}
	c.Baseline = values[0]
	if c.Profile == comparison.Revisions {
		for _, side := range c.sides {
			if err := side.known(); err != nil {
				return err
			}
		}
		if base.Identity.Tree == contender.Identity.Tree {
			return fmt.Errorf("both sides have the tree %s, so there is nothing to compare: %s and %s", base.Identity.Tree, base.Identity.Root, contender.Identity.Root)
		}
		c.Baseline = base.Identity.Tree
	}
	for _, side := range c.sides {
		if _, err := c.Settings.cases(ctx, h, side, filter); err != nil {
			return err
		}
	}
	return nil
}

// known refuses a side whose tree has no id: its rounds would be measured for nothing.
func (s *Side) known() error {
	if s.Identity.Tree != "" {
		return nil
	}
	return fmt.Errorf("the working tree of the %s, %s, has no id, since git did not say how it differs from its revision: see what `git -C %s status` says", s.Name, s.Identity.Root, s.Identity.Root)
}

// cases are those that a side's orders would run. The error is a refusal of the runner.
func (s *Settings) cases(ctx context.Context, h *Host, side *Side, filter string) ([]runner.Case, error) {
	order, err := s.order(side, filter, -1, -1)
	if err != nil {
		return nil, err
	}
	list, err := runner.Cases(ctx, order, s.options(h, nil))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", side.Name, err)
	}
	return list, s.named(list, side)
}

// Request is what comparing the run asks for, whether it was measured just now or long ago.
func (c *Comparing) Request() comparison.Request {
	return comparison.Request{RunKey: c.Settings.RunKey, Profile: c.Profile, Baseline: c.Baseline, Label: c.Label, Vary: c.Vary}
}

// Run measures all rounds. What was delivered stays whatever the error is, which names the round and the side.
func (c *Comparing) Run(ctx context.Context, h *Host) error {
	for round := range c.Rounds {
		if err := c.round(ctx, h, round); err != nil {
			return err
		}
	}
	return nil
}

// round measures both sides of a round with nothing else between them: they are a pair because what the machine does meanwhile hits both.
func (c *Comparing) round(ctx context.Context, h *Host, round int) error {
	stopped := func(i int, err error) error {
		return &StoppedError{Round: round, Rounds: c.Rounds, Side: c.called(i), Measured: 2*round + i, RunKey: c.Settings.RunKey, Err: err}
	}
	release, err := h.alone(ctx)
	if err != nil {
		return stopped(0, err)
	}
	defer release()
	for i, side := range c.sides {
		slot := 2*round + i
		if h.Log != nil {
			h.Log("round %d of %d: %s", round+1, c.Rounds, c.called(i))
		}
		order, err := c.Settings.order(side, c.filters[i], round, slot)
		if err != nil {
			return err
		}
		if _, err := c.Settings.run(ctx, h, side, order, fmt.Sprintf("order-%04d.json", slot)); err != nil {
			return stopped(i, err)
		}
	}
	return nil
}

// alone waits until nothing else is measured on the machine.
func (h *Host) alone(ctx context.Context) (release func(), err error) {
	if h.Alone == nil {
		return func() {}, nil
	}
	return h.Alone(ctx)
}

// called names a side for people.
func (c *Comparing) called(i int) string {
	if c.Profile != comparison.Variants {
		return c.sides[i].Name
	}
	return []string{"baseline", "contender"}[i]
}

// StoppedError is a session that did not come to its end.
type StoppedError struct {
	Round, Rounds int // Round from 0
	Side          string
	Measured      int // orders before
	RunKey        string
	Err           error
}

func (e *StoppedError) Error() string {
	what := "nothing was measured before"
	if e.Measured == 1 {
		what = "the result of the order before it is kept"
	} else if e.Measured > 1 {
		what = fmt.Sprintf("the results of the %d orders before it are kept", e.Measured)
	}
	why := e.Err.Error()
	if errors.Is(e.Err, context.Canceled) {
		why = "interrupted"
	}
	text := fmt.Sprintf("the session stopped in round %d of %d, at the %s: %s", e.Round+1, e.Rounds, e.Side, why)
	if strings.Contains(text, "\n") {
		return text + "\n(" + what + " under the run key " + e.RunKey + ")"
	}
	return text + " (" + what + ", under the run key " + e.RunKey + ")"
}

// Unwrap is why.
func (e *StoppedError) Unwrap() error { return e.Err }

// run writes an order, runs it, and delivers what it left. Nothing else is measured meanwhile: the caller has seen to that.
func (s *Settings) run(ctx context.Context, h *Host, side *Side, order map[string]any, file string) (*runner.Ran, error) {
	text, err := ijson.Canonical(order)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(s.Out, "orders", file)
	made := absent(filepath.Dir(path))
	if err := write(path, append(text, '\n')); err != nil {
		return nil, err
	}
	ran, err := runner.Run(ctx, order, s.Out, s.options(h, func(d runner.Done) {
		if h.Done != nil {
			h.Done(side, d)
		}
	}))
	if err != nil && (ran == nil || len(ran.Files) == 0) {
		// Nothing of an order that gave no result stays, so that its slot is free; nor the folders that were made for it, unless something is in them.
		os.Remove(path)
		for _, dir := range made {
			os.Remove(dir)
		}
	}
	if ran != nil && h.Deliver != nil && len(ran.Files) > 0 {
		// Also where the order was stopped: what its finished cases left is as good as ever. Delivering is not stopped any more.
		err = errors.Join(err, h.Deliver(context.WithoutCancel(ctx), ran))
	}
	return ran, err
}

// absent are the folders of a path that are not there, innermost first.
func absent(dir string) (out []string) {
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); err == nil || dir == filepath.Dir(dir) {
			return out
		}
		out = append(out, dir)
	}
}

func write(path string, text []byte) error {
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%s is there already, so this slot of the run was measured before, and measuring it again would give its results a second value: use another slot or run key", path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("write the order: %w", err)
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".order-*")
	if err != nil {
		return fmt.Errorf("write the order: %w", err)
	}
	_, err = tmp.Write(text)
	err = errors.Join(err, tmp.Chmod(0o644), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		os.Remove(tmp.Name())
		return fmt.Errorf("write the order %s: %w", path, err)
	}
	return nil
}
