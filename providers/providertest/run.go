package providertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/lang"
	"github.com/flameox/flameox/providers"
)

// Payload is one artifact of a run.
type Payload struct {
	Name      string
	Role      string
	MediaType string
	Data      []byte
}

// Cases is what the suite needs of a provider that reads files.
type Cases struct {
	Valid   []byte // a payload with evidence
	Empty   []byte // a payload that is whole and holds none; nil where the format has no such thing
	Role    string
	Options any // of the extraction; nil for the defaults
	// Half is the state that the first half of Valid has: Incompatible, or Partial where a prefix is evidence.
	Half evidence.State
	// HalfValid says that a prefix is a valid run, of a format that allows it.
	HalfValid bool
	// Cuttable says that rows have a weight, so that a budget cuts them; otherwise it refuses.
	Cuttable bool
	// EmptyValid says that Empty is a valid run. A profile without a sample is one, a benchmark run that measured
	// nothing is not.
	EmptyValid bool
	// Interpreter is the one that a Reader's script runs in, or the program of a Printer.
	Interpreter string
	// Flips is how many changed payloads are tried; 150 where it is 0. A Reader or a Printer starts a process or two for each.
	Flips int
	// Several says that a run may have several artifacts of the role, which become evidence together.
	Several bool
}

// Plan is what the suite needs of a provider that captures.
type Plan struct {
	Workload providers.Workload // of a kind that the defaults can plan
	Options  any                // with which Plan succeeds too; nil for the defaults
}

// Run checks a provider. cases and plan are nil for what it does not do.
func Run(t *testing.T, p providers.Provider, cases *Cases, plan *Plan) {
	t.Helper()
	if p.Name() == "" || p.Version() < 1 || p.Doc() == "" {
		t.Errorf("%T has no name, no version from 1, or no documentation", p)
	}
	providers.New(p) // panics on what a registry refuses
	if c, ok := p.(providers.Capturer); ok {
		if plan == nil {
			t.Fatalf("%s captures and has no plan to check", p.Name())
		}
		runCapturer(t, c, plan)
	}
	if e, ok := p.(providers.Extractor); ok {
		if cases == nil {
			t.Fatalf("%s extracts and has no cases to check", p.Name())
		}
		runExtractor(t, e, cases)
	}
}

func runCapturer(t *testing.T, c providers.Capturer, plan *Plan) {
	t.Run("the defaults plan", func(t *testing.T) {
		if _, err := c.Plan(plan.Workload, lang.Defaults(c.Options())); err != nil {
			t.Error(err)
		}
	})
	if plan.Options == nil {
		plan = &Plan{plan.Workload, lang.Defaults(c.Options())}
	}
	t.Run("every option has the tags by which the language knows it", func(t *testing.T) { checkTags(t, c.Options()) })
	t.Run("options are new each time", func(t *testing.T) {
		if a, b := c.Options(), c.Options(); a == b {
			t.Error("two calls of Options share one struct, so one stage's arguments would change another's")
		}
	})
	t.Run("options of another type are an error", func(t *testing.T) {
		if _, err := c.Plan(plan.Workload, &struct{ X int }{}); err == nil {
			t.Error("a struct of another type was accepted")
		}
	})
	t.Run("a workload without a command is an error", func(t *testing.T) {
		w := plan.Workload
		w.Argv = nil
		if _, err := c.Plan(w, plan.Options); err == nil {
			t.Error("an empty command was accepted")
		}
	})
	t.Run("the plan is pure and whole", func(t *testing.T) {
		before := slices.Clone(plan.Workload.Argv)
		one, err := c.Plan(plan.Workload, plan.Options)
		if err != nil {
			t.Fatal(err)
		}
		two, _ := c.Plan(plan.Workload, plan.Options)
		if !reflect.DeepEqual(one, two) {
			t.Error("two plans of one workload differ")
		}
		if !slices.Equal(before, plan.Workload.Argv) {
			t.Error("the plan changed the workload's command")
		}
		if len(one.Argv) == 0 {
			t.Error("the plan runs nothing")
		}
		names := map[string]bool{}
		for _, o := range one.Outputs {
			if (o.Path == "") == (o.Stream == "") {
				t.Errorf("output %s has not exactly one of a path and a stream", o.Name)
			}
			if o.Name == "" || o.Role == "" || o.MediaType == "" || names[o.Name] {
				t.Errorf("output %+v lacks a name of its own, a role or a media type", o)
			}
			if filepath.IsAbs(o.Path) || slices.Contains(strings.Split(o.Path, "/"), "..") {
				t.Errorf("output %s is outside the run's folder: %s", o.Name, o.Path)
			}
			names[o.Name] = true
		}
	})
	if n := c.Nature(); n != providers.Measurement && n != providers.Shared {
		t.Errorf("the nature %q is none of the known ones", n)
	}
}

