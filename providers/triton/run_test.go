package triton_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/formats/kernelbuild"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/providers/providertest"
	"github.com/flameox/flameox/providers/triton"
)

// Real runs of a Triton that is on this machine: with its assemblers it is too large to be installed for a test. It compiles without a GPU.

func tritonPython(t *testing.T) (python, version string) {
	t.Helper()
	python = os.Getenv("FLAMEOX_TRITON_PYTHON")
	if python == "" {
		var err error
		if python, err = exec.LookPath("python3"); err != nil {
			t.Skip("there is no python3 on PATH; FLAMEOX_TRITON_PYTHON may name an interpreter that has triton")
		}
	}
	probe, read := p.Probe([]string{python})
	out, err := exec.CommandContext(t.Context(), probe[0], probe[1:]...).Output()
	if err != nil {
		t.Skipf("%s has no triton; FLAMEOX_TRITON_PYTHON may name an interpreter that has 3.0 or later", python)
	}
	if version, err = read(out, nil); err != nil {
		t.Skip(err)
	}
	return python, version
}

const kernels = `
import sys
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)

@triton.jit
def scale_kernel(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) * 2.0, mask=at < n)

@triton.jit
def wrong_kernel(x, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), there_is_no_such_thing)

backend, arch, warp = sys.argv[1:4]
target = GPUTarget(backend, int(arch) if arch.isdigit() else arch, int(warp))
triton.compile(ASTSource(add_kernel, {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32", "BLOCK": "constexpr"}, {"BLOCK": 128}), target=target)
triton.compile(ASTSource(scale_kernel, {"x": "*fp32", "out": "*fp32", "n": "i32", "BLOCK": "constexpr"}, {"BLOCK": 128}), target=target)
if len(sys.argv) > 4:
    triton.compile(ASTSource(wrong_kernel, {"x": "*fp32", "BLOCK": "constexpr"}, {"BLOCK": 128}), target=target)
`

func compile(t *testing.T, python, cache string, o *triton.Options, args ...string) providers.Input {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "kernels.py"), []byte(kernels), 0o644); err != nil {
		t.Fatal(err)
	}
	inv, err := p.Plan(providers.Workload{Argv: append([]string{python, "kernels.py"}, args...)}, o)
	if err != nil {
		t.Fatal(err)
	}
	inv.Env["TRITON_CACHE_DIR"] = cache
	return providertest.Inventory(t, p, o, inv, providertest.Start(t, inv, dir), nil)
}

func rows(t *testing.T, in providers.Input) (evidence.Outcome, [][]string) {
	t.Helper()
	sink := evidence.NewSink(t.TempDir(), evidence.FileMeta{Provider: p.Name(), ProviderVersion: 1}, evidence.DefaultBudget())
	out, err := p.Extract(t.Context(), in, nil, evidence.DefaultBudget(), sink)
	if err != nil {
		t.Fatal(err)
	}
	parts, err := sink.Close()
	if err != nil {
		t.Fatal(err)
	}
	var list [][]string
	for _, part := range parts {
		err := evidence.Scan(part.Path, evidence.ScanOptions{Columns: []string{"kernel", "kind", "predecessor", "target", "producer_version"}}, func(_ []evidence.Column, row []any) error {
			var texts []string
			for _, v := range row {
				s, _ := v.(string)
				texts = append(texts, s)
			}
			list = append(list, texts)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out, list
}

func TestRealRuns(t *testing.T) {
	python, version := tritonPython(t)
	for _, c := range []struct {
		target []string
		kinds  []string
		says   string // what the assembly calls the target
	}{
		{[]string{"cuda", "80", "32"}, []string{"ttir", "ttgir", "llir", "ptx", "cubin", "sass"}, "sm_80"},
		{[]string{"hip", "gfx942", "64"}, []string{"ttir", "ttgir", "llir", "amdgcn", "hsaco"}, "gfx942"},
	} {
		t.Run(c.target[0], func(t *testing.T) {
			cache := t.TempDir()
			o := defaults()
			o.Reproducer = "again.mlir"
			in := compile(t, python, cache, o, c.target...)
			if r, err := p.Validate(t.Context(), in); err != nil || !r.Valid {
				t.Fatalf("%+v, %v", r, err)
			}
			out, list := rows(t, in)
			if out.State != evidence.Complete || out.Producer != version {
				t.Errorf("state %s by %q, and triton says that it is %s: %v", out.State, out.Producer, version, out.Limitations)
			}
			var kinds, targets []string
			reproducers := 0
			last := ""
			for _, row := range list {
				switch {
				case row[1] == "reproducer":
					reproducers++
				case row[0] == "add_kernel":
					kinds = append(kinds, row[1])
					if from := row[2]; last == "" && from != "" || !strings.HasSuffix(from, last) {
						t.Errorf("%s is made from %q, want %q", row[1], from, last)
					}
					last = "/add_kernel." + row[1]
				}
				if row[3] != "" {
					targets = append(targets, row[3])
				}
			}
			if !slices.Equal(kinds, c.kinds) || len(list) != 2*len(c.kinds)+reproducers || reproducers == 0 {
				t.Errorf("kinds %v of %d files with %d reproducers, want %v of both kernels", kinds, len(list), reproducers, c.kinds)
			}
			if len(targets) != 2 || !strings.Contains(targets[0], c.says) || targets[0] != targets[1] {
				t.Errorf("targets %q", targets)
			}

			in = compile(t, python, cache, defaults(), c.target...)
			if r, err := p.Validate(t.Context(), in); err != nil || r.Valid || r.Reasons[0].Code != kernelbuild.NothingBuilt {
				t.Errorf("kernels that are in the cache: %+v, %v", r, err)
			}
			o = defaults()
			o.AlwaysCompile = true
			in = compile(t, python, cache, o, c.target...)
			if r, err := p.Validate(t.Context(), in); err != nil || !r.Valid {
				t.Errorf("always_compile: %+v, %v", r, err)
			}
		})
	}
	t.Run("a kernel that does not compile fails the run and loses none of the others", func(t *testing.T) {
		in := compile(t, python, t.TempDir(), defaults(), "cuda", "80", "32", "wrong")
		if r, err := p.Validate(t.Context(), in); err != nil || r.Valid || in.Exit == 0 {
			t.Errorf("exit %d: %+v, %v", in.Exit, r, err)
		}
		if _, list := rows(t, in); len(list) != 12 {
			t.Errorf("%d files of two kernels, want 12", len(list))
		}
	})
}
