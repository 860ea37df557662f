package importing

import (
	"testing"

	"github.com/hashicorp/hcl/v2/hclsyntax"
)

func TestANameIsMadeOfEveryFilesName(t *testing.T) {
	for file, want := range map[string]string{
		"old.json": "old", "local-hyperfine1.15-params.json": "local-hyperfine1_15-params", "2024-run.pb": "file_2024-run", ".pb": "pb", "ü ü.txt": "file", "-x.json": "x", "a.b.c": "a_b", "trace": "trace",
	} {
		if got := identifier(file); got != want || !hclsyntax.ValidIdentifier(got) {
			t.Errorf("%q: %q, want %q", file, got, want)
		}
	}
}

func FuzzIdentifier(f *testing.F) {
	f.Add("a.json")
	f.Add("\xff.")
	f.Fuzz(func(t *testing.T, file string) {
		if name := identifier(file); !hclsyntax.ValidIdentifier(name) {
			t.Errorf("%q becomes %q, which is no name", file, name)
		}
	})
}
