package pprof_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/flameox/flameox/internal/token"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/providers/pprof"
)

func TestPlan(t *testing.T) {
	out := token.Make("out.dir")
	rate := func(n int) *int { return &n }
	bin := token.Make("build.b.dir") + "/sort.test"
	for _, c := range []struct {
		name string
		argv []string
		o    *pprof.Options
		want []string
	}{
		{"go test", []string{"go", "test", "./p"}, options(), []string{"go", "test", "-run=^$", "-count=1", "-bench=.", "-benchtime=1s", "-cpuprofile=" + out + "/cpu.pprof", "-o=" + out + "/profiled.test", "./p"}},
		{"go test with -o", []string{"go", "test", "-o", "x", "."}, options(), []string{"go", "test", "-run=^$", "-count=1", "-bench=.", "-benchtime=1s", "-cpuprofile=" + out + "/cpu.pprof", "-o", "x", "."}},
		{"a test binary of a build", []string{bin}, options(), []string{bin, "-test.run=^$", "-test.count=1", "-test.bench=.", "-test.benchtime=1s", "-test.cpuprofile=" + out + "/cpu.pprof"}},
		{"a test binary of another name", []string{"./bench", "-v"}, &pprof.Options{Mode: "gotest", Profiles: []string{"mem", "block", "mutex"}, Run: "X", Count: 2, Benchtime: "1s", MemProfileRate: rate(1), BlockProfileRate: rate(2), MutexProfileFraction: rate(3)},
			[]string{"./bench", "-test.run=X", "-test.count=2", "-test.memprofilerate=1", "-test.blockprofilerate=2", "-test.mutexprofilefraction=3",
				"-test.memprofile=" + out + "/mem.pprof", "-test.blockprofile=" + out + "/block.pprof", "-test.mutexprofile=" + out + "/mutex.pprof", "-v"}},
		{"a file", []string{"app", "-o", out + "/a.pprof"}, &pprof.Options{Mode: "file", Path: "a.pprof"}, []string{"app", "-o", out + "/a.pprof"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			inv, err := p.Plan(providers.Workload{Argv: c.argv}, c.o)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(inv.Argv, c.want) {
				t.Errorf("argv %q, want %q", inv.Argv, c.want)
			}
			if inv.Outputs[0].Role != pprof.Role || !inv.Outputs[0].Required {
				t.Errorf("outputs %+v", inv.Outputs)
			}
		})
	}
	with := func(f func(*pprof.Options)) *pprof.Options { o := options(); f(o); return o }
	for _, c := range []struct {
		name string
		argv []string
		o    *pprof.Options
		want string
	}{
		{"another program", []string{"./app"}, options(), "mode = \"gotest\""},
		{"unknown mode", []string{"go", "test"}, with(func(o *pprof.Options) { o.Mode = "http" }), "mode = \"http\""},
		{"unknown profile", []string{"go", "test"}, with(func(o *pprof.Options) { o.Profiles = []string{"heap"} }), "heap"},
		{"a profile twice", []string{"go", "test"}, with(func(o *pprof.Options) { o.Profiles = []string{"cpu", "cpu"} }), "twice"},
		{"no profile", []string{"go", "test"}, with(func(o *pprof.Options) { o.Profiles = nil }), "no profile"},
		{"a rate without its profile", []string{"go", "test"}, with(func(o *pprof.Options) { o.MemProfileRate = rate(1) }), "memprofilerate"},
		{"a rate of zero", []string{"go", "test"}, with(func(o *pprof.Options) { o.Profiles, o.MemProfileRate = []string{"mem"}, rate(0) }), "memprofilerate = 0"},
		{"several packages", []string{"go", "test", "./..."}, options(), "several packages"},
		{"said twice", []string{"go", "test", "-cpuprofile=x", "."}, options(), "-cpuprofile"},
		{"compile only", []string{"go", "test", "-c"}, options(), "-c"},
		{"path without mode file", []string{"go", "test"}, with(func(o *pprof.Options) { o.Path = "x" }), "path"},
		{"file without path", []string{"./app"}, with(func(o *pprof.Options) { o.Mode = "file" }), "path"},
		{"file outside", []string{"./app"}, with(func(o *pprof.Options) { o.Mode, o.Path = "file", "../x" }), "path"},
		{"absolute file", []string{"./app"}, with(func(o *pprof.Options) { o.Mode, o.Path = "file", "/x" }), "path"},
		{"file of a token", []string{"./app"}, with(func(o *pprof.Options) { o.Mode, o.Path = "file", out+"/x" }), "${out.dir}"},
		{"count", []string{"go", "test"}, with(func(o *pprof.Options) { o.Count = 0 }), "count"},
		{"benchtime", []string{"go", "test"}, with(func(o *pprof.Options) { o.Benchtime = "soon" }), "benchtime"},
	} {
		t.Run("refused: "+c.name, func(t *testing.T) {
			if _, err := p.Plan(providers.Workload{Argv: c.argv}, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}
