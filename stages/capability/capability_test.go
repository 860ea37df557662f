package capability

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/broker"
	"github.com/flameox/flameox/graph/cas"
	"github.com/flameox/flameox/graph/facet"
	"github.com/flameox/flameox/internal/vfs"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/stages/environment"
	"github.com/flameox/flameox/stages/environment/managed"
	"github.com/flameox/flameox/stages/kind"
)

func TestMain(m *testing.M) {
	broker.MaybeSupervise()
	os.Exit(m.Run())
}

// base is a provider that does nothing; the types below say which of the interfaces there are.
type base struct{ name string }

func (b base) Name() string { return b.name }
func (base) Version() int   { return 1 }
func (base) Doc() string    { return "for tests" }

type captures struct{ base }

func (captures) Options() any             { return nil }
func (captures) Nature() providers.Nature { return providers.Measurement }
func (captures) Plan(providers.Workload, any) (providers.Invocation, error) {
	return providers.Invocation{}, nil
}

type extracts struct{ base }

func (extracts) ExtractOptions() any { return nil }
func (extracts) Extract(context.Context, providers.Input, any, evidence.Budget, *evidence.Sink) (evidence.Outcome, error) {
	return evidence.Outcome{}, nil
}

type imports struct{ base }

func (imports) Formats() []providers.Format { return []providers.Format{{Name: "f"}} }

// tool is a producer that is one program, of which versions 1 are known and 9 cannot be used.
type tool struct {
	captures
	at providers.Location
}

func (p tool) Locate() providers.Location { return p.at }
func (p tool) Probe(argv []string) ([]string, func(stdout, stderr []byte) (string, error)) {
	return []string{argv[0], "--version"}, func(stdout, stderr []byte) (string, error) {
		v := strings.TrimSpace(string(stdout))
		switch {
		case v == "":
			return "", errors.New("has no tool: " + strings.TrimSpace(string(stderr)))
		case strings.HasPrefix(v, "9"):
			return v, errors.New("9 is not understood")
		}
		return v, nil
	}
}
func (tool) Qualifications() []providers.Qualification {
	return []providers.Qualification{{Version: "1.2.3", Series: "1.2", Platforms: []string{runtime.GOOS + "/" + runtime.GOARCH}}, {Version: "0", Platforms: []string{"plan9/mips"}}}
}

type lab struct {
	t       *testing.T
	project *kind.Project
	outside string // a folder outside of the project
}

func newLab(t *testing.T) *lab {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	outside, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := broker.New(broker.Options{Store: "test"})
	t.Cleanup(func() { b.Close() })
	return &lab{t, &kind.Project{
		Root: root, Store: &graph.Store{Broker: b}, Stat: cas.OpenStatCache(filepath.Join(t.TempDir(), "stat"), vfs.OS{}), Memo: kind.NewMemo(),
	}, outside}
}

// program writes an executable script called tool and returns the place whose PATH has it.
func (l *lab) program(dir, script string) Place {
	l.t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		l.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "tool"), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		l.t.Fatal(err)
	}
	return Place{Host: &environment.Host{Path: dir + ":/usr/bin:/bin"}}
}

func (l *lab) look(p providers.Provider, named bool, places ...Place) *Report {
	l.t.Helper()
	r, err := Look(l.t.Context(), l.project, p, places, named)
	if err != nil {
		l.t.Fatal(err)
	}
	return r
}

var theTool = tool{captures{base{"tool"}}, providers.Location{Programs: []string{"other", "tool"}, Install: "install the tool"}}

