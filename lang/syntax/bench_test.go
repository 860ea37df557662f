package syntax

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/flameox/flameox/lang/source"
)

func blocks(n int) []byte {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "\nworkload \"w%d\" {\n  command = [\"python\", \"bench_sort.py\", \"--rows\", local.rows * %d, \"--flag\"]\n  env     = { A = \"1\", B = \"b%d\" }\n  timeout = \"30s\"\n}\n", i, i, i)
	}
	return []byte(b.String())
}

// BenchmarkPieces is what Parse does with 1,000 blocks, and BenchmarkWhole what it would do without pieces.
func BenchmarkPieces(b *testing.B) {
	src := blocks(1000)
	b.ReportAllocs()
	for b.Loop() {
		if parsePieces(src, "f", pieceSize, nil) == nil {
			b.Fatal("no pieces")
		}
	}
}

func BenchmarkWhole(b *testing.B) {
	src := blocks(1000)
	b.ReportAllocs()
	for b.Loop() {
		if len(source.CheckConfig(src, "f")) > 0 {
			b.Fatal("a problem")
		}
		if _, diags := hclsyntax.ParseConfig(src, "f", hcl.InitialPos); len(diags) > 0 {
			b.Fatal(diags)
		}
	}
}
