package register

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/graph/cas"
	"github.com/flameox/flameox/graph/facet"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/vfs"
	"github.com/flameox/flameox/providers"
)

// says is a provider whose documents have a verdict. Nothing of it is extracted here.
type says struct{ name string }

func (p says) Name() string      { return p.name }
func (says) Version() int        { return 1 }
func (says) Doc() string         { return "documents of a test" }
func (says) ExtractOptions() any { return nil }
func (says) Extract(context.Context, providers.Input, any, evidence.Budget, *evidence.Sink) (evidence.Outcome, error) {
	return evidence.Outcome{}, nil
}
func (p says) Registers() providers.Registered {
	return providers.Registered{Role: p.name, MediaType: "application/json", Verdict: true}
}

// open opens the store once more, as another process would.
func open(t *testing.T, dir string) *graph.Task {
	t.Helper()
	blobs, err := cas.Open(dir, vfs.OS{})
	if err != nil {
		t.Fatal(err)
	}
	records, err := cache.Open(dir, vfs.OS{}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return &graph.Task{Store: &graph.Store{Dir: dir, CAS: blobs, Cache: records, Now: time.Now}, Run: records.NewRunID()}
}

// ran commits a run of a capture, changed by with.
func ran(t *testing.T, task *graph.Task, with func(*cache.Record)) string {
	t.Helper()
	m := facet.New(facet.Facet{Name: facet.Command, Entries: []facet.Entry{{Name: "argv[0]", Value: "x"}}})
	rec := &cache.Record{
		Run: task.Store.Cache.NewRunID(), Revision: 1, Address: "capture.command.x", Kind: "capture.command", Key: m.Key(), Attempt: 1, Manifest: m,
		Execution: cache.ExecutionSucceeded, Validation: cache.ValidationPassed,
	}
	if with != nil {
		with(rec)
	}
	if err := task.Store.Cache.Commit(nil, []*cache.Record{rec}, nil); err != nil {
		t.Fatal(err)
	}
	return rec.Run
}

func document(text string) found {
	return found{name: text + ".json", digest: digest.SumString(text), size: int64(len(text))}
}

func record(t *testing.T, task *graph.Task, run string) *cache.Record {
	t.Helper()
	if err := task.Store.Cache.Refresh(); err != nil {
		t.Fatal(err)
	}
	sum, err := task.Store.Cache.Run(run)
	if err != nil {
		t.Fatal(err)
	}
	rec, err := sum.Record()
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

func TestWhoAppendsAtTheSameTimeAllAppend(t *testing.T) {
	dir := t.TempDir()
	first := open(t, dir)
	run := ran(t, first, nil)
	const n = 6
	var all sync.WaitGroup
	for i := range n {
		task := open(t, dir)
		all.Go(func() {
			s := &stage{provider: says{fmt.Sprint("p", i)}}
			if refused, err := s.append(task, run, document(fmt.Sprint(i)), "me", "pass"); refused != nil || err != nil {
				t.Errorf("%v %v", refused, err)
			}
		})
	}
	all.Wait()
	rec := record(t, first, run)
	if rec.Revision != n+1 || len(rec.Registrations) != n || len(rec.Outputs) != n || rec.Verdict != "pass" {
		t.Fatalf("revision %d with %d registrations and %d outputs, verdict %q", rec.Revision, len(rec.Registrations), len(rec.Outputs), rec.Verdict)
	}
	for i := range n {
		reg := rec.Registration(fmt.Sprint("p", i))
		if reg == nil || rec.Output(reg.Output) == nil || rec.Output(reg.Output).Digest != digest.SumString(fmt.Sprint(i)) || !rec.Output(reg.Output).Registered() {
			t.Errorf("the document of p%d is %+v", i, reg)
		}
	}
}

func TestOfTwoWhoLookedAtOneRevisionOneIsTold(t *testing.T) {
	dir := t.TempDir()
	one, two := open(t, dir), open(t, dir)
	run := ran(t, one, nil)
	a, b := &stage{provider: says{"a"}, reviewed: 1}, &stage{provider: says{"b"}, reviewed: 1}
	if refused, err := a.append(one, run, document("a"), "", "pass"); refused != nil || err != nil {
		t.Fatal(refused, err)
	}
	refused, err := b.append(two, run, document("b"), "", "pass")
	if err != nil || refused == nil || refused.Code != StaleRevision || !strings.Contains(refused.Text, "it is at revision 2, and revision 1 was looked at") {
		t.Fatalf("%v %v", refused, err)
	}
	// The same document again is no second one, whatever was looked at.
	if refused, err := a.append(two, run, document("a"), "", "pass"); refused != nil || err != nil {
		t.Error(refused, err)
	}
	if rec := record(t, one, run); rec.Revision != 2 {
		t.Errorf("revision %d", rec.Revision)
	}
}

func TestADocumentIsAsSensitiveAsTheRunThatLeftIt(t *testing.T) {
	task := open(t, t.TempDir())
	for level, want := range map[cache.Sensitivity]cache.Sensitivity{cache.Sensitive: cache.Sensitive, "": cache.Internal, cache.Public: cache.Internal} {
		run := ran(t, task, func(r *cache.Record) {
			r.Outputs = []cache.Output{{Name: "x", Digest: digest.SumString("x"), Size: 1, Sensitivity: level}}
		})
		s := &stage{provider: says{"a"}}
		if refused, err := s.append(task, run, document("doc"), "", ""); refused != nil || err != nil {
			t.Fatal(refused, err)
		}
		rec := record(t, task, run)
		if got := rec.Output(rec.Registration("a").Output).Sensitivity; got != want {
			t.Errorf("of a run that is %q it is %q, want %q", level, got, want)
		}
	}
}

func TestWhatARunCannotTakeIsRefused(t *testing.T) {
	dir := t.TempDir()
	task := open(t, dir)
	s := &stage{provider: says{"a"}}
	for name, c := range map[string]struct {
		with       func(*cache.Record)
		code, text string
	}{
		"an import":                 {func(r *cache.Record) { r.Kind, r.Execution = "import.pprof", cache.ExecutionNotApplicable }, NotSucceeded, "only a capture"},
		"a run that failed":         {func(r *cache.Record) { r.Execution, r.Validation = cache.ExecutionFailed, cache.ValidationFailed }, NotSucceeded, "failed"},
		"a run that timed out":      {func(r *cache.Record) { r.Execution = cache.ExecutionTimedOut }, NotSucceeded, "timed out"},
		"a run that is not valid":   {func(r *cache.Record) { r.Fail("payload_corrupt", "x") }, VerdictConflict, "payload_corrupt"},
		"a run of which is unknown": {func(r *cache.Record) { r.Manifest = facet.New(); r.Key = digest.SumString("k") }, NotSucceeded, "what was executed"},
		"another verdict":           {func(r *cache.Record) { r.Verdict = "fail" }, VerdictConflict, "its verdict is fail, and the document says pass"},
		"another document": {func(r *cache.Record) {
			r.Outputs = []cache.Output{{Name: "a/x", Role: cache.RolePrefixRegistered + "a", Digest: digest.SumString("x"), Size: 1}}
			r.Registrations = []cache.Registration{{Output: "a/x", Provider: "a", Reviewed: 1}}
		}, AlreadyThere, "a run has one"},
	} {
		run := ran(t, task, c.with)
		refused, err := s.append(task, run, document("doc"), "", "pass")
		if err != nil || refused == nil || refused.Code != c.code || !strings.Contains(refused.Text, c.text) {
			t.Errorf("%s: %v %v, want %s with %q", name, refused, err, c.code, c.text)
		}
		if rec := record(t, task, run); rec.Revision != 1 {
			t.Errorf("%s: revision %d", name, rec.Revision)
		}
	}
}

// builds is a provider whose documents are about a build.
type builds struct{ says }

func (builds) Registers() providers.Registered {
	return providers.Registered{Role: "b", MediaType: "application/json", About: "build", Verdict: true}
}

func TestADocumentIsAboutOneBuildOfTheRun(t *testing.T) {
	for _, c := range []struct {
		builds         []string
		pipeline, want string
		refused        bool
	}{
		{nil, "", "", false}, {[]string{"one"}, "", "one", false}, {[]string{"one"}, "one", "one", false}, {[]string{"one", "two"}, "two", "two", false},
		{nil, "one", "", true}, {[]string{"one"}, "two", "", true}, {[]string{"one", "two"}, "", "", true},
	} {
		task := open(t, t.TempDir())
		run := ran(t, task, func(r *cache.Record) {
			r.Outputs = append(r.Outputs, cache.Output{Name: "other", Role: "log", Digest: digest.SumString("other")})
			for _, b := range c.builds {
				r.Outputs = append(r.Outputs, cache.Output{Name: b, Role: "build", Digest: digest.SumString(b)})
			}
		})
		s := &stage{provider: builds{says{"b"}}, pipeline: c.pipeline}
		refused, err := s.append(task, run, document("d"), "me", "pass")
		if err != nil || (refused != nil) != c.refused || refused != nil && refused.Code != NoPipeline {
			t.Errorf("builds %v, pipeline %q: %v %v", c.builds, c.pipeline, refused, err)
			continue
		}
		if refused != nil {
			continue
		}
		if got := record(t, task, run).Registration("b").Pipeline; got != c.want {
			t.Errorf("builds %v, pipeline %q: it is about %q, want %q", c.builds, c.pipeline, got, c.want)
		}
		// The same document about another build is no repetition.
		if len(c.builds) == 2 {
			s.pipeline = c.builds[0]
			if refused, err := s.append(task, run, document("d"), "me", "pass"); err != nil || refused == nil || refused.Code != AlreadyThere {
				t.Errorf("about another build: %v %v", refused, err)
			}
		}
	}
}
