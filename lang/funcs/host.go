package funcs

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/flameox/flameox/internal/suggest"
	"github.com/flameox/flameox/lang/bounded"
	"github.com/flameox/flameox/lang/source"
)

func (h Host) add(t map[string]function.Function) {
	path := function.Parameter{Name: "path", Type: cty.String}
	t["file"] = function.New(&function.Spec{
		Params: []function.Parameter{path},
		Type:   function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			b, err := h.text(args[0].AsString())
			return cty.StringVal(string(b)), err
		},
	})
	t["filesha256"] = function.New(&function.Spec{
		Params: []function.Parameter{path},
		Type:   function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			f, err := h.Reader.OpenFile(args[0].AsString())
			if err != nil {
				return cty.NilVal, function.NewArgError(0, err)
			}
			defer f.Close()
			sum := sha256.New()
			if _, err := io.Copy(sum, f); err != nil {
				return cty.NilVal, function.NewArgErrorf(0, "cannot read %q: %s", args[0].AsString(), err)
			}
			return cty.StringVal(hex.EncodeToString(sum.Sum(nil))), nil
		},
	})
	t["fileset"] = function.New(&function.Spec{
		Params: []function.Parameter{path, {Name: "pattern", Type: cty.String}},
		Type:   function.StaticReturnType(cty.Set(cty.String)),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			names, err := h.Reader.Glob(args[0].AsString(), args[1].AsString())
			if err != nil || len(names) == 0 {
				return cty.SetValEmpty(cty.String), err
			}
			var vals []cty.Value
			for _, n := range names {
				vals = append(vals, cty.StringVal(n))
			}
			return cty.SetVal(vals), nil
		},
	})
	t["env"] = function.New(&function.Spec{
		Params: []function.Parameter{{Name: "name", Type: cty.String}},
		Type:   function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			name := args[0].AsString()
			if !slices.Contains(h.Env, name) {
				hint := ""
				if s := suggest.Nearest(name, h.Env); s != "" {
					hint = fmt.Sprintf(" Did you mean %q?", s)
				}
				return cty.NilVal, function.NewArgErrorf(0, "the environment variable %s is not declared: add it to env in the flameox block, flameox { env = [%q] }, so that everyone can see what the experiment depends on.%s", name, name, hint)
			}
			v, ok := h.Reader.Getenv(name)
			switch {
			case !ok:
				return cty.NullVal(cty.String), nil
			case strings.ContainsRune(v, 0):
				return cty.NilVal, errNUL
			}
			return cty.StringVal(v), nil
		},
	})
	t["git_revision"] = function.New(&function.Spec{
		VarParam: &function.Parameter{Name: "revision", Type: cty.String},
		Type:     function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			revision := "HEAD"
			switch len(args) {
			case 0:
			case 1:
				revision = args[0].AsString()
			default:
				return cty.NilVal, errors.New("git_revision takes at most one revision")
			}
			if h.GitRevision == nil {
				return cty.NilVal, errors.New("git_revision is not available here: no git repository was found above the configuration, or git is not installed")
			}
			h.Reader.Record(source.Git, revision)
			id, err := h.GitRevision(revision)
			if err != nil {
				return cty.NilVal, fmt.Errorf("cannot resolve the git revision %q: %w", revision, err)
			}
			return cty.StringVal(id), nil
		},
	})
	t["templatefile"] = function.New(&function.Spec{
		Params: []function.Parameter{path, {Name: "vars", Type: cty.DynamicPseudoType}},
		Type:   function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			return h.template(args[0].AsString(), args[1])
		},
	})
}

// text is the content of a file that may become part of a string.
func (h Host) text(p string) ([]byte, error) {
	b, err := h.Reader.ReadFile(p)
	if err != nil {
		return nil, function.NewArgError(0, err)
	}
	if problem := source.CheckText(b, p); problem != nil {
		return nil, function.NewArgErrorf(0, "%q is not a text at line %d: %s", p, problem.Range.Start.Line, problem.Why)
	}
	return b, nil
}

func (h Host) template(p string, vars cty.Value) (cty.Value, error) {
	src, err := h.text(p)
	if err != nil {
		return cty.NilVal, err
	}
	if t := vars.Type(); vars.IsNull() || !t.IsObjectType() && !t.IsMapType() {
		return cty.NilVal, function.NewArgErrorf(1, "an object is needed, such as { name = \"value\" }")
	}
	if problems := source.CheckTemplate(src, p); len(problems) > 0 {
		return cty.NilVal, function.NewArgErrorf(0, "%s, line %d: %s", p, problems[0].Range.Start.Line, problems[0].Why)
	}
	expr, diags := hclsyntax.ParseTemplate(src, p, hcl.InitialPos)
	if diags.HasErrors() {
		return cty.NilVal, inTemplate(diags)
	}
	if h.Budget != nil {
		bounded.Watch(expr, h.Budget)
	}
	ctx := &hcl.EvalContext{Variables: vars.AsValueMap(), Functions: Table(h)}
	delete(ctx.Functions, "templatefile") // a template that includes itself would never end
	if ctx.Variables == nil {
		ctx.Variables = map[string]cty.Value{}
	}
	v, diags := expr.Value(ctx)
	if diags.HasErrors() {
		return cty.NilVal, inTemplate(diags)
	}
	if v, err := stringOf(v); err == nil {
		return v, nil
	}
	return cty.NilVal, function.NewArgErrorf(0, "the template %s is not a text but a %s", p, v.Type().FriendlyName())
}

func inTemplate(diags hcl.Diagnostics) error {
	for _, d := range diags {
		if d.Severity == hcl.DiagError && d.Subject != nil {
			return function.NewArgErrorf(0, "%s, line %d: %s: %s", d.Subject.Filename, d.Subject.Start.Line, d.Summary, d.Detail)
		}
	}
	return diags
}
