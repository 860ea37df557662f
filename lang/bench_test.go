package lang

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// matrix10k is one block of 10,000 instances and a second that fans out over it.
const matrix10k = `
build "b" { command = ["make"] }
workload "sort" {
  command = ["python", "bench_sort.py", "--rows", matrix.rows, "--seed=${matrix.seed}", build.b.dir]
  text    = "same"
  matrix  = { rows = range(100), seed = range(100) }
}
capture "gobench" "sort" {
  workload = workload.sort
}
`

func blocks1k() string {
	var b strings.Builder
	b.WriteString("target \"working_tree\" \"here\" {}\nlocals { rows = 10 }\n")
	for i := range 500 {
		fmt.Fprintf(&b, `
workload "w%d" {
  command = ["python", "bench_sort.py", "--rows", local.rows * %d, "--flag"]
  env     = { A = "1", B = "b%d" }
  timeout = "30s"
}
capture "gobench" "c%d" {
  workload  = workload.w%d
  attempts  = 3
  processes = 10
  labels    = { area = "sort" }
}
`, i, i, i, i, i)
	}
	return b.String()
}

func benchmark(b *testing.B, src string, instances int) {
	dir := project(b, map[string]string{"flameox.hcl": src})
	reg := testRegistry()
	var load, expand time.Duration
	b.ReportAllocs()
	for b.Loop() {
		start := time.Now()
		c, diags := Load(dir, reg, Input{})
		mid := time.Now()
		x, more := c.Expand()
		load, expand = load+mid.Sub(start), expand+time.Since(mid)
		if len(diags)+len(more) > 0 || len(x.Instances) != instances {
			b.Fatal(len(x.Instances), diags, more)
		}
	}
	b.ReportMetric(float64(load.Microseconds())/1000/float64(b.N), "load-ms/op")
	b.ReportMetric(float64(expand.Microseconds())/1000/float64(b.N), "expand-ms/op")
}

func BenchmarkMatrixOf10000(b *testing.B) { benchmark(b, matrix10k, 20001) }

func BenchmarkBlocks1000(b *testing.B) { benchmark(b, blocks1k(), 1001) }

// The bounds here are far above what is measured, so that they hold on a loaded machine, and far below what
// anything quadratic takes.
func TestLargeConfigurationsStayWithinTheirBounds(t *testing.T) {
	for _, tc := range []struct {
		name, src string
		limit     time.Duration
	}{
		{"20,000 instances", matrix10k, time.Second},
		{"1,000 blocks", blocks1k(), 2 * time.Second},
		{"a chain of 5,000 locals", chain(5000), 3 * time.Second},
		{"a list of 5,000 references", star(5000), 3 * time.Second},
	} {
		start := time.Now()
		c, _, diags := run(t, tc.src)
		if len(diags) > 0 {
			t.Errorf("%s:\n%.2000s", tc.name, show(diags, c))
		}
		if d := time.Since(start); d > tc.limit {
			t.Errorf("%s took %v, the limit is %v", tc.name, d, tc.limit)
		}
	}
}

func chain(n int) string {
	var b strings.Builder
	b.WriteString("locals {\n")
	for i := range n {
		fmt.Fprintf(&b, "  l%d = local.l%d + 1\n", i, i+1)
	}
	fmt.Fprintf(&b, "  l%d = 0\n}\noutput \"o\" { value = local.l0 }\n", n)
	return b.String()
}

func star(n int) string {
	var b strings.Builder
	b.WriteString("workload \"w\" {}\n")
	var refs []string
	for i := range n {
		fmt.Fprintf(&b, "capture \"gobench\" \"c%d\" { workload = workload.w }\n", i)
		refs = append(refs, fmt.Sprintf("capture.gobench.c%d", i))
	}
	fmt.Fprintf(&b, "compare \"all\" { of = [%s] }\n", strings.Join(refs, ",\n"))
	return b.String()
}
