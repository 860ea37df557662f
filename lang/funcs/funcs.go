package funcs

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/ext/tryfunc"
	yaml "github.com/zclconf/go-cty-yaml"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"

	"github.com/flameox/flameox/lang/bounded"
	"github.com/flameox/flameox/lang/source"
	"github.com/flameox/flameox/lang/units"
)

// Host is what functions may see of the world.
type Host struct {
	Reader *source.Reader
	// Budget counts the rounds of for expressions in templates; nil where nobody counts.
	Budget *bounded.Budget
	// Env lists the environment variables that env may read.
	Env []string
	// GitRevision resolves a revision to a commit id; nil where there is no git.
	GitRevision func(revision string) (string, error)
}

// Names lists all functions, sorted.
func Names() []string {
	var names []string
	for name := range Table(Host{}) {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Table is all functions by name. Those that need the host fail with a reason where it lacks what they need.
func Table(h Host) map[string]function.Function {
	t := pure()
	h.add(t)
	return guarded(t)
}

func pure() map[string]function.Function {
	return map[string]function.Function{
		// numbers
		"abs": stdlib.AbsoluteFunc, "ceil": stdlib.CeilFunc, "floor": stdlib.FloorFunc, "int": stdlib.IntFunc, "log": stdlib.LogFunc,
		"max": stdlib.MaxFunc, "min": stdlib.MinFunc, "parseint": stdlib.ParseIntFunc, "pow": stdlib.PowFunc, "signum": stdlib.SignumFunc,
		"sum": sumFunc, "range": rangeFunc,
		"duration": unitFunc("a duration, such as \"1m30s\"", func(s string) (int64, error) { d, err := units.Duration(s); return int64(d), err }),
		"bytes":    unitFunc("a size, such as \"4 GiB\"", units.Bytes),
		// times: of texts, for there is no clock here
		"formatdate": stdlib.FormatDateFunc, "timeadd": stdlib.TimeAddFunc,
		// strings
		"chomp": stdlib.ChompFunc, "format": keepTokens(stdlib.FormatFunc), "formatlist": keepTokens(stdlib.FormatListFunc), "indent": stdlib.IndentFunc,
		"join": stdlib.JoinFunc, "lower": stdlib.LowerFunc, "upper": stdlib.UpperFunc, "title": stdlib.TitleFunc, "split": stdlib.SplitFunc,
		"substr": stdlib.SubstrFunc, "strlen": stdlib.StrlenFunc, "trim": stdlib.TrimFunc, "trimspace": stdlib.TrimSpaceFunc,
		"trimprefix": stdlib.TrimPrefixFunc, "trimsuffix": stdlib.TrimSuffixFunc, "replace": replaceFunc, "regex": stdlib.RegexFunc,
		"regexall": stdlib.RegexAllFunc, "startswith": affixFunc("prefix", strings.HasPrefix), "endswith": affixFunc("suffix", strings.HasSuffix),
		"strcontains": affixFunc("substr", strings.Contains), "strrev": stdlib.ReverseFunc,
		// collections
		"alltrue": boolsFunc(true), "anytrue": boolsFunc(false), "one": oneFunc, "length": lengthFunc,
		"chunklist": stdlib.ChunklistFunc, "coalesce": stdlib.CoalesceFunc, "coalescelist": stdlib.CoalesceListFunc, "compact": stdlib.CompactFunc,
		"concat": stdlib.ConcatFunc, "contains": stdlib.ContainsFunc, "distinct": distinctFunc, "element": stdlib.ElementFunc,
		"flatten": stdlib.FlattenFunc, "index": indexFunc, "keys": stdlib.KeysFunc, "lookup": stdlib.LookupFunc, "merge": stdlib.MergeFunc,
		"reverse": stdlib.ReverseListFunc, "setintersection": stdlib.SetIntersectionFunc, "setproduct": smallProduct(stdlib.SetProductFunc),
		"setsubtract": stdlib.SetSubtractFunc, "setsymmetricdifference": stdlib.SetSymmetricDifferenceFunc, "setunion": stdlib.SetUnionFunc, "slice": stdlib.SliceFunc, "sort": stdlib.SortFunc,
		"values": stdlib.ValuesFunc, "zipmap": stdlib.ZipmapFunc,
		// conversions
		"jsondecode": decoder(source.CheckJSON, stdlib.JSONDecodeFunc), "jsonencode": keepTokens(stdlib.JSONEncodeFunc), "csvdecode": decoder(nil, stdlib.CSVDecodeFunc),
		"yamldecode": decoder(source.CheckYAML, yaml.YAMLDecodeFunc),
		"tobool":     stdlib.MakeToFunc(cty.Bool), "tonumber": stdlib.MakeToFunc(cty.Number), "tostring": stdlib.MakeToFunc(cty.String),
		"tolist": stdlib.MakeToFunc(cty.List(cty.DynamicPseudoType)), "toset": stdlib.MakeToFunc(cty.Set(cty.DynamicPseudoType)),
		"tomap": stdlib.MakeToFunc(cty.Map(cty.DynamicPseudoType)), "try": tryfunc.TryFunc, "can": tryfunc.CanFunc,
	}
}

func unitFunc(what string, parse func(string) (int64, error)) function.Function {
	return function.New(&function.Spec{
		Description: "the number of nanoseconds or bytes in " + what,
		Params:      []function.Parameter{{Name: "text", Type: cty.String}},
		Type:        function.StaticReturnType(cty.Number),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			n, err := parse(args[0].AsString())
			if err != nil {
				return cty.NilVal, function.NewArgErrorf(0, "%q is not %s: %s", args[0].AsString(), what, err)
			}
			return cty.NumberIntVal(n), nil
		},
	})
}

func affixFunc(name string, has func(s, affix string) bool) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "str", Type: cty.String}, {Name: name, Type: cty.String}},
		Type:   function.StaticReturnType(cty.Bool),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			return cty.BoolVal(has(args[0].AsString(), args[1].AsString())), nil
		},
	})
}

