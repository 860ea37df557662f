package publish

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flameox/flameox/evidence"
)

func TestPublishingShowsEveryPartUnderItsRun(t *testing.T) {
	w := newWorld(t)
	for i := range 3 {
		w.set(i, 5, i*100)
	}
	r := w.publish()
	if !r.Changed || r.Generation != 1 || r.Added != 9 || r.Rows != 3+15+3 || r.Rebuilt == "" {
		t.Errorf("report %+v", r)
	}
	g, err := Pin(w.p.dir)
	if err != nil {
		t.Fatal(err)
	}
	if g.Rows("measurements") != 15 || len(g.Files("measurements")) != 1 || len(g.Files("frames")) != 0 {
		t.Errorf("generation %v %v", g.Files("measurements"), g.Files("frames"))
	}
	// A table without rows is still a table to a plain glob.
	info, err := evidence.Describe(filepath.Join(w.p.dir, "frames", "empty.parquet"))
	if err != nil || info.Rows != 0 || info.Columns[0].Name != "run" || info.Table != "frames" {
		t.Errorf("the empty table: %+v %v", info, err)
	}
}

func TestTheFirstColumnsAreRunArtifactProviderAndVersion(t *testing.T) {
	w := newWorld(t)
	w.set(1, 1, 0)
	w.publish()
	g, _ := Pin(w.p.dir)
	info, err := evidence.Describe(g.Files("measurements")[0])
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range info.Columns[:5] {
		names = append(names, c.Name)
	}
	if got := strings.Join(names, " "); got != "run artifact provider provider_version name" {
		t.Errorf("columns start with %s", got)
	}
}

func TestPublishingTheSameAgainMakesNoGeneration(t *testing.T) {
	w := newWorld(t)
	w.set(1, 5, 0)
	w.publish()
	w.p.fault = func(op, path string) error { return fmt.Errorf("%s %s was done for nothing", op, path) }
	if r := w.publish(); r.Changed || r.Generation != 1 || r.Rows != 7 {
		t.Errorf("report %+v", r)
	}
	if r := w.update(1); r.Changed {
		t.Errorf("report of the update %+v", r)
	}
}

func TestANewRunIsAppended(t *testing.T) {
	w := newWorld(t)
	w.set(1, 50_000, 0)
	w.publish()
	first, _ := Pin(w.p.dir)
	w.set(2, 5, 7)
	r := w.publish()
	if r.Added != 3 || r.Superseded != 0 || r.Rebuilt != "" {
		t.Errorf("report %+v", r)
	}
	second, _ := Pin(w.p.dir)
	a, b := first.Files("measurements"), second.Files("measurements")
	if len(b) != 2 || filepath.Base(a[0]) != filepath.Base(b[0]) {
		t.Fatalf("segments %v, then %v", a, b)
	}
	ia, _ := os.Stat(a[0])
	ib, _ := os.Stat(b[0])
	if !os.SameFile(ia, ib) {
		t.Error("an unchanged segment was copied, not linked")
	}
}

func TestASupersededPartDisappearsAtOnce(t *testing.T) {
	w := newWorld(t)
	for i := range 4 {
		w.set(i, 5, i*100)
	}
	w.publish()
	w.set(2, 3, 5000)
	if r := w.publish(); r.Superseded != 2 || r.Added != 2 {
		t.Errorf("report %+v", r)
	}
	w.desired[runName(2)] = state{row: w.desired[runName(2)].row}
	w.desired[runName(1)] = state{parts: w.desired[runName(1)].parts[:1], row: w.desired[runName(1)].row}
	if _, err := w.p.Publish(context.Background(), w.all()); err != nil {
		t.Fatal(err)
	}
	if got := w.visible("measurements", "run"); len(got) != 15 || slices.Contains(got, runName(2)) {
		t.Errorf("a run without parts has rows: %v", got)
	}
	if got := w.visible("stacks", "run"); slices.Contains(got, runName(1)) {
		t.Errorf("a table that a new extraction does not fill has rows: %v", got)
	}
	delete(w.desired, runName(0))
	delete(w.desired, runName(1))
	delete(w.desired, runName(2))
	r := w.publish()
	if r.Removed == 0 {
		t.Errorf("report %+v", r)
	}
}

func TestTwoProvidersOfOneRunAreSupersededSeparately(t *testing.T) {
	w := newWorld(t)
	w.set(1, 5, 0)
	st := w.desired[runName(1)]
	other := w.part(runName(1), "pyperf", 2, 900)
	w.desired[runName(1)] = state{parts: append(slices.Clone(st.parts), other[0]), row: st.row}
	w.publish()
	newer := w.part(runName(1), "pyperf", 4, 950)
	w.desired[runName(1)] = state{parts: append(slices.Clone(st.parts), newer[0]), row: st.row}
	if r := w.publish(); r.Superseded != 1 || r.Added != 1 {
		t.Errorf("report %+v", r)
	}
}

func TestAnUpdateTouchesItsRunsOnly(t *testing.T) {
	w := newWorld(t)
	for i := range 5 {
		w.set(i, 5, i*100)
	}
	w.publish()
	w.set(3, 2, 3333)
	if r := w.update(3); r.Superseded != 2 || r.Added != 2 || !r.Changed {
		t.Errorf("report %+v", r)
	}
	w.check()
	w.set(9, 2, 9000)
	w.update(9)
	w.check()
	delete(w.desired, runName(1))
	if r := w.update(1); r.Removed != 3 {
		t.Errorf("report of a removal %+v", r)
	}
	w.check()
	// The identity that updates carried along is the one of everything.
	if r := w.publish(); r.Changed {
		t.Errorf("publishing what the updates made changed something: %+v", r)
	}
	if _, err := w.p.Update(context.Background(), w.all(runName(3)), []string{runName(4)}); err == nil {
		t.Error("an update of a run outside its scope was accepted")
	}
}

