package session_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flameox/flameox/graph/broker"
	"github.com/flameox/flameox/measure/comparison"
	"github.com/flameox/flameox/measure/config"
	"github.com/flameox/flameox/measure/document"
	"github.com/flameox/flameox/measure/paired"
	"github.com/flameox/flameox/measure/runner"
	"github.com/flameox/flameox/measure/session"
)

var folder string // of what is built once; removed by TestMain

func TestMain(m *testing.M) {
	broker.MaybeSupervise()
	var err error
	if folder, err = os.MkdirTemp("", "flameox-session-test-"); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(folder)
	os.Exit(code)
}

// build compiles the suite with the Google Benchmark of the machine, once for all tests.
var build = sync.OnceValues(func() (string, string) {
	if exec.Command("sh", "-c", "echo '#include <benchmark/benchmark.h>' | c++ -x c++ -fsyntax-only -").Run() != nil {
		return "", "there is no C++ compiler with the headers of Google Benchmark (Debian: g++, libbenchmark-dev)"
	}
	program := filepath.Join(folder, "bench")
	if out, err := exec.Command("c++", "-O1", "-o", program, "testdata/bench.cc", "-lbenchmark", "-lpthread").CombinedOutput(); err != nil {
		return "", "the suite cannot be built: " + string(out)
	}
	return program, ""
})

// site is a project with one checkout and two build directories of it, with real benchmarks of Google Benchmark.
type site struct {
	t    *testing.T
	dir  string
	host *session.Host
	// ran is what was delivered.
	ran []*runner.Ran
}

func newSite(t *testing.T) *site {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not on PATH")
	}
	program, why := build()
	if why != "" {
		t.Skip(why)
	}
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, dir: dir}
	for _, d := range []string{"src", "plain", "other"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	source, err := os.ReadFile("testdata/bench.cc")
	if err != nil {
		t.Fatal(err)
	}
	s.put("src/bench.cc", string(source))
	s.sh("cd src && git init -q && git add -A && git -c user.name=t -c user.email=t@example.com commit -qm one")
	s.sh("cp '" + program + "' plain/bench && cp plain/bench other/bench")
	for _, d := range []string{"plain", "other"} {
		s.put(d+"/CMakeCache.txt", "CMAKE_HOME_DIRECTORY:INTERNAL="+dir+"/src\nCMAKE_PROJECT_NAME:STATIC=demo\nDEMO_KIND:STRING="+d+"\n")
	}
	b := broker.New(broker.Options{Store: "test"})
	t.Cleanup(func() { b.Close() })
	s.host = &session.Host{Broker: b, Environ: os.Environ(), Dir: dir, Version: "1.2.3", Deliver: func(_ context.Context, ran *runner.Ran) error {
		s.ran = append(s.ran, ran)
		return nil
	}}
	return s
}

func (s *site) put(name, text string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) sh(script string) {
	s.t.Helper()
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir = s.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("%s: %v\n%s", script, err, out)
	}
}

func (s *site) settings(key string) *session.Settings {
	s.t.Helper()
	c, err := config.Find(s.dir)
	if err != nil {
		s.t.Fatal(err)
	}
	short := 0.001
	one, err := session.Resolve(c, session.Flags{Adapter: "google-benchmark", Suite: "bench", RunKey: key, Precision: session.Precision{MinTime: &short}}, session.Compare, s.dir, time.Now())
	if err != nil {
		s.t.Fatal(err)
	}
	return one
}

