package bounded

import (
	"fmt"
	"sync/atomic"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// The bounds of one evaluation.
const (
	MaxRounds   = 1_000_000 // of all its for expressions together
	maxLoopText = 64 << 20  // bytes of the texts that they make
)

// maxFaults is how many errors of one evaluation are kept: a for expression may fail in each of a million rounds.
const maxFaults = 1000

// Budget counts the work of evaluations. It is safe for concurrent use; evaluations at the same time share it.
type Budget struct {
	rounds, text, faults atomic.Int64
	refused              atomic.Bool
}

// Value evaluates an expression that Watch has seen, with a fresh budget.
func (b *Budget) Value(expr hcl.Expression, ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	b.rounds.Store(0)
	b.text.Store(0)
	b.faults.Store(0)
	b.refused.Store(false)
	v, diags := expr.Value(ctx)
	return v, diags[:min(len(diags), maxFaults)]
}

// Watch changes the syntax tree under root so that its for expressions count their rounds, and so that the results of conditionals
// are lists where they are long. What expressions mean stays.
func Watch(root hclsyntax.Node, b *Budget) {
	hclsyntax.VisitAll(root, func(n hclsyntax.Node) hcl.Diagnostics {
		switch e := n.(type) {
		case *hclsyntax.ForExpr:
			first := e.CondExpr == nil
			e.CollExpr = &round{wrapped(e.CollExpr), b, false}
			e.ValExpr = &round{wrapped(e.ValExpr), b, first}
			if !first {
				e.CondExpr = &round{wrapped(e.CondExpr), b, true}
			}
		case *hclsyntax.ConditionalExpr:
			e.TrueResult, e.FalseResult = &side{wrapped(e.TrueResult)}, &side{wrapped(e.FalseResult)}
		}
		return nil
	})
}

// wrapped keeps an expression visible for whoever walks the tree: a node in parentheses is one whose child is the expression.
func wrapped(e hclsyntax.Expression) *hclsyntax.ParenthesesExpr {
	return &hclsyntax.ParenthesesExpr{Expression: e, SrcRange: e.Range()}
}

// round is a part of a for expression. When the budget is spent each part has no value at once, so that loops around it end, too.
type round struct {
	*hclsyntax.ParenthesesExpr
	b      *Budget
	counts bool // evaluated first in every round
}

func (r *round) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	if r.counts {
		r.b.rounds.Add(1)
	}
	if r.b.rounds.Load() > MaxRounds {
		return r.refuse("The for expressions here take more than %d rounds together. Use fewer values.", MaxRounds)
	}
	v, diags := r.Expression.Value(ctx)
	if diags.HasErrors() && r.b.faults.Add(1) > maxFaults {
		return cty.DynamicVal, nil // as many as anybody reads are kept already
	}
	if u, _ := v.Unmark(); u.Type() == cty.String && !u.IsNull() && u.IsKnown() && r.b.text.Add(int64(len(u.AsString()))) > maxLoopText {
		r.b.rounds.Store(MaxRounds + 1)
		return r.refuse("The for expressions here make more than %d MiB of text.", maxLoopText>>20)
	}
	return v, diags
}

// refuse gives no value, and the reason the first time.
func (r *round) refuse(format string, n int) (cty.Value, hcl.Diagnostics) {
	if r.b.refused.Swap(true) {
		return cty.DynamicVal, nil
	}
	return cty.DynamicVal, hcl.Diagnostics{{Severity: hcl.DiagError, Summary: "Too much to evaluate", Detail: fmt.Sprintf(format, n), Subject: r.SrcRange.Ptr()}}
}

// side is one result of a conditional. The library finds the type of both by comparing each element with every other.
type side struct{ *hclsyntax.ParenthesesExpr }

func (s *side) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	v, diags := s.Expression.Value(ctx)
	if u, marks := v.Unmark(); len(marks) > 0 {
		return List(u).WithMarks(marks), diags
	}
	return List(v), diags
}