func TestAnUpdateOfNothingAsksForARebuild(t *testing.T) {
	w := newWorld(t)
	w.set(1, 1, 0)
	if _, err := w.p.Update(context.Background(), w.all(), []string{runName(1)}); !errors.Is(err, ErrRebuild) {
		t.Errorf("%v", err)
	}
}

func TestADamagedViewIsRebuilt(t *testing.T) {
	for name, damage := range map[string]func(*testing.T, *Generation){
		"manifest cut": func(t *testing.T, g *Generation) {
			if err := os.WriteFile(filepath.Join(g.Dir, "manifest.json"), []byte(`{"format":`), 0o644); err != nil {
				t.Fatal(err)
			}
		},
		"segment gone": func(t *testing.T, g *Generation) {
			if err := os.Remove(g.Files("measurements")[0]); err != nil {
				t.Fatal(err)
			}
		},
		"generation gone": func(t *testing.T, g *Generation) {
			if err := os.RemoveAll(g.Dir); err != nil {
				t.Fatal(err)
			}
		},
		"parts list gone": func(t *testing.T, g *Generation) {
			if err := os.RemoveAll(filepath.Join(g.Dir, "parts")); err != nil {
				t.Fatal(err)
			}
		},
		"segment overwritten": func(t *testing.T, g *Generation) {
			f := g.Files("measurements")[0]
			info, err := os.Stat(f)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(f, 0o644); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(f, make([]byte, info.Size()), 0o644); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			for i := range 3 {
				w.set(i, 5, i)
			}
			w.publish()
			g, err := Pin(w.p.dir)
			if err != nil {
				t.Fatal(err)
			}
			damage(t, g)
			w.set(3, 5, 3)
			if r := w.publish(); r.Rebuilt == "" || r.Generation <= g.Number {
				t.Errorf("report %+v", r)
			}
		})
	}
}

func TestAPinnedReaderKeepsItsGeneration(t *testing.T) {
	w := newWorld(t)
	w.set(1, 5, 0)
	w.publish()
	one, _ := Pin(w.p.dir)
	rows := rowsOf(t, one.Files("measurements"), "run", "value_int")
	w.set(1, 5, 500)
	w.set(2, 5, 0)
	w.clock = w.clock.Add(time.Minute)
	w.publish()
	two, _ := Pin(w.p.dir)
	w.clock = w.clock.Add(30 * time.Minute)
	w.set(3, 5, 0)
	w.publish()
	if got := rowsOf(t, one.Files("measurements"), "run", "value_int"); !slices.Equal(got, rows) {
		t.Errorf("the pinned generation changed: %v", got)
	}
	if got := rowsOf(t, two.Files("measurements"), "run"); len(got) != 10 {
		t.Errorf("the second pinned generation has %d rows", len(got))
	}
	// 61 minutes after one was replaced, 31 after two was.
	w.clock = w.clock.Add(31 * time.Minute)
	w.set(4, 5, 0)
	if r := w.publish(); r.Expired != 1 {
		t.Errorf("report %+v", r)
	}
	if _, err := os.Stat(one.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a generation lives on an hour after it was replaced: %v", err)
	}
	if got := rowsOf(t, two.Files("measurements"), "run"); len(got) != 10 {
		t.Errorf("a generation was deleted before its hour: %d rows", len(got))
	}
}

func TestADirectoryInTheWayIsNotTouched(t *testing.T) {
	w := newWorld(t)
	if err := os.Mkdir(w.p.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	w.set(1, 1, 0)
	if _, err := w.p.Publish(context.Background(), w.all()); err == nil || !strings.Contains(err.Error(), "in the way") {
		t.Errorf("%v", err)
	}
}

func TestTheViewMovesWithItsWorkspace(t *testing.T) {
	w := newWorld(t)
	w.set(1, 5, 0)
	w.publish()
	old := filepath.Dir(w.p.dir)
	moved := old + "-moved"
	if err := os.Rename(old, moved); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(moved) })
	g, err := Pin(filepath.Join(moved, "evidence"))
	if err != nil || len(rowsOf(t, g.Files("measurements"), "run")) != 5 {
		t.Errorf("%v", err)
	}
}

func TestAnExportIsADataSetOfItsOwn(t *testing.T) {
	w := newWorld(t)
	w.set(1, 5, 0)
	w.publish()
	g, err := Pin(w.p.dir)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "out")
	n, err := g.Export(context.Background(), dir, nil)
	if err != nil || n != len(evidence.Tables()) {
		t.Fatalf("%d files, %v", n, err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "measurements", "*.parquet"))
	if got := rowsOf(t, files, "run", "value_int"); !slices.Equal(got, w.visible("measurements", "run", "value_int")) {
		t.Errorf("exported %v", got)
	}
	a, _ := os.Stat(files[0])
	b, _ := os.Stat(g.Files("measurements")[0])
	if os.SameFile(a, b) {
		t.Error("an exported file is the published one")
	}
	if _, err := g.Export(context.Background(), dir, nil); err == nil {
		t.Error("an export into a directory that is not empty was accepted")
	}
	if _, err := g.Export(context.Background(), filepath.Join(dir, "x"), []string{"nothing"}); err == nil {
		t.Error("an unknown table was exported")
	}
}
