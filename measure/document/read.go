package document

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/flameox/flameox/internal/ijson"
	"github.com/flameox/flameox/schemas"
)

// Kind names a document by its schema.
type Kind string

// The kinds.
const (
	OrderKind       Kind = "work-order"
	ResultKind      Kind = "measurement-result"
	ComparisonKind  Kind = "comparison"
	DescriptionKind Kind = "target-description"
	RequestKind     Kind = "target-provider-request"
	ConfigKind      Kind = "config"
	PolicyKind      Kind = "identity-policy"
)

// kinds are those that can be told apart by their schema_version.
var versions = map[Kind]any{
	OrderKind: "benchx/work-order/0.1.0", ResultKind: 5.0, ComparisonKind: "benchx/comparison-document/0.1.0", DescriptionKind: "benchx/target-description/0.1.0",
	RequestKind: "benchx/target-provider-request/0.1.0", ConfigKind: "benchx/config/0.1.0", PolicyKind: "benchx/identity-policy/0.1.0",
}

// Problem is one thing that is wrong with a document, at a JSON Pointer.
type Problem struct{ Pointer, Text string }

func (p Problem) String() string {
	if p.Pointer == "" {
		return p.Text
	}
	return p.Pointer + ": " + p.Text
}

// Invalid is a document that its schema or a rule refuses.
type Invalid struct {
	Kind     Kind
	Problems []Problem // by pointer, then text
}

// Error lists the problems, one a line.
func (e *Invalid) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s is invalid", e.Kind.noun())
	for _, p := range e.Problems {
		b.WriteString("\n  " + p.String())
	}
	return b.String()
}

func (k Kind) noun() string {
	switch k {
	case ConfigKind:
		return "the project configuration"
	case PolicyKind, OrderKind, ResultKind, ComparisonKind, DescriptionKind, RequestKind:
		return "the " + strings.ReplaceAll(strings.TrimPrefix(string(k), "measurement-"), "-", " ")
	}
	return "the document"
}

// Read reads a text strictly and validates it against its schema. The error is an ijson.Error where the text is no strict JSON, an *Invalid where it is no
// document of the kind.
func Read(k Kind, text []byte) (map[string]any, error) {
	v, err := ijson.Object(text)
	if err != nil {
		return nil, err
	}
	if err := Validate(k, v); err != nil {
		return nil, err
	}
	return v, nil
}

// Validate validates a value against the schema of its kind. The error is an *Invalid.
func Validate(k Kind, v map[string]any) error {
	if problem, wrong := version(k, v); wrong {
		return &Invalid{k, []Problem{problem}}
	}
	err := compiled()[k].Validate(v)
	if err == nil {
		return nil
	}
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return &Invalid{k, []Problem{{"", err.Error()}}}
	}
	out := &Invalid{Kind: k}
	leaves(invalid, invalid, &out.Problems)
	slices.SortFunc(out.Problems, func(a, b Problem) int {
		if c := strings.Compare(a.Pointer, b.Pointer); c != 0 {
			return c
		}
		return strings.Compare(a.Text, b.Text)
	})
	out.Problems = slices.Compact(out.Problems)
	return out
}

// version says what is wrong with the version before every field of another version is called wrong.
func version(k Kind, v map[string]any) (Problem, bool) {
	want, got := versions[k], v["schema_version"]
	if got == want {
		return Problem{}, false
	}
	at := "/schema_version"
	if _, there := v["schema_version"]; !there {
		return Problem{at, fmt.Sprintf("it is missing; %s has %s", k.noun(), quoted(want))}, true
	}
	for other, version := range versions {
		if version == got {
			return Problem{at, fmt.Sprintf("%s is %s and not %s", quoted(got), strings.Replace(other.noun(), "the ", "that of a ", 1), strings.Replace(k.noun(), "the ", "that of a ", 1))}, true
		}
	}
	return Problem{at, fmt.Sprintf("%s is not known; %s has %s", quoted(got), k.noun(), quoted(want))}, true
}

func quoted(v any) string {
	b, err := ijson.Canonical(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

var english = message.NewPrinter(language.English)

// leaves collects the errors that have no cause of their own: what stands above one says only that something below is wrong.
func leaves(e, above *jsonschema.ValidationError, out *[]Problem) {
	switch k := e.ErrorKind.(type) {
	case *kind.PropertyNames:
		// The library gives no location of its own here: the names belong to the value above.
		*out = append(*out, Problem{pointer(above.InstanceLocation), fmt.Sprintf("%q is no name for a member here", k.Property)})
		return
	case *kind.Contains, *kind.MaxContains, *kind.MinContains:
		*out = append(*out, Problem{pointer(e.InstanceLocation), text(e)})
		return
	}
	if len(e.Causes) == 0 {
		*out = append(*out, Problem{pointer(e.InstanceLocation), text(e)})
		return
	}
	for _, c := range e.Causes {
		leaves(c, e, out)
	}
}

func text(e *jsonschema.ValidationError) string {
	switch k := e.ErrorKind.(type) {
	case *kind.FalseSchema:
		return "it must not be there beside the other members"
	case *kind.AdditionalProperties:
		return fmt.Sprintf("there is no member %s", strings.Join(quoteAll(k.Properties), ", "))
	case *kind.Required:
		return fmt.Sprintf("it lacks %s", strings.Join(quoteAll(k.Missing), ", "))
	case *kind.MaxContains:
		return "more than one element has the role that only one may have"
	case *kind.Contains, *kind.MinContains:
		return "no element is of the kind that one must be"
	case *kind.Not:
		return "members are there together that exclude each other"
	}
	return e.ErrorKind.LocalizedString(english)
}

func quoteAll(names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = fmt.Sprintf("%q", n)
	}
	slices.Sort(out)
	return out
}

func pointer(path []string) string {
	var b strings.Builder
	for _, p := range path {
		b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(p))
	}
	return b.String()
}

// compiled are the schemas, made when the first is needed: most commands need none.
var compiled = sync.OnceValue(func() map[Kind]*jsonschema.Schema {
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	names, err := fs.Glob(schemas.Measurement, "measurement/*.schema.json")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	for _, name := range names {
		b, err := schemas.Measurement.ReadFile(name)
		if err != nil {
			panic(err) // it is embedded
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
		if err != nil {
			panic(fmt.Sprintf("%s: %v", name, err))
		}
		if err := c.AddResource(doc.(map[string]any)["$id"].(string), doc); err != nil {
			panic(fmt.Sprintf("%s: %v", name, err))
		}
	}
	out := map[Kind]*jsonschema.Schema{}
	for k := range versions {
		out[k] = c.MustCompile("urn:flameox:schema:measurement:" + string(k))
	}
	return out
})
