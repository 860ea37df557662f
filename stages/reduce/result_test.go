package reduce

import (
	"archive/zip"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/graph/cas"
	"github.com/flameox/flameox/graph/facet"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/vfs"
	"github.com/flameox/flameox/stages/kind"
)

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
	return &graph.Task{Dir: dir, Store: &graph.Store{Dir: dir, CAS: blobs, Cache: records, Now: time.Now}, Run: records.NewRunID(), Batch: blobs.NewBatch()}
}

// blob stores bytes durably.
func blob(t *testing.T, task *graph.Task, text string) cache.Output {
	t.Helper()
	sum, err := task.Batch.PutBytes([]byte(text))
	if err == nil {
		err = task.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	return cache.Output{Digest: sum, Size: int64(len(text))}
}

// ran commits a run that left outputs.
func ran(t *testing.T, task *graph.Task, outputs ...cache.Output) string {
	t.Helper()
	m := facet.New(facet.Facet{Name: facet.Command, Entries: []facet.Entry{{Name: "argv[0]", Value: "x"}}})
	rec := &cache.Record{
		Run: task.Store.Cache.NewRunID(), Revision: 1, Address: "capture.command.x", Kind: "capture.command", Key: m.Key(), Attempt: 1, Manifest: m,
		Execution: cache.ExecutionSucceeded, Validation: cache.ValidationPassed, Outputs: outputs,
	}
	if err := task.Store.Cache.Commit(nil, []*cache.Record{rec}, nil); err != nil {
		t.Fatal(err)
	}
	return rec.Run
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

func TestNothingIsASuccessThatWasNotConfirmedTwice(t *testing.T) {
	original, final := digest.SumString("the original"), digest.SumString("less")
	yes := Receipt{Classification: interesting, Candidate: Candidate{SHA256: final.String()}}
	with := func(class, failure string) Receipt {
		return Receipt{Classification: class, Failure: failure, Candidate: Candidate{SHA256: final.String()}}
	}
	for name, c := range map[string]struct {
		list, again []Receipt
		final       digest.Digest
		problem     string
		invalid     bool
		want, why   string
	}{
		"smaller and confirmed":              {[]Receipt{yes, yes}, []Receipt{yes, yes}, final, "", false, succeeded, ""},
		"nothing smaller":                    {[]Receipt{yes}, []Receipt{yes, yes}, original, "", false, unchanged, ""},
		"the original is not interesting":    {[]Receipt{with(notInteresting, "")}, nil, original, "", true, notOriginal, "original is not interesting"},
		"no answer about the original":       {[]Receipt{with(unresolved, failContradictory)}, nil, original, "", true, inconclusive, "contradictory"},
		"nothing was tried":                  {nil, nil, original, "", true, inconclusive, "no candidate was tried"},
		"the account has a gap":              {[]Receipt{yes}, []Receipt{yes, yes}, final, "there is a gap", false, inconclusive, "there is a gap"},
		"the reducer failed":                 {[]Receipt{yes}, []Receipt{yes, yes}, final, "", true, inconclusive, "did not come to an end"},
		"the bridge does not agree":          {[]Receipt{yes}, []Receipt{with(notInteresting, ""), yes}, final, "", false, inconclusive, "not_interesting where it was tried again (recheck)"},
		"the final has no answer":            {[]Receipt{yes}, []Receipt{yes, with(unresolved, failTimeout)}, final, "", false, inconclusive, "unresolved where it was tried again (confirm)"},
		"it was tried again once":            {[]Receipt{yes}, []Receipt{yes}, final, "", false, inconclusive, "could not be tried again"},
		"other bytes were tried again":       {[]Receipt{yes}, []Receipt{{Classification: interesting, Candidate: Candidate{SHA256: original.String()}}, yes}, final, "", false, inconclusive, "changed before it was tried again"},
		"unchanged, and not interesting now": {[]Receipt{yes}, []Receipt{{Classification: notInteresting, Candidate: Candidate{SHA256: original.String()}}, yes}, original, "", false, inconclusive, "not_interesting"},
	} {
		if c.want == unchanged {
			same := Receipt{Classification: interesting, Candidate: Candidate{SHA256: original.String()}}
			c.again = []Receipt{same, same}
		}
		rec := &cache.Record{Validation: cache.ValidationPassed}
		if c.invalid {
			rec.Fail("exit", "it exited 1")
		}
		r := &reduction{task: &graph.Task{Dir: t.TempDir()}, list: c.list, again: c.again, problem: c.problem, original: cache.Output{Digest: original}, final: cache.Output{Digest: c.final}}
		if got, why := r.disposition(rec); got != c.want || !strings.Contains(why, c.why) {
			t.Errorf("%s: %s, %q; want %s with %q", name, got, why, c.want, c.why)
		}
	}
}

func TestAResultKeepsItsMediaTypeOnlyWhereItStillIsThat(t *testing.T) {
	task := open(t, t.TempDir())
	for _, c := range []struct {
		kind, original, text, want string
		qualified                  bool
	}{
		{"application/json", `{"a":[1]}`, `{"a":1}`, "application/json", true},
		{"application/json", `{"a":[1]}`, `{"a":`, "application/octet-stream", false},
		{"application/vnd.x+json", `[1]`, `[]`, "application/vnd.x+json", true},
		{"text/plain; charset=utf-8", "éé", "é", "text/plain; charset=utf-8", true},
		{"text/plain; charset=utf-8", "éé", "\xff", "application/octet-stream", false},
		{"application/vnd.apache.parquet", "PAR1xxPAR1", "PAR1", "application/octet-stream", false},
		// What a program printed is looked at.
		{"application/octet-stream", `{"a":[1]}`, `{"a":1}`, "application/json", true},
		{"application/octet-stream", `{"a":[1]}`, `{"a":`, "application/octet-stream", false},
		{"application/octet-stream", "a bug", "bug", "text/plain; charset=utf-8", true},
		{"application/octet-stream", "a bug", "\x00", "application/octet-stream", false},
		{"", "\x00\x01bug", "bug", "application/octet-stream", false},
	} {
		r := &reduction{task: task, original: blob(t, task, c.original), final: blob(t, task, c.text)}
		r.original.MediaType = c.kind
		if got, qualified, err := r.mediaType(); err != nil || got != c.want || qualified != c.qualified {
			t.Errorf("%s %q to %q: %s %v %v", c.kind, c.original, c.text, got, qualified, err)
		}
	}
}

func TestResultsAreAppendedToTheRunOnceAndAsSensitiveAsItIs(t *testing.T) {
	dir := t.TempDir()
	first := open(t, dir)
	original := blob(t, first, "the original")
	original.Name, original.Sensitivity = "stdout", cache.Sensitive
	run := ran(t, first, original)
	var all sync.WaitGroup
	for i := range 5 {
		task := open(t, dir)
		final := blob(t, task, fmt.Sprint("less ", i%4)) // two have found the same
		final.Name = "stdout.reduced"
		all.Go(func() {
			r := &reduction{task: task, run: run, original: original, final: final}
			if err := r.register(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	rec := record(t, first, run)
	if rec.Revision != 5 || len(rec.Registrations) != 4 || len(rec.Outputs) != 5 {
		t.Fatalf("revision %d, %d registrations, %d outputs", rec.Revision, len(rec.Registrations), len(rec.Outputs))
	}
	for _, reg := range rec.Registrations {
		o := rec.Output(reg.Output)
		if o == nil || !o.Registered() || o.Sensitivity != cache.Sensitive || reg.From != "stdout" || reg.Producer != producer {
			t.Errorf("%+v %+v", reg, o)
		}
	}
	if err := (&reduction{task: first, run: run, original: original, final: rec.Outputs[1]}).register(); err != nil {
		t.Fatal(err)
	}
	if again := record(t, first, run); again.Revision != 5 {
		t.Errorf("the same bytes again made revision %d", again.Revision)
	}
}

func TestOfAHistoryThatIsTooLongWhatFitsIsKeptAndItIsSaid(t *testing.T) {
	for _, c := range []struct {
		files, most int
		cut         bool
	}{{8, 8, false}, {12, 8, true}} {
		task := open(t, t.TempDir())
		r := &reduction{task: task, dir: t.TempDir(), stage: &stage{o: &Options{Files: c.most, Bytes: 1 << 20}, project: &kind.Project{Self: "/no/such/file"}}}
		folder := filepath.Join(r.at(historyDir), ".shrinkray", "x", "initial")
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		for i := range c.files - 1 {
			write(t, filepath.Join(folder, fmt.Sprint("candidate", i)), "bug")
		}
		write(t, filepath.Join(folder, bridgeName), "a copy of this program")
		rec, codes := &cache.Record{}, []string{}
		if err := r.keepHistory(rec, func(code, _ string) { codes = append(codes, code) }); err != nil {
			t.Fatal(err)
		}
		if got := slices.Contains(codes, "history_cut"); got != c.cut {
			t.Errorf("of %d files and at most %d: %v", c.files, c.most, codes)
		}
		if err := task.Flush(); err != nil {
			t.Fatal(err)
		}
		z, err := zip.OpenReader(task.Store.CAS.Path(rec.Output("history.zip").Digest))
		if err != nil {
			t.Fatal(err)
		}
		defer z.Close()
		if len(z.File) == 0 || len(z.File) > c.most {
			t.Errorf("of %d files %d are kept", c.files, len(z.File))
		}
		for _, f := range z.File {
			if strings.HasSuffix(f.Name, bridgeName) {
				t.Errorf("%s is kept", f.Name)
			}
		}
	}
}
