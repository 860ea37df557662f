package workspace_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/outline"
	"github.com/flameox/flameox/internal/lock"
	"github.com/flameox/flameox/internal/vfs"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/providers/command"
	"github.com/flameox/flameox/stages/workspace"
)

const aged = `
workload "w" {
  command = ["cat", "in.txt"]
  sources = ["in.txt"]
}
capture "command" "aged" {
  workload = workload.w
  reuse    = "24h"
}
workload "x" {
  command = ["cat", "./in.txt"]
  sources = ["in.txt"]
}
capture "command" "older" {
  workload = workload.x
  reuse    = "48h"
}
`

// guarded is a provider that the kernel can forbid, as far as a file says.
type guarded struct {
	command.Provider
	setting string
}

func (g guarded) Settings() []string { return []string{g.setting} }

func (g guarded) Forbidden(settings map[string]string, _ func(int) bool) *providers.Denial {
	if settings[g.setting] == "2" {
		return &providers.Denial{Why: "it is forbidden", Do: "allow it"}
	}
	return nil
}

// asker asks for plans as a command does.
type asker struct {
	t *testing.T
	o workspace.Options
}

func newAsker(t *testing.T) *asker {
	t.Setenv(lock.MeasureEnv, filepath.Join(t.TempDir(), "measure"))
	dir := t.TempDir()
	a := &asker{t, workspace.Options{
		Dir: dir, Environ: []string{"PATH=" + os.Getenv("PATH")}, Now: time.Now, FS: vfs.OS{}, Version: "1",
		Class: func() map[string]string {
			return map[string]string{"os": "beos", "memory.gib": "24", "cpu.model": "abacus", "kernel": "5"}
		},
	}}
	a.write("flameox.hcl", aged)
	a.write("in.txt", "in\n")
	a.write("setting", "1\n")
	a.o.Providers = providers.New(guarded{setting: filepath.Join(dir, "setting")})
	return a
}

func (a *asker) write(name, text string) {
	a.t.Helper()
	if err := os.WriteFile(filepath.Join(a.o.Dir, name), []byte(text), 0o644); err != nil {
		a.t.Fatal(err)
	}
}

// made makes a plan the long way and remembers it. Where apply is set, what is stale is run before.
func (a *asker) made(apply bool) (*outline.Plan, error) {
	a.t.Helper()
	w, err := workspace.Open(a.t.Context(), a.o)
	if err != nil {
		a.t.Fatal(err)
	}
	defer w.Close()
	defer w.Save()
	x, diags := w.Load()
	if diags.HasErrors() {
		a.t.Fatal(diags)
	}
	planner, err := graph.NewPlanner(w.Store, x.Graph, graph.Selection{})
	if err != nil {
		a.t.Fatal(err)
	}
	if apply {
		if err := w.Init(); err != nil {
			a.t.Fatal(err)
		}
		if _, err := planner.Apply(a.t.Context(), x.Graph, graph.ApplyOptions{Parallelism: 1, Refresh: w.Project.Refresh}); err != nil {
			a.t.Fatal(err)
		}
		return nil, nil
	}
	plan, err := planner.Plan(a.t.Context(), x.Graph)
	if err != nil {
		a.t.Fatal(err)
	}
	short := outline.Of(plan, nil, false)
	return short, w.Remember(a.t.Context(), workspace.Question{}, planner, short)
}

