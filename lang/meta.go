package lang

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/hcl/v2"

	"github.com/flameox/flameox/internal/token"
	"github.com/flameox/flameox/lang/units"
)

// metaArgs are the arguments that every stage has and that are ordinary values.
type metaArgs struct {
	Description string            `arg:"description,optional" doc:"what the block is for, shown in listings" facet:"exempt: text for people"`
	Labels      map[string]string `arg:"labels,optional" doc:"names and values to select and group results by" facet:"exempt: text for people"`
	Sensitive   string            `arg:"sensitive,optional" doc:"\"public\", \"internal\" or \"sensitive\" (or true): who may see the artifacts" facet:"exempt: does not change what is computed"`
	Attempts    *int              `arg:"attempts" doc:"how many valid attempts there must be" facet:"exempt: selects attempts of one key"`
	Exclusive   *bool             `arg:"exclusive" doc:"whether nothing else may run meanwhile" facet:"exempt: does not change what is computed"`
	Reuse       *string           `arg:"reuse" doc:"\"auto\", \"never\", or the age up to which a result is reused, such as \"24h\"" facet:"exempt: decides about reuse"`
	Contention  *string           `arg:"max_contention" doc:"share of the machine's CPU time, such as \"5%\", that processes outside may use meanwhile; beyond it the attempt is not valid and is made again, twice at most" facet:"exempt: selects attempts of one key"`
	Distinct    string            `arg:"distinct,optional" doc:"keeps two otherwise identical stages apart" facet:"identity"`
}

// Compiled when a configuration is first looked at: many commands never do.
var metaSchema = sync.OnceValue(func() *schema {
	return mustCompile(&Schema{Doc: "arguments of every stage", Options: &metaArgs{}})
})

// structural are the arguments of every stage that decide about instances and order; they are no values of the stage.
var structural = []string{"for_each", "matrix", "depends_on", "profile_of"}

// measurementOnly are the arguments that only measurements have.
var measurementOnly = []string{"attempts", "exclusive", "reuse", "distinct", "max_contention", "profile_of"}

// stageArgs are the names in metaArgs, as a list of its own because schemas are compiled before metaSchema is.
var stageArgs = []string{"description", "labels", "sensitive", "attempts", "exclusive", "reuse", "distinct", "max_contention"}

func (s *schema) accepts(name string) bool {
	if !s.Stage {
		return false
	}
	return (slices.Contains(stageArgs, name) || slices.Contains(structural, name)) && (s.Measurement || !slices.Contains(measurementOnly, name))
}

// meta checks the evaluated meta arguments and stores them in the instance.
func (r *row) meta(m *metaArgs) bool {
	inst, n := r.inst, r.f.n
	s := *m
	if def := &r.f.e.c.Settings.defaults; n.sch.Stage {
		if s.Sensitive == "" {
			s.Sensitive = def.Sensitive
		}
		if len(def.Labels) > 0 {
			labels := maps.Clone(def.Labels)
			maps.Copy(labels, s.Labels)
			s.Labels = labels
		}
		if n.sch.Measurement {
			if s.Attempts == nil {
				s.Attempts = def.Attempts
			}
			if s.Exclusive == nil {
				s.Exclusive = def.Exclusive
			}
			if s.Reuse == nil {
				s.Reuse = def.Reuse
			}
		}
	}
	inst.Meta = Meta{Description: s.Description, Labels: s.Labels, Exclusive: s.Exclusive, Distinct: s.Distinct, Attempts: 1, Reuse: "auto"}
	ok := true
	for _, a := range n.meta.args {
		if d := checkMeta(&inst.Meta, s, a); d != nil {
			r.fail(d, a.attr.Expr)
			ok = false
		}
	}
	checkMeta(&inst.Meta, s, nil) // what comes from the defaults, which were checked where they are written
	if n.profileOf != nil {
		inst.Meta.ProfileOf = r.pick(n.profileOf)
	}
	return ok
}

// checkMeta checks the argument a, or where it is nil takes over all of them, from s into m.
func checkMeta(m *Meta, s metaArgs, a *arg) *hcl.Diagnostic {
	at := func(name string) bool { return a == nil || a.f.name == name }
	bad := func(format string, args ...any) *hcl.Diagnostic {
		if a == nil {
			return nil
		}
		return errorAt(sumInvalidValue, a.attr.Expr.Range(), "The value of %q does not fit: %s.", a.f.name, fmt.Sprintf(format, args...))
	}
	if at("sensitive") {
		switch s.Sensitive {
		case "", "public", "internal", "sensitive":
			m.Sensitive = s.Sensitive
		case "true":
			m.Sensitive = "sensitive"
		case "false":
			m.Sensitive = ""
		default:
			return bad("it is %q, and must be \"public\", \"internal\", \"sensitive\" or true", token.Display(s.Sensitive))
		}
	}
	if at("attempts") && s.Attempts != nil {
		if *s.Attempts < 1 || *s.Attempts > 100_000 {
			return bad("it is %d, and must be between 1 and 100000", *s.Attempts)
		}
		m.Attempts = *s.Attempts
	}
	if at("max_contention") && s.Contention != nil {
		share, err := units.Percent(*s.Contention)
		if err != nil || share <= 0 || share > 1 {
			return bad("it is %q, and must be a share of more than 0%% and at most 100%%, such as \"5%%\"", token.Display(*s.Contention))
		}
		m.MaxContention = share
	}
	if at("reuse") && s.Reuse != nil {
		switch *s.Reuse {
		case "auto", "never":
			m.Reuse, m.ReuseAge = *s.Reuse, 0
		default:
			age, err := units.Duration(*s.Reuse)
			if err != nil || age <= 0 {
				return bad("it is %q, and must be \"auto\", \"never\" or an age such as \"24h\"", token.Display(*s.Reuse))
			}
			m.Reuse, m.ReuseAge = "age", time.Duration(age)
		}
	}
	return nil
}
