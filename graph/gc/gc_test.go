package gc_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/graph/gc"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/vfs"
)

func TestOnlyWhatIsOldAndCanBeMadeAgainGoes(t *testing.T) {
	s := newStore(t)
	gone := s.run("build", "pure", old, "old build", "shared")
	s.run("build", "pure", young, "young build", "shared")
	s.run("capture.x", "measurement", old, "old measurement")
	s.run("import.x", "pure", old, "old import")
	current := s.run("build", "pure", old, "current build")
	o := options()
	o.Current = map[string]bool{current: true}
	plan, err := gc.Plan(s.cas, s.recs, o)
	if err != nil {
		t.Fatal(err)
	}
	if plan.Applied || len(plan.Runs) != 1 || plan.Runs[0].Run != gone {
		t.Fatalf("the plan is %+v", plan)
	}
	s.want("old build", true)
	r := s.apply(o)
	if !slices.Equal(runsOf(r), []string{gone}) || r.Blobs != plan.Blobs || r.Bytes != plan.Bytes {
		t.Errorf("planned %+v, applied %+v", plan, r)
	}
	s.want("old build", false)
	for _, c := range []string{"shared", "young build", "old measurement", "old import", "current build"} {
		s.want(c, true)
	}
	if rep := s.clean(); rep.Collected != 1 {
		t.Errorf("fsck counts %d runs that gave something up", rep.Collected)
	}
	o.Measurements = true
	s.apply(o)
	s.want("old measurement", false)
	s.want("old import", false)
	s.want("young build", true)
	s.clean()
}

func TestAPinKeepsTheWholeEvidence(t *testing.T) {
	s := newStore(t)
	capture := s.run("capture.x", "measurement", old, "capture")
	extraction := s.run("extract.x", "pure", old, "rows")
	s.run("extract.x", "pure", old, "other rows")
	if err := s.recs.Commit(nil, nil, []cache.Link{{Run: capture, Provider: "x", Extraction: extraction}}); err != nil {
		t.Fatal(err)
	}
	for _, pinned := range []string{capture, extraction} {
		if err := gc.SetPins(vfs.OS{}, s.dir, []gc.Pin{{Run: pinned, When: now}}); err != nil {
			t.Fatal(err)
		}
		o := options()
		o.Measurements = true
		r, err := gc.Plan(s.cas, s.recs, o)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Runs) != 1 || r.Runs[0].Bytes == 0 || r.Kept[gc.Pinned] != 2 {
			t.Errorf("with %s pinned: %+v", pinned, r)
		}
	}
}

