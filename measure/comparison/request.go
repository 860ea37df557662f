package comparison

import (
	"fmt"
	"slices"
	"strings"

	"github.com/flameox/flameox/measure/document"
	"github.com/flameox/flameox/measure/identity"
	"github.com/flameox/flameox/measure/paired"
)

// Profile says what varies.
type Profile string

// The profiles.
const (
	Revisions    Profile = "revisions"    // the source: sides are working trees
	Environments Profile = "environments" // what surrounds one source: sides are values of a label
	Variants     Profile = "variants"     // one parameter of the workload: sides are values of it
)

// Request says what to compare.
type Request struct {
	RunKey   string
	Profile  Profile
	Baseline string // a prefix of a tree or revision, a value of the label, a value of the parameter as it is recorded
	Label    string // of environments
	Vary     string // of variants; "" is the only parameter that the results carry
	Log      *paired.LogOptions
	Relative paired.RelativeOptions // used where Log is nil
}

// Input result: a document, and the order that asked for it, nil where it is not known.
type Result struct {
	Document map[string]any
	Order    map[string]any
}

// RequestError is a request that cannot be answered; there is no document then.
type RequestError struct{ Text string }

func (e *RequestError) Error() string { return e.Text }

func refuse(format string, args ...any) error { return &RequestError{fmt.Sprintf(format, args...)} }

// attempt is one result of the run with what is asked of it again and again.
type attempt struct {
	doc       map[string]any
	producer  string
	key       string
	side      string // "" where it has none
	name      string
	params    map[string]any // shared ones
	quantity  string
	status    string
	round     int // -1 where it has none
	slot      int // likewise
	value     float64
	has       bool // there is a value
	split     map[identity.Role][]identity.Fact
	condition bool
	unordered bool
}

func text(v any, path ...string) string {
	s, _ := document.At(v, path...).(string)
	return s
}

func whole(v any, path ...string) int {
	f, ok := document.At(v, path...).(float64)
	if !ok {
		return -1
	}
	return int(f)
}

// collect is the run's results in one order.
func (r *Request) collect(results []Result) ([]*attempt, error) {
	var out []*attempt
	for _, in := range results {
		doc := in.Document
		if text(doc, "provenance", "run_key") != r.RunKey {
			continue
		}
		a := &attempt{doc: doc, producer: text(doc, "producer", "name"), key: text(doc, "ingest_key"), name: text(doc, "coordinates", "workload", "name"),
			quantity: text(doc, "coordinates", "quantity", "name"), status: text(doc, "measurement", "status"), round: whole(doc, "procedure", "round"), slot: whole(doc, "procedure", "slot")}
		a.condition = text(doc, "measurement", "kind") == "condition"
		if asked, ok := in.Order["quantities"].([]any); ok {
			a.unordered = !slices.Contains(asked, any(a.quantity))
		}
		a.params, _ = document.At(doc, "coordinates", "workload", "parameters").(map[string]any)
		a.value, a.has = document.Median(doc)
		out = append(out, a)
	}
	if len(out) == 0 {
		return nil, refuse("there are no results of the run %q here", r.RunKey)
	}
	slices.SortFunc(out, func(a, b *attempt) int {
		if c := strings.Compare(a.producer, b.producer); c != 0 {
			return c
		}
		return strings.Compare(a.key, b.key)
	})
	return out, nil
}

// compared are the attempts that the sides are made of.
func compared(all []*attempt) []*attempt {
	return slices.DeleteFunc(slices.Clone(all), func(a *attempt) bool { return a.condition || a.unordered })
}

// settle finds out what varies, and each attempt's side.
func (r *Request) settle(all []*attempt) (varying string, policy identity.Policy, err error) {
	base := identity.Default()
	name := fmt.Sprintf("benchx/profile/%s/v1+%s", r.Profile, base.Name)
	switch r.Profile {
	case Revisions:
		for _, a := range all {
			a.side = text(a.doc, "provenance", "subject_tree")
		}
		return "provenance.subject_tree", base.Without(name), nil
	case Environments:
		if r.Label == "" {
			return "", base, refuse("the profile environments needs the label that tells the sides apart: --label NAME")
		}
		for _, a := range all {
			a.side = text(a.doc, "provenance", "labels", r.Label)
		}
		ignore := func(path string) identity.Rule { return identity.Rule{Path: path, Role: identity.Ignore} }
		return "provenance.labels." + r.Label, base.Without(name, identity.Rule{Path: "/revision/key", Role: identity.Match}, ignore("/coordinates/subject/configuration"),
			ignore("/coordinates/subject/components"), ignore("/coordinates/environment/system")), nil
	case Variants:
		if err := r.parameter(all); err != nil {
			return "", base, err
		}
		for _, a := range all {
			v, there := a.params[r.Vary]
			if s, ok := v.(string); ok {
				a.side = s
			} else if there {
				a.side = fmt.Sprint(v)
			}
			shared := map[string]any{}
			for k, v := range a.params {
				if k != r.Vary {
					shared[k] = v
				}
			}
			a.params = shared
		}
		return "coordinates.workload.parameters." + r.Vary, base.Without(name, identity.Rule{Path: "/revision/key", Role: identity.Match},
			identity.Rule{Path: "/coordinates/workload/parameters/" + r.Vary, Role: identity.Axis}), nil
	}
	return "", base, refuse("there is no profile %q; there are %s, %s and %s", r.Profile, Revisions, Environments, Variants)
}

// parameter is the one that varies.
func (r *Request) parameter(all []*attempt) error {
	names := map[string]bool{}
	for _, a := range all {
		for k := range a.params {
			names[k] = true
		}
	}
	list := strings.Join(document.Keys(names), ", ")
	switch {
	case r.Vary != "" && names[r.Vary]:
		return nil
	case r.Vary != "":
		return refuse("no result of the run %q has a parameter %q; their parameters are: %s", r.RunKey, r.Vary, list)
	case len(names) == 0:
		return refuse("the profile variants compares the values of one parameter, and no result of the run %q has any", r.RunKey)
	case len(names) > 1:
		return refuse("the results have several parameters, %s: say which one varies with --vary", list)
	}
	r.Vary = list
	return nil
}

// baseline is the side that the request names.
func (r *Request) baseline(all []*attempt, sides []string) (string, error) {
	var found []string
	for _, side := range sides {
		match := side == r.Baseline
		if r.Profile == Revisions && r.Baseline != "" {
			match = strings.HasPrefix(side, r.Baseline) || slices.ContainsFunc(all, func(a *attempt) bool {
				return a.side == side && strings.HasPrefix(text(a.doc, "revision", "key"), r.Baseline)
			})
		}
		if match {
			found = append(found, side)
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	what := map[Profile]string{Revisions: "a prefix of one side's tree id or revision", Environments: "a value of the label", Variants: "a value of the parameter as it is recorded, quotes included"}[r.Profile]
	if len(found) > 1 {
		return "", refuse("the baseline %q is both of the sides %s: give %s", r.Baseline, strings.Join(found, " and "), what)
	}
	return "", refuse("the baseline %q is none of the sides, which are %s: give %s", r.Baseline, strings.Join(sides, ", "), what)
}