func (s *site) prepare(key string, rounds int) *session.Comparing {
	s.t.Helper()
	c, err := s.settings(key).PrepareCompare(context.Background(), s.host, []string{"plain", "other"}, session.Asked{Profile: "environments", Rounds: rounds, Label: "build=plain,other"})
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// compared is the document of what was delivered.
func (s *site) compared(c *session.Comparing) *comparison.Document {
	s.t.Helper()
	var results []comparison.Result
	for _, ran := range s.ran {
		for _, d := range ran.Results {
			results = append(results, comparison.Result{Document: d})
		}
	}
	r := c.Request()
	r.Relative = paired.RelativeOptions{K: 3, MinRounds: 3}
	d, err := comparison.Compare(results, r)
	if err != nil {
		s.t.Fatal(err)
	}
	return d
}

func TestSidesAlternateInEveryRound(t *testing.T) {
	s := newSite(t)
	c := s.prepare("k", 6)
	if err := c.Run(context.Background(), s.host); err != nil {
		t.Fatal(err)
	}
	if len(s.ran) != 12 {
		t.Fatalf("%d orders were delivered, want 12", len(s.ran))
	}
	for slot, ran := range s.ran {
		n := 0
		for _, d := range ran.Results {
			side := document.At(d, "provenance", "labels", "build")
			if want := []string{"plain", "other"}[slot%2]; side != want || document.At(d, "procedure", "round") != float64(slot/2) || document.At(d, "procedure", "slot") != float64(slot) {
				t.Errorf("in slot %d: side %v, procedure %v", slot, side, document.At(d, "procedure"))
			}
			if document.At(d, "measurement", "kind") != "condition" {
				n++
			}
		}
		if n != 2 {
			t.Errorf("slot %d has %d results, want one for each of two cases", slot, n)
		}
	}
	d := s.compared(c)
	if len(d.FailedInvariants) != 0 || len(d.Units) != 2 || d.Units[0].Rounds != 6 || d.LocalOnly {
		t.Errorf("got %+v", d)
	}
}

func TestASessionThatIsStoppedKeepsWhatWasDelivered(t *testing.T) {
	for what, c := range map[string]struct {
		stop func(s *site, cancel func())
		want string
	}{
		"the binary goes": {func(s *site, _ func()) { os.Remove(filepath.Join(s.dir, "other", "bench")) }, "no executable"},
		"interrupted":     {func(_ *site, cancel func()) { cancel() }, "interrupted"},
		"the store rejects": {func(s *site, _ func()) {
			s.host.Deliver = func(context.Context, *runner.Ran) error { return errors.New("rejected 1 (unit-conflict)") }
		}, "unit-conflict"},
	} {
		t.Run(what, func(t *testing.T) {
			s := newSite(t)
			comparing := s.prepare("k", 4)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			deliver := s.host.Deliver
			s.host.Deliver = func(ctx context.Context, ran *runner.Ran) error {
				err := deliver(ctx, ran)
				if len(s.ran) == 3 { // rounds 1 and the baseline of 2
					c.stop(s, cancel)
				}
				return err
			}
			err := comparing.Run(ctx, s.host)
			var stopped *session.StoppedError
			if !errors.As(err, &stopped) || stopped.Round != 1 || stopped.Side != "contender" || stopped.Measured != 3 || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v (%+v), want a session that stopped in round 2 at the contender: %s", err, stopped, c.want)
			}
			if len(s.ran) != 3 {
				t.Fatalf("%d orders were delivered, want the 3 before", len(s.ran))
			}
			for _, ran := range s.ran {
				for _, f := range ran.Files {
					if _, err := os.Stat(f); err != nil {
						t.Error(err)
					}
				}
			}
			// No verdict can be had of it: one side has more attempts.
			d := s.compared(comparing)
			if !slices.ContainsFunc(d.FailedInvariants, func(f comparison.FailedInvariant) bool { return f.Invariant == "equal-attempts" }) {
				t.Errorf("failed invariants: %+v", d.FailedInvariants)
			}
			for _, u := range d.Units {
				if u.Verdict != "indeterminate" {
					t.Errorf("%s is %s", u.Workload.Name, u.Verdict)
				}
			}
		})
	}
}

