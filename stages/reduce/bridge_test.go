package reduce

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flameox/flameox/graph/broker"
	"github.com/flameox/flameox/internal/digest"
)

// bridge is a config over a folder with one candidate, of which a shell script is the predicate.
func bridge(t *testing.T, script string) (*Config, *broker.Broker) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c := &Config{Receipts: filepath.Join(dir, "receipts"), Attempts: 10, Predicate: Predicate{
		Root: filepath.Join(dir, "work"), Argv: []string{"/bin/sh", "-c", script}, Env: []string{"PATH=/usr/bin:/bin", "STATE=" + dir}, Dir: dir,
		Expect: []int{0}, Repetitions: 1, Timeout: 10 * time.Second, Deadline: time.Now().Add(time.Minute), Bytes: 1 << 20,
	}}
	for _, d := range []string{c.Receipts, c.Predicate.Root} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(c.Predicate.Root, targetName), "a bug")
	b := broker.New(broker.Options{NoSupervisor: true})
	t.Cleanup(func() { b.Close() })
	return c, b
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// last is the newest receipt, after the bridge has exited as it is to.
func last(t *testing.T, c *Config, b *broker.Broker, candidate string, want int) Receipt {
	t.Helper()
	got, err := c.serve(context.Background(), b, candidate)
	if err != nil || got != want {
		t.Fatalf("the bridge exits %d (%v), want %d", got, err, want)
	}
	list, _, gap, err := c.receipts()
	if err != nil || gap != "" || len(list) == 0 {
		t.Fatalf("%d receipts, %q, %v", len(list), gap, err)
	}
	return list[len(list)-1]
}

const isBug = `grep -q bug "$FLAMEOX_REDUCTION_CANDIDATE"`

func TestAPredicateDecides(t *testing.T) {
	c, b := bridge(t, isBug)
	r := last(t, c, b, targetName, 0)
	if r.Attempt != 1 || r.Classification != interesting || r.Candidate.SHA256 != digest.SumString("a bug").String() || r.Candidate.Size != 5 || *r.Observations[0].Exit != 0 {
		t.Errorf("%+v", r)
	}
	write(t, filepath.Join(c.Predicate.Root, "other"), "fine")
	if r := last(t, c, b, filepath.Join(c.Predicate.Root, "other"), 1); r.Attempt != 2 || r.Classification != notInteresting || *r.Observations[0].Exit != 1 {
		t.Errorf("%+v", r)
	}
}

func TestAPredicateThatDoesNotSayTheSameTwiceHasNoAnswer(t *testing.T) {
	// It says yes and no in turn.
	c, b := bridge(t, `if [ -e "$STATE/said" ]; then rm "$STATE/said"; exit 1; fi; : > "$STATE/said"`)
	c.Predicate.Repetitions = 2
	for range 3 {
		r := last(t, c, b, targetName, unresolvedExit)
		if r.Classification != unresolved || r.Failure != failContradictory || len(r.Observations) != 2 {
			t.Errorf("%+v", r)
		}
	}
}

func TestTheStatusThatMeansUnresolvedIsTheBridgesAlone(t *testing.T) {
	c, b := bridge(t, "exit 101")
	if r := last(t, c, b, targetName, 1); r.Classification != notInteresting || *r.Observations[0].Exit != 101 {
		t.Errorf("%+v", r)
	}
	c.Predicate.Expect = []int{101}
	if r := last(t, c, b, targetName, 0); r.Classification != interesting {
		t.Errorf("%+v", r)
	}
}

func TestWhatDoesNotComeToAnEndHasNoAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		script, failure string
		with            func(*Config)
	}{
		"it takes too long":           {"sleep 20", failTimeout, func(c *Config) { c.Predicate.Timeout = 200 * time.Millisecond }},
		"there is no time left":       {"sleep 20", failDeadline, func(c *Config) { c.Predicate.Deadline = time.Now().Add(300 * time.Millisecond) }},
		"it crashes":                  {"kill -SEGV $$", failSignal, func(*Config) {}},
		"its program is not there":    {"", failNotStarted, func(c *Config) { c.Predicate.Argv = []string{"/no/such/program"} }},
		"it changes the candidate":    {`echo more >> "$FLAMEOX_REDUCTION_CANDIDATE"`, failCandidate + "changed", func(*Config) {}},
		"it takes the candidate away": {`rm "$FLAMEOX_REDUCTION_CANDIDATE"`, failCandidate + "changed", func(*Config) {}},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, b := bridge(t, c.script)
			c.with(cfg)
			begun := time.Now()
			if r := last(t, cfg, b, targetName, unresolvedExit); r.Classification != unresolved || r.Failure != c.failure {
				t.Errorf("%+v", r)
			}
			if took := time.Since(begun); took > 10*time.Second {
				t.Errorf("it took %s", took)
			}
		})
	}
}