func TestPinsThatCannotBeUnderstoodStopACollection(t *testing.T) {
	s := newStore(t)
	s.run("build", "pure", old, "x")
	for _, text := range []string{"", "{", `{"format":"flameox pins 2","pins":[]}`, `{"format":"flameox pins 1","pins":[],"more":1}`, `{"format":"flameox pins 1","pins":[]}x`} {
		if err := os.WriteFile(filepath.Join(s.dir, "pins.json"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := gc.Apply(s.cas, s.recs, options()); err == nil || !strings.Contains(err.Error(), "read the pins") {
			t.Errorf("with the pins %q the error is %v", text, err)
		}
		s.want("x", true)
	}
}

func TestABlobWithoutARecordGoesUnlessTheJournalIsInDoubt(t *testing.T) {
	s := newStore(t)
	s.run("build", "pure", young, "kept")
	b := s.cas.NewBatch()
	if _, err := b.PutBytes([]byte("orphan")); err != nil {
		t.Fatal(err)
	}
	// What is being written is nobody's rubbish.
	if _, err := gc.Apply(s.cas, s.recs, options()); err == nil || !strings.Contains(err.Error(), "is writing artifacts") {
		t.Fatalf("a collection beside an open batch: %v", err)
	}
	if err := b.Sync(); err != nil {
		t.Fatal(err)
	}
	journal := filepath.Join(s.dir, "runs", "00000001.journal")
	whole, err := os.ReadFile(journal)
	if err != nil {
		t.Fatal(err)
	}
	s.run("build", "pure", young, "second")
	damaged, err := os.ReadFile(journal)
	if err != nil {
		t.Fatal(err)
	}
	damaged[len(whole)-10] ^= 1
	if err := os.WriteFile(journal, damaged, 0o644); err != nil {
		t.Fatal(err)
	}
	hurt := open(t, s.dir, vfs.OS{})
	if r := hurt.apply(options()); r.Left == "" || r.Orphans != 0 {
		t.Errorf("beside a damaged journal: %+v", r)
	}
	s.want("orphan", true)
	damaged[len(whole)-10] ^= 1
	if err := os.WriteFile(journal, damaged, 0o644); err != nil {
		t.Fatal(err)
	}
	if r := open(t, s.dir, vfs.OS{}).apply(options()); r.Orphans != 1 || r.OrphanBytes != 6 || len(r.Runs) != 0 {
		t.Errorf("the orphan: %+v", r)
	}
	s.want("orphan", false)
	s.want("kept", true)
	if _, err := gc.Restore(s.cas, nil); err != nil {
		t.Fatal(err)
	}
	s.want("orphan", true)
}

func TestRunsComeBackOneByOne(t *testing.T) {
	s := newStore(t)
	a := s.run("build", "pure", old, "a", "both")
	b := s.run("build", "pure", old, "b", "both")
	before := s.blobs()
	s.apply(options())
	sum, err := s.recs.Run(a)
	if err != nil {
		t.Fatal(err)
	}
	out, err := gc.RestoreRuns(s.cas, []*cache.Summary{sum})
	if err != nil || out.Lost() {
		t.Fatal(out, err)
	}
	s.want("a", true)
	s.want("both", true)
	s.want("b", false)
	given, err := gc.Collected(vfs.OS{}, s.dir)
	if err != nil || given[a] || !given[b] {
		t.Errorf("given up are %v, %v", given, err)
	}
	s.clean()
	if out, err = gc.Restore(s.cas, nil); err != nil || out.Lost() || len(out.Trashes) != 1 {
		t.Fatal(out, err)
	}
	if after := s.blobs(); !slices.Equal(before, after) {
		t.Errorf("before %d blobs, after %d", len(before), len(after))
	}
	s.clean()
}

func TestWhatRottedInTheTrashIsNotTakenBack(t *testing.T) {
	s := newStore(t)
	s.run("build", "pure", old, "good", "rots")
	id := s.apply(options()).Trash
	hex := digest.SumString("rots").String()
	p := filepath.Join(s.dir, "trash", id, "cas", hex[:2], hex[2:])
	if err := os.Chmod(p, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte("rotX"), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := gc.Restore(s.cas, []string{id})
	if err != nil || len(out.Damaged) != 1 || len(out.Trashes) != 0 {
		t.Fatal(out, err)
	}
	s.want("good", true)
	s.want("rots", false)
	if err := os.Remove(p); err != nil {
		t.Fatal(err)
	}
	if out, err = gc.Restore(s.cas, []string{id}); err != nil || len(out.Missing) != 1 {
		t.Fatal(out, err)
	}
	// When it has been made again the trash can go.
	s.run("build", "pure", young, "rots")
	if out, err = gc.Restore(s.cas, []string{id}); err != nil || out.Lost() || len(out.Trashes) != 1 {
		t.Fatal(out, err)
	}
}

func TestEmptyingKeepsWhatIsTooYoungAndTheNamesOfTheRuns(t *testing.T) {
	s := newStore(t)
	run := s.run("build", "pure", old, "x")
	id := s.apply(options()).Trash
	out, err := gc.Empty(s.cas, now.Add(time.Hour), 2*time.Hour)
	if err != nil || out.Kept != 1 || out.Blobs != 0 {
		t.Fatal(out, err)
	}
	// A clock that was set back makes nothing old.
	if out, err = gc.Empty(s.cas, now.Add(-time.Hour), 0); err != nil || out.Kept != 1 {
		t.Fatal(out, err)
	}
	if out, err = gc.Empty(s.cas, now.Add(3*time.Hour), 2*time.Hour); err != nil || out.Kept != 0 || out.Blobs == 0 {
		t.Fatal(out, err)
	}
	if _, err := os.Stat(filepath.Join(s.dir, "trash", id, "cas")); !os.IsNotExist(err) {
		t.Errorf("the blobs are still there: %v", err)
	}
	if given, err := gc.Collected(vfs.OS{}, s.dir); err != nil || !given[run] {
		t.Errorf("given up are %v, %v", given, err)
	}
	if _, err := gc.Restore(s.cas, []string{id}); err == nil || !strings.Contains(err.Error(), "was emptied") {
		t.Errorf("restore says %v", err)
	}
	s.clean()
}