func TestARefusedComparisonLeavesNothing(t *testing.T) {
	s := newSite(t)
	s.sh("cp -r src elsewhere && mkdir foreign unborn && git init -q unborn")
	s.put("foreign/CMakeCache.txt", "CMAKE_HOME_DIRECTORY:INTERNAL="+s.dir+"/elsewhere\n")
	s.sh("cp plain/bench foreign/bench")
	for _, c := range []struct {
		targets []string
		asked   session.Asked
		want    string
	}{
		{[]string{"plain", "foreign"}, session.Asked{Profile: "environments", Rounds: 1, Label: "a=b,c"}, "different sources"},
		{[]string{"plain", "other"}, session.Asked{Profile: "revisions", Rounds: 1}, "both sides have the tree"},
		{[]string{"plain", "src"}, session.Asked{Profile: "revisions", Rounds: 1}, "does not say which checkout"},
		{[]string{"plain", "other:unborn"}, session.Asked{Profile: "revisions", Rounds: 1}, "nothing is committed"},
		{[]string{"plain", "other:absent"}, session.Asked{Profile: "revisions", Rounds: 1}, "absent"},
		{[]string{"plain", "none"}, session.Asked{Profile: "revisions", Rounds: 1}, "the contender, is no folder"},
		{[]string{"plain", "@x"}, session.Asked{Profile: "revisions", Rounds: 1}, "needs a provider"},
		{[]string{"plain", "other"}, session.Asked{Profile: "revisions", Rounds: 0}, "--rounds 0"},
		{[]string{"plain", "other"}, session.Asked{Profile: "both", Rounds: 1}, "there are revisions, environments and variants"},
		{[]string{"plain", "other"}, session.Asked{Profile: "environments", Rounds: 1}, "--label NAME=BASE,CONTENDER"},
		{[]string{"plain", "other"}, session.Asked{Profile: "environments", Rounds: 1, Label: "a=b,c", Vary: "x"}, "--vary"},
		{[]string{"plain"}, session.Asked{Profile: "variants", Rounds: 1}, "no parameters"},
		{[]string{"plain", "other"}, session.Asked{Profile: "variants", Rounds: 1}, "one target"},
		{[]string{"plain"}, session.Asked{Profile: "environments", Rounds: 1, Label: "a=b,c"}, "two targets"},
	} {
		_, err := s.settings("k").PrepareCompare(context.Background(), s.host, c.targets, c.asked)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v %+v: %v, want an error with %q", c.targets, c.asked, err, c.want)
		}
	}
	// A bench is refused by the runner itself.
	b, err := s.settings("k").PrepareBench(context.Background(), s.host, "plain", session.Joining{})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(s.dir, "plain", "bench")); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Run(context.Background(), s.host); err == nil || !strings.Contains(err.Error(), "no executable") {
		t.Errorf("without its suite: %v", err)
	}
	if _, err := os.Stat(filepath.Join(s.dir, "results")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there are results: %v", err)
	}
}

func TestADirtySideIsSaidBeforeItIsMeasured(t *testing.T) {
	s := newSite(t)
	if c := s.prepare("k", 1); c.Unclean() != nil {
		t.Errorf("clean sides are called %q", c.Unclean())
	}
	s.put("src/new.txt", "x")
	c := s.prepare("k", 1)
	if got := c.Unclean(); len(got) != 2 || !strings.Contains(got[0], "the baseline, "+s.dir+"/src, has changes") {
		t.Errorf("got %q", got)
	}
	if err := c.Run(context.Background(), s.host); err != nil {
		t.Fatal(err)
	}
	if d := s.compared(c); !d.LocalOnly {
		t.Error("the comparison is not local-only")
	}
}

// What a run writes, and the store, may lie in the tree that is measured.
func TestARunsOwnOutputMakesNoTreeDirty(t *testing.T) {
	s := newSite(t)
	c, err := config.Find(filepath.Join(s.dir, "src"))
	if err != nil {
		t.Fatal(err)
	}
	s.host.Exclude = []string{c.StorePath(func(string) string { return "" })}
	short := 0.001
	for range 2 {
		one, err := session.Resolve(c, session.Flags{Adapter: "google-benchmark", Suite: "bench", Precision: session.Precision{MinTime: &short}}, session.Bench, s.dir, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		b, err := one.PrepareBench(context.Background(), s.host, "plain", session.Joining{})
		if err != nil {
			t.Fatal(err)
		}
		ran, err := b.Run(context.Background(), s.host)
		if err != nil {
			t.Fatal(err)
		}
		s.put("src/store.parquet", "x")
		for _, d := range ran.Results {
			if got := document.At(d, "provenance", "subject_dirty"); got != "clean" {
				t.Errorf("the tree is %v", got)
			}
		}
	}
}