func TestWhatIsNoCandidateIsNotLookedAt(t *testing.T) {
	c, b := bridge(t, `: > "$STATE/ran"`)
	root := c.Predicate.Root
	if err := errors.Join(os.Symlink(targetName, filepath.Join(root, "link")), os.Link(filepath.Join(root, targetName), filepath.Join(root, "hard"))); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(root, "large"), strings.Repeat("x", 2<<20))
	write(t, filepath.Join(filepath.Dir(root), "outside"), "bug")
	for name, failure := range map[string]string{
		"link": "symlink", "hard": "hard_link", "large": "too_large", "gone": "missing", "../outside": "outside",
		filepath.Join(filepath.Dir(root), "outside"): "outside", "/etc/passwd": "outside",
	} {
		if r := last(t, c, b, name, unresolvedExit); r.Failure != failCandidate+failure || len(r.Observations) != 0 || r.Candidate.SHA256 != "" {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(root), "ran")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the predicate was run: %v", err)
	}
}

func TestCandidatesAtTheSameTimeAreCountedOnce(t *testing.T) {
	c, b := bridge(t, isBug)
	c.Attempts = 5
	var all sync.WaitGroup
	var mu sync.Mutex
	status := map[int]int{}
	for range 12 {
		all.Go(func() {
			got, err := c.serve(context.Background(), b, targetName)
			mu.Lock()
			defer mu.Unlock()
			if status[got]++; err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	list, n, gap, err := c.receipts()
	if err != nil || gap != "" || len(list) != 5 || n != (counter{Started: 5, Done: 5, Exhausted: true}) {
		t.Errorf("%d receipts, %+v, %q, %v", len(list), n, gap, err)
	}
	if status[0] != 5 || status[unresolvedExit] != 7 {
		t.Errorf("statuses %v", status)
	}
}

func TestAfterTheDeadlineNothingIsTried(t *testing.T) {
	c, b := bridge(t, isBug)
	c.Predicate.Deadline = time.Now()
	got, err := c.serve(context.Background(), b, targetName)
	list, n, gap, failed := c.receipts()
	if got != unresolvedExit || err != nil || failed != nil || gap != "" || len(list) != 0 || n != (counter{Exhausted: true}) {
		t.Errorf("%d %v, %d receipts, %+v, %q, %v", got, err, len(list), n, gap, failed)
	}
}

func TestAnAccountWithAGapIsNone(t *testing.T) {
	c, b := bridge(t, isBug)
	for range 3 {
		last(t, c, b, targetName, 0)
	}
	path := func(n int) string { return filepath.Join(c.Receipts, receiptName(n)) }
	second, err := os.ReadFile(path(2))
	if err != nil {
		t.Fatal(err)
	}
	for name, with := range map[string]struct {
		do  func() error
		gap string
	}{
		"in the middle": {func() error { return os.Remove(path(2)) }, "none of attempt 2"},
		"at the end":    {func() error { return os.Remove(path(3)) }, "3 candidates were tried to the end, and there are 2 receipts"},
		"another's": {func() error {
			return os.WriteFile(path(2), []byte(strings.Replace(string(second), `"attempt":2`, `"attempt":1`, 1)), 0o600)
		}, "attempt 2 is not as it was written"},
		"torn": {func() error { return os.WriteFile(path(2), second[:20], 0o600) }, "attempt 2 is not as it was written"},
		"too large": {func() error {
			return os.WriteFile(path(2), append(second, strings.Repeat(" ", mostReceipt)...), 0o600)
		}, "attempt 2 is not as it was written"},
	} {
		third, err := os.ReadFile(path(3))
		if err != nil {
			t.Fatal(err)
		}
		if err := with.do(); err != nil {
			t.Fatal(err)
		}
		if _, _, gap, err := c.receipts(); err != nil || !strings.Contains(gap, with.gap) {
			t.Errorf("%s: %q, %v", name, gap, err)
		}
		write(t, path(2), string(second))
		write(t, path(3), string(third))
	}
}

func TestABridgeThatWasKilledLosesNoReceipt(t *testing.T) {
	c, b := bridge(t, isBug)
	last(t, c, b, targetName, 0)
	// Killed between its receipt and the count: the next one does not write over it.
	if err := c.write(receiptName(2), &Receipt{Attempt: 2, Classification: interesting}); err != nil {
		t.Fatal(err)
	}
	if err := c.write(counterName, counter{Started: 2, Done: 1}); err != nil {
		t.Fatal(err)
	}
	if r := last(t, c, b, targetName, 0); r.Attempt != 3 {
		t.Errorf("%+v", r)
	}
	// Killed before its receipt: it was begun, and there is no receipt of it.
	if err := c.write(counterName, counter{Started: 4, Done: 3}); err != nil {
		t.Fatal(err)
	}
	if list, n, gap, err := c.receipts(); err != nil || gap != "" || len(list) != 3 || n.Started != 4 {
		t.Errorf("%d receipts, %+v, %q, %v", len(list), n, gap, err)
	}
}

func TestABridgeThatIsNotToldWhatToDoHasNoAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		args   []string
		config string
	}{
		"no config":    {[]string{"x"}, "/no/such/file"},
		"no candidate": {nil, ""},
		"no JSON":      {[]string{"x"}, "bridge_test.go"},
	} {
		t.Setenv(configVariable, c.config)
		if got, err := Serve(context.Background(), c.args); got != unresolvedExit || err == nil {
			t.Errorf("%s: %d %v", name, got, err)
		}
	}
}
