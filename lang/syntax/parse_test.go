package syntax

import (
	"bytes"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"golang.org/x/tools/txtar"

	"github.com/flameox/flameox/lang/source"
)

// corpus is every configuration of the project: examples, tests of the language, and those in scripts.
func corpus(t testing.TB) [][]byte {
	t.Helper()
	var all [][]byte
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		isScript := (filepath.Ext(p) == ".txt" || filepath.Ext(p) == ".txtar") && strings.Contains(p, "testdata")
		if filepath.Ext(p) != ".hcl" && !isScript {
			return nil
		}
		b, err := os.ReadFile(p)
		if err != nil || !isScript {
			all = append(all, b)
			return err
		}
		for _, f := range txtar.Parse(b).Files {
			if strings.HasSuffix(f.Name, ".hcl") {
				all = append(all, f.Data)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 100 {
		t.Fatalf("only %d configurations were found", len(all))
	}
	return all
}

// same fails where the pieces of src come to anything but the whole of it, and says whether there were pieces.
func same(t testing.TB, src []byte, size int) bool {
	t.Helper()
	if source.CheckText(src, "f") != nil {
		return false
	}
	parts := parsePieces(src, "f", size, nil)
	if parts == nil {
		return false
	}
	if problems := source.CheckConfig(src, "f"); len(problems) > 0 {
		t.Fatalf("pieces of %d are harmless, the whole is not: %v\n%s", size, problems, src)
	}
	whole, diags := hclsyntax.ParseConfig(src, "f", hcl.InitialPos)
	if len(diags) > 0 {
		t.Fatalf("pieces of %d have no diagnostics, the whole has: %v\n%s", size, diags, src)
	}
	if !reflect.DeepEqual(parts.Body, whole.Body) {
		t.Fatalf("pieces of %d make another tree than the whole:\n%s", size, src)
	}
	return true
}

func TestPiecesMakeTheTreeOfTheWholeFile(t *testing.T) {
	t.Parallel()
	cutUp := 0
	for _, src := range corpus(t) {
		for _, size := range []int{1, 40, 200} {
			if same(t, src, size) {
				cutUp++
			}
		}
	}
	if cutUp < 100 {
		t.Errorf("only %d times a file was parsed in pieces", cutUp)
	}
}

// disturbances are what opens, closes or ends something that a cut may go through.
var disturbances = []string{
	"\n}\n", "\n}\r\n", "}", "{", "\n", "\"", "${", "%{", "%{ if true }", "%{ endif }", "<<EOT\n", "<<-EOT\n", "EOT\n", "\nEOT\n", "/*", "*/", "#", "//",
	"[", "]", "(", ")", ",", "=", "a = 1\n", "1e9", "1e999", "\\u0000", "\\", "$${", "\uFEFF", "\r", "\t", "~}", "'", "`", ";", "é", "\u0301", "if", "...", "?:", "b {}\n", "b {\n}\n",
}

func disturb(r *rand.Rand, src []byte) []byte {
	out := bytes.Clone(src)
	for range 1 + r.IntN(3) {
		at := r.IntN(len(out) + 1)
		switch r.IntN(3) {
		case 0:
			what := disturbances[r.IntN(len(disturbances))]
			out = append(out[:at:at], append([]byte(what), out[at:]...)...)
		case 1:
			out = append(out[:at:at], out[min(len(out), at+1+r.IntN(6)):]...)
		default:
			other := r.IntN(len(out) + 1)
			part := out[min(at, other):min(max(at, other), min(at, other)+200)]
			out = append(out[:at:at], append(bytes.Clone(part), out[at:]...)...)
		}
	}
	return out
}

func TestPiecesOfDisturbedFilesMakeTheTreeOfTheWholeOrNone(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	all := corpus(t)
	cutUp, not := 0, 0
	for range 6000 {
		src := disturb(r, append(bytes.Clone(all[r.IntN(len(all))]), all[r.IntN(len(all))]...))
		if same(t, src, 1+r.IntN(100)) {
			cutUp++
		} else {
			not++
		}
	}
	if cutUp < 500 || not < 500 {
		t.Errorf("%d were parsed in pieces and %d were not: both should be many", cutUp, not)
	}
}

// What a cut goes through is never taken for the end of a block.
func TestACutThroughSomethingIsNoCut(t *testing.T) {
	t.Parallel()
	for name, src := range map[string]string{
		"heredoc":      "a \"x\" {\n  t = <<EOT\n{\n}\n  EOT\n}\nb {\n}\n",
		"comment":      "a {\n}\n/*\n}\n*/\nb {\n}\n",
		"text":         "a {\n  t = \"${[\n{\n}\n]}\"\n}\nb {\n}\n",
		"argument":     "x = [\n{\n}\n]\nb {\n}\n",
		"set twice":    "x = 1\na {\n}\nx = 2\n",
		"two marks":    "a {\n}\n\xEF\xBB\xBFb {\n}\n",
		"unclosed":     "a {\n}\nb {\n",
		"closed twice": "a {\n}\n}\nb {\n}\n",
	} {
		f, problems, diags := Parse([]byte(src), "f", nil)
		whole, want := hclsyntax.ParseConfig([]byte(src), "f", hcl.InitialPos)
		if len(problems) > 0 || !reflect.DeepEqual(f.Body, whole.Body) || !reflect.DeepEqual(diags, want) {
			t.Errorf("%s: %v, want %v", name, diags, want)
		}
		if parts := parsePieces([]byte(src), "f", 1, nil); parts != nil && !reflect.DeepEqual(parts.Body, whole.Body) {
			t.Errorf("%s: the pieces are not the whole", name)
		}
	}
}

// What bytes alone show to be harmless, the list of tokens does, too.
func TestHarmlessBytesHaveNoProblems(t *testing.T) {
	t.Parallel()
	deep := func(open, shut string, n int) []byte {
		return []byte("a = " + strings.Repeat(open, n) + "1" + strings.Repeat(shut, n) + "\n")
	}
	many := 2 * source.MaxDepth
	for name, src := range map[string][]byte{
		"lists": deep("[", "]", many), "objects": deep("{b=", "}", many), "parentheses": deep("(", ")", many), "not": deep("!", "", many),
		"minus": deep("-", "", many), "sums": deep("1+", "", many), "and": deep("1&&", "", many), "equal": deep("1==", "", many),
		"unequal": deep("1!=", "", many), "conditional": deep("1?1:", "", many), "calls": deep("f(", ")", many), "templates": deep("\"${", "}\"", many),
		"directives": []byte("a = \"" + strings.Repeat("%{ if true }", many) + strings.Repeat("%{ endif }", many) + "\"\n"),
		"attributes": []byte("a = b" + strings.Repeat(".c", many) + "\n"),
		"digits":     []byte("a = " + strings.Repeat("9", 500) + "\n"), "power": []byte("a = 1e999\n"), "negative power": []byte("a = 1.5E-999\n"),
		"NUL": []byte(`a = "\u0000"` + "\n"), "long NUL": []byte(`a = "\U00000000"` + "\n"),
	} {
		if len(source.CheckConfig(src, "f")) == 0 {
			t.Errorf("%s: nothing is wrong with it, so it shows nothing", name)
		}
		if harmless(src) {
			t.Errorf("%s is called harmless", name)
		}
	}
	if src := []byte("workload \"w\" {\n  command = [\"python\", \"x.py\", \"--rows=${local.n * 2}\"]\n}\n"); !harmless(src) {
		t.Error("an ordinary block is not called harmless")
	}
}

func FuzzPieces(f *testing.F) {
	f.Add([]byte("a {\n}\nb \"x\" {\n  c = <<EOT\n}\nEOT\n}\n"))
	f.Add([]byte("a {\n  x = 1\n}\n/*\n}\n*/\nlocals {\n  y = [for i in [1]: i if i > 0]\n}\n"))
	f.Fuzz(func(t *testing.T, src []byte) { same(t, src, 1) })
}
