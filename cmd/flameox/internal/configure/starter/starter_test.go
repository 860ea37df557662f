package starter

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/flameox/flameox/lang"
)

// folder makes files; a name that ends in * is executable.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		mode := os.FileMode(0o644)
		if n, ok := strings.CutSuffix(name, "*"); ok {
			name, mode = n, 0o755
		}
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// look is what is made for a folder, which is always in the usual form and reads as HCL.
func look(t *testing.T, dir string) *Starter {
	t.Helper()
	s, err := Look(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, diags := hclsyntax.ParseConfig(s.Config, "flameox.hcl", hcl.InitialPos); diags.HasErrors() {
		t.Fatalf("%v\n%s", diags, s.Config)
	}
	if out, _ := lang.Fmt(s.Config); string(out) != string(s.Config) {
		t.Errorf("fmt would change it:\n%s", s.Config)
	}
	return s
}

const bench = "package p\n\nimport \"testing\"\n\nfunc BenchmarkA(b *testing.B) {}\n"

func TestTheFirstThingThatFitsIsMeasured(t *testing.T) {
	for _, c := range []struct {
		what  string
		files map[string]string
		in    []string // in the configuration
	}{
		{"a Go module with 1 benchmark in 1 package", map[string]string{"go.mod": "", "a_test.go": bench, "bench.py": ""}, []string{`"."]`, `capture "pprof" "bench"`}},
		{"a Go module with 1 benchmark in 1 package", map[string]string{"go.mod": "", "x/a_test.go": bench, "go.sum": ""}, []string{`"./x"]`, `cwd         = "x"`, `"go.sum"`}},
		{"a Go module with 2 benchmarks in 2 packages", map[string]string{"go.mod": "", "x/a_test.go": bench, "y/a_test.go": bench, "y/testdata/f": ""},
			[]string{`package = ["x", "y"]`, `contains(["y"], matrix.package) ? ["testdata/**"] : []`}},
		{"a Go module with 1 benchmark in 1 package", map[string]string{"go.mod": "", "a_test.go": bench, "e.go": "package p\n//go:embed x\nvar x string"}, []string{`sources     = ["**"]`}},
		{"a Go module with 1 benchmark in 1 package", map[string]string{"go.mod": "", "a_test.go": bench, "c.c": "", "c.h": ""}, []string{`"**/*.c", "**/*.h"`}},
		{"a Python project with 1 benchmark script", map[string]string{"bench_sort.py": ""}, []string{`["python3", "bench_sort.py"]`}},
		{"a Python project without benchmark scripts", map[string]string{"setup.py": "", "thing/__init__.py": ""}, []string{`"import thing"`}},
		{"a Python project without benchmark scripts", map[string]string{"pyproject.toml": ""}, []string{`"pass"`, "sources = []"}},
		{"a CMake project with the executable b_bench", map[string]string{"CMakeLists.txt": "add_executable(a a.c)\n", "sub/CMakeLists.txt": "ADD_EXECUTABLE( b_bench\n b.c)"}, []string{`"${build.main.dir}/b_bench"`}},
		{"a Makefile with the target perf", map[string]string{"Makefile": "X := perf\nall: perf\n\ttrue\nperf: x.c\n", "x.c": ""}, []string{`["make", "--silent", "perf"]`, `["Makefile", "**/*.c"]`}},
		{"the program bin/bench-a", map[string]string{"a.sh*": "", "bin/bench-a*": "", "Makefile": "all:\n", "CMakeLists.txt": "add_library(x x.c)"}, []string{`["./bin/bench-a"]`}},
		{"an example, because nothing was recognized here", map[string]string{"go.mod": "", "a.go": "", "deep/prog*": ""}, []string{`"sleep"`}},
	} {
		s := look(t, folder(t, c.files))
		if s.What != c.what {
			t.Errorf("%v is %q, not %q", c.files, s.What, c.what)
		}
		for _, in := range c.in {
			if !strings.Contains(string(s.Config), in) {
				t.Errorf("%s: %s is not in\n%s", c.what, in, s.Config)
			}
		}
	}
}

func TestBenchmarksAreThoseThatGoTestRuns(t *testing.T) {
	for src, want := range map[string]int{
		"func BenchmarkA(b *testing.B) {}":                                   1,
		"func Benchmark(b *testing.B) {}":                                    1,
		"func Benchmark_a(*testing.B) {}":                                    1,
		"func BenchmarkÄ(b *testing.B) {}":                                   1,
		"func BenchmarkA(b *B) {}":                                           1,
		"func Benchmarka(b *testing.B) {}":                                   0,
		"func BenchmarkA(t *testing.T) {}":                                   0,
		"func BenchmarkA(b testing.B) {}":                                    0,
		"func BenchmarkA(a, b *testing.B) {}":                                0,
		"func BenchmarkA(b *testing.B) int { return 0 }":                     0,
		"func BenchmarkA[T any](b *testing.B) {}":                            0,
		"func (x T) BenchmarkA(b *testing.B) {}":                             0,
		"// func BenchmarkA(b *testing.B) {}":                                0,
		"const s = `\nfunc BenchmarkA(b *testing.B) {}\n`":                   0,
		"func BenchmarkA(b *testing.B) {":                                    0, // no Go
		"func BenchmarkA(b *testing.B) {}\nfunc BenchmarkB(b *testing.B) {}": 2,
	} {
		if got := benchmarksIn("a_test.go", "package p\n"+src); got != want {
			t.Errorf("%s has %d benchmarks, not %d", src, got, want)
		}
	}
	one := "package p\nfunc BenchmarkA(b *testing.B) {}"
	for name, want := range map[string]int{"a_windows_test.go": 0, "a_linux_test.go": 1, "windows_test.go": 1, "a_linux_s390x_test.go": 0, "a_x_test.go": 1} {
		if got := benchmarksIn(name, one); got != want {
			t.Errorf("%s has %d benchmarks, not %d", name, got, want)
		}
	}
	for tag, want := range map[string]int{"linux": 1, "!linux": 0, "unix && go1.20": 1, "integration": 0, "ignore": 0} {
		if got := benchmarksIn("a_test.go", "//go:build "+tag+"\n\n"+one); got != want {
			t.Errorf("with %s there are %d benchmarks, not %d", tag, got, want)
		}
	}
}

func TestOnlyTheFolderIsLookedAt(t *testing.T) {
	outside := folder(t, map[string]string{"bench_out.py": "", "CMakeLists.txt": "add_executable(x x.c)"})
	dir := folder(t, map[string]string{".hidden/bench_h.py": "", "vendor/bench_v.py": "", "readme": ""})
	for link, to := range map[string]string{"sub": outside, "bench_link.py": filepath.Join(outside, "bench_out.py"), "CMakeLists.txt": filepath.Join(outside, "CMakeLists.txt")} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if s := look(t, dir); !strings.Contains(s.What, "nothing was recognized") {
		t.Errorf("it found %s", s.What)
	}
}

func TestTheWalkIsBounded(t *testing.T) {
	files := map[string]string{"go.mod": "", strings.Repeat("d/", maxDepth+1) + "a_test.go": bench}
	if s := look(t, folder(t, files)); !strings.Contains(s.What, "nothing") {
		t.Errorf("below the last level it found %s", s.What)
	}
	files = map[string]string{"go.mod": ""}
	for i := range maxPackages + 3 {
		files[fmt.Sprintf("p%02d/a_test.go", i)] = bench
	}
	s := look(t, folder(t, files))
	if !strings.Contains(s.What, "15 packages") || !strings.Contains(string(s.Config), "# 3 more were found") || strings.Contains(string(s.Config), `"p12"`) {
		t.Errorf("of many packages: %s\n%s", s.What, s.Config)
	}
	files = map[string]string{"zz_bench.py": ""}
	dir := folder(t, files)
	for i := range maxEntries {
		if err := os.Symlink("x", filepath.Join(dir, fmt.Sprint("a", i))); err != nil {
			t.Fatal(err)
		}
	}
	if s := look(t, dir); !strings.Contains(s.What, "nothing") {
		t.Errorf("beyond the last entry it found %s", s.What)
	}
	big := folder(t, map[string]string{"CMakeLists.txt": "add_executable(x x.c)"})
	if err := os.Truncate(filepath.Join(big, "CMakeLists.txt"), maxRead+1); err != nil {
		t.Fatal(err)
	}
	if s := look(t, big); !strings.Contains(s.What, "nothing") {
		t.Errorf("of a file that is too large it read %s", s.What)
	}
}

// A file may be called anything. It is a string in the configuration and never more.
func FuzzNamesAreStringsAndNothingElse(f *testing.F) {
	for _, s := range []string{"a", "${x}", `a"b`, "a\nworkload \"x\" {}", "%{if}", "ä b", "*/", "$${"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if name == "" || strings.ContainsAny(name, "/\x00") || len(name) > 100 || strings.HasPrefix(name, ".") {
			t.Skip("no file can have this name, or it would be hidden")
		}
		var plain, odd *Starter
		for _, s := range []struct {
			name string
			out  **Starter
		}{{"plain", &plain}, {name, &odd}} {
			dir := t.TempDir()
			if os.WriteFile(filepath.Join(dir, "bench"), nil, 0o644) != nil || os.WriteFile(filepath.Join(dir, s.name+"_bench.py"), nil, 0o644) != nil ||
				os.WriteFile(filepath.Join(dir, s.name+"-bench.py"), nil, 0o644) != nil {
				t.Skip("this file system has no such names")
			}
			*s.out = look(t, dir)
		}
		if count(t, plain) != count(t, odd) {
			t.Errorf("with %q the configuration is\n%s", name, odd.Config)
		}
	})
}

// count is how many blocks and arguments there are.
func count(t *testing.T, s *Starter) (n int) {
	f, diags := hclsyntax.ParseConfig(s.Config, "x", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	for _, b := range f.Body.(*hclsyntax.Body).Blocks {
		n += 1 + len(b.Body.Attributes)
	}
	return n
}
