package profile

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
)

func TestFileIsRelativeOnlyBelowTheRoot(t *testing.T) {
	for _, c := range []struct{ root, name, want string }{
		{"/home/u/p", "/home/u/p/a/b.go", "a/b.go"},
		{"/home/u/p", "/home/u/p/a/../b.go", "b.go"},
		{"/home/u/p/", "/home/u/p/b.go", "b.go"},
		{"/home/u/p", "/home/u/pq/b.go", "/home/u/pq/b.go"},
		{"/home/u/p", "/home/u/p/../q/b.go", "/home/u/p/../q/b.go"},
		{"/home/u/p", "/home/u/p", "/home/u/p"},
		{"/home/u/p", "b.go", "b.go"},
		{"/home/u/p", "", ""},
		{"", "/usr/b.go", "/usr/b.go"},
		{"/", "/usr/b.go", "usr/b.go"},
		{"/home/u/p", "file:///home/u/p/a%20b.js", "a b.js"},
		{"/home/u/p", "file:///usr/lib/a.js", "file:///usr/lib/a.js"},
		{"/home/u/p", "file://host/home/u/p/a.js", "file://host/home/u/p/a.js"},
		{"/home/u/p", "node:internal/timers", "node:internal/timers"},
		{"/home/u/p", `C:\p\b.go`, `C:\p\b.go`},
	} {
		if got := File(c.root, c.name); got != c.want {
			t.Errorf("File(%q, %q) = %q, want %q", c.root, c.name, got, c.want)
		}
	}
}

func TestAFrameSaysHowFarItIsSymbolized(t *testing.T) {
	for _, c := range []struct {
		f    Frame
		want string
	}{
		{Frame{Function: "f", File: "f.go"}, "complete"},
		{Frame{Function: "f"}, "partial"},
		{Frame{Function: "(idle)", File: "x", Synthetic: true}, "partial"},
		{Frame{Address: 4, HasAddress: true}, "absent"},
	} {
		if got := c.f.symbolization(); got != c.want {
			t.Errorf("%+v is %s, want %s", c.f, got, c.want)
		}
	}
}

func TestMissingIsNotZeroInAFrame(t *testing.T) {
	b := New(Options{Metrics: cpu})
	zero, _ := b.Frame(Frame{Function: "f", Line: Some(0), Column: Some(0), HasAddress: true, Inlined: No})
	none, _ := b.Frame(Frame{Function: "f"})
	if zero == none {
		t.Fatal("a frame at line 0 and one without a line are one")
	}
	b.Add([]Ref{zero, none}, []int64{1}, nil)
	got, err := finish(t, b)
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(got.rows["frames"], func(x, y tableRow) int { return cmp.Compare(fmt.Sprint(x["line"]), fmt.Sprint(y["line"])) })
	a, z := got.rows["frames"][1], got.rows["frames"][0]
	for _, c := range []string{"line", "column", "address", "inlined", "file", "module", "language", "build_id"} {
		if a[c] != nil {
			t.Errorf("%s is %v where nothing is known", c, a[c])
		}
	}
	if z["line"] != int64(0) || z["column"] != int64(0) || z["address"] != uint64(0) || z["inlined"] != false {
		t.Errorf("zeros became %v", z)
	}
}

// TestIdentitiesNeverChange pins the encoding in doc.go: rows of two versions of flameox are joined by it.
func TestIdentitiesNeverChange(t *testing.T) {
	f := Frame{Language: "Go", Function: "main.work", Module: "m", File: "a.go", Line: Some(12), Address: 255, HasAddress: true, BuildID: "b", Inlined: Yes}
	if got := f.id().String(); got != "af90149c63ff9f8cdee1967296ee7f4978a02bf8be7a1b3ec8ba248c9828b059" {
		t.Errorf("the frame's identity is %s", got)
	}
}
