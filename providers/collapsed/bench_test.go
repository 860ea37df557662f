package collapsed_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/providers/collapsed"
)

// BenchmarkExtract is a text of 100 MB with 4,000 stacks, rows written.
func BenchmarkExtract(b *testing.B) {
	var text strings.Builder
	for i := 0; text.Len() < 100<<20; i++ {
		text.WriteString("main")
		for d := range 20 {
			fmt.Fprintf(&text, ";pkg_%d.function_%d", d, (i%4000)/(1<<(20-d)))
		}
		fmt.Fprintf(&text, " %d\n", i%90+1)
	}
	path := filepath.Join(b.TempDir(), "large")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(text.Len()))
	in := providers.Input{Artifacts: []providers.Artifact{{Name: "large", Role: collapsed.Role, Size: int64(text.Len()), Path: path}}}
	for b.Loop() {
		sink := evidence.NewSink(b.TempDir(), evidence.FileMeta{Provider: "collapsed", ProviderVersion: 1}, evidence.DefaultBudget())
		if _, err := p.Extract(b.Context(), in, nil, evidence.DefaultBudget(), sink); err != nil {
			b.Fatal(err)
		}
		sink.Discard()
	}
}
