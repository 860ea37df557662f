package suggest

import (
	"strings"
	"testing"
)

func TestTheNearestNameIsWhatWasMeant(t *testing.T) {
	known := []string{"plan", "apply", "capture.gobench.sort", "capture.pprof.sort"}
	for name, want := range map[string]string{
		"plam": "plan", "PLAN": "plan", "aply": "apply", "capture.gobench.sor": "capture.gobench.sort",
		"capture.pprf.sort": "capture.pprof.sort", "something else": "", "": "",
		"pln": "plan", "palm": "", "paln": "plan", // one letter, or two swapped: in a short name two are another name
	} {
		if got := Nearest(name, known); got != want {
			t.Errorf("%q suggests %q, want %q", name, got, want)
		}
	}
	if got := Nearest("otlp", []string{"perf", "otlp-json", "otlp-protobuf"}); got != "otlp-json" {
		t.Errorf("the beginning of a name suggests %q", got)
	}
	if got := Nearest("", []string{"-x"}); got != "" {
		t.Errorf("nothing suggests %q", got)
	}
	if got := Nearest(strings.Repeat("x", 1<<20), known); got != "" {
		t.Errorf("a megabyte suggests %q", got)
	}
}

func TestDistanceIsSymmetricAndCountsEdits(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"kitten", "sitting", 3}, {"abc", "abc", 0}, {"abc", "acb", 1}, {"ca", "abc", 3}} {
		if got, back := Distance(c.a, c.b), Distance(c.b, c.a); got != c.want || back != c.want {
			t.Errorf("%q to %q is %d and back %d, want %d", c.a, c.b, got, back, c.want)
		}
	}
}