var sumFunc = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "numbers", Type: cty.DynamicPseudoType}},
	Type:   function.StaticReturnType(cty.Number),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		elems, err := elements(args[0], cty.Number)
		if err != nil {
			return cty.NilVal, err
		}
		if len(elems) == 0 {
			return cty.NilVal, function.NewArgErrorf(0, "the sum of nothing has no unit and no meaning: the list is empty")
		}
		total := elems[0]
		for _, e := range elems[1:] {
			total = total.Add(e)
		}
		return total, nil
	},
})

// boolsFunc is alltrue (want true) or anytrue (want false): whether no element, or not every element, is different.
func boolsFunc(all bool) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "list", Type: cty.DynamicPseudoType}},
		Type:   function.StaticReturnType(cty.Bool),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			elems, err := elements(args[0], cty.Bool)
			if err != nil {
				return cty.NilVal, err
			}
			for _, e := range elems {
				if e.True() != all {
					return cty.BoolVal(!all), nil
				}
			}
			return cty.BoolVal(all), nil
		},
	})
}

var oneFunc = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "list", Type: cty.DynamicPseudoType}},
	Type:   function.StaticReturnType(cty.DynamicPseudoType),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		elems, err := elements(args[0], cty.NilType)
		switch {
		case err != nil:
			return cty.NilVal, err
		case len(elems) > 1:
			return cty.NilVal, function.NewArgErrorf(0, "there are %d elements, and one takes at most one", len(elems))
		case len(elems) == 0:
			return cty.NullVal(cty.DynamicPseudoType), nil
		}
		return elems[0], nil
	},
})

// elements are the values of a list, set, tuple, map or object, each of the type want (cty.NilType: any).
func elements(v cty.Value, want cty.Type) ([]cty.Value, error) {
	t := v.Type()
	if !t.IsListType() && !t.IsSetType() && !t.IsTupleType() && !t.IsMapType() && !t.IsObjectType() {
		return nil, function.NewArgErrorf(0, "a list is needed, and this is a %s", t.FriendlyName())
	}
	var elems []cty.Value
	for it := v.ElementIterator(); it.Next(); {
		_, e := it.Element()
		if want != cty.NilType && (e.Type() != want || e.IsNull() || !e.IsKnown()) {
			what := e.Type().FriendlyName()
			if e.IsNull() {
				what = "null"
			}
			return nil, function.NewArgErrorf(0, "element %d must be a %s, and is %s", len(elems), want.FriendlyName(), what)
		}
		elems = append(elems, e)
	}
	return elems, nil
}

// indexFunc is the place of the first element that equals a value. The library's function of that name is the operator [ ].
var indexFunc = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "list", Type: cty.DynamicPseudoType}, {Name: "value", Type: cty.DynamicPseudoType, AllowNull: true}},
	Type:   function.StaticReturnType(cty.Number),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		if t := args[0].Type(); !t.IsListType() && !t.IsTupleType() {
			return cty.NilVal, function.NewArgErrorf(0, "a list is needed, and this is a %s", t.FriendlyName())
		}
		for it := args[0].ElementIterator(); it.Next(); {
			k, e := it.Element()
			if same, err := stdlib.Equal(e, args[1]); err == nil && same.IsKnown() && same.True() {
				return k, nil
			}
		}
		return cty.NilVal, function.NewArgErrorf(1, "the value is not in the list")
	},
})