func TestTheStatesAreKeptApart(t *testing.T) {
	for _, c := range []struct {
		name, script, version, why string
		state                      State
	}{
		{"a version that was tried out", "echo 1.2.9", "1.2.9", "", Available},
		{"one that was not", "echo 1.20.0", "1.20.0", "qualified are 1.2.x", Unqualified},
		{"one that cannot be used", "echo 9.0", "9.0", "9 is not understood", Incompatible},
		{"no answer, and why", "echo nothing here >&2; exit 1", "", "has no tool: nothing here", Absent},
		{"killed", "kill -9 $$", "", "killed by SIGKILL", Blocked},
		{"says too much", "yes", "", "output_limit", Blocked},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLab(t)
			f := l.look(theTool, false, l.program(l.outside, c.script)).Findings[0]
			if f.State != c.state || f.Version != c.version || !strings.Contains(f.Why, c.why) || c.why == "" && f.Why != "" {
				t.Errorf("%+v", f)
			}
			if needs := c.state == Blocked || c.state == Incompatible || c.state == Absent; needs != (f.Do != "") {
				t.Errorf("what to do: %q", f.Do)
			}
			if f.Probe != "active" || f.Executable != filepath.Join(l.outside, "tool") {
				t.Errorf("%+v", f)
			}
		})
	}
}

func TestWhatIsNotThereIsAbsentUnlessItIsNotNeeded(t *testing.T) {
	l := newLab(t)
	nowhere := Place{Host: &environment.Host{Path: l.outside}}
	f := l.look(theTool, false, nowhere).Findings[0]
	if f.State != Absent || f.Why != "no other and no tool is on PATH" || f.Do != "install the tool" || f.Probe != "passive" {
		t.Errorf("%+v", f)
	}
	optional := theTool
	optional.at.Optional = true
	if f := l.look(optional, false, nowhere).Findings[0]; f.State != Available {
		t.Errorf("optional: %+v", f)
	}
}

func TestALookAtEverythingStartsNothingOfTheProject(t *testing.T) {
	l := newLab(t)
	mark := filepath.Join(l.outside, "started")
	place := l.program(filepath.Join(l.project.Root, "bin"), "touch "+mark+"; echo 1.2.3")
	f := l.look(theTool, false, place).Findings[0]
	if f.State != Blocked || !strings.Contains(f.Why, "bin/tool is in the project") || f.Do != "ask for it with `flameox providers tool`" {
		t.Errorf("%+v", f)
	}
	// A link outside of it that leads into it is the project's too.
	link := filepath.Join(l.outside, "tool")
	if err := os.Symlink(filepath.Join(l.project.Root, "bin", "tool"), link); err != nil {
		t.Fatal(err)
	}
	if f := l.look(theTool, false, Place{Host: &environment.Host{Path: l.outside + ":/usr/bin:/bin"}}).Findings[0]; f.State != Blocked {
		t.Errorf("through a link: %+v", f)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Fatal("the program was started")
	}
	if f := l.look(theTool, true, place).Findings[0]; f.State != Available {
		t.Errorf("asked for: %+v", f)
	}
	if _, err := os.Stat(mark); err != nil {
		t.Error("the program was not started: ", err)
	}
}

func TestAProgramIsAskedOnceForOneLook(t *testing.T) {
	l := newLab(t)
	count := filepath.Join(l.outside, "count")
	place := l.program(l.outside, "echo x >> "+count+"; echo 1.2.3")
	again := place
	again.Name = "environment.host.same"
	l.look(theTool, false, again, place)
	l.look(theTool, false, place)
	if b, err := os.ReadFile(count); err != nil || string(b) != "x\n" {
		t.Errorf("asked %q %v", b, err)
	}
}

// built is an environment that flameox builds, with what its lock says.
type built struct {
	facts []facet.Entry
	err   error
	seen  *bool // set when it is described; may be nil
}

func (b built) Describe(context.Context, *graph.Results) (*managed.Description, error) {
	if b.seen != nil {
		*b.seen = true
	}
	return &managed.Description{Facts: b.facts}, b.err
}
func (built) Ready(context.Context, *graph.Task, *managed.Description) (*managed.Place, error) {
	panic("nothing is built by looking")
}

