package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/flameox/flameox"

// layer is the height of a top folder. A package imports only what lies lower, or its own folder.
var layer = map[string]int{
	"internal":  0,
	"schemas":   0,
	"lang":      1, // a leaf: internal only
	"graph":     2,
	"evidence":  2,
	"formats":   3,
	"providers": 4,
	"measure":   4,
	"cost":      4,
	"stages":    5,
	"cmd":       6,
}

// pkg is what `go list -json` says of a package.
type pkg struct {
	ImportPath, Dir, Name, Doc, ForTest string
	GoFiles, CgoFiles, IgnoredGoFiles   []string
	TestGoFiles, XTestGoFiles           []string
	Imports, TestImports, XTestImports  []string
	Error                               *struct{ Err string }
}

func (p pkg) rel() string { return strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/") }

func (p pkg) top() string { return strings.Split(p.rel(), "/")[0] }

// program says that nothing can import p, so it may stand on everything. This package has only tests.
func (p pkg) program() bool {
	return p.Name == "main" && p.top() != "cmd" || p.rel() == "internal/archtest"
}

func (p pkg) files() []string {
	return slices.Concat(p.GoFiles, p.CgoFiles, p.IgnoredGoFiles, p.TestGoFiles, p.XTestGoFiles)
}

// load lists the packages of the module with and without cgo: a file for one of the two builds is
// invisible to the other.
func load(t *testing.T) []pkg {
	t.Helper()
	seen := map[string]int{}
	var all []pkg
	for _, cgo := range []string{"1", "0"} {
		cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Dir,Name,Doc,GoFiles,CgoFiles,IgnoredGoFiles,TestGoFiles,XTestGoFiles,Imports,TestImports,XTestImports", module+"/...")
		cmd.Dir = filepath.Join("..", "..")
		cmd.Env = append(os.Environ(), "CGO_ENABLED="+cgo)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("go list: %v\n%s", err, stderr.String())
		}
		dec := json.NewDecoder(bytes.NewReader(out))
		for {
			var p pkg
			if err := dec.Decode(&p); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("go list: %v", err)
			}
			i, ok := seen[p.ImportPath]
			if !ok {
				seen[p.ImportPath] = len(all)
				all = append(all, p)
				continue
			}
			all[i].Imports = append(all[i].Imports, p.Imports...)
			all[i].TestImports = append(all[i].TestImports, p.TestImports...)
			all[i].XTestImports = append(all[i].XTestImports, p.XTestImports...)
		}
	}
	if len(all) < 5 {
		t.Fatalf("go list found %d packages; the rules below would prove nothing", len(all))
	}
	return all
}

// arrow says why from must not import to, or "".
func arrow(from, to pkg) string {
	if from.program() || from.ImportPath == to.ImportPath {
		return ""
	}
	if to.Name == "main" {
		return "nothing imports a program"
	}
	a, b := from.top(), to.top()
	if a != b {
		ha, known := layer[a]
		if !known {
			return "the folder " + a + " has no place in the layers: give it one in this test"
		}
		if b == "lang" && ha < layer["providers"] {
			return "the engine, the tables and the formats know no configuration language"
		}
		if hb := layer[b]; hb >= ha {
			return fmt.Sprintf("arrows point cmd → stages → measure, cost, providers → formats → graph, evidence → lang → internal; %s is not below %s", b, a)
		}
		return ""
	}
	switch {
	case a == "providers" && from.rel() != "providers" && to.rel() != "providers" && to.rel() != "providers/providertest":
		return "providers never import each other: what they share belongs to formats/"
	case a == "graph" && to.rel() == "graph" && slices.Contains([]string{"graph/cas", "graph/cache", "graph/broker", "graph/facet", "graph/fsck", "graph/gc", "graph/bundle"}, from.rel()):
		return "the store, the broker and the facets are below the engine"
	}
	return ""
}

func TestImportsPointDownwards(t *testing.T) {
	all := load(t)
	byPath := map[string]pkg{}
	for _, p := range all {
		byPath[p.ImportPath] = p
	}
	for _, p := range all {
		// A test may stand on what its package may stand on, and no more: a test that needs the
		// layer above is a test of the layer above.
		imports := slices.Concat(p.Imports, p.TestImports, p.XTestImports)
		slices.Sort(imports)
		for _, imp := range slices.Compact(imports) {
			to, ours := byPath[imp]
			if !ours {
				continue
			}
			if why := arrow(p, to); why != "" {
				t.Errorf("%s imports %s: %s", p.rel(), to.rel(), why)
			}
		}
	}
}