// distinctFunc is the list without the elements that came before. The library's compares each element with every other.
var distinctFunc = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "list", Type: cty.List(cty.DynamicPseudoType)}},
	Type:   func(args []cty.Value) (cty.Type, error) { return args[0].Type(), nil },
	Impl: func(args []cty.Value, t cty.Type) (cty.Value, error) {
		seen := map[int][]cty.Value{}
		var list []cty.Value
		for it := args[0].ElementIterator(); it.Next(); {
			_, e := it.Element()
			h := e.Hash()
			if !slices.ContainsFunc(seen[h], e.RawEquals) {
				seen[h] = append(seen[h], e)
				list = append(list, e)
			}
		}
		if list == nil {
			return cty.ListValEmpty(t.ElementType()), nil
		}
		return cty.ListVal(list), nil
	},
})

var lengthFunc = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "value", Type: cty.DynamicPseudoType}},
	Type:   function.StaticReturnType(cty.Number),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		v := args[0]
		switch {
		case v.Type() == cty.String:
			return stdlib.Strlen(v)
		case v.Type().IsObjectType():
			return cty.NumberIntVal(int64(len(v.Type().AttributeTypes()))), nil
		case v.CanIterateElements():
			return v.Length(), nil
		}
		return cty.NilVal, function.NewArgErrorf(0, "only a string, a list or a map has a length, and this is a %s", v.Type().FriendlyName())
	},
})

// replaceFunc replaces a substring, or matches of a regular expression written between slashes.
var replaceFunc = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "str", Type: cty.String}, {Name: "substr", Type: cty.String}, {Name: "replace", Type: cty.String}},
	Type:   function.StaticReturnType(cty.String),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		if p := args[1].AsString(); len(p) > 2 && p[0] == '/' && p[len(p)-1] == '/' {
			return stdlib.RegexReplace(args[0], cty.StringVal(p[1:len(p)-1]), args[2])
		}
		return stdlib.Replace(args[0], args[1], args[2])
	},
})

// maxGenerated bounds lists that a function makes from nothing. The standard library's range stops at 1024, which
// is less than a large matrix.
const maxGenerated = 1_000_000

var rangeFunc = function.New(&function.Spec{
	VarParam: &function.Parameter{Name: "params", Type: cty.Number},
	Type:     function.StaticReturnType(cty.List(cty.Number)),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		start, step := big.NewFloat(0), big.NewFloat(1)
		var end *big.Float
		switch len(args) {
		case 1:
			end = args[0].AsBigFloat()
		case 2, 3:
			start, end = args[0].AsBigFloat(), args[1].AsBigFloat()
		default:
			return cty.NilVal, errors.New("range takes an end, a start and an end, or a start, an end and a step")
		}
		down := end.Cmp(start) < 0
		if down {
			step = big.NewFloat(-1)
		}
		if len(args) == 3 {
			step = args[2].AsBigFloat()
			if step.Sign() == 0 || start.Cmp(end) != 0 && (step.Sign() < 0) != down {
				return cty.NilVal, function.NewArgErrorf(2, "the step never leads from the start to the end")
			}
		}
		var list []cty.Value
		for n := start; n.Cmp(end) != 0 && (n.Cmp(end) > 0) == down; n = new(big.Float).Add(n, step) {
			if len(list) == maxGenerated {
				return cty.NilVal, fmt.Errorf("more than %d values", maxGenerated)
			}
			list = append(list, cty.NumberVal(n))
		}
		if list == nil {
			return cty.ListValEmpty(cty.Number), nil
		}
		return cty.ListVal(list), nil
	},
})

// smallProduct refuses a product of sets that no machine can hold.
func smallProduct(f function.Function) function.Function {
	return wrap(f, func(args []cty.Value) error {
		n := 1
		for _, a := range args {
			if a.CanIterateElements() {
				n *= max(1, a.LengthInt())
			}
			if n > maxGenerated {
				return fmt.Errorf("the product has more than %d elements", maxGenerated)
			}
		}
		return nil
	}, nil)
}

// wrap is f with a check before and a conversion of its result. Types are f's.
func wrap(f function.Function, before func([]cty.Value) error, after func(args []cty.Value, v cty.Value) (cty.Value, error)) function.Function {
	return function.New(&function.Spec{
		Params: f.Params(), VarParam: f.VarParam(),
		Type: func(args []cty.Value) (cty.Type, error) {
			if before != nil {
				if err := before(args); err != nil {
					return cty.NilType, err
				}
			}
			return f.ReturnTypeForValues(args)
		},
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			v, err := f.Call(args)
			if err != nil || after == nil {
				return v, err
			}
			return after(args, v)
		},
	})
}
