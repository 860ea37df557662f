package providers_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/providers/command"
	"github.com/flameox/flameox/providers/gobench"
	"github.com/flameox/flameox/providers/pprof"
)

func all() *providers.Registry {
	return providers.New(pprof.Provider{}, command.Provider{}, gobench.Provider{})
}

func TestLookupFindsByNameAndSuggestsTheNearest(t *testing.T) {
	r := all()
	if p, err := r.Lookup("gobench"); err != nil || p.Name() != "gobench" {
		t.Errorf("%v %v", p, err)
	}
	for _, c := range []struct{ name, near string }{{"gobnech", "gobench"}, {"pporf", "pprof"}, {"PProf", "pprof"}, {"commnad", "command"}, {"memray", ""}, {"", ""}, {strings.Repeat("x", 1000), ""}} {
		_, err := r.Lookup(c.name)
		var unknown *providers.UnknownError
		if !errors.As(err, &unknown) || unknown.Near != c.near {
			t.Errorf("%q: %v, want %q", c.name, err, c.near)
		}
	}
	_, err := r.Lookup("gobnech")
	if want := `there is no provider called "gobnech"; did you mean "gobench"? (known: command, gobench, pprof)`; err.Error() != want {
		t.Errorf("error %q, want %q", err, want)
	}
}

func TestWhatAProviderCannotDoIsNotFound(t *testing.T) {
	r := all()
	if c, err := r.Capturer("command"); err != nil || c.Name() != "command" {
		t.Errorf("%v %v", c, err)
	}
	if _, err := r.Extractor("command"); err == nil || !strings.Contains(err.Error(), "(known: gobench, pprof)") {
		t.Errorf("error %v", err)
	}
	if e, err := r.Importer("pprof"); err != nil || e.Importer.Name() != "pprof" || e.MediaType != pprof.MediaType {
		t.Errorf("%+v %v", e, err)
	}
	if _, err := r.Importer("prof"); err == nil || !strings.Contains(err.Error(), `did you mean "pprof"`) {
		t.Errorf("error %v", err)
	}
}

func TestListsAreSorted(t *testing.T) {
	r := all()
	var names []string
	for _, p := range r.All() {
		names = append(names, p.Name())
	}
	for _, e := range r.Formats() {
		names = append(names, e.Name)
	}
	if got := strings.Join(names, " "); got != "command gobench pprof gobench pprof" {
		t.Errorf("names %s", got)
	}
}

func TestDetectNamesTheOneFormatThatClaimsAFile(t *testing.T) {
	r := all()
	for head, want := range map[string]string{"goos: linux\ngoarch: amd64\n": "gobench", "goroutine profile: total 7\n": "pprof", "hello\n": ""} {
		got := ""
		for _, e := range r.Detect([]byte(head)) {
			got += e.Name
		}
		if got != want {
			t.Errorf("%q is %q, want %q", head, got, want)
		}
	}
}

func TestTwoProvidersOfOneNameAreAMistakeOfTheProgram(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("accepted")
		}
	}()
	providers.New(pprof.Provider{}, pprof.Provider{})
}

func TestFindTakesOnlyTheOneArtifactOfARole(t *testing.T) {
	a := func(name, role string) providers.Artifact { return providers.Artifact{Name: name, Role: role} }
	for _, c := range []struct {
		artifacts []providers.Artifact
		want      string // of the error
	}{
		{nil, "the run left no artifact"},
		{[]providers.Artifact{a("x", "log")}, "it left x (log)"},
		{[]providers.Artifact{a("x", "profile"), a("y", "profile")}, "2 (x, y)"},
	} {
		if _, err := (providers.Input{Artifacts: c.artifacts}).Find("profile"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
	in := providers.Input{Artifacts: []providers.Artifact{a("x", "log"), a("y", "profile")}}
	if got, err := in.Find("profile"); err != nil || got.Name != "y" {
		t.Errorf("%v %v", got, err)
	}
	if got := in.FindAll("log"); len(got) != 1 || got[0].Name != "x" {
		t.Errorf("%v", got)
	}
}

func TestAnExitStatusIsExpectedWhereItIsDeclared(t *testing.T) {
	for _, c := range []struct {
		exit   int
		expect []int
		want   bool
	}{{0, nil, true}, {1, nil, false}, {1, []int{0, 1}, true}, {0, []int{1}, false}, {-1, nil, false}} {
		if got := (providers.Input{Exit: c.exit, ExpectExit: c.expect}).ExitExpected(); got != c.want {
			t.Errorf("%d of %v is %v", c.exit, c.expect, got)
		}
	}
}
