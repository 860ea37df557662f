package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// benchstat is the reader that the format is for: it has to see the same benchmarks, units and medians as flameox.
func TestBenchstatReadsWhatIsExported(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{
		"flameox.hcl": `
import "gobench" "old" { path = "old.txt" }
extract "gobench" "old" { from = import.gobench.old }
import "gobench" "new" { path = "new.txt" }
extract "gobench" "new" { from = import.gobench.new }
`,
		"old.txt": "goos: linux\npkg: example.com/x\n" + strings.Repeat("BenchmarkX/n=1-2 100 200.5 ns/op 64 B/op\nBenchmarkX/n=1-2 100 201.5 ns/op 64 B/op\n", 5) + "PASS\n",
		"new.txt": "goos: linux\npkg: example.com/x\n" + strings.Repeat("BenchmarkX/n=1-2 100 100.5 ns/op 64 B/op\nBenchmarkX/n=1-2 100 101.5 ns/op 64 B/op\n", 5) + "PASS\n",
	})
	bin := filepath.Join(t.TempDir(), "benchstat")
	if out, err := exec.Command("go", "build", "-o", bin, "golang.org/x/perf/cmd/benchstat").CombinedOutput(); err != nil {
		t.Skipf("benchstat cannot be built here, so the file is not read by it: %v\n%s", err, out)
	}
	p.want(0, "apply")
	p.want(0, "export", "import.gobench.old", "-o", "old.bench")
	p.want(0, "export", "import.gobench.new", "-o", "new.bench")
	cmd := exec.Command(bin, "old.bench", "new.bench")
	cmd.Dir = p.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"pkg: example.com/x", "X/n=1-2", "201.0n", "101.0n", "-49.75%", "n=10", "64.00"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("benchstat does not say %q:\n%s", want, out)
		}
	}
}