// checkTags compiles the options as the language does when a stage kind is registered, which panics on what is wrong.
func checkTags(t *testing.T, options any) {
	t.Helper()
	if options == nil {
		return
	}
	defer func() {
		if r := recover(); r != nil {
			t.Errorf("the language refuses the options %T: %v", options, r)
		}
	}()
	lang.Defaults(options)
}

func runExtractor(t *testing.T, e providers.Extractor, c *Cases) {
	s := &suite{e: e, c: c, dir: t.TempDir()}
	t.Run("every extraction option has the tags by which the language knows it", func(t *testing.T) { checkTags(t, e.ExtractOptions()) })
	t.Run("a valid payload is evidence", func(t *testing.T) {
		got := s.extract(t, c.Valid, evidence.DefaultBudget())
		if got.outcome.State != evidence.Complete && got.outcome.State != evidence.Partial || got.rows == 0 {
			t.Errorf("state %s with %d rows: %v", got.outcome.State, got.rows, got.outcome.Limitations)
		}
		s.validity(t, c.Valid, 0, true)
	})
	t.Run("a repeated extraction leaves the same bytes", func(t *testing.T) {
		one, two := s.extract(t, c.Valid, evidence.DefaultBudget()), s.extract(t, c.Valid, evidence.DefaultBudget())
		if len(one.files) == 0 || !reflect.DeepEqual(one.files, two.files) {
			t.Errorf("files %v, then %v", keys(one.files), keys(two.files))
		}
		if !reflect.DeepEqual(one.outcome, two.outcome) {
			t.Errorf("outcome %+v, then %+v", one.outcome, two.outcome)
		}
	})
	t.Run("no bytes are refused", func(t *testing.T) { s.refused(t, nil) })
	t.Run("half a file is never complete", func(t *testing.T) {
		got := s.extract(t, c.Valid[:len(c.Valid)/2], evidence.DefaultBudget())
		if got.outcome.State != c.Half {
			t.Errorf("state %s, want %s: %v", got.outcome.State, c.Half, got.outcome.Limitations)
		}
		s.validity(t, c.Valid[:len(c.Valid)/2], 0, c.HalfValid)
	})
	for name, data := range foreign() {
		t.Run("another format is refused: "+name, func(t *testing.T) { s.refused(t, data) })
	}
	if c.Empty != nil {
		t.Run("a whole payload without evidence is empty", func(t *testing.T) {
			got := s.extract(t, c.Empty, evidence.DefaultBudget())
			if got.outcome.State != evidence.Empty || got.rows != 0 || len(got.files) != 0 {
				t.Errorf("state %s with %d rows", got.outcome.State, got.rows)
			}
			if len(got.outcome.Limitations) == 0 {
				t.Error("nothing says why there is no evidence")
			}
			s.validity(t, c.Empty, 0, c.EmptyValid)
		})
	}
	t.Run("a budget of exactly the rows keeps them all, one less does not", func(t *testing.T) { s.budgets(t) })
	t.Run("a payload over the input budget is refused", func(t *testing.T) {
		b := evidence.DefaultBudget()
		b.InputBytes = int64(len(c.Valid))
		if got := s.extract(t, c.Valid, b); got.outcome.State == evidence.Incompatible {
			t.Errorf("exactly the budget was refused: %v", got.outcome.Limitations)
		}
		b.InputBytes--
		if got := s.extract(t, c.Valid, b); got.outcome.State != evidence.Incompatible {
			t.Errorf("one byte more than the budget has state %s", got.outcome.State)
		}
	})
	t.Run("an unexpected exit leaves the artifact readable and the run invalid", func(t *testing.T) {
		s.validity(t, c.Valid, 3, false)
		in := s.input(t, c.Valid)
		in.Exit = 3
		if got := s.run(t, in, evidence.DefaultBudget()); got.rows == 0 {
			t.Errorf("state %s without rows", got.outcome.State)
		}
		in.ExpectExit = []int{0, 3}
		if v, ok := e.(providers.Validator); ok {
			if r, err := v.Validate(t.Context(), s.read(t, "validate", in)); err != nil || !r.Valid {
				t.Errorf("an exit status that the workload declares made the run invalid: %v %v", r.Reasons, err)
			}
		}
	})
	t.Run("a missing artifact and two candidates are errors", func(t *testing.T) {
		if _, err := s.try(t, providers.Input{}, evidence.DefaultBudget()); err == nil {
			t.Error("a run without artifacts was extracted")
		}
		in := s.input(t, c.Valid)
		in.Artifacts[0].Role = "another"
		if _, err := s.try(t, in, evidence.DefaultBudget()); err == nil {
			t.Error("an artifact of another role was extracted")
		}
		if c.Several {
			return
		}
		in = s.input(t, c.Valid)
		in.Artifacts = append(in.Artifacts, s.input(t, c.Valid).Artifacts...)
		if _, err := s.try(t, in, evidence.DefaultBudget()); err == nil {
			t.Error("one of two candidates was taken")
		}
	})
	t.Run("a changed payload has another digest", func(t *testing.T) {
		changed := bytes.Clone(c.Valid)
		changed[len(changed)/2] ^= 1
		a, b := s.input(t, c.Valid).Artifacts[0], s.input(t, changed).Artifacts[0]
		if a.Digest == b.Digest {
			t.Error("the caller could not tell the two payloads apart")
		}
	})
	t.Run("flipped bytes never panic and never fail without a reason", func(t *testing.T) { s.flips(t) })
	t.Run("a cancelled extraction ends", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		sink := evidence.NewSink(t.TempDir(), evidence.FileMeta{Provider: e.Name(), ProviderVersion: e.Version()}, evidence.Budget{})
		defer sink.Discard()
		if _, err := e.Extract(ctx, s.input(t, c.Valid), s.options(), evidence.DefaultBudget(), sink); !errors.Is(err, context.Canceled) {
			t.Errorf("the error is %v", err)
		}
	})
}

