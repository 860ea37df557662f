package machine

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flameox/flameox/cmd/flameox/internal/cmdline"
	"github.com/flameox/flameox/providers"
)

// tests are the names of the tests of a folder below the root of the repository.
func tests(t *testing.T, folder string) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "..", filepath.FromSlash(folder), "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Test") {
				names = append(names, fn.Name.Name)
			}
		}
	}
	return names
}

func TestEveryProviderHasRecordsAndEachNamesATestThatThereIs(t *testing.T) {
	all := cmdline.Providers().All()
	if len(all) < 4 {
		t.Fatalf("only %d providers", len(all))
	}
	for _, p := range all {
		q, ok := p.(providers.Qualified)
		if !ok || len(q.Qualifications()) == 0 {
			t.Errorf("%s has no record of what was tried out", p.Name())
			continue
		}
		captured := false
		for i, r := range q.Qualifications() {
			folder, name, _ := strings.Cut(r.Test, ".")
			if folder != "providers/"+p.Name() || !slices.Contains(tests(t, folder), name) {
				t.Errorf("%s, record %d: there is no test %q", p.Name(), i, r.Test)
			}
			if r.Origin == "" || len(r.Exercised) == 0 || len(r.Blind) == 0 {
				t.Errorf("%s, record %d says too little: %+v", p.Name(), i, r)
			}
			if r.Series != "" && !r.Covers(r.Version, append(r.Platforms, "")[0]) {
				t.Errorf("%s, record %d claims %s, which %s is none of", p.Name(), i, r.Claim(), r.Version)
			}
			captured = captured || len(r.Platforms) > 0
		}
		if _, captures := p.(providers.Capturer); captures && !captured {
			t.Errorf("%s captures, and no record has a platform", p.Name())
		}
		if l, ok := p.(providers.Locator); ok {
			_, asks := p.(providers.Prober)
			_, reads := p.(providers.Reader)
			if at := l.Locate(); len(at.Programs) == 0 || at.Install == "" || !asks && !reads {
				t.Errorf("%s is looked for, and it is not said where, what to do, or how it is asked: %+v", p.Name(), at)
			}
		}
	}
}
