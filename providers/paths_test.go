package providers_test

import (
	"testing"

	"github.com/flameox/flameox/providers"
)

func TestFilesAreNamedRelativeToWhatTheyBelongTo(t *testing.T) {
	p := providers.Paths{Root: "/home/u/p", Dir: "/home/u/p/sub", Outputs: "/home/u/p/.flameox/trees", Environments: "/home/u/p/.flameox/env"}
	for name, want := range map[string]string{
		"/home/u/p/a.go": "a.go",
		"/home/u/p/.flameox/trees/d702/bin/x.test": "bin/x.test",
		"/home/u/p/.flameox/trees/d702":            ".flameox/trees/d702",
		"/home/u/p/.flameox/env/1ac1/lib/a.py":     "lib/a.py",
		"/home/u/p/.flameox/env/1ac1":              ".flameox/env/1ac1",
		"/usr/lib/libc.so.6":                       "/usr/lib/libc.so.6",
		"relative.go":                              "relative.go",
		"":                                         "",
	} {
		if got := p.File(name); got != want {
			t.Errorf("%q is named %q, want %q", name, got, want)
		}
	}
	if got := (providers.Paths{Root: "/p"}).File("/p/x"); got != "x" {
		t.Errorf("without outputs: %q", got)
	}
}
