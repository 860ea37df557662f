package program

import (
	"strings"
	"testing"
)

func TestAProgramTextIsShownByHowItBegins(t *testing.T) {
	long := strings.Repeat("ä", 100)
	for arg, want := range map[string]string{
		"":                              "",
		"bench.py":                      "bench.py",
		long:                            long, // one line is whole: it may be a path
		"a\nb":                          "a\nb",
		"import os\n" + long:            "import os…",
		long + "\nx":                    strings.Repeat("ä", 60) + "…",
		strings.Repeat("x\n", 60)[:120]: "x…",
	} {
		if got := Brief(arg); got != want {
			t.Errorf("Brief(%q) = %q, want %q", arg, got, want)
		}
	}
}
