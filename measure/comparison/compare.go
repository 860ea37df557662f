package comparison

import (
	"fmt"
	"slices"
	"strings"

	"github.com/flameox/flameox/measure/document"
	"github.com/flameox/flameox/measure/identity"
	"github.com/flameox/flameox/measure/paired"
)

// Compare makes the document. The error is a *RequestError where the request has no answer.
func Compare(results []Result, r Request) (*Document, error) {
	all, err := r.collect(results)
	if err != nil {
		return nil, err
	}
	attempts := compared(all)
	varying, policy, err := r.settle(attempts)
	if err != nil {
		return nil, err
	}
	for _, a := range attempts {
		a.split = policy.Split(a.doc)
	}
	sides := sidesOf(attempts)
	baseline, err := r.baseline(attempts, sides)
	if err != nil {
		return nil, err
	}
	units := groups(attempts)
	out := &Document{SchemaVersion: "benchx/comparison-document/0.1.0", Mode: "run", RunKey: r.RunKey, Profile: r.Profile, Varying: varying, Baseline: baseline,
		Method: r.method(), IdentitySchema: policy.Name, Sides: map[string]map[string]any{}, Units: []Unit{}, Missing: []Missing{}, Exclusions: []Exclusion{}, Inputs: []Input{}}
	out.FailedInvariants = append([]FailedInvariant{}, r.guard(attempts, units, sides)...)
	contender := ""
	if len(sides) == 2 {
		contender = sides[0]
		if contender == baseline {
			contender = sides[1]
		}
		out.Contender = &contender
	}
	for _, side := range sides {
		out.Sides[side] = declared(attempts, side)
	}
	for _, a := range all {
		out.Inputs = append(out.Inputs, Input{a.producer, a.key})
	}
	for _, a := range attempts {
		if a.status != "success" {
			e := Exclusion{IngestKey: a.key, Producer: a.producer, Status: a.status}
			if why := text(a.doc, "measurement", "reason"); why != "" {
				e.Reason = &why
			}
			out.Exclusions = append(out.Exclusions, e)
		}
	}
	out.caveats(attempts)
	out.LocalOnly = len(out.Caveats) > 0
	if contender != "" {
		if err := r.judge(out, units, baseline, contender); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// judge fills the units.
func (r *Request) judge(out *Document, units []*group, baseline, contender string) error {
	broken := "" // the first rule that leaves no unit a verdict
	byUnit := map[string]string{}
	for _, f := range out.FailedInvariants {
		switch {
		case f.Workload == "" && broken == "":
			broken = f.Invariant
		case f.Workload != "":
			byUnit[f.Workload+"\x00"+f.Quantity] = f.Invariant
		}
	}
	var kept []*group
	var rounds [][]paired.Round
	for _, g := range units {
		on := map[string]bool{}
		for _, a := range g.attempts {
			on[a.side] = true
		}
		for side, name := range map[string]string{baseline: "baseline", contender: "contender"} {
			if !on[side] {
				out.Missing = append(out.Missing, Missing{Workload{g.name, open(g.params)}, g.quantity, name})
			}
		}
		if !on[baseline] || !on[contender] {
			continue
		}
		u := r.unit(g, baseline, contender)
		pairs := pair(g, baseline, contender)
		u.Rounds = len(pairs)
		why := broken
		if why == "" {
			why = byUnit[g.label()+"\x00"+g.quantity]
		}
		if why == "" && r.Profile == Variants && slices.ContainsFunc(g.attempts, func(a *attempt) bool { return slices.Contains([]string{"partial", "censored", "error"}, a.status) }) {
			why = "side-failed"
		}
		if why != "" {
			u.Verdict, u.Reason = r.none(), &why
			out.Units = append(out.Units, u)
			continue
		}
		out.Units = append(out.Units, u)
		kept, rounds = append(kept, g), append(rounds, pairs)
	}
	return r.verdicts(out, kept, rounds)
}

// none is the word of the method for no verdict.
func (r *Request) none() string {
	if r.Log != nil {
		return string(paired.Inconclusive)
	}
	return string(paired.Indeterminate)
}

func (r *Request) method() Method {
	if o := r.Log; o != nil {
		return Method{Name: paired.LogName, Version: paired.LogVersion, Estimator: "median", MinRounds: max(2, o.MinRounds), Level: &o.Level, Band: &o.Band, Interval: string(o.Interval), Looks: max(1, o.Looks), Look: max(1, o.Look)}
	}
	k := r.Relative.K
	return Method{Name: paired.RelativeName, Version: paired.RelativeVersion, Estimator: "median", K: &k, MinRounds: r.Relative.MinRounds}
}

// verdicts gives the units that may have one theirs; they stand in out.Units in the order of kept.
func (r *Request) verdicts(out *Document, kept []*group, rounds [][]paired.Round) error {
	var open []*Unit
	for i := range out.Units {
		if out.Units[i].Verdict == "" {
			open = append(open, &out.Units[i])
		}
	}
	reason := func(u *Unit, why paired.Reason) {
		if why != "" {
			s := string(why)
			u.Reason = &s
		}
	}
	if r.Log == nil {
		for i, u := range open {
			o := r.Relative
			o.Direction, o.Deterministic = paired.Direction(u.Direction), deterministic(kept[i])
			got := paired.Relative(rounds[i], o)
			u.Reference, u.Effect, u.Noise, u.Threshold, u.Verdict = got.Reference, got.Effect, got.Noise, got.Threshold, string(got.Verdict)
			reason(u, got.Reason)
		}
		return nil
	}
	list := make([]paired.Unit, len(open))
	for i, u := range open {
		list[i] = paired.Unit{Rounds: rounds[i], Direction: paired.Direction(u.Direction), Deterministic: deterministic(kept[i])}
	}
	got, err := paired.Log(list, *r.Log)
	if err != nil {
		return &RequestError{err.Error()}
	}
	for i, u := range open {
		g := got[i]
		u.Reference, u.Effect, u.PChange, u.PSame, u.MoreRounds, u.Verdict = g.Reference, g.Effect, g.PChange, g.PSame, paired.More(list[i], *r.Log, g), string(g.Verdict)
		if g.Low != nil {
			u.Interval = &Interval{*g.Low, *g.High, g.Level}
		}
		reason(u, g.Reason)
	}
	return nil
}

func deterministic(g *group) bool {
	return document.At(g.attempts[0].doc, "coordinates", "quantity", "deterministic") == true
}

func open(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return m
}

// unit is what a unit says whatever its verdict.
func (r *Request) unit(g *group, baseline, contender string) Unit {
	u := Unit{Workload: Workload{g.name, open(g.params)}, Quantity: g.quantity, NoiseSource: "paired-rounds", UnmatchedDifferences: unmatched(g.attempts, []string{baseline, contender})}
	if u.UnmatchedDifferences == nil {
		u.UnmatchedDifferences = []string{}
	}
	u.Series = Series{series(g.attempts, baseline), series(g.attempts, contender)}
	warnings := map[string]bool{}
	for _, a := range g.attempts {
		u.QuantityUnit, u.Direction = text(a.doc, "coordinates", "quantity", "unit"), text(a.doc, "coordinates", "quantity", "direction")
		list, _ := document.At(a.doc, "quality", "warnings").([]any)
		for _, w := range list {
			if s, ok := w.(string); ok {
				warnings[s] = true
			}
		}
	}
	u.Warnings = document.Keys(warnings)
	return u
}

// series is the history that all results of a side are points of.
func series(attempts []*attempt, side string) *string {
	var out *string
	estimator, err := identity.Median().Fingerprint()
	if err != nil {
		return nil
	}
	for _, a := range attempts {
		if a.side != side {
			continue
		}
		c, unseriable, err := identity.Default().Comparison(a.doc)
		if err != nil || unseriable != "" {
			return nil
		}
		s := identity.Series(c, estimator)
		if out != nil && *out != s {
			return nil
		}
		out = &s
	}
	return out
}

// pair takes the values of both sides by round, in the order of rounds.
func pair(g *group, baseline, contender string) []paired.Round {
	type both struct{ b, c *attempt }
	at := map[int]*both{}
	for _, a := range g.attempts {
		if a.status != "success" || !a.has || a.round < 0 {
			continue
		}
		if at[a.round] == nil {
			at[a.round] = &both{}
		}
		switch a.side {
		case baseline:
			at[a.round].b = a
		case contender:
			at[a.round].c = a
		}
	}
	rounds := make([]int, 0, len(at))
	for n, p := range at {
		if p.b != nil && p.c != nil {
			rounds = append(rounds, n)
		}
	}
	slices.Sort(rounds)
	out := make([]paired.Round, len(rounds))
	for i, n := range rounds {
		out[i] = paired.Round{Baseline: at[n].b.value, Contender: at[n].c.value}
	}
	return out
}

// declared is what a side's target says of itself.
func declared(attempts []*attempt, side string) map[string]any {
	out := map[string]any{}
	for _, a := range attempts {
		if a.side != side {
			continue
		}
		for _, name := range []string{"how_built", "activation", "shell", "target_provider"} {
			if v := document.At(a.doc, "provenance", "info", name); v != nil {
				out[name] = v
			}
		}
	}
	return out
}

// caveats name the sides that nobody else can make again.
func (d *Document) caveats(attempts []*attempt) {
	states := map[string]map[string]bool{}
	for _, a := range attempts {
		for _, what := range []string{"subject", "benchmark"} {
			if s := text(a.doc, "provenance", what+"_dirty"); s != "clean" {
				if states[a.side] == nil {
					states[a.side] = map[string]bool{}
				}
				states[a.side][what+" "+s] = true
			}
		}
	}
	for _, side := range document.Keys(states) {
		name := side
		if side == "" {
			name = "a result without a side"
		}
		d.Caveats = append(d.Caveats, fmt.Sprintf("%s: %s", name, strings.Join(document.Keys(states[side]), ", ")))
	}
}
