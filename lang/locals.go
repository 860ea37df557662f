package lang

import (
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/flameox/flameox/lang/bounded"
	"github.com/flameox/flameox/lang/render"
)

// loadLocals declares and evaluates the locals blocks. Local values may mention one another in any order.
func (c *Config) loadLocals(blocks []*hclsyntax.Block) {
	c.values.locals = map[string]*local{}
	var names []string
	for _, b := range blocks {
		if !c.goodLabels(b, nil) {
			continue
		}
		for _, nb := range b.Body.Blocks {
			c.report(errorAt(sumUnknownNested, nb.TypeRange, "locals has no nested blocks: write %s = { … }.", nb.Type))
		}
		for _, a := range byPosition(b.Body.Attributes) {
			if first := c.values.locals[a.Name]; first != nil {
				c.report(errorAt(sumDuplicate, a.NameRange, "The local value %q is already declared at %s.", a.Name, place(first.attr.NameRange)))
				continue
			}
			c.values.locals[a.Name] = &local{attr: a}
			names = append(names, a.Name)
		}
	}
	for _, name := range names {
		l := c.values.locals[name]
		l.info = c.analyse(l.attr.Expr, nil, scopeLocals)
		l.broken = l.info.broken
	}
	args, real := map[string]cty.Value{}, map[string]cty.Value{}
	for _, name := range names {
		c.evalLocal(name)
		l := c.values.locals[name]
		args[name], real[name] = l.value, l.real
	}
	c.values.args.Variables["local"] = cty.ObjectVal(args)
	c.values.late.Variables["local"] = cty.ObjectVal(real)
}

// evalLocal evaluates a local value after those it mentions. The stack is our own: a chain of locals may be long.
func (c *Config) evalLocal(name string) {
	stack := []string{name}
	for len(stack) > 0 {
		name := stack[len(stack)-1]
		l := c.values.locals[name]
		if l.state == 2 {
			stack = stack[:len(stack)-1]
			continue
		}
		l.state = 1
		waiting := false
		for ; l.next < len(l.info.locals) && !waiting; l.next++ {
			dep := l.info.locals[l.next]
			switch d := c.values.locals[dep]; {
			case d.state == 0:
				stack = append(stack, dep)
				waiting = true
			case d.state == 1 && !l.broken && !d.broken:
				c.localCycle(stack, dep)
			}
		}
		if waiting {
			continue
		}
		c.finishLocal(l)
		stack = stack[:len(stack)-1]
	}
}

// localCycle reports the part of the stack from dep on, whose last mentions dep again, and marks it broken.
func (c *Config) localCycle(stack []string, dep string) {
	start := len(stack) - 1
	for start > 0 && stack[start] != dep {
		start--
	}
	var steps render.Steps
	cycle := stack[start:]
	for i, name := range cycle {
		l := c.values.locals[name]
		l.broken = true
		steps = append(steps, render.Step{From: "local." + name, To: "local." + cycle[(i+1)%len(cycle)], Range: l.attr.NameRange})
	}
	d := errorAt(sumCycle, steps[0].Range, "Break it by giving one of these local values another expression.")
	d.Extra = steps
	c.report(d)
}

func (c *Config) finishLocal(l *local) {
	l.state = 2
	l.value, l.real = cty.DynamicVal, cty.DynamicVal
	l.secret = c.secretIn(&l.info)
	for _, dep := range l.info.locals {
		l.broken = l.broken || c.values.locals[dep].broken
	}
	if l.broken {
		return
	}
	eval := func(parent *hcl.EvalContext, of func(*local) cty.Value) (cty.Value, hcl.Diagnostics) {
		ctx := parent
		if len(l.info.locals) > 0 {
			// Only what is mentioned: an object of all locals for each local is quadratic.
			mentioned := map[string]cty.Value{}
			for _, dep := range l.info.locals {
				mentioned[dep] = of(c.values.locals[dep])
			}
			ctx = parent.NewChild()
			ctx.Variables = map[string]cty.Value{"local": cty.ObjectVal(mentioned)}
		}
		return c.budget.Value(l.attr.Expr, ctx)
	}
	v, diags := eval(c.values.args, func(d *local) cty.Value { return d.value })
	if !diags.HasErrors() {
		l.value, l.real = v, v
		if l.secret {
			l.real, diags = eval(c.values.late, func(d *local) cty.Value { return d.real })
		}
	}
	if diags.HasErrors() {
		c.report(fromHCL(sumExpression, diags, "", l.secret)...)
		l.broken = true
	} else if err := bounded.Check(l.real); err != nil {
		// Local values are the only ones that can grow from one to the next.
		c.report(errorAt(sumTooLarge, l.attr.Expr.Range(), "The local value %q is larger than a value of a configuration may be: %s. Data belongs in a file that a workload reads.", l.attr.Name, err))
		l.broken = true
	}
}

