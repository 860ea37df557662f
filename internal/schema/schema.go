// Package schema makes JSON Schemas (draft 2020-12) from the Go types of documents, so that the two cannot disagree. The
// descriptions are the doc tags of the fields or, where there are none, their comments in the source.
//
// It is used when schemas are generated and tested, never by a running flameox.
package schema

import (
	"encoding"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"sort"
	"strings"
	"time"
)

// Generator remembers the comments of the packages whose types it describes, and the values of enumerations.
type Generator struct {
	comments map[string]string   // "pkg.Type.Field" and "pkg.Type"
	enums    map[string][]string // "pkg.Type": the string constants of the type
	defs     map[string]any
}

// New reads the Go source of the packages in dirs; pkgs maps a package's name to its folder.
func New(pkgs map[string]string) (*Generator, error) {
	g := &Generator{comments: map[string]string{}, enums: map[string][]string{}}
	for name, dir := range pkgs {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			if strings.HasSuffix(f, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), f, nil, parser.ParseComments)
			if err != nil {
				return nil, err
			}
			g.read(name, file)
		}
	}
	return g, nil
}

func (g *Generator) read(pkg string, file *ast.File) {
	for _, decl := range file.Decls {
		gen, ok := decl.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range gen.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				g.readType(pkg, gen, s)
			case *ast.ValueSpec:
				g.readConstants(pkg, gen, s)
			}
		}
	}
}

func (g *Generator) readType(pkg string, gen *ast.GenDecl, s *ast.TypeSpec) {
	doc := s.Doc
	if doc == nil {
		doc = gen.Doc
	}
	g.comments[pkg+"."+s.Name.Name] = text(doc)
	st, ok := s.Type.(*ast.StructType)
	if !ok {
		return
	}
	for _, f := range st.Fields.List {
		c := text(f.Doc)
		if c == "" {
			c = text(f.Comment)
		}
		for _, n := range f.Names {
			g.comments[pkg+"."+s.Name.Name+"."+n.Name] = c
		}
	}
}

// readConstants collects `Name Type = "value"`, which is how enumerations are written.
func (g *Generator) readConstants(pkg string, gen *ast.GenDecl, s *ast.ValueSpec) {
	id, ok := s.Type.(*ast.Ident)
	if gen.Tok != token.CONST || !ok {
		return
	}
	for _, v := range s.Values {
		switch x := v.(type) {
		case *ast.BasicLit:
			g.enums[pkg+"."+id.Name] = append(g.enums[pkg+"."+id.Name], strings.Trim(x.Value, `"`))
		case *ast.CallExpr: // Code(facet.Definition): the value is the other enumeration's, and cannot be read here
			g.enums[pkg+"."+id.Name] = append(g.enums[pkg+"."+id.Name], open)
		}
	}
}

// open marks an enumeration that is not known completely.
const open = "\x00"

func text(c *ast.CommentGroup) string {
	if c == nil {
		return ""
	}
	return strings.TrimSuffix(strings.Join(strings.Fields(c.Text()), " "), ".")
}

// Document is the schema of one document type.
func (g *Generator) Document(v any, id, title string) ([]byte, error) {
	g.defs = map[string]any{}
	t := reflect.TypeOf(v)
	root := g.structure(t)
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["$id"] = id
	root["title"] = title
	if len(g.defs) > 0 {
		root["$defs"] = g.defs
	}
	b, err := json.MarshalIndent(root, "", "  ")
	return append(b, '\n'), err
}

var (
	timeType = reflect.TypeFor[time.Time]()
	rawType  = reflect.TypeFor[json.RawMessage]()
	textType = reflect.TypeFor[encoding.TextMarshaler]()
)

func (g *Generator) of(t reflect.Type) map[string]any {
	switch {
	case t == timeType:
		return map[string]any{"type": "string", "format": "date-time"}
	case t == rawType, t.Kind() == reflect.Interface:
		return map[string]any{} // anything
	case t.Implements(textType):
		return map[string]any{"type": "string"}
	}
	switch t.Kind() {
	case reflect.String:
		s := map[string]any{"type": "string"}
		if values := g.enums[name(t)]; len(values) > 0 && t.PkgPath() != "" {
			for _, v := range values {
				if v == open {
					return s
				}
			}
			sort.Strings(values)
			s["enum"] = values
		}
		return s
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int, reflect.Int64, reflect.Uint64, reflect.Int32:
		return map[string]any{"type": "integer"}
	case reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Slice:
		return map[string]any{"type": "array", "items": g.of(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": g.of(t.Elem())}
	case reflect.Pointer:
		return g.of(t.Elem())
	case reflect.Struct:
		if t.Name() == "" {
			return g.structure(t)
		}
		key := t.Name()
		if _, ok := g.defs[key]; !ok {
			g.defs[key] = nil // a type may hold itself
			g.defs[key] = g.structure(t)
		}
		return map[string]any{"$ref": "#/$defs/" + key}
	}
	panic(fmt.Sprintf("schema: a document cannot hold a %s", t))
}

func name(t reflect.Type) string { return filepath.Base(t.PkgPath()) + "." + t.Name() }

func (g *Generator) structure(t reflect.Type) map[string]any {
	properties, required := map[string]any{}, []string{}
	for i := range t.NumField() {
		f := t.Field(i)
		tag, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || tag == "-" || tag == "" {
			continue
		}
		p := g.of(f.Type)
		doc := f.Tag.Get("doc")
		if doc == "" {
			doc = g.comments[name(t)+"."+f.Name]
		}
		if doc != "" {
			p["description"] = doc
		}
		properties[tag] = p
		if !strings.Contains(options, "omit") {
			required = append(required, tag)
		}
	}
	out := map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
	if doc := g.comments[name(t)]; doc != "" {
		out["description"] = doc
	}
	return out
}
