package workspace_test

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/facet"
	"github.com/flameox/flameox/internal/vfs"
	"github.com/flameox/flameox/lang"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/providers/command"
	"github.com/flameox/flameox/providers/gobench"
	"github.com/flameox/flameox/providers/pprof"
	"github.com/flameox/flameox/stages"
	"github.com/flameox/flameox/stages/workspace"
)

const everyKind = `
target "working_tree" "here" {}

host "h" { class = { os = "linux" } }

environment "host" "sh" {
  variables = { A = "1" }
}

build "b" {
  target      = target.working_tree.here
  environment = environment.host.sh
  command     = ["sh", "in.txt"]
  sources     = ["in.txt"]
  outputs     = ["*.txt"]
}

workload "w" {
  target             = target.working_tree.here
  environment        = environment.host.sh
  command            = ["./prog.test"]
  sources            = ["in.txt"]
  execution_protocol = "x"
}

server "s" {
  environment = environment.host.sh
  command     = ["sh", "in.txt", self_port]
  sources     = ["in.txt"]
}

workload "u" {
  environment = environment.host.sh
  command     = ["./prog.test", server.s.url]
  sources     = ["in.txt"]
}

capture "command" "u" { workload = workload.u }
capture "command" "c" {
  workload = workload.w
  on       = host.h
}
capture "gobench" "g" { workload = workload.w }
capture "pprof" "p" { workload = workload.w }
capture "pprof" "f" {
  workload = workload.w
  mode     = "file"
  path     = "x.pprof"
}

import "gobench" "i" { path = "in.txt" }
`

// Values that a mutation needs where adding an "x" gives no valid one.
var mutations = map[string]any{
	"cwd": "sub", "sources": []string{"other.txt"}, "expect_exit": []int{0, 3}, "class": map[string]string{"os": "plan9"}, "path": "other.txt", "capture.pprof/path": "y.pprof",
	"environment.host/path": []string{"/usr/bin", "/bin"}, "inherit": []string{"FLAMEOX_TEST_INHERITED"}, "untracked": []string{"FLAMEOX_TEST_INHERITED"},
	"lease": "shared", "benchtime": "7x", "capture.gobench/cpu": []int{1, 2}, "capture.pprof/cpu": []int{1, 2}, "profiles": []string{"mem"},
}

// Options that only mean something beside another one, which is set together with them.
var together = map[string]map[string]any{
	"capture.pprof/memprofilerate":       {"profiles": []string{"mem"}},
	"capture.pprof/blockprofilerate":     {"profiles": []string{"block"}},
	"capture.pprof/mutexprofilefraction": {"profiles": []string{"mutex"}},
}

type facets struct {
	t   *testing.T
	dir string
	reg *providers.Registry
}

