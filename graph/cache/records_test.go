package cache

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flameox/flameox/graph/cas"
	"github.com/flameox/flameox/graph/facet"
	"github.com/flameox/flameox/internal/address"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/vfs"
)

func open(t testing.TB, dir string) *Records {
	t.Helper()
	r, err := Open(dir, vfs.OS{}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// record is a full one, so that nothing of it can be lost unseen.
func record(r *Records, key string) *Record {
	exit := 3
	f := facet.Facet{Name: facet.Definition}
	f.Add("kind", "capture.gobench")
	f.AddNote("version", "1", "seen")
	return &Record{
		Run: r.NewRunID(), Revision: 1, Address: `capture.gobench.sort["impl=a"]`, Block: "capture.gobench.sort",
		Axes: address.Axes{{Name: "impl", Value: "a"}}, Kind: "capture.gobench", Nature: "measurement",
		Key: digest.SumString(key), Generation: 2, Attempt: 3, Manifest: facet.New(f),
		Execution: ExecutionFailed, Capture: CaptureRegistered, Validation: ValidationPassed,
		Invalid: []Note{{"code", "text"}}, Exit: &exit, Started: time.Date(2026, 1, 2, 3, 4, 5, 678, time.UTC), WallNS: 12345,
		Host:    Host{Name: "h", Class: map[string]string{"cpu": "x", "arch": "amd64"}, Volatile: map[string]string{"load": "1"}},
		Version: "v0", Outputs: []Output{{Name: "stdout", Role: "benchmark", MediaType: "text/plain", Digest: digest.SumString("out"), Size: 3, Sensitivity: Internal, Rows: 7}, {Name: "d", Digest: digest.SumString("tree"), Tree: true}},
		Limitations: []Note{{"l", "t"}}, Semantics: json.RawMessage(`{"a":1}`), State: "complete", Argv: []string{"a", "b c"}, Env: []string{"A=b"}, Dir: "/d", Experiment: "e",
		Labels: map[string]string{"l": "v"}, Results: map[string]json.RawMessage{"x": json.RawMessage(`[1,2]`)},
	}
}

func commit(t testing.TB, r *Records, recs ...*Record) {
	t.Helper()
	if err := r.Commit(nil, recs, nil); err != nil {
		t.Fatal(err)
	}
}

func runsOf(list []*Summary) (out []string) {
	for _, s := range list {
		out = append(out, fmt.Sprintf("%s/%d", s.Run, s.Revision))
	}
	return out
}

func TestOpeningCreatesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	r := open(t, dir)
	if len(r.All()) != 0 || r.Close() != nil {
		t.Fatal("an empty store is not empty")
	}
	if _, err := os.Lstat(dir); !os.IsNotExist(err) {
		t.Fatalf("opening made the directory: %v", err)
	}
}

func TestACommittedRecordComesBackWhole(t *testing.T) {
	dir := t.TempDir()
	r := open(t, dir)
	want := record(r, "k")
	commit(t, r, want)
	for name, from := range map[string]*Records{"the same process": r, "another": open(t, dir)} {
		list := from.Lookup(want.Key)
		if len(list) != 1 || !list[0].Valid() || list[0].Host != "h" || list[0].Experiment != "e" || list[0].Wall != 12345 || list[0].HostClass != ClassDigest(want.Host.Class) {
			t.Fatalf("%s: %+v", name, list)
		}
		got, err := list[0].Record()
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if d := cmp.Diff(want.Outputs, list[0].Outputs); d != "" {
			t.Errorf("%s: outputs: %s", name, d)
		}
	}
}

func TestOrderIsThatOfTheJournalWhateverTheClockSays(t *testing.T) {
	now := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	dir := t.TempDir()
	r, err := Open(dir, vfs.OS{}, func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for i := range 10 {
		rec := record(r, "k")
		rec.Started = now
		commit(t, r, rec)
		want = append(want, rec.Run+"/1")
		now = now.Add(-time.Duration(i) * time.Hour) // the clock is set back again and again
	}
	if !slices.IsSorted(want) {
		t.Errorf("names of runs are out of order: %v", want)
	}
	again, _ := Open(dir, vfs.OS{}, func() time.Time { return now.Add(-1000 * time.Hour) })
	if got := runsOf(again.Lookup(digest.SumString("k"))); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if id := again.NewRunID(); id+"/1" <= want[len(want)-1] {
		t.Errorf("a later process with an earlier clock made %s, not after %s", id, want[len(want)-1])
	}
}

func TestRunIDsAreUniqueAndRising(t *testing.T) {
	now := time.Now()
	a, b := open(t, t.TempDir()), open(t, t.TempDir())
	a.clock = func() time.Time { return now }
	b.clock = a.clock
	seen := map[string]bool{}
	last := ""
	for range 20_000 {
		id := a.NewRunID()
		if id <= last || len(id) != 26 || seen[id] {
			t.Fatalf("%s after %s", id, last)
		}
		p, err := parseRunID(id)
		if err != nil || p.String() != id {
			t.Fatalf("%s reads as %s, %v", id, p, err)
		}
		last = id
		seen[id] = true
		if other := b.NewRunID(); seen[other] {
			t.Fatalf("two processes made %s", other)
		} else {
			seen[other] = true
		}
	}
}

func TestARevisionIsCompareAndSwap(t *testing.T) {
	dir := t.TempDir()
	a, b := open(t, dir), open(t, dir)
	first, other := record(a, "k"), record(a, "k")
	commit(t, a, first, other)
	second := *first
	second.Revision, second.Validation, second.Address = 2, ValidationFailed, "moved"
	commit(t, b, &second) // b has not seen the first yet
	third := *first
	third.Revision = 2
	var ce *ConflictError
	if err := a.Commit(nil, []*Record{&third}, nil); !errors.As(err, &ce) || ce.Have != 2 || ce.Want != 2 {
		t.Fatalf("a lost race: %v", err)
	}
	fresh := record(a, "k")
	fresh.Revision = 2
	if err := a.Commit(nil, []*Record{fresh}, nil); !errors.As(err, &ce) {
		t.Fatalf("revision 2 of no run: %v", err)
	}
	want := []string{first.Run + "/2", other.Run + "/1"}
	for _, r := range []*Records{a, open(t, dir)} {
		if got := runsOf(r.Lookup(first.Key)); !slices.Equal(got, want) {
			t.Errorf("the newest revision stands where its run does: %v, want %v", got, want)
		}
		if got := r.Revisions(first.Run); len(got) != 2 || got[0].Validation != ValidationPassed {
			t.Errorf("revisions: %v", runsOf(got))
		}
		if len(r.At("moved")) != 1 || len(r.At(first.Address)) != 1 {
			t.Errorf("at: %v, %v", runsOf(r.At("moved")), runsOf(r.At(first.Address)))
		}
	}
}

func TestRunFindsAUniquePrefixAndListsTheOthers(t *testing.T) {
	r := open(t, t.TempDir())
	now := time.Now()
	r.clock = func() time.Time { return now }
	x, y := record(r, "k"), record(r, "k")
	commit(t, r, x, y)
	if s, err := r.Run(strings.ToLower(x.Run)); err != nil || s.Run != x.Run {
		t.Fatalf("%v, %v", s, err)
	}
	var am *AmbiguousError
	if _, err := r.Run(x.Run[:10]); !errors.As(err, &am) || !slices.Equal(am.Matches, []string{x.Run, y.Run}) {
		t.Fatalf("%v", err)
	}
	n := 0
	for x.Run[n] == y.Run[n] {
		n++
	}
	if s, err := r.Run(y.Run[:n+1]); err != nil || s.Run != y.Run {
		t.Fatalf("%v, %v", s, err)
	}
	for _, p := range []string{"", "ZZZ", x.Run + "0"} {
		if _, err := r.Run(p); !errors.Is(err, ErrNoRun) {
			t.Errorf("%q: %v", p, err)
		}
	}
}

func TestTheNewestLinkOfARunAndProviderWins(t *testing.T) {
	dir := t.TempDir()
	r := open(t, dir)
	links := []Link{{"R1", "p", "E1"}, {"R1", "q", "E2"}, {"R2", "p", "E3"}}
	if err := r.Commit(nil, nil, links); err != nil {
		t.Fatal(err)
	}
	if err := r.Commit(nil, nil, []Link{{"R1", "p", "E4"}}); err != nil {
		t.Fatal(err)
	}
	links[0].Extraction = "E4"
	for _, r := range []*Records{r, open(t, dir)} {
		if d := cmp.Diff(links, r.Links()); d != "" {
			t.Error(d)
		}
	}
}

func TestGenerationIsTheNewestOfTheKey(t *testing.T) {
	r := open(t, t.TempDir())
	if g := r.Generation(digest.SumString("k")); g != 0 {
		t.Fatalf("%d of nothing", g)
	}
	a, b := record(r, "k"), record(r, "k")
	a.Generation, b.Generation = 5, 4
	commit(t, r, a, b)
	if g := r.Generation(a.Key); g != 5 {
		t.Fatalf("%d", g)
	}
}

func TestBadRecordsAreRefused(t *testing.T) {
	dir := t.TempDir()
	r := open(t, dir)
	for name, change := range map[string]func(*Record){
		"no run":          func(x *Record) { x.Run = "" },
		"a made-up run":   func(x *Record) { x.Run = strings.Repeat("U", 26) },
		"no key":          func(x *Record) { x.Key = digest.Digest{} },
		"no revision":     func(x *Record) { x.Revision = 0 },
		"a bad output":    func(x *Record) { x.Outputs[0].Digest = digest.Digest{} },
		"broken JSON":     func(x *Record) { x.Semantics = json.RawMessage(`{`) },
		"minus attempts":  func(x *Record) { x.Attempt = -1 },
		"a far future id": func(x *Record) { x.Run = "8" + x.Run[1:] },
	} {
		rec := record(r, "k")
		change(rec)
		if err := r.Commit(nil, []*Record{record(r, "k"), rec}, nil); err == nil {
			t.Errorf("%s was committed", name)
		}
	}
	if err := r.Commit(nil, nil, []Link{{Run: "r"}}); err == nil {
		t.Error("half a link was committed")
	}
	if n := len(open(t, dir).All()); n != 0 {
		t.Errorf("%d records of refused commits", n)
	}
}

func TestARecordIsNeverCommittedBeforeItsBlobs(t *testing.T) {
	dir := t.TempDir()
	store, err := cas.Open(dir, vfs.OS{})
	if err != nil {
		t.Fatal(err)
	}
	r := open(t, dir)
	rec := record(r, "k")
	if err := r.Commit(store.NewBatch(), []*Record{rec}, nil); err == nil || !strings.Contains(err.Error(), "stdout") {
		t.Fatalf("an output that is nowhere: %v", err)
	}
	b := store.NewBatch()
	b.PutBytes([]byte("out"))
	b.PutBytes([]byte("tree"))
	if err := r.Commit(b, []*Record{rec}, nil); err != nil {
		t.Fatal(err)
	}
	for _, o := range rec.Outputs {
		if p := store.Check(o.Digest); p != cas.Present {
			t.Errorf("%s is %s", o.Name, p)
		}
	}
	next := *rec
	next.Revision = 2
	if err := r.Commit(store.NewBatch(), []*Record{&next}, nil); err != nil {
		t.Fatalf("outputs that are in the store already: %v", err)
	}
}

func TestRefreshSeesWhatOthersAppended(t *testing.T) {
	dir := t.TempDir()
	a, b := open(t, dir), open(t, dir)
	rec := record(a, "k")
	commit(t, a, rec)
	if len(b.All()) != 0 {
		t.Fatal("seen without looking")
	}
	if err := b.Refresh(); err != nil || len(b.All()) != 1 {
		t.Fatalf("%d, %v", len(b.All()), err)
	}
}

func readState(t *testing.T, dir string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "state"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestAStateFileMadeAgainEqualsOneThatGrew(t *testing.T) {
	dir := t.TempDir()
	r := open(t, dir)
	for i := range 330 {
		rec := record(r, fmt.Sprint(i%70))
		rec.Address = fmt.Sprint("a", i%13)
		rec.Host.Name = "bad \xff UTF-8"
		rec.Started = time.Now()
		batch := []*Record{rec}
		if i%5 == 0 {
			again := *rec
			again.Revision, again.Key = 2, digest.SumString("other")
			batch = append(batch, &again)
		}
		if err := r.Commit(nil, batch, []Link{{rec.Run, "p", rec.Run}, {"one", "p", rec.Run}}); err != nil {
			t.Fatal(err)
		}
		if i%100 == 7 {
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			r = open(t, dir)
		}
	}
	r.mu.Lock()
	err := r.saveState()
	r.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	grew := readState(t, dir)
	loaded := open(t, dir)
	if loaded.behind != 0 {
		t.Fatalf("%d frames were read from the journal", loaded.behind)
	}
	os.Remove(filepath.Join(dir, "state"))
	again := open(t, dir)
	if err := again.Rebuild(); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(grew, readState(t, dir)) {
		t.Fatal("they differ")
	}
	if d := cmp.Diff(runsOf(loaded.All()), runsOf(again.All())); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(loaded.Links(), again.Links()); d != "" {
		t.Error(d)
	}
	if p, err := again.CheckJournal(); err != nil || len(p) != 0 {
		t.Errorf("%v, %v", p, err)
	}
}

func TestAnyWrongStateFileIsIgnored(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	r := open(t, dir)
	for range 30 {
		commit(t, r, record(r, "k"))
	}
	r.Close()
	good := readState(t, dir)
	o := open(t, other)
	for range 40 {
		commit(t, o, record(o, "k"))
	}
	o.Close()
	want := runsOf(r.All())
	bad := map[string][]byte{"empty": {}, "cut": good[:len(good)/2], "of another store": readState(t, other)}
	for _, i := range []int{0, 17, 60, 200, len(good) / 2, len(good) - 1} {
		b := slices.Clone(good)
		b[i] ^= 4
		bad[fmt.Sprint("flipped at ", i)] = b
	}
	for name, b := range bad {
		os.WriteFile(filepath.Join(dir, "state"), b, 0o644)
		if got := runsOf(open(t, dir).All()); !slices.Equal(got, want) {
			t.Errorf("%s: %d runs, want %d", name, len(got), len(want))
		}
	}
	os.WriteFile(filepath.Join(dir, "state"), good, 0o644)
	os.RemoveAll(filepath.Join(dir, "runs"))
	if n := len(open(t, dir).All()); n != 0 {
		t.Errorf("%d runs of a journal that is gone", n)
	}
}

func TestANewerFormatIsRefusedAndNotCutOff(t *testing.T) {
	dir := t.TempDir()
	r := open(t, dir)
	commit(t, r, record(r, "k"))
	p := r.segmentPath(1)
	b, _ := os.ReadFile(p)
	copy(b, "flameox runs 2\n\n")
	os.WriteFile(p, b, 0o644)
	if _, err := Open(dir, vfs.OS{}, time.Now); err == nil || !strings.Contains(err.Error(), "newer flameox") {
		t.Fatalf("%v", err)
	}
}

func BenchmarkOpen10k(b *testing.B) {
	dir := b.TempDir()
	r := open(b, dir)
	var recs []*Record
	for i := range 10_000 {
		rec := record(r, fmt.Sprint("key", i/3))
		rec.Address = fmt.Sprintf(`capture.gobench.sort["impl=a,rows=%d"]`, i/3)
		rec.Outputs[0].Digest = digest.SumString(fmt.Sprint(i))
		recs = append(recs, rec)
	}
	commit(b, r, recs...)
	b.Run("state", func(b *testing.B) {
		if err := r.Rebuild(); err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if r := open(b, dir); len(r.all) != 10_000 || r.behind != 0 {
				b.Fatal(len(r.all), r.behind)
			}
		}
	})
	b.Run("journal", func(b *testing.B) {
		os.Remove(r.statePath())
		for b.Loop() {
			if r := open(b, dir); len(r.all) != 10_000 {
				b.Fatal(len(r.all))
			}
		}
	})
	b.Run("commit", func(b *testing.B) {
		for b.Loop() {
			commit(b, r, record(r, "k"))
		}
	})
}
