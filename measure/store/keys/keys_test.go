package keys

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func open(t *testing.T, dir, state string, wantFresh bool) *Index {
	t.Helper()
	x, fresh, err := Open(dir, state)
	if err != nil || fresh != wantFresh {
		t.Fatalf("fresh is %v, %v", fresh, err)
	}
	t.Cleanup(x.Close)
	return x
}

func TestEveryNameThatWasAddedIsFoundAndNoOther(t *testing.T) {
	dir := t.TempDir()
	x := open(t, dir, "s0", true)
	const batches, each = 60, 700
	for b := range batches {
		pairs := make([]Pair, each)
		for i := range pairs {
			n := fmt.Sprint(b*each + i)
			pairs[i] = Pair{Of("k", n), Of("v", n)}
		}
		if err := x.Save(pairs, map[string]any{"batches": b}, fmt.Sprintf("s%d", b), "other"); err != nil {
			t.Fatal(err)
		}
	}
	x.Close()
	x = open(t, dir, fmt.Sprintf("s%d", batches-1), false)
	if x.Extra()["batches"] != float64(batches-1) {
		t.Errorf("%v", x.Extra())
	}
	if x.Pairs() != batches*each || len(x.runs) > 2*perTier {
		t.Errorf("%d pairs in %d runs", x.Pairs(), len(x.runs))
	}
	for i := range batches * each {
		n := fmt.Sprint(i)
		if v, ok, err := x.Get(Of("k", n)); err != nil || !ok || v != Of("v", n) {
			t.Fatalf("%s: %v, %v", n, ok, err)
		}
		if _, ok, err := x.Get(Of("absent", n)); err != nil || ok {
			t.Fatalf("a name that nobody added is there: %v", err)
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.run"))
	if err != nil || len(files) != len(x.runs) {
		t.Errorf("%d files for %d runs", len(files), len(x.runs))
	}
}

func TestTheLastValueOfANameCounts(t *testing.T) {
	x := open(t, t.TempDir(), "s", true)
	for b := range 20 {
		if err := x.Save([]Pair{{Of("a"), Of("old")}, {Of("a"), Of(fmt.Sprint(b))}}, nil, "s"); err != nil {
			t.Fatal(err)
		}
		if v, ok, err := x.Get(Of("a")); err != nil || !ok || v != Of(fmt.Sprint(b)) {
			t.Fatalf("after %d: %v, %v", b, ok, err)
		}
	}
}

func TestAnIndexOfAnotherStateOrABrokenOneIsEmpty(t *testing.T) {
	dir := t.TempDir()
	x := open(t, dir, "s", true)
	if err := x.Save([]Pair{{Of("a"), Of("b")}}, nil, "s"); err != nil {
		t.Fatal(err)
	}
	x.Close()
	x = open(t, dir, "other", true)
	if _, ok, _ := x.Get(Of("a")); ok {
		t.Error("the index of another state answers")
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*.run"))
	if err := os.Truncate(files[0], 5); err != nil {
		t.Fatal(err)
	}
	x = open(t, dir, "s", true)
	if err := x.Save([]Pair{{Of("a"), Of("c")}}, nil, "s"); err != nil {
		t.Fatal(err)
	}
	x.Close()
	open(t, dir, "s", false)
	if err := os.WriteFile(filepath.Join(dir, "keys.json"), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	open(t, dir, "s", true)
}