func (f *facets) open() *workspace.Workspace {
	f.t.Helper()
	w, err := workspace.Open(context.Background(), workspace.Options{
		Dir: f.dir, Environ: []string{"PATH=" + os.Getenv("PATH"), "FLAMEOX_TEST_INHERITED=v"}, Now: time.Now, FS: vfs.OS{}, Providers: f.reg,
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return w
}

// keys are the keys of all stages that need nothing upstream, after change was made to the instances.
func (f *facets) keys(change func([]*lang.Instance)) map[string]string {
	f.t.Helper()
	w := f.open()
	x, diags := w.Config.Expand()
	if diags.HasErrors() {
		f.t.Fatal(diags)
	}
	change(x.Instances)
	e, diags := stages.Compile(x, stages.Kinds(f.reg), w.Project)
	if diags.HasErrors() {
		f.t.Fatalf("the mutated option is not valid, give another value: %v", diags)
	}
	out := map[string]string{}
	for _, n := range e.Graph.Nodes {
		if n.Stage == nil || len(n.Needs()) > 0 {
			continue
		}
		actions, err := n.Stage.Actions(context.Background(), &graph.Results{})
		if err != nil {
			f.t.Fatalf("%s: %v", n.Address, err)
		}
		out[n.Address.String()] = actions[0].Manifest.Key().String()
	}
	return out
}

// Every field of every option struct is in a facet, or exempt with a reason; and the tag tells the truth: changing the field
// changes the key of a stage exactly when it says so.
func TestEveryOptionIsInAFacetOrExemptAndTheKeysAgree(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	bench := "goos: linux\nBenchmarkX 1 1 ns/op\n"
	for name, text := range map[string]string{
		"flameox.hcl": everyKind, "in.txt": bench, "other.txt": bench + "BenchmarkY 1 2 ns/op\n", "sub/in.txt": bench, "sub/other.txt": bench,
		"prog.test": "#!/bin/sh\n", "sub/prog.test": "#!/bin/sh\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	f := &facets{t: t, dir: dir, reg: providers.New(command.Provider{}, gobench.Provider{}, pprof.Provider{})}
	base := f.keys(func([]*lang.Instance) {})
	if again := f.keys(func([]*lang.Instance) {}); !reflect.DeepEqual(base, again) {
		t.Fatal("keys differ without a change")
	}
	seen := map[string]bool{}
	x, _ := f.open().Config.Expand()
	for i, inst := range x.Instances {
		if inst.Options == nil {
			continue
		}
		ot := reflect.TypeOf(inst.Options).Elem()
		for k := range ot.NumField() {
			field := ot.Field(k)
			arg, _, _ := strings.Cut(field.Tag.Get("arg"), ",")
			name := inst.Block.Kind() + "/" + arg
			tag := field.Tag.Get("facet")
			exempt := strings.HasPrefix(tag, "exempt: ") && len(tag) > len("exempt: ")
			if !exempt && !slices.Contains(facet.Order, facet.Name(tag)) {
				t.Errorf("%s has the facet tag %q: name a facet, or exempt with the reason", name, tag)
			}
			switch field.Type {
			case reflect.TypeFor[lang.Ref](), reflect.TypeFor[lang.Refs](), reflect.TypeFor[lang.Deferred]():
				continue // what they lead to has fields of its own
			}
			if name == "server/existing_local" {
				continue // it stands in place of a command; its users' keys hold the address
			}
			if name == "capture.pprof/mode" {
				if base["capture.pprof.p"] == base["capture.pprof.f"] {
					t.Error("two modes have one key")
				}
				continue // one mode's options are no other's
			}
			if name == "capture.pprof/path" && inst.Block.Name() != "f" || arg == "profiles" && inst.Block.Name() == "f" {
				continue // means something in the other mode only
			}
			if inst.Block.Kind() == "capture.pprof" && inst.Block.Name() == "f" && arg != "path" {
				continue
			}
			t.Run(name, func(t *testing.T) {
				f := *f
				f.t = t
				set := func(instances []*lang.Instance) {
					options := reflect.New(ot)
					options.Elem().Set(reflect.ValueOf(instances[i].Options).Elem())
					change := map[string]any{arg: mutations[name]}
					if change[arg] == nil {
						change[arg] = mutations[arg]
					}
					for other, v := range together[name] {
						change[other] = v
					}
					for n := range ot.NumField() {
						a, _, _ := strings.Cut(ot.Field(n).Tag.Get("arg"), ",")
						v, ok := change[a]
						if !ok {
							continue
						}
						mutate(t, options.Elem().Field(n), v)
					}
					instances[i].Options = options.Interface()
				}
				want := base
				if more := together[name]; more != nil { // what changes besides is not this option's doing
					want = f.keys(func(instances []*lang.Instance) {
						options := reflect.New(ot)
						options.Elem().Set(reflect.ValueOf(instances[i].Options).Elem())
						for n := range ot.NumField() {
							a, _, _ := strings.Cut(ot.Field(n).Tag.Get("arg"), ",")
							if v, ok := more[a]; ok {
								mutate(t, options.Elem().Field(n), v)
							}
						}
						instances[i].Options = options.Interface()
					})
				}
				changed := !reflect.DeepEqual(want, f.keys(set))
				if changed == exempt {
					t.Errorf("facet %q, and changing it changes a key: %v", tag, changed)
				}
			})
			seen[name] = true
		}
	}
	if len(seen) < 30 {
		t.Errorf("only %d options were looked at", len(seen))
	}
}

// mutate sets v to the value, or to something else than it is where value is nil.
func mutate(t *testing.T, v reflect.Value, value any) {
	t.Helper()
	if value != nil && reflect.TypeOf(value).AssignableTo(v.Type()) {
		v.Set(reflect.ValueOf(value))
		return
	}
	switch x := v.Addr().Interface().(type) {
	case *string:
		*x += "x"
	case *bool:
		*x = !*x
	case *int:
		*x++
	case *time.Duration:
		*x += time.Second
	case *lang.Bytes:
		*x += 1 << 20
	case *[]string:
		*x = append(slices.Clone(*x), "x")
	case *map[string]string:
		*x = map[string]string{"A": "2", "B": "3"}
	case *[]int:
		*x = []int{1}
	default:
		if v.Kind() == reflect.Pointer {
			p := reflect.New(v.Type().Elem())
			mutate(t, p.Elem(), nil)
			v.Set(p)
			return
		}
		t.Fatalf("no mutation for %s", v.Type())
	}
}
