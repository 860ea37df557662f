package configure

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/urfave/cli/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/flameox/flameox/cmd/flameox/internal/cmdline"
	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/internal/address"
	"github.com/flameox/flameox/lang"
	"github.com/flameox/flameox/lang/source"
	"github.com/flameox/flameox/stages"
	"github.com/flameox/flameox/stages/kind"
	"github.com/flameox/flameox/stages/workspace"
)

// scope evaluates expressions as an experiment sees them. There is no second evaluator: an expression becomes the argument of one more
// block, in a file of the configuration that exists in memory only, and the language does the rest, with its own checks and messages.
// Files and results are looked at anew for each expression.
type scope struct {
	c     *cli.Context
	w     *workspace.Workspace
	kinds []kind.Kind
	reg   *lang.Registry
	files *overlay
	at    *graph.Node // whose axes are visible; nil: none
}

// probeBlock is the type of the block; no stage is called so.
const (
	probeBlock   = "console_expression"
	probeAddress = probeBlock + ".at"
)

// probe is its arguments.
type probe struct {
	Of    lang.Ref      `arg:"of,optional" doc:"the instance whose axes the expression sees" facet:"exempt: nothing is run"`
	Value lang.Deferred `arg:"value" doc:"the expression" facet:"exempt: nothing is run"`
}

