package starter

import (
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"runtime"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// goPackage is a package with benchmarks.
type goPackage struct {
	dir        string
	benchmarks int
	testdata   bool // it has files that its tests may read
}

// maxPackages bounds the axis of packages.
const maxPackages = 12

// goModule is for a Go module with benchmarks.
func goModule(t *tree) *Starter {
	if !t.has("go.mod") {
		return nil
	}
	var inner []string // modules of their own
	for _, f := range t.files {
		if path.Base(f.path) == "go.mod" && f.path != "go.mod" {
			inner = append(inner, path.Dir(f.path)+"/")
		}
	}
	counts := map[string]int{}
	extra := map[string]bool{}
	for _, f := range t.files {
		if slices.ContainsFunc(inner, func(dir string) bool { return strings.HasPrefix(f.path, dir) }) {
			continue
		}
		name := path.Base(f.path)
		switch ext := path.Ext(name); {
		case inTestdata(f.path):
		case ext == ".go":
			src := t.read(f.path)
			if strings.Contains(src, "//go:embed ") {
				extra["**"] = true
			}
			if strings.HasSuffix(name, "_test.go") && !strings.HasPrefix(name, "_") {
				if n := benchmarksIn(name, src); n > 0 {
					counts[path.Dir(f.path)] += n
				}
			}
		case slices.Contains([]string{".c", ".cc", ".cpp", ".h", ".hpp", ".s", ".S", ".syso"}, ext):
			extra["**/*"+ext] = true
		}
	}
	if len(counts) == 0 {
		return nil
	}
	var packages []goPackage
	for _, dir := range slices.Sorted(maps.Keys(counts)) {
		data := slices.ContainsFunc(t.below(path.Join(dir, "testdata")), func(file) bool { return true })
		packages = append(packages, goPackage{dir, counts[dir], data})
	}
	sources := []string{"go.mod", "**/*.go"}
	if t.has("go.sum") {
		sources = []string{"go.mod", "go.sum", "**/*.go"}
	}
	if extra["**"] { // embedded files can be any
		sources = []string{"**"}
	} else {
		sources = append(sources, slices.Sorted(maps.Keys(extra))...)
	}
	return goStarter(packages, sources)
}

func inTestdata(name string) bool { return slices.Contains(strings.Split(name, "/"), "testdata") }

// benchmarksIn counts the benchmarks of a test file that this machine's go test would compile.
func benchmarksIn(name, src string) int {
	f, err := parser.ParseFile(token.NewFileSet(), name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil || !builds(name, f) {
		return 0
	}
	n := 0
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && isBenchmark(fn) {
			n++
		}
	}
	return n
}

// isBenchmark follows the rule of go test: BenchmarkX, X not a lower case letter, with one parameter *testing.B.
func isBenchmark(fn *ast.FuncDecl) bool {
	rest, ok := strings.CutPrefix(fn.Name.Name, "Benchmark")
	if !ok || fn.Type.TypeParams != nil || fn.Type.Results != nil {
		return false
	}
	if r, _ := utf8.DecodeRuneInString(rest); rest != "" && unicode.IsLower(r) {
		return false
	}
	params := fn.Type.Params.List
	if len(params) != 1 || len(params[0].Names) > 1 {
		return false
	}
	star, ok := params[0].Type.(*ast.StarExpr)
	if !ok {
		return false
	}
	switch x := star.X.(type) {
	case *ast.SelectorExpr:
		return x.Sel.Name == "B"
	case *ast.Ident: // import . "testing"
		return x.Name == "B"
	}
	return false
}

// builds says whether the file's name and its constraint allow this system and architecture. Tags that somebody sets are not set.
func builds(name string, f *ast.File) bool {
	parts := strings.Split(strings.TrimSuffix(strings.TrimSuffix(name, ".go"), "_test"), "_")
	for _, p := range parts[max(1, len(parts)-2):] {
		if slices.Contains(systems, p) && p != runtime.GOOS || slices.Contains(architectures, p) && p != runtime.GOARCH {
			return false
		}
	}
	for _, group := range f.Comments {
		if group.Pos() >= f.Package {
			break
		}
		for _, c := range group.List {
			if expr, err := constraint.Parse(c.Text); err == nil && constraint.IsGoBuild(c.Text) {
				return expr.Eval(func(tag string) bool {
					unix := tag == "unix" && runtime.GOOS != "windows" && runtime.GOOS != "plan9"
					return unix || tag == runtime.GOOS || tag == runtime.GOARCH || tag == "gc" || tag == "cgo" || strings.HasPrefix(tag, "go1.")
				})
			}
		}
	}
	return true
}

var (
	systems       = []string{"aix", "android", "darwin", "dragonfly", "freebsd", "illumos", "ios", "js", "linux", "netbsd", "openbsd", "plan9", "solaris", "wasip1", "windows"}
	architectures = []string{"386", "amd64", "arm", "arm64", "loong64", "mips", "mips64", "mips64le", "mipsle", "ppc64", "ppc64le", "riscv64", "s390x", "wasm"}
)