// flips changes a few random bytes at a time, seeded so that a failure repeats.
func (s *suite) flips(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	flips := s.c.Flips
	if flips == 0 {
		flips = 150
	}
	for i := range flips {
		data := bytes.Clone(s.c.Valid)
		for range 1 + r.IntN(4) {
			data[r.IntN(len(data))] ^= byte(1 << r.IntN(8))
		}
		in := s.input(t, data)
		got, err := s.try(t, in, evidence.DefaultBudget())
		if err != nil {
			t.Fatalf("flip %d: an error instead of an outcome: %v", i, err)
		}
		if !got.outcome.State.Known() || (got.outcome.State == evidence.Incompatible && len(got.outcome.Limitations) == 0) {
			t.Fatalf("flip %d: state %q without a reason", i, got.outcome.State)
		}
		if v, ok := s.e.(providers.Validator); ok {
			rec, err := v.Validate(t.Context(), s.read(t, "validate", in))
			if err != nil {
				t.Fatalf("flip %d: the validator could not say: %v", i, err)
			}
			if rec.Valid && got.outcome.State == evidence.Incompatible {
				t.Fatalf("flip %d: valid, and refused by the extraction: %v", i, got.outcome.Limitations)
			}
		}
		for _, a := range in.Artifacts {
			os.Remove(a.Path)
		}
	}
}

// budgets extracts with exactly as many rows as there are, and with one fewer.
func (s *suite) budgets(t *testing.T) {
	all := s.extract(t, s.c.Valid, evidence.DefaultBudget())
	b := evidence.DefaultBudget()
	b.Rows = all.rows
	exact := s.extract(t, s.c.Valid, b)
	if exact.rows != all.rows || exact.outcome.State != all.outcome.State {
		t.Errorf("exactly %d rows: state %s with %d rows", all.rows, exact.outcome.State, exact.rows)
	}
	b.Rows--
	less := s.extract(t, s.c.Valid, b)
	if s.c.Cuttable {
		if less.outcome.State != evidence.Partial || less.rows == 0 || less.rows > b.Rows || len(less.outcome.Limitations) <= len(all.outcome.Limitations) {
			t.Errorf("one row too many: state %s with %d rows, %v", less.outcome.State, less.rows, less.outcome.Limitations)
		}
	} else if less.outcome.State != evidence.Incompatible || less.rows != 0 {
		t.Errorf("one row too many: state %s with %d rows", less.outcome.State, less.rows)
	}
}

// foreign are payloads of other formats and of none.
func foreign() map[string][]byte {
	noise := make([]byte, 4096)
	r := rand.New(rand.NewPCG(3, 4))
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	return map[string][]byte{
		"JSON":      []byte(`{"version": "1.0", "benchmarks": [{"name": "x"}]}` + "\n"),
		"prose":     []byte("The quick brown fox jumps over the lazy dog.\nAnd again.\n"),
		"ELF":       append([]byte("\x7fELF\x02\x01\x01\x00"), noise...),
		"zeros":     make([]byte, 4096),
		"noise":     noise,
		"a page":    []byte("<!DOCTYPE html>\n<html><body>502 Bad Gateway</body></html>\n"),
		"gzip of ?": gzipped([]byte(strings.Repeat("not what you expect\n", 100))),
	}
}

func keys(m map[string][]byte) (out []string) {
	for k, v := range m {
		out = append(out, fmt.Sprintf("%s (%s)", k, digest.Sum(v).Short()))
	}
	slices.Sort(out)
	return out
}