// settle has the plan remembered.
func (a *asker) settle() {
	a.t.Helper()
	var why string
	for range 40 {
		a.made(false)
		var r *workspace.Recalled
		if r, why = workspace.Recall(a.t.Context(), a.o, workspace.Question{}); r != nil && !r.Again {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	a.t.Fatal("no plan is remembered: ", why)
}

// same says whether the remembered plan stands, and fails where it is not the one that is made without it.
func (a *asker) same(what string) (stands bool) {
	a.t.Helper()
	r, _ := workspace.Recall(a.t.Context(), a.o, workspace.Question{})
	got := ""
	if r != nil {
		got = a.document(r.Plan) // before another plan is remembered in its place, which its rest is read from
	}
	long := *a
	long.o.NoShortcut = true
	plan, _ := long.made(false)
	if want := a.document(plan); r != nil && got != want {
		a.t.Errorf("%s: the remembered plan is\n%s\n--- and the plan is\n%s", what, got, want)
	}
	return r != nil
}

func (a *asker) document(p *outline.Plan) string {
	a.t.Helper()
	doc, ok := p.Document()
	if !ok {
		a.t.Fatal("the plan cannot be read")
	}
	b, err := json.MarshalIndent(doc, "", " ")
	if err != nil {
		a.t.Fatal(err)
	}
	return string(b)
}

func TestARememberedPlanStandsUntilAResultIsTooOld(t *testing.T) {
	a := newAsker(t)
	a.made(true)
	start := time.Now()
	at := func(d time.Duration) { a.o.Now = func() time.Time { return start.Add(d) } }
	a.settle()
	for _, step := range []struct {
		what   string
		after  time.Duration
		stands bool
	}{
		{"at once", 0, true},
		{"an hour before", 23 * time.Hour, true},
		{"past the first deadline", 24*time.Hour + time.Second, false}, // as it was decided before it
		{"the same moment, remembered", 24*time.Hour + time.Second, true},
		{"between the deadlines", 47 * time.Hour, true},
		{"a clock set back before the first", 23 * time.Hour, false},
		{"the second deadline, from before the first", 48*time.Hour + time.Second, false},
		{"long after", 1000 * time.Hour, true},
	} {
		at(step.after)
		if stands := a.same(step.what); stands != step.stands {
			t.Errorf("%s: the remembered plan stands: %v", step.what, stands)
		}
		a.settle()
	}
}

func TestARememberedPlanStandsOnTheMachineItWasMadeOn(t *testing.T) {
	a := newAsker(t)
	a.made(true)
	facts := a.o.Class()
	for _, name := range []string{"memory.gib", "cpu.model", "kernel", "os", "gpu.models"} {
		a.settle()
		other := maps.Clone(facts)
		other[name] = "another"
		a.o.Class = func() map[string]string { return other }
		if a.same(name) {
			t.Errorf("%s is another, and the remembered plan stands", name)
		}
		a.settle()
		delete(other, name)
		if a.same("no " + name) {
			t.Errorf("%s is not known, and the remembered plan stands", name)
		}
		a.o.Class = func() map[string]string { return facts }
	}
	a.settle()
	a.o.Version = "2"
	if a.same("a version") {
		t.Error("flameox has another version, and the remembered plan stands")
	}
}

func TestARememberedPlanStandsAsLongAsTheKernelForbidsTheSame(t *testing.T) {
	a := newAsker(t)
	a.made(true)
	a.write("in.txt", "other\n") // what stands is not touched by what is forbidden
	a.settle()
	a.write("setting", "2\n")
	if a.same("forbidden") {
		t.Error("capturing is forbidden, and the remembered plan stands")
	}
	a.settle()
	if plan, _ := a.made(false); !strings.Contains(a.document(plan), "it is forbidden") {
		t.Error("the plan does not say that it is forbidden")
	}
	a.write("setting", "1\n")
	if a.same("allowed") {
		t.Error("capturing is allowed again, and the remembered plan stands")
	}
}

// A record that is appended while a plan is made is in it or not: nobody can tell, so that it is not remembered.
func TestAPlanIsNotRememberedWhereARecordWasAppendedMeanwhile(t *testing.T) {
	a := newAsker(t)
	a.made(true)
	a.settle()
	w, err := workspace.Open(t.Context(), a.o)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	x, diags := w.Load()
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	planner, err := graph.NewPlanner(w.Store, x.Graph, graph.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := planner.Plan(t.Context(), x.Graph)
	if err != nil {
		t.Fatal(err)
	}
	a.write("in.txt", "other\n")
	a.made(true)
	a.write("in.txt", "in\n")
	if err := w.Remember(t.Context(), workspace.Question{}, planner, outline.Of(plan, nil, false)); err == nil {
		t.Error("it was remembered")
	}
	if a.same("a record more") {
		t.Error("a record was appended, and the remembered plan stands")
	}
}