func TestTheRulesRefuseWhatTheyMust(t *testing.T) {
	at := func(rel string) pkg { return pkg{ImportPath: module + "/" + rel, Name: path.Base(rel)} }
	for _, c := range []struct {
		from, to string
		allowed  bool
	}{
		{"stages/capture", "providers", true},
		{"stages/capture", "lang", true},
		{"lang", "internal/token", true},
		{"lang", "graph", false},
		{"internal/view", "lang", false},
		{"graph", "evidence", false},
		{"graph", "lang", false},
		{"providers/pprof", "lang", true},
		{"evidence/publish", "graph/cas", false},
		{"graph/cas", "graph", false},
		{"graph", "graph/cas", true},
		{"providers/pprof", "providers", true},
		{"providers/pprof", "formats/profile", true},
		{"providers/pprof", "providers/gobench", false},
		{"providers", "providers/gobench", true}, // only its test can: each provider imports it
		{"providers/pprof", "providers/providertest", true},
		{"providers/pprof", "stages/capture", false},
		{"surprise", "internal/digest", false},
	} {
		if why := arrow(at(c.from), at(c.to)); (why == "") != c.allowed {
			t.Errorf("%s → %s: allowed should be %v, got %q", c.from, c.to, c.allowed, why)
		}
	}
}

// restricted are foreign packages with the folders that may import them, and why.
var restricted = []struct {
	pattern *regexp.Regexp
	allowed []string
	why     string
}{
	// The shell that `flameox shell` opens belongs to the person in front of it, and providertest runs real
	// producers inside tests; neither is a stage.
	{regexp.MustCompile(`^os/exec$`), []string{"graph/broker", "internal/git", "cmd/flameox", "providers/providertest"}, "the broker starts every process of a stage, and internal/git starts git"},
	{regexp.MustCompile(`duckdb`), []string{"evidence/query"}, "DuckDB needs cgo and is only for queries"},
	{regexp.MustCompile(`^github\.com/apache/arrow-go/v18/parquet/pqarrow`), nil, "it costs three minutes of compiling; write columns with parquet/file (docs/adr)"},
	{regexp.MustCompile(`^github\.com/apache/arrow-go/`), []string{"evidence"}, "Parquet stays behind evidence"},
	{regexp.MustCompile(`^github\.com/urfave/cli`), []string{"cmd", "internal/flags"}, "flags belong to commands"},
}

func TestForeignPackagesStayInTheirPlace(t *testing.T) {
	for _, p := range load(t) {
		if p.program() {
			continue
		}
		for _, imp := range p.Imports {
			for _, r := range restricted {
				if !r.pattern.MatchString(imp) {
					continue
				}
				if !slices.ContainsFunc(r.allowed, func(dir string) bool {
					return p.rel() == dir || strings.HasPrefix(p.rel(), dir+"/")
				}) {
					t.Errorf("%s imports %s: %s", p.rel(), imp, r.why)
				}
			}
		}
	}
}

// fileLimit is the hard ceiling of a package, tests not counted. The rule is about ten; with twenty
// files a package certainly holds more than one idea.
const fileLimit = 20

func TestEveryPackageSaysWhatItIsFor(t *testing.T) {
	for _, p := range load(t) {
		if len(p.GoFiles)+len(p.CgoFiles) > 0 && p.Doc == "" {
			t.Errorf("%s has no package comment: say in doc.go what it is for, why it is so, and what it never does", p.rel())
		}
		for part := range strings.SplitSeq(p.rel(), "/") {
			if slices.Contains([]string{"util", "utils", "common", "helper", "helpers", "misc", "shared"}, part) {
				t.Errorf("%s: %q says nothing about what is inside; name the package by its one noun", p.rel(), part)
			}
		}
		if n := len(p.GoFiles) + len(p.CgoFiles); n > fileLimit {
			t.Errorf("%s has %d files, more than %d (ten is the rule): split it by noun", p.rel(), n, fileLimit)
		}
	}
}

// lineLimit is the hard ceiling of a source file, tests included. The rule is 400.
const lineLimit = 500

var unfinished = regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X)\b`)

func TestFilesAreShortAndFinished(t *testing.T) {
	for _, p := range load(t) {
		for _, name := range p.files() {
			src, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil {
				t.Error(err)
				continue
			}
			at := path.Join(p.rel(), name)
			if n := bytes.Count(src, []byte("\n")); n > lineLimit {
				t.Errorf("%s has %d lines, more than %d: split it", at, n, lineLimit)
			}
			for i, line := range bytes.Split(src, []byte("\n")) {
				if m := unfinished.Find(line); m != nil {
					t.Errorf("%s:%d: %s: finish it or file an issue and drop the comment", at, i+1, m)
				}
			}
		}
	}
}
