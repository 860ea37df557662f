package lang

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// growing are experiments of n instances a block, whose edges must not multiply: what stands on all instances of a block, what is joined
// with another block by an axis, and what is ordered behind it.
var growing = map[string]func(n int) string{
	"a capture over a matrix": func(n int) string {
		return fmt.Sprintf("workload \"w\" {\n  matrix = { i = range(%d) }\n}\ncapture \"gobench\" \"c\" { workload = workload.w }\n", n)
	},
	"a comparison of all instances": func(n int) string {
		return grownCapture(n) + "compare \"all\" { of = [capture.gobench.c] }\n"
	},
	"comparisons of all instances for each of many": func(n int) string {
		return grownCapture(n) + fmt.Sprintf("report \"r\" {\n  of     = [capture.gobench.c]\n  matrix = { k = range(%d) }\n}\n", n)
	},
	"a title of all results in each of many": func(n int) string {
		return grownCapture(n) + fmt.Sprintf("report \"r\" {\n  title  = \"${matrix.k}: ${sum(capture.gobench.c[*].wall.median)}\"\n  matrix = { k = range(%d) }\n}\n", n)
	},
	"an output and a check of all results": func(n int) string {
		return grownCapture(n) + "output \"o\" { value = capture.gobench.c[*].wall.median }\n" +
			"check \"k\" {\n  assert {\n    condition     = sum(capture.gobench.c[*].wall.median) > 0\n    error_message = \"none\"\n  }\n}\n"
	},
	"a join by one axis": func(n int) string {
		return fmt.Sprintf("locals { all = range(%d) }\nbuild \"b\" {\n  command = [\"make\"]\n  matrix  = { i = local.all }\n}\n"+
			"workload \"w\" {\n  command = [\"run\", build.b.dir]\n  matrix  = { i = local.all }\n}\ncapture \"gobench\" \"c\" {\n  workload = workload.w\n  extract {}\n}\n", n)
	},
	"order by one axis": func(n int) string {
		return grownCapture(n) + "capture \"memray\" \"m\" {\n  workload   = workload.w\n  depends_on = [capture.gobench.c]\n}\n"
	},
	"many blocks that one stands on": func(n int) string {
		var b strings.Builder
		b.WriteString("workload \"w\" {}\n")
		var refs []string
		for i := range n / 10 {
			fmt.Fprintf(&b, "capture \"gobench\" \"c%d\" {\n  workload = workload.w\n}\n", i)
			refs = append(refs, fmt.Sprintf("capture.gobench.c%d", i))
		}
		fmt.Fprintf(&b, "compare \"all\" { of = [%s] }\n", strings.Join(refs, ", "))
		return b.String()
	},
}

func grownCapture(n int) string {
	return fmt.Sprintf("workload \"w\" {\n  matrix = { i = range(%d) }\n}\ncapture \"gobench\" \"c\" { workload = workload.w }\n", n)
}

// Memory is counted instead of time, because it is the same on a loaded machine: an edge that is looked at is an edge that was made.
func TestEdgesGrowWithTheInstancesAndNotWithTheirSquare(t *testing.T) {
	largest := 100_000
	if testing.Short() {
		largest = 10_000
	}
	for name, source := range growing {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			var before uint64
			for n := 100; n <= largest; n *= 10 {
				src := source(n)
				var start, end runtime.MemStats
				runtime.ReadMemStats(&start)
				c, x, diags := run(t, src)
				runtime.ReadMemStats(&end)
				if len(diags) > 0 || len(x.Instances) < n/10 {
					t.Fatalf("%d: %d instances\n%.500s", n, len(x.Instances), show(diags, c))
				}
				used := end.TotalAlloc - start.TotalAlloc
				t.Logf("%7d: %4d B an instance", n, used/uint64(len(x.Instances)))
				// Ten times as many take ten times the memory, and a little more for sorting and tables that double.
				if before > 0 && used > 14*before {
					t.Errorf("%d instances take %d MB and a tenth of them %.2f MB", n, used>>20, float64(before)/(1<<20))
				}
				before = used
			}
		})
	}
}