// newScope opens the experiment. Errors of its configuration have been printed.
func newScope(c *cli.Context, at string) (*scope, error) {
	o := options(c)
	o.Vars, o.VarFiles = nil, nil // only the store is wanted; a variable file that is a pipe can be read once
	w, err := workspace.Open(c.Context, o)
	var bad *workspace.ConfigError
	if errors.As(err, &bad) {
		cmdline.Diagnostics(c, bad.Diags, bad.Files)
		return nil, cmdline.Exit(cmdline.ExitFailure)
	}
	if err != nil {
		return nil, err
	}
	w.Store.StepBack("flameox " + c.Command.Name)
	s := &scope{c: c, w: w, kinds: stages.Kinds(cmdline.Providers())}
	s.reg = stages.Language(s.kinds)
	s.reg.Register(lang.BlockType{
		Type: probeBlock, Labels: []string{"name"}, Doc: "An expression of the console.",
		Schemas: map[string]*lang.Schema{"": {Options: &probe{}}},
	})
	s.files = newOverlay(w.Config.Root, w.Config.Dir, c.StringSlice("var-file"))
	config, x, diags := s.load()
	var e *stages.Experiment
	if !diags.HasErrors() {
		var more hcl.Diagnostics
		e, more = stages.Compile(x, s.kinds, w.Project)
		diags = append(diags, more...)
	}
	if len(diags) > 0 {
		cmdline.Diagnostics(c, diags, config.Files)
	}
	if diags.HasErrors() {
		return nil, cmdline.Exit(cmdline.ExitFailure)
	}
	if at != "" {
		if s.at, err = e.Graph.Find(at); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *scope) load() (*lang.Config, *lang.Expansion, hcl.Diagnostics) {
	config, diags := lang.Load(s.w.Config.Dir, s.reg, lang.Input{
		Values: lang.Values{Environ: os.Environ(), Vars: s.c.StringSlice("var"), VarFiles: s.c.StringSlice("var-file")},
		Root:   s.w.Config.Root, Version: cmdline.Version(), Open: s.files.open, ReadDir: s.files.readDir,
		GitRevision: func(revision string) (string, error) {
			if s.w.Repo == nil {
				return "", errors.New("the experiment is in no git repository")
			}
			return s.w.Repo.Resolve(s.c.Context, revision)
		},
	})
	x, more := config.Expand()
	return config, x, append(diags, more...)
}

// result is what an expression came to.
type result struct {
	value     cty.Value // unmarked and wholly known
	sensitive bool      // the value must not be shown
}

// Summaries of diagnostics that are made here; they are the language's own.
const (
	sumNotText         = "Not a text file"
	sumNotAllowed      = "Reference not allowed here"
	sumUnknownInstance = "Unknown instance"
	sumNoResult        = "Result not available"
)

// shownAs is the name of the expression in diagnostics.
const shownAs = "expression"

// eval evaluates one expression. The files are for rendering the diagnostics.
func (s *scope) eval(ctx context.Context, expr string) (*result, hcl.Diagnostics, map[string]*hcl.File) {
	files := map[string]*hcl.File{shownAs: {Bytes: []byte(expr)}}
	if d := s.precheck(expr); len(d) > 0 {
		return nil, d, files
	}
	head := probeBlock + " \"at\" {\n"
	if s.at != nil {
		head += "  of = " + s.at.Address.Block + "\n"
	}
	head += "  value = (\n"
	s.files.src = []byte(head + expr + "\n  )\n}\n")
	config, x, diags := s.load()
	maps.Copy(files, config.Files)
	s.files.src = nil
	back := func(diags hcl.Diagnostics) hcl.Diagnostics { return s.moved(diags, head, expr) }
	if diags.HasErrors() {
		return nil, back(diags), files
	}
	value, ok := s.value(x)
	if !ok {
		return nil, hcl.Diagnostics{problem(sumUnknownInstance, expr, "%s is no longer there.", s.at.Address)}, files
	}
	out, diags, err := s.answer(ctx, x, value)
	switch {
	case err != nil:
		return nil, hcl.Diagnostics{problem(sumNoResult, expr, "The results cannot be read: %s.", err)}, files
	case diags.HasErrors():
		return nil, back(diags), files
	case len(out.Missing) > 0:
		return nil, hcl.Diagnostics{problem(sumNoResult, expr, "%s now. `flameox plan` says why, and `flameox apply` makes what is missing.", without(out.Missing))}, files
	}
	r := &result{value: out.Value, sensitive: out.Sensitive}
	if !r.sensitive && !r.value.IsWhollyKnown() {
		return nil, hcl.Diagnostics{problem(sumNoResult, expr, "Some of the value is of a block that has no results: `flameox schema` says what a block has.")}, files
	}
	return r, nil, files
}

func without(addresses []string) string {
	const shown = 3
	if n := len(addresses); n > shown {
		return fmt.Sprintf("%s and %d more have no valid result", strings.Join(addresses[:shown], ", "), n-shown)
	}
	if len(addresses) == 1 {
		return addresses[0] + " has no valid result"
	}
	return strings.Join(addresses, ", ") + " have no valid result"
}

// value finds the expression in the instance that was chosen.
func (s *scope) value(x *lang.Expansion) (lang.Deferred, bool) {
	for _, inst := range x.ByBlock(probeAddress) {
		if s.at == nil || inst.Axes.Key() == s.at.Address.Axes.Key() {
			return inst.Options.(*probe).Value, true
		}
	}
	return lang.Deferred{}, false
}

// answer evaluates, with the results that stand now for the stages that the expression reads.
func (s *scope) answer(ctx context.Context, x *lang.Expansion, value lang.Deferred) (out stages.OutputValue, diags hcl.Diagnostics, err error) {
	x.Instances = slices.DeleteFunc(x.Instances, func(i *lang.Instance) bool { return i.Block.Type == probeBlock })
	x.Outputs, x.Checks = []*lang.Output{{Name: shownAs, Value: value}}, nil
	e, diags := stages.Compile(x, s.kinds, s.w.Project)
	if diags.HasErrors() {
		return out, diags, nil
	}
	current, err := s.results(ctx, e, value.Instances())
	if err != nil {
		return out, nil, err
	}
	outputs, diags := e.Outputs(e.CurrentOf(func(node string) []*cache.Summary { return current[node] }))
	if len(outputs) == 1 {
		out = outputs[0]
	}
	return out, diags, nil
}

// results are the records that stand now, by address. Only what is asked for, and what that stands on, is looked at; declarations have none.
func (s *scope) results(ctx context.Context, e *stages.Experiment, insts []*lang.Instance) (map[string][]*cache.Summary, error) {
	wanted := map[string]bool{}
	for _, inst := range insts {
		wanted[inst.Address().String()] = true
	}
	left := map[string]int{} // instances of a block that are not wanted
	for _, n := range e.Graph.Nodes {
		if !wanted[n.Address.String()] {
			left[n.Address.Block]++
		}
	}
	var sel graph.Selection
	asked := map[string]bool{}
	for _, n := range e.Graph.Nodes {
		name := n.Address.String()
		if n.Stage == nil || !wanted[name] {
			continue
		}
		if left[n.Address.Block] == 0 { // one pattern for all, of which there may be thousands
			name = n.Address.Block
		}
		if asked[name] {
			continue
		}
		asked[name] = true
		p, err := address.ParsePattern(name)
		if err != nil {
			return nil, err
		}
		sel.Target = append(sel.Target, p)
	}
	if len(sel.Target) == 0 {
		return nil, nil
	}
	if err := s.w.Project.Refresh(); err != nil {
		return nil, err
	}
	planner, err := graph.NewPlanner(s.w.Store, e.Graph, sel)
	if err != nil {
		return nil, err
	}
	if _, err := planner.Plan(ctx, e.Graph); err != nil {
		return nil, err
	}
	current := map[string][]*cache.Summary{}
	for _, n := range e.Graph.Nodes {
		current[n.Address.String()] = planner.Current(n)
	}
	return current, nil
}

// precheck finds what would keep the expression from being one argument, or from being checked in the scope that was chosen.
func (s *scope) precheck(expr string) hcl.Diagnostics {
	src := []byte(expr)
	if p := source.CheckText(src, shownAs); p != nil {
		return hcl.Diagnostics{{Severity: hcl.DiagError, Summary: sumNotText, Detail: p.Why, Subject: &p.Range}}
	}
	for _, p := range source.CheckExpression(src, shownAs) {
		return hcl.Diagnostics{{Severity: hcl.DiagError, Summary: lang.SyntaxError, Detail: p.Why, Subject: &p.Range}}
	}
	e, diags := hclsyntax.ParseExpression(src, shownAs, hcl.InitialPos)
	if diags.HasErrors() { // a text over several lines ends with its line
		if f, other := hclsyntax.ParseExpression([]byte(expr+"\n"), shownAs, hcl.InitialPos); !other.HasErrors() {
			e, diags = f, nil
		}
	}
	if diags.HasErrors() {
		for _, d := range diags {
			d.Summary, d.Detail = lang.SyntaxError, d.Summary+". "+d.Detail
		}
		return diags
	}
	if s.at == nil {
		for _, t := range hclsyntax.Variables(e) {
			if root := t.RootName(); root == "matrix" || root == "each" {
				r := t.SourceRange()
				return hcl.Diagnostics{{
					Severity: hcl.DiagError, Summary: sumNotAllowed, Subject: &r,
					Detail: "An axis has a value only in an instance. Choose one: flameox console 'workload.sort[\"n=1000\"]'; `flameox graph` lists them.",
				}}
			}
		}
	}
	return nil
}

// moved are diagnostics with the places that they have in the expression.
func (s *scope) moved(diags hcl.Diagnostics, head, expr string) hcl.Diagnostics {
	lines := strings.Count(head, "\n")
	pos := func(p hcl.Pos) hcl.Pos {
		p.Line, p.Byte = max(1, p.Line-lines), min(max(0, p.Byte-len(head)), len(expr))
		return p
	}
	name := "this expression"
	if s.at != nil {
		name = s.at.Address.Block
	}
	out := make(hcl.Diagnostics, len(diags))
	for i, d := range diags {
		e := *d
		e.Detail = strings.ReplaceAll(e.Detail, probeAddress, name)
		if r := d.Subject; r != nil && r.Filename == s.files.name() {
			e.Subject = &hcl.Range{Filename: shownAs, Start: pos(r.Start), End: pos(r.End)}
		}
		out[i] = &e
	}
	return out
}

// problem is a diagnostic about the whole expression.
func problem(summary, expr, format string, args ...any) *hcl.Diagnostic {
	end := hcl.Pos{Line: 1, Column: 1 + len(expr), Byte: len(expr)}
	return &hcl.Diagnostic{
		Severity: hcl.DiagError, Summary: summary, Detail: fmt.Sprintf(format, args...),
		Subject: &hcl.Range{Filename: shownAs, Start: hcl.InitialPos, End: end},
	}
}
