package extract

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/broker"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/graph/cas"
	"github.com/flameox/flameox/internal/vfs"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/stages/kind"
)

// TestMain lets the test binary be the worker, as the flameox binary is.
func TestMain(m *testing.M) {
	broker.MaybeSupervise()
	if len(os.Args) > 1 && os.Args[1] == WorkerCommand {
		if err := Serve(context.Background(), providers.New(append(validators(), scripted{"json"}, printer{})...), os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// validator is a provider with the fault that its name says.
type validator struct {
	name string
	do   func(ctx context.Context, in providers.Input) (providers.Receipt, error)
}

func (v validator) Name() string { return v.name }
func (v validator) Version() int { return 1 }
func (v validator) Doc() string  { return "A validator of the test." }
func (v validator) Validate(ctx context.Context, in providers.Input) (providers.Receipt, error) {
	return v.do(ctx, in)
}

func validators() []providers.Provider {
	return []providers.Provider{
		validator{"reading", func(_ context.Context, in providers.Input) (providers.Receipt, error) {
			r := providers.Receipt{Producer: fmt.Sprint(os.Getpid()), Limitations: []evidence.Limitation{{Code: "seen", Text: fmt.Sprintf("%d artifacts, exit %d of %v", len(in.Artifacts), in.Exit, in.ExpectExit)}}}
			b, err := os.ReadFile(in.Artifacts[0].Path)
			if r.Valid = string(b) == "good"; !r.Valid {
				r.Reasons = []evidence.Limitation{{Code: "bad", Text: "it reads " + string(b)}}
			}
			return r, err
		}},
		validator{"failing", func(context.Context, providers.Input) (providers.Receipt, error) {
			return providers.Receipt{}, fmt.Errorf("this cannot be said")
		}},
		validator{"panicking", func(context.Context, providers.Input) (providers.Receipt, error) { panic("index out of range") }},
		validator{"exiting", func(context.Context, providers.Input) (providers.Receipt, error) { os.Exit(0); panic("not reached") }},
		validator{"hanging", func(context.Context, providers.Input) (providers.Receipt, error) {
			for n := 0; ; n++ {
				if n < 0 {
					return providers.Receipt{Valid: true}, nil
				}
			}
		}},
		validator{"eating", func(context.Context, providers.Input) (providers.Receipt, error) {
			var keep [][]byte
			for range 1 << 30 / (8 << 20) { // 1 GiB at most, should the limit not hold
				b := make([]byte, 8<<20)
				for i := 0; i < len(b); i += 4096 {
					b[i] = 1
				}
				keep = append(keep, b)
				time.Sleep(5 * time.Millisecond)
			}
			return providers.Receipt{Valid: len(keep) > 0}, nil
		}},
		validator{"chatting", func(context.Context, providers.Input) (providers.Receipt, error) {
			for {
				fmt.Println(strings.Repeat("x", 1000))
			}
		}},
	}
}

// attempt is a task in a store of its own, and the record of a run that left a file with this content.
func attempt(t testing.TB, content string) (*graph.Task, *cache.Record) {
	t.Helper()
	dir := t.TempDir()
	blobs, err := cas.Open(dir, vfs.OS{})
	if err != nil {
		t.Fatal(err)
	}
	b := broker.New(broker.Options{Store: "test"})
	t.Cleanup(func() { b.Close() })
	task := &graph.Task{
		Store: &graph.Store{Dir: dir, CAS: blobs, Broker: b}, Run: "R", Mark: b.Mark("R"),
		Dir: filepath.Join(dir, "tmp", "R"), Batch: blobs.NewBatch(),
	}
	if err := os.MkdirAll(task.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	sum, err := task.Batch.PutBytes([]byte(content))
	if err != nil {
		t.Fatal(err)
	}
	exit := 3
	return task, &cache.Record{
		Validation: cache.ValidationPassed, Exit: &exit,
		Outputs: []cache.Output{{Name: "payload", Role: "payload", Digest: sum, Size: int64(len(content))}},
	}
}

func check(t testing.TB, name, content string, budget evidence.Budget) *cache.Record {
	t.Helper()
	task, rec := attempt(t, content)
	judge(t, task, rec, name, budget)
	return rec
}

func judge(t testing.TB, task *graph.Task, rec *cache.Record, name string, budget evidence.Budget) {
	t.Helper()
	p, err := providers.New(validators()...).Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := validate(t.Context(), task, &kind.Project{Self: self}, p, rec, []int{0, 3}, budget); err != nil {
		t.Fatal(err)
	}
}

func TestAValidatorSeesTheStoredPayloadInAnotherProcess(t *testing.T) {
	rec := check(t, "reading", "good", evidence.DefaultBudget())
	if !rec.Valid() || rec.Producer == "" || rec.Producer == fmt.Sprint(os.Getpid()) {
		t.Errorf("%s in process %s: %v", rec.Validation, rec.Producer, rec.Invalid)
	}
	if len(rec.Limitations) != 1 || rec.Limitations[0].Text != "1 artifacts, exit 3 of [0 3]" {
		t.Errorf("limitations %v", rec.Limitations)
	}
	rec = check(t, "reading", "evil", evidence.DefaultBudget())
	if rec.Validation != cache.ValidationFailed || len(rec.Invalid) != 1 || rec.Invalid[0].Text != "it reads evil" {
		t.Errorf("%s: %v", rec.Validation, rec.Invalid)
	}
}

func TestAValidatorThatFailsLeavesAnInvalidAttemptThatSaysWhy(t *testing.T) {
	for _, c := range []struct{ name, code, text string }{
		{"failing", "provider_failed", "the worker that validates with failing failed: this cannot be said"},
		{"panicking", "worker_crashed", "panic: index out of range"},
		{"exiting", "worker_crashed", "ended without an answer"},
		{"hanging", "worker_timeout", "ran longer than 1s and was ended"},
		{"eating", "worker_memory_limit", "used more than 272 MiB of memory and was ended"},
		{"chatting", "worker_output_limit", "the worker that validates with chatting was ended"},
	} {
		t.Run(c.name, func(t *testing.T) {
			budget := evidence.DefaultBudget()
			budget.Wall, budget.Memory = 30*time.Second, 16<<20
			if c.name == "hanging" {
				budget.Wall = time.Second
			}
			rec := check(t, c.name, "good", budget)
			if rec.Validation != cache.ValidationError || len(rec.Invalid) != 1 {
				t.Fatalf("%s: %v", rec.Validation, rec.Invalid)
			}
			if got := rec.Invalid[0]; got.Code != c.code || !strings.Contains(got.Text, c.text) {
				t.Errorf("%s: %s", got.Code, got.Text)
			}
			if len(rec.Outputs) != 1 {
				t.Errorf("the payload is gone: %v", rec.Outputs)
			}
		})
	}
}

func TestAWorkerThatCannotStartDoesNotThrowTheMeasurementAway(t *testing.T) {
	task, rec := attempt(t, "good")
	if err := validate(t.Context(), task, &kind.Project{Self: filepath.Join(task.Dir, "gone")}, validators()[0], rec, nil, evidence.DefaultBudget()); err != nil {
		t.Fatal(err)
	}
	if rec.Validation != cache.ValidationError || len(rec.Invalid) != 1 || !strings.Contains(rec.Invalid[0].Text, "start the worker") {
		t.Errorf("%s: %v", rec.Validation, rec.Invalid)
	}
}

// BenchmarkValidate is what the worker costs an attempt: the start of a process and a small payload.
func BenchmarkValidate(b *testing.B) {
	task, rec := attempt(b, "good")
	for b.Loop() {
		judge(b, task, rec, "reading", evidence.DefaultBudget())
	}
}
