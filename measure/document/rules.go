package document

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/flameox/flameox/internal/ijson"
)

// Code says why a result is not stored.
type Code string

// The codes.
const (
	Malformed           Code = "malformed"
	IdentityViolation   Code = "identity-violation"
	UnitConflict        Code = "unit-conflict"
	IdempotencyConflict Code = "idempotency-conflict"
	AttemptConflict     Code = "attempt-conflict"
)

// Rejection is a reason why a result is not stored.
type Rejection struct {
	Code Code
	Problem
}

// derived are members that only a store may make: a producer that sends one claims an identity.
var derived = []string{"series", "series_fingerprint", "comparison_fingerprint", "identity_schema"}

// ReadResult reads a result as ingest does: strictly, by its schema, and by the rules that a schema cannot express. A result with a rejection is not returned.
func ReadResult(text []byte) (map[string]any, []Rejection) {
	v, err := ijson.Object(text)
	if err != nil {
		return nil, malformed(err)
	}
	for _, name := range derived {
		if _, there := v[name]; there {
			return nil, []Rejection{{IdentityViolation, Problem{"/" + name, "a result carries no identity of its own: series and fingerprints are made by the store that reads it; leave it out"}}}
		}
	}
	if err := Validate(ResultKind, v); err != nil {
		return nil, malformed(err)
	}
	if r := Check(v); len(r) > 0 {
		return nil, r
	}
	return v, nil
}

func malformed(err error) []Rejection {
	var invalid *Invalid
	if errors.As(err, &invalid) {
		out := make([]Rejection, len(invalid.Problems))
		for i, p := range invalid.Problems {
			out[i] = Rejection{Malformed, p}
		}
		return out
	}
	var text ijson.Error
	if errors.As(err, &text) {
		out := make([]Rejection, len(text))
		for i, p := range text {
			out[i] = Rejection{Malformed, Problem{"", p.String()}}
		}
		return out
	}
	return []Rejection{{Malformed, Problem{"", err.Error()}}}
}

// Check holds a result that its schema accepts against the rules that need more than one member at a time.
func Check(result map[string]any) []Rejection {
	var out []Rejection
	add := func(c Code, pointer, format string, args ...any) {
		out = append(out, Rejection{c, Problem{pointer, fmt.Sprintf(format, args...)}})
	}
	source, _ := At(result, "source", "uri").(string)
	components, _ := At(result, "coordinates", "subject", "components").([]any)
	for i, c := range components {
		m, _ := c.(map[string]any)
		uri, there := m["source"].(string)
		if m["role"] == "primary" && there && IdentityURI(uri) != IdentityURI(source) {
			add(IdentityViolation, fmt.Sprintf("/coordinates/subject/components/%d/source", i), "the primary component is from %s and the result from %s; they must be one source", uri, source)
		}
	}
	summaries, _ := At(result, "measurement", "summaries").([]any)
	seen := map[string]bool{}
	for i, s := range summaries {
		m, _ := s.(map[string]any)
		at := fmt.Sprintf("/measurement/summaries/%d", i)
		if m["kind"] == "estimate" {
			b, err := ijson.Canonical(m["estimator"])
			if err == nil && seen[string(b)] {
				add(Malformed, at, "a second estimate by the same estimator")
			}
			seen[string(b)] = true
		}
		if why := emptyInterval(m, true); why != "" {
			add(Malformed, at, "%s", why)
		}
	}
	if c, ok := At(result, "measurement", "constraint").(map[string]any); ok {
		closed := c["lower_inclusive"] == true && c["upper_inclusive"] == true
		if why := emptyInterval(c, closed); why != "" {
			add(Malformed, "/measurement/constraint", "%s", why)
		}
	}
	start, end := stamp(result, "started_at"), stamp(result, "ended_at")
	if !start.IsZero() && !end.IsZero() && end.Before(start) {
		add(Malformed, "/provenance/ended_at", "it is before started_at")
	}
	attempted, a := At(result, "procedure", "attempted_repetitions").(float64)
	completed, c := At(result, "procedure", "completed_repetitions").(float64)
	if a && c && completed > attempted {
		add(Malformed, "/procedure/completed_repetitions", "%v repetitions were completed of %v that were attempted", completed, attempted)
	}
	return out
}

// emptyInterval says why lower and upper hold nothing between them.
func emptyInterval(m map[string]any, closed bool) string {
	lower, l := m["lower"].(float64)
	upper, u := m["upper"].(float64)
	switch {
	case !l || !u || lower < upper:
		return ""
	case lower > upper:
		return fmt.Sprintf("the lower end %v is above the upper end %v", lower, upper)
	case closed:
		return ""
	}
	return fmt.Sprintf("both ends are %v and not both belong to the interval, so nothing is in it", lower)
}

func stamp(result map[string]any, name string) time.Time {
	s, _ := At(result, "provenance", name).(string)
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return time.Time{}
	}
	return t
}

// At is the value below a document by the names of members, nil where one is missing.
func At(v any, path ...string) any {
	for _, p := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[p]
	}
	return v
}

// Codes are the distinct codes of rejections, in their order.
func Codes(list []Rejection) string {
	var out []string
	seen := map[Code]bool{}
	for _, r := range list {
		if !seen[r.Code] {
			seen[r.Code] = true
			out = append(out, string(r.Code))
		}
	}
	return strings.Join(out, ", ")
}
