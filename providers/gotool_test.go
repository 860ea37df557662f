package providers_test

import (
	"slices"
	"testing"

	"github.com/flameox/flameox/providers"
)

func TestGoIsAskedForItsVersionAndATestBinaryIsNot(t *testing.T) {
	probe, version := providers.ProbeGo([]string{"/usr/bin/go", "test"})
	if !slices.Equal(probe, []string{"/usr/bin/go", "version"}) {
		t.Fatalf("probe %q", probe)
	}
	for out, want := range map[string]string{"go version go1.26.8 linux/amd64\n": "go1.26.8", "go version go1.27rc1 linux/arm64": "go1.27rc1", "go version devel": "", "": "", "version go1.2 ": ""} {
		if got, err := version([]byte(out), nil); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q %v", out, got, err)
		}
	}
	for _, argv := range [][]string{nil, {"./sort.test"}, {"gofmt"}} {
		if probe, _ := providers.ProbeGo(argv); probe != nil {
			t.Errorf("%q is asked %q", argv, probe)
		}
	}
}