// outputDecl and checkDecl are declared outputs and checks before they are tied to instances.
type outputDecl struct {
	Output
	proto *deferredProto
}

type checkDecl struct {
	Check
	protos [][2]*deferredProto // condition and message of each assert
}

// Output is a value to show after apply.
type Output struct {
	Name        string
	Description string
	Sensitive   bool // show it only when asked for by name
	Value       Deferred
	Range       hcl.Range
}

// Check is what must hold after apply.
type Check struct {
	Name    string
	Asserts []Assert
	Range   hcl.Range
}

// Assert is one condition of a check, and what to say where it does not hold.
type Assert struct {
	Condition    Deferred
	ErrorMessage Deferred
	Range        hcl.Range
}

type outputArgs struct {
	Description string   `arg:"description,optional" doc:"what the value is"`
	Sensitive   bool     `arg:"sensitive" default:"false" doc:"show it only when asked for by name"`
	Value       Deferred `arg:"value" doc:"the value, which may read results"`
}

var outputSchema = sync.OnceValue(func() *schema { return mustCompile(&Schema{Doc: "output", Options: &outputArgs{}}) })

func (c *Config) loadOutputs(blocks []*hclsyntax.Block) {
	seen := map[string]hcl.Range{}
	for _, b := range blocks {
		if !c.goodLabels(b, []string{"name"}) || c.seenBefore(seen, b) {
			continue
		}
		bad := false
		all := body{sch: outputSchema()}
		c.arguments(&all, b.Body, b, headerOf(b), nil, &bad)
		for _, nb := range b.Body.Blocks {
			c.report(errorAt(sumUnknownNested, nb.TypeRange, "output has no nested blocks."))
		}
		o := &outputDecl{Output: Output{Name: b.Labels[0], Range: b.DefRange()}}
		plain := body{sch: outputSchema()}
		for _, a := range all.args {
			if a.f.kind == kindDeferred {
				o.proto = c.analyseLate(a.attr.Expr, nil, scopeOutput)
				bad = bad || o.proto.info.broken
			} else {
				plain.args = append(plain.args, a)
			}
		}
		var args outputArgs
		c.literals(&plain, &args)
		o.Description, o.Sensitive = args.Description, args.Sensitive
		if !bad {
			c.outs = append(c.outs, o)
		}
	}
}

func (c *Config) seenBefore(seen map[string]hcl.Range, b *hclsyntax.Block) bool {
	first, dup := seen[b.Labels[0]]
	if dup {
		c.report(errorAt(sumDuplicate, b.DefRange(), "The %s %q is already declared at %s.", b.Type, b.Labels[0], place(first)))
	}
	seen[b.Labels[0]] = b.DefRange()
	return dup
}

func (c *Config) loadChecks(blocks []*hclsyntax.Block) {
	seen := map[string]hcl.Range{}
	for _, b := range blocks {
		if !c.goodLabels(b, []string{"name"}) || c.seenBefore(seen, b) {
			continue
		}
		d := &checkDecl{Check: Check{Name: b.Labels[0], Range: b.DefRange()}}
		for _, a := range b.Body.Attributes {
			c.report(errorAt(sumUnknownArg, a.NameRange, "%s has no argument %q; conditions stand in assert { … }.", headerOf(b), a.Name))
		}
		good := true
		for _, ab := range b.Body.Blocks {
			if ab.Type != "assert" {
				c.report(errorAt(sumUnknownNested, ab.TypeRange, "%s has no nested block %q.%s", headerOf(b), ab.Type, c.suggest.didYouMean(ab.Type, []string{"assert"})))
				good = false
				continue
			}
			if !c.goodLabels(ab, nil) {
				good = false
				continue
			}
			var pair []*deferredProto
			_, _, ok := c.conditionOf(ab, func(e hclsyntax.Expression) bool {
				p := c.analyseLate(e, nil, scopeOutput)
				pair = append(pair, p)
				return !p.info.broken
			})
			if !ok {
				good = false
				continue
			}
			d.Asserts = append(d.Asserts, Assert{Range: ab.DefRange()})
			d.protos = append(d.protos, [2]*deferredProto{pair[0], pair[1]})
		}
		if good && len(d.Asserts) == 0 {
			c.report(errorAt(sumMissingArg, b.DefRange(), "%s asserts nothing: write assert { condition = …, error_message = … }.", headerOf(b)))
			continue
		}
		if good {
			c.checks = append(c.checks, d)
		}
	}
}