func TestAnEnvironmentIsReadFromItsLock(t *testing.T) {
	l := newLab(t)
	p := theTool
	p.at.Library, p.at.Language = "tool", "python"
	in := func(name string, b built) Place {
		return Place{Name: "environment.python." + name, Type: "python", Interpreter: "sh", Host: &environment.Host{Path: l.outside, Runtime: b}}
	}
	r := l.look(p, false,
		in("without", built{facts: []facet.Entry{{Name: "python.package toolbox", Value: "1"}, {Name: "python.version", Value: "3"}}}),
		in("unlocked", built{err: &graph.BlockedError{Why: "there is no lock", Do: "run `flameox lock`"}}),
		in("broken", built{err: errors.New("unreadable")}),
		in("old", built{facts: []facet.Entry{{Name: "python.package tool", Value: "1.1"}}}),
		in("good", built{facts: []facet.Entry{{Name: "python.package tool", Value: "1.2.4"}}}),
	)
	var got []string
	for _, f := range r.Findings {
		got = append(got, strings.TrimPrefix(f.Environment, "environment.python.")+" "+string(f.State)+" "+f.Version+f.Why)
	}
	want := "good available 1.2.4|old unqualified 1.1qualified are 1.2.x|unlocked blocked there is no lock|broken blocked unreadable|without absent its lock has no tool"
	if strings.Join(got, "|") != want {
		t.Errorf("%s\nwant %s", strings.Join(got, "|"), want)
	}
	if r.State() != Available {
		t.Errorf("the best is %s", r.State())
	}
}

func TestModesFollowFromWhatAProviderCanDo(t *testing.T) {
	l := newLab(t)
	here := Place{Host: &environment.Host{}}
	for _, c := range []struct {
		p     providers.Provider
		state State
		modes string
	}{
		{imports{base{"a"}}, ImportOnly, "import"},
		{extracts{base{"a"}}, AnalysisOnly, "extract"},
		{captures{base{"a"}}, Unqualified, "capture"},
	} {
		r := l.look(c.p, false, here)
		if r.State() != c.state || strings.Join(r.Modes, ",") != c.modes || r.Findings[0].Probe != "none" {
			t.Errorf("%T: %+v", c.p, r)
		}
	}
	if f := l.look(captures{base{"a"}}, false, here).Findings[0]; f.Why != "nothing was tried out" {
		t.Errorf("without records: %+v", f)
	}
}

func TestARecordCoversASeriesInWholeComponents(t *testing.T) {
	q := providers.Qualification{Version: "v20.20.2", Series: "20", Platforms: []string{"linux/amd64"}}
	for version, want := range map[string]bool{"v20.20.2": true, "20.1": true, "20": true, "200.1": false, "v22.1": false, "": false} {
		if q.Covers(version, "linux/amd64") != want || q.Covers(version, "linux/arm64") {
			t.Errorf("%s", version)
		}
	}
	exact := providers.Qualification{Version: "go1.26.8", Platforms: []string{"linux/amd64"}}
	if !exact.Covers("go1.26.8", "linux/amd64") || exact.Covers("go1.26.80", "linux/amd64") || exact.Claim() != "go1.26.8" {
		t.Error("a record without a series")
	}
}

func TestAnEnvironmentWhoseBaseLiesInTheProjectIsNotAskedByALookAtEverything(t *testing.T) {
	l := newLab(t)
	p := theTool
	p.at.Library, p.at.Language = "tool", "python"
	host := l.program(filepath.Join(l.project.Root, "bin"), "exit 1").Host
	described := false
	host.Runtime = built{facts: []facet.Entry{{Name: "python.package tool", Value: "1.2.4"}}, seen: &described}
	place := Place{Name: "environment.python.own", Type: "python", Interpreter: "tool", Host: host}
	if f := l.look(p, false, place).Findings[0]; f.State != Blocked || described || !strings.Contains(f.Why, "bin/tool is in the project") {
		t.Errorf("%+v, described: %v", f, described)
	}
	if f := l.look(p, true, place).Findings[0]; f.State != Available || !described {
		t.Errorf("asked for: %+v", f)
	}
	// Of an environment of another language there is nothing to say.
	other, path := place, Place{Host: &environment.Host{Path: l.outside}}
	other.Type = "node"
	if r := l.look(p, true, other, path); len(r.Findings) != 1 || r.Findings[0].Environment != "" {
		t.Errorf("%+v", r.Findings)
	}
}
