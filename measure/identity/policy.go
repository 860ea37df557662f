package identity

import (
	"fmt"
	"slices"
	"strings"

	"github.com/flameox/flameox/internal/ijson"
	"github.com/flameox/flameox/measure/document"
)

// Role is what a fact is to a policy.
type Role string

// The roles. A fact that no rule names is matched.
const (
	Match  Role = "match"
	Ignore Role = "ignore"
	Axis   Role = "axis"
)

// Rule gives the facts at and below a path a role. Of several the longest path wins.
type Rule struct {
	Path      string // JSON Pointer into a result: /coordinates/environment/system
	Role      Role
	Normalize string // uri: compare as a source address
}

// Policy is a named list of rules. Whoever changes the rules gives it another name, or history is joined that was never alike.
type Policy struct {
	Name  string // with its version: benchx/benchx-identity/v1
	Rules []Rule
}

// Default is the policy of every project that names none. The benchmark's revision is ignored: benchmarks mostly live in the subject's checkout, so
// matching it would begin a series at every commit.
func Default() Policy {
	return Policy{Name: "benchx/benchx-identity/v1", Rules: []Rule{
		{"/project", Match, ""},
		{"/source/uri", Match, "uri"},
		{"/revision/key", Axis, ""},
		{"/benchmark/source/uri", Match, "uri"},
		{"/benchmark/revision", Ignore, ""},
		{"/coordinates", Match, ""},
	}}
}

// FromDocument is the policy of an identity policy document.
func FromDocument(doc map[string]any) Policy {
	p := Policy{Name: fmt.Sprintf("%v/%v", doc["name"], doc["version"])}
	list, _ := doc["rules"].([]any)
	for _, r := range list {
		m, _ := r.(map[string]any)
		normalize, _ := m["normalize"].(string)
		path, _ := m["path"].(string)
		role, _ := m["role"].(string)
		p.Rules = append(p.Rules, Rule{path, Role(role), normalize})
	}
	return p
}

// Without is the policy with other roles for some paths, as a profile of a comparison needs.
func (p Policy) Without(name string, rules ...Rule) Policy {
	return Policy{Name: name, Rules: append(slices.Clone(p.Rules), rules...)}
}

// rule is the one that governs a path; a later one of the same path wins.
func (p Policy) rule(path string) Rule {
	best := Rule{Role: Match}
	for _, r := range p.Rules {
		if (path == r.Path || strings.HasPrefix(path, r.Path+"/")) && len(r.Path) >= len(best.Path) {
			best = r
		}
	}
	return best
}

// Fact is one leaf of a result.
type Fact struct {
	Pointer string
	Value   any
}

// facts are the leaves of the reported coordinates: what a result says of itself that can tell it from another.
func facts(result map[string]any, project string) []Fact {
	var out []Fact
	for _, name := range []string{"source", "revision", "benchmark", "coordinates"} {
		if v, ok := result[name]; ok {
			walk("/"+name, v, &out)
		}
	}
	out = append(out, Fact{"/project", project})
	slices.SortFunc(out, func(a, b Fact) int { return strings.Compare(a.Pointer, b.Pointer) })
	return out
}

// token is a member's name in a JSON Pointer. Almost every name is one as it is, and this is asked for every fact of every result.
func token(name string) string {
	if !strings.ContainsAny(name, "~/") {
		return name
	}
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}

func walk(at string, v any, out *[]Fact) {
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 0 {
			*out = append(*out, Fact{at, v})
		}
		for _, k := range document.Keys(v) {
			walk(at+"/"+token(k), v[k], out)
		}
	case []any:
		if len(v) == 0 {
			*out = append(*out, Fact{at, v})
		}
		for i, x := range v {
			walk(fmt.Sprintf("%s/%d", at, i), x, out)
		}
	default:
		*out = append(*out, Fact{at, v})
	}
}

// Split is a result's facts by their role, each list by pointer. Sources are normalized.
func (p Policy) Split(result map[string]any) map[Role][]Fact {
	out := map[Role][]Fact{}
	for _, f := range facts(result, Project(result)) {
		r := p.rule(f.Pointer)
		if s, ok := f.Value.(string); ok && r.Normalize == "uri" {
			f.Value = document.IdentityURI(s)
		}
		out[r.Role] = append(out[r.Role], f)
	}
	return out
}

// Project is where a result is filed: its own project, or, of a thin one, local/ and the machine that it says it ran on.
func Project(result map[string]any) string {
	if p, ok := result["project"].(string); ok {
		return p
	}
	for _, name := range []string{"runner", "hostname"} {
		if host, ok := document.At(result, "coordinates", "environment", "identity", name).(string); ok && host != "" {
			return "local/" + host
		}
	}
	return "local/unknown"
}

// Same says whether two values are one as documents: 1 and 1.0 are, 1 and "1" are not, null is not even itself.
func Same(a, b any) bool {
	if a == nil || b == nil {
		return false
	}
	x, err := ijson.Canonical(a)
	y, err2 := ijson.Canonical(b)
	return err == nil && err2 == nil && string(x) == string(y)
}
