package funcs

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/flameox/flameox/lang/bounded"
)

// maxMade is the bytes of text that one call may take in or make.
const maxMade = 64 << 20

// maxTaken is how many elements one call may take in.
const maxTaken = 4 * bounded.MaxElements

// guarded are all functions of t with their arguments converted at linear cost, and calls refused that would take more
// memory than there is. try and can evaluate their arguments themselves and stay as they are.
func guarded(t map[string]function.Function) map[string]function.Function {
	for name, f := range t {
		if name != "try" && name != "can" {
			t[name] = guard(name, f)
		}
	}
	return t
}

func guard(name string, f function.Function) function.Function {
	wants := make([]cty.Type, len(f.Params()))
	spec := &function.Spec{Description: f.Description(), Params: f.Params()}
	for i := range spec.Params {
		wants[i] = loosen(&spec.Params[i])
	}
	rest := cty.NilType
	if p := f.VarParam(); p != nil {
		v := *p
		rest = loosen(&v)
		spec.VarParam = &v
	}
	want, explicit := map[string]cty.Type{"tolist": cty.List(cty.DynamicPseudoType), "toset": cty.Set(cty.DynamicPseudoType), "tomap": cty.Map(cty.DynamicPseudoType)}[name]
	if explicit {
		wants[0] = want
	}
	named := reading[name]
	if named && len(spec.Params) > 0 {
		spec.Params[0].AllowMarked = true
	} else if named {
		spec.VarParam.AllowMarked = true
	}
	prepare := func(args []cty.Value) ([]cty.Value, error) {
		out := make([]cty.Value, len(args))
		for i, a := range args {
			if named && a.IsMarked() && i == 0 {
				return nil, function.NewArgErrorf(i, "a sensitive value names no file, variable or revision, because what is read is on record")
			}
			want := rest
			if i < len(wants) {
				want = wants[i]
			}
			if explicit && !bounded.Long(a) && name != "toset" {
				want = cty.NilType // its own messages are better
			}
			var err error
			if out[i], err = take(a, want); err != nil {
				return nil, function.NewArgError(i, err)
			}
		}
		return out, refuse(name, out)
	}
	spec.Type = func(args []cty.Value) (cty.Type, error) {
		args, err := prepare(args)
		if err != nil {
			return cty.NilType, err
		}
		t, err := f.ReturnTypeForValues(args)
		return t, calm(err)
	}
	spec.Impl = func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		args, err := prepare(args)
		if err != nil {
			return cty.NilVal, err
		}
		v, err := f.Call(args)
		if err != nil {
			return cty.NilVal, calm(err)
		}
		if u, _ := v.Unmark(); u.Type() == cty.Number {
			err = bounded.Number(u)
		}
		return v, err
	}
	return function.New(spec)
}

// reading are the functions whose first argument is recorded as read.
var reading = map[string]bool{"file": true, "fileset": true, "filesha256": true, "templatefile": true, "env": true, "git_revision": true}

// loosen makes a parameter accept everything where it takes a collection, and returns what it is converted to then.
func loosen(p *function.Parameter) cty.Type {
	if !p.Type.IsCollectionType() {
		return cty.NilType
	}
	want := p.Type
	p.Type = cty.DynamicPseudoType
	return want
}

// take checks and converts one argument.
func take(v cty.Value, want cty.Type) (cty.Value, error) {
	u, marks := v.Unmark()
	if u.Type() == cty.Number {
		if err := bounded.Number(u); err != nil {
			return v, err
		}
	}
	if want == cty.NilType {
		return v, nil
	}
	c, err := bounded.Convert(u, want)
	return c.WithMarks(marks), err
}

// calm turns a panic in a function of the library into a sentence without a stack.
func calm(err error) error {
	var p function.PanicError
	if errors.As(err, &p) {
		return errors.New("the function cannot work with these arguments")
	}
	return err
}

// refuse is an error where the call would take in or make more than there is memory for.
func refuse(name string, args []cty.Value) error {
	total := 0
	for _, a := range args {
		if u, _ := a.Unmark(); !u.IsNull() && u.IsKnown() && u.CanIterateElements() {
			total += u.LengthInt()
		}
	}
	if total > maxTaken {
		return fmt.Errorf("the arguments have more than %d elements together", maxTaken)
	}
	switch name {
	case "join", "format", "jsonencode", "replace", "indent", "formatlist":
	case "flatten":
		return bounded.Elements(args, maxTaken)
	default:
		return nil
	}
	size, plain := 0, make([]cty.Value, len(args))
	for i, a := range args {
		plain[i], _ = a.UnmarkDeep()
		size += bounded.Text(plain[i], maxMade)
	}
	switch name {
	case "join":
		if sep := plain[0]; !sep.IsNull() && sep.IsKnown() {
			size += total * len(sep.AsString())
		}
	case "formatlist":
		size *= max(1, longest(plain))
	case "replace":
		size += replaced(plain)
	case "indent":
		if n, lines := plain[0], plain[1]; n.IsKnown() && lines.IsKnown() {
			by, _ := n.AsBigFloat().Int64()
			if by < 0 || by > 1000 {
				return function.NewArgErrorf(0, "lines are indented by 0 to 1000 spaces")
			}
			size += int(by) * strings.Count(lines.AsString(), "\n")
		}
	}
	if size > maxMade {
		return fmt.Errorf("the text would be longer than %d MiB", maxMade>>20)
	}
	return nil
}

func longest(args []cty.Value) (n int) {
	for _, a := range args {
		if !a.IsNull() && a.IsKnown() && a.CanIterateElements() {
			n = max(n, a.LengthInt())
		}
	}
	return n
}

// replaced is how many bytes the replacements come to.
func replaced(args []cty.Value) int {
	for _, a := range args {
		if !a.IsKnown() {
			return 0
		}
	}
	str, sub, by := args[0].AsString(), args[1].AsString(), len(args[2].AsString())
	if by == 0 || (len(str)+1)*by <= maxMade {
		return 0
	}
	if len(sub) > 2 && sub[0] == '/' && sub[len(sub)-1] == '/' {
		re, err := regexp.Compile(sub[1 : len(sub)-1])
		if err != nil {
			return 0 // the function says so
		}
		// A replacement can repeat what was matched, so the text itself counts, too.
		return len(re.FindAllStringIndex(str, -1)) * by
	}
	return strings.Count(str, sub) * by
}
