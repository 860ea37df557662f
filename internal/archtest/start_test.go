package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"
)

// Every command pays for what packages do as the program starts. A regular expression in a variable of a package is a pattern.Lazy,
// and since nobody finds out at the start whether that is one, this test does.
func TestRegularExpressionsAreNotCompiledAsTheProgramStarts(t *testing.T) {
	lazy := 0
	for _, p := range load(t) {
		if p.program() {
			continue
		}
		for _, name := range slices.Concat(p.GoFiles, p.CgoFiles) {
			fset := token.NewFileSet()
			f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Error(err)
				continue
			}
			at := func(n ast.Node) string {
				return path.Join(p.rel(), name) + ":" + strconv.Itoa(fset.Position(n.Pos()).Line)
			}
			for _, d := range f.Decls {
				if decl, ok := d.(*ast.GenDecl); ok && decl.Tok == token.VAR {
					ast.Inspect(decl, func(n ast.Node) bool {
						if _, later := n.(*ast.FuncLit); later {
							return false
						}
						if call, ok := n.(*ast.CallExpr); ok && (isName(call.Fun, "regexp", "MustCompile") || isName(call.Fun, "regexp", "Compile")) {
							t.Errorf("%s compiles a regular expression as the program starts: write pattern.Lazy{Expr: …} of internal/pattern", at(call))
						}
						return true
					})
				}
			}
			ast.Inspect(f, func(n ast.Node) bool {
				lit, ok := n.(*ast.CompositeLit)
				if !ok || !isName(lit.Type, "pattern", "Lazy") {
					return true
				}
				lazy++
				for _, e := range lit.Elts {
					if kv, ok := e.(*ast.KeyValueExpr); ok {
						if text, ok := kv.Value.(*ast.BasicLit); ok {
							expr, err := strconv.Unquote(text.Value)
							if err == nil {
								_, err = regexp.Compile(expr)
							}
							if err != nil {
								t.Errorf("%s: %v", at(lit), err)
							}
							continue
						}
					}
					t.Errorf("%s: write the expression as one text, Expr: `…`, so that this test can try it", at(lit))
				}
				return true
			})
		}
	}
	if lazy < 30 {
		t.Errorf("only %d expressions were found; the rule would prove nothing", lazy)
	}
}

func isName(e ast.Expr, pkg, name string) bool {
	sel, ok := e.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != name {
		return false
	}
	id, ok := sel.X.(*ast.Ident)
	return ok && id.Name == pkg
}
