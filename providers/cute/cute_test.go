package cute_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/formats/kernelbuild"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/token"
	"github.com/flameox/flameox/lang"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/providers/cute"
	"github.com/flameox/flameox/providers/providertest"
)

var p cute.Provider

func defaults() *cute.Options { return lang.Defaults(p.Options()).(*cute.Options) }

func plan(o *cute.Options) (providers.Invocation, error) {
	return p.Plan(providers.Workload{Argv: []string{"python", "k.py"}}, o)
}

func TestConformance(t *testing.T) {
	o := defaults()
	inv, err := plan(o)
	if err != nil {
		t.Fatal(err)
	}
	exit := 0
	left := providers.Left{Workload: "workload.k", Options: o, Invocation: inv, Succeeded: true, Exit: &exit}
	for _, name := range []string{"cute-dsl-dumps/a.mlir", "cute-dsl-dumps/b.sm_90a.ptx", "cute-dsl-dumps/b.sm_90a.cubin"} {
		left.Outputs = append(left.Outputs, providers.Artifact{Name: name, Role: kernelbuild.RoleOutput, Digest: digest.SumString(name)})
	}
	doc, err := p.Describe(left)
	if err != nil {
		t.Fatal(err)
	}
	providertest.Run(t, p, &providertest.Cases{Valid: doc.Content, Role: kernelbuild.Role, Half: evidence.Incompatible},
		&providertest.Plan{Workload: providers.Workload{Argv: []string{"python", "k.py"}}})
}

func TestTheWorkloadRunsUnchangedWithTheDSLsOwnVariables(t *testing.T) {
	inv, err := plan(defaults())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"CUTE_DSL_DUMP_DIR": token.Make("out.dir") + "/cute-dsl-dumps", "CUTE_DSL_KEEP": "ir,ptx,cubin"}
	if fmt.Sprint(inv.Env) != fmt.Sprint(want) || fmt.Sprint(inv.Argv) != "[python k.py]" {
		t.Errorf("%v with %q", inv.Argv, inv.Env)
	}
}

func TestWhatIsKeptIsCheckedBeforeAnythingRuns(t *testing.T) {
	for keep, want := range map[string]string{
		"all": "", "sass": "", "ir,llvm,sass": "", "ir-debug,ptx": "",
		"all,ptx": "all stands alone", "ptx,all": "all stands alone", "ir,ir-debug": "both ir and ir-debug", "ptx,ptx": "twice", "PTX": "known are", "": "keeps nothing",
	} {
		o := defaults()
		o.Keep = strings.Split(keep, ",")
		if keep == "" {
			o.Keep = nil
		}
		if _, err := plan(o); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("keep = %s: %v", keep, err)
		}
	}
	o := defaults()
	o.Dumps = "a/b"
	if _, err := plan(o); err == nil || !strings.Contains(err.Error(), "dump_subdir") {
		t.Errorf("a folder in a folder: %v", err)
	}
}

const program = `
import sys
import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import make_fake_compact_tensor

@cute.kernel
def add_kernel(a: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    a[i] = a[i] + 1.0

@cute.jit
def add(a: cute.Tensor):
    add_kernel(a).launch(grid=[1, 1, 1], block=[32, 1, 1])

if "nothing" not in sys.argv:
    cute.compile(add, make_fake_compact_tensor(cutlass.Float32, (32,)), options="--gpu-arch=sm_90a")
`

// A DSL that is on this machine: it is too large to be installed for a test. It compiles without a GPU.
func TestRealRuns(t *testing.T) {
	python := os.Getenv("FLAMEOX_CUTE_PYTHON")
	if python == "" {
		var err error
		if python, err = exec.LookPath("python3"); err != nil {
			t.Skip("there is no python3 on PATH; FLAMEOX_CUTE_PYTHON may name an interpreter that has nvidia-cutlass-dsl")
		}
	}
	probe, read := p.Probe([]string{python})
	version, err := exec.CommandContext(t.Context(), probe[0], probe[1:]...).Output()
	if err != nil {
		t.Skipf("%s has no nvidia-cutlass-dsl; FLAMEOX_CUTE_PYTHON may name an interpreter that has 4.0 or later", python)
	}
	if _, err := read(version, nil); err != nil {
		t.Skip(err)
	}
	run := func(t *testing.T, keep []string, args ...string) (providers.Input, providers.Receipt) {
		t.Helper()
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "k.py"), []byte(program), 0o644); err != nil {
			t.Fatal(err)
		}
		o := defaults()
		o.Keep = keep
		inv, err := p.Plan(providers.Workload{Argv: append([]string{python, "k.py"}, args...)}, o)
		if err != nil {
			t.Fatal(err)
		}
		ran := providertest.Start(t, inv, dir)
		in := providertest.Inventory(t, p, o, inv, ran, map[string]string{"nvidia-cutlass-dsl": strings.TrimSpace(string(version))})
		r, err := p.Validate(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		return in, r
	}
	for _, c := range []struct {
		keep, kinds []string
		missing     int // tokens that the DSL does not know
	}{
		{[]string{"ir", "ptx", "cubin"}, []string{"mlir", "ptx", "cubin"}, 0},
		{[]string{"ir-debug"}, []string{"mlir"}, 0},
		{[]string{"llvm", "ptx"}, []string{"ptx"}, 1},
	} {
		in, r := run(t, c.keep)
		if !r.Valid || r.Producer != strings.TrimSpace(string(version)) {
			t.Fatalf("keep = %v: %+v", c.keep, r)
		}
		sink := evidence.NewSink(t.TempDir(), evidence.FileMeta{Provider: p.Name(), ProviderVersion: 1}, evidence.DefaultBudget())
		out, err := p.Extract(t.Context(), in, nil, evidence.DefaultBudget(), sink)
		if err != nil {
			t.Fatal(err)
		}
		parts, err := sink.Close()
		if err != nil {
			t.Fatal(err)
		}
		var kinds []string
		err = evidence.Scan(parts[0].Path, evidence.ScanOptions{Columns: []string{"kind", "target", "predecessor"}}, func(_ []evidence.Column, row []any) error {
			kinds = append(kinds, row[0].(string))
			if row[0] == "ptx" && row[1] != "sm_90a" {
				t.Errorf("PTX is for %v", row[1])
			}
			if from, _ := row[2].(string); (row[0] == "cubin") != strings.HasSuffix(from, ".ptx") {
				t.Errorf("%v is made from %q", row[0], from)
			}
			return nil
		})
		missing := 0
		for _, l := range out.Limitations {
			if l.Code == cute.NotDumped {
				missing++
			}
		}
		if err != nil || !slices.Equal(kinds, c.kinds) || missing != c.missing {
			t.Errorf("keep = %v left %v with %d missing, want %v with %d: %v", c.keep, kinds, missing, c.kinds, c.missing, err)
		}
	}
	if _, r := run(t, []string{"ptx"}, "nothing"); r.Valid || r.Reasons[0].Code != kernelbuild.NothingBuilt {
		t.Errorf("a program that compiles nothing: %+v", r)
	}
	if _, err := exec.LookPath("nvdisasm"); err != nil {
		if in, r := run(t, []string{"all"}); r.Valid || in.Exit == 0 {
			t.Errorf("sass without nvdisasm: exit %d, %+v", in.Exit, r)
		}
	}
}
