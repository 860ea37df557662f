package render

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/flameox/flameox/internal/ijson"
	"github.com/flameox/flameox/internal/view"
	"github.com/flameox/flameox/measure/comparison"
	"github.com/flameox/flameox/measure/document"
	"github.com/flameox/flameox/measure/paired"
)

// verdicts are the words in the order in which a reviewer wants them.
var verdicts = []string{"regressed", "improved", "changed", "inconclusive", "indeterminate", "unchanged", "no-change-detected"}

// Word is a verdict as people read it.
func Word(verdict string) string { return strings.ReplaceAll(verdict, "-", " ") }

// counted are the units of each verdict that there is, in that order. Those that changed most come first.
func counted(d *comparison.Document) (words []string, units map[string][]comparison.Unit) {
	units = map[string][]comparison.Unit{}
	for _, u := range d.Units {
		units[u.Verdict] = append(units[u.Verdict], u)
	}
	for _, v := range verdicts {
		if len(units[v]) > 0 {
			words = append(words, v)
			slices.SortStableFunc(units[v], func(a, b comparison.Unit) int {
				return -cmpFloat(magnitude(a), magnitude(b))
			})
		}
	}
	return words, units
}

func magnitude(u comparison.Unit) float64 {
	if u.Effect == nil {
		return -1
	}
	return math.Abs(*u.Effect)
}

func cmpFloat(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// Method is the rule of a comparison in one line, with how often it alarms where nothing changed, if that is known of it.
func Method(d *comparison.Document) string {
	m := d.Method
	out := fmt.Sprintf("%s %s on the %s", m.Name, m.Version, m.Estimator)
	if m.K != nil {
		out += fmt.Sprintf(", a change is more than %v standard errors", *m.K)
	}
	if m.Level != nil && m.Band != nil {
		out += fmt.Sprintf(", %s interval at %v %%, changes within ±%v %% do not matter", m.Interval, 100**m.Level, 100**m.Band)
	}
	out += fmt.Sprintf(", at least %d rounds", m.MinRounds)
	if m.Name != paired.RelativeName || m.K == nil {
		return out
	}
	least, most := 0, 0
	for _, u := range d.Units {
		if u.Effect != nil {
			if least == 0 || u.Rounds < least {
				least = u.Rounds
			}
			most = max(most, u.Rounds)
		}
	}
	if least == 0 {
		return out
	}
	rate := fmt.Sprintf("%.1f %% of cases with %d rounds", 100*paired.FalseAlarms(*m.K, least), least)
	if most != least {
		rate += fmt.Sprintf(", in %.1f %% with %d", 100*paired.FalseAlarms(*m.K, most), most)
	}
	return out + "; where nothing changed it still calls a unit changed in " + rate
}

// rows are the units of one verdict.
func rows(units []comparison.Unit) (columns []view.Column, out [][]string) {
	interval := slices.ContainsFunc(units, func(u comparison.Unit) bool { return u.Interval != nil })
	several := slices.ContainsFunc(units, func(u comparison.Unit) bool { return u.Quantity != units[0].Quantity })
	columns = []view.Column{{Title: "unit", Path: true}}
	if several {
		columns = append(columns, view.Column{Title: "quantity"})
	}
	columns = append(columns, view.Column{Title: "baseline", Right: true}, view.Column{Title: "effect", Right: true, Keep: true})
	if interval {
		columns = append(columns, view.Column{Title: "interval", Right: true})
	} else {
		columns = append(columns, view.Column{Title: "noise", Right: true}, view.Column{Title: "threshold", Right: true})
	}
	columns = append(columns, view.Column{Title: "rounds", Right: true}, view.Column{Title: "notes", Wrap: true})
	for _, u := range units {
		row := []string{Named(u.Workload.Name, u.Workload.Parameters)}
		if several {
			row = append(row, u.Quantity)
		}
		row = append(row, number(u.Reference, func(v float64) string { return Value(v, u.QuantityUnit) }), number(u.Effect, Percent))
		if interval {
			s := "-"
			if u.Interval != nil {
				s = Percent(u.Interval.Low) + " .. " + Percent(u.Interval.High)
			}
			row = append(row, s)
		} else {
			row = append(row, number(u.Noise, size), number(u.Threshold, size))
		}
		out = append(out, append(row, fmt.Sprint(u.Rounds), notes(u)))
	}
	return columns, out
}

func number(v *float64, f func(float64) string) string {
	if v == nil {
		return "-"
	}
	return f(*v)
}

func notes(u comparison.Unit) string {
	var out []string
	if u.Reason != nil {
		out = append(out, *u.Reason)
	}
	if u.MoreRounds != nil {
		out = append(out, fmt.Sprintf("about %d more rounds would tell", *u.MoreRounds))
	}
	if len(u.Warnings) > 0 {
		out = append(out, "["+strings.Join(u.Warnings, ", ")+"]")
	}
	return strings.Join(out, "; ")
}

// Comparison writes a comparison as a reviewer reads it: what changed, then what did not, then what could not be judged and why.
func Comparison(w io.Writer, d *comparison.Document, o view.Options) error {
	local := ""
	if d.LocalOnly {
		local = "  [local-only]"
	}
	contender := "none"
	if d.Contender != nil {
		contender = *d.Contender
	}
	fmt.Fprintf(w, "%s of run %s%s\n", d.Profile, d.RunKey, local)
	fmt.Fprintf(w, "baseline:  %s\ncontender: %s  (%s)\nmethod:    %s\n", d.Baseline, contender, d.Varying, Method(d))
	if len(d.Caveats) > 0 {
		fmt.Fprintf(w, "caveats:   %s\n", strings.Join(d.Caveats, "; "))
	}
	for _, f := range differences(d) {
		fmt.Fprintf(w, "differs:   %s\n", f)
	}
	words, units := counted(d)
	for _, v := range words {
		fmt.Fprintf(w, "\n%s (%d)\n", strings.ToUpper(Word(v)), len(units[v]))
		t := &view.Table{}
		t.Columns, t.Rows = rows(units[v])
		if err := t.Write(w, o); err != nil {
			return err
		}
	}
	for _, l := range rest(d) {
		fmt.Fprintf(w, "\n%s (%d)\n", strings.ToUpper(l.name), len(l.lines))
		for _, s := range l.lines {
			fmt.Fprintf(w, "  %s\n", view.Lines(s))
		}
	}
	for _, l := range sides(d) {
		fmt.Fprintf(w, "\n%s\n", l.name)
		for _, s := range l.lines {
			fmt.Fprintf(w, "  %s\n", view.Lines(s))
		}
	}
	return nil
}

// differences are the facts that differ between the sides and may, with the number of units where that are not all.
func differences(d *comparison.Document) []string {
	count := map[string]int{}
	for _, u := range d.Units {
		for _, at := range u.UnmatchedDifferences {
			count[at]++
		}
	}
	var out []string
	for _, at := range document.Keys(count) {
		if count[at] < len(d.Units) {
			at += fmt.Sprintf(" (%d of %d units)", count[at], len(d.Units))
		}
		out = append(out, at)
	}
	return out
}

// list is lines under a name.
type list struct {
	name  string
	lines []string
}

// rest is what has no verdict.
func rest(d *comparison.Document) []list {
	missing, failed, excluded := list{name: "missing"}, list{name: "failed invariants"}, list{name: "excluded"}
	for _, m := range d.Missing {
		missing.lines = append(missing.lines, fmt.Sprintf("%s %s: not on the side of the %s", Named(m.Workload.Name, m.Workload.Parameters), m.Quantity, m.Side))
	}
	for _, f := range d.FailedInvariants {
		where := ""
		if f.Workload != "" {
			where = fmt.Sprintf(" (%s %s)", f.Workload, f.Quantity)
		}
		failed.lines = append(failed.lines, fmt.Sprintf("%s%s: %s", f.Invariant, where, f.Detail))
	}
	for _, e := range d.Exclusions {
		s := fmt.Sprintf("%s of %s: %s", e.IngestKey, e.Producer, e.Status)
		if e.Reason != nil {
			s += " (" + *e.Reason + ")"
		}
		excluded.lines = append(excluded.lines, s)
	}
	return slices.DeleteFunc([]list{missing, failed, excluded}, func(l list) bool { return len(l.lines) == 0 })
}

// sides is what the targets say of themselves.
func sides(d *comparison.Document) []list {
	var out []list
	for _, name := range document.Keys(d.Sides) {
		l := list{name: name}
		for _, k := range document.Keys(d.Sides[name]) {
			v := d.Sides[name][k]
			s, ok := v.(string)
			if !ok {
				if b, err := ijson.Canonical(v); err == nil {
					s = string(b)
				}
			}
			l.lines = append(l.lines, k+": "+s)
		}
		if len(l.lines) > 0 {
			out = append(out, l)
		}
	}
	return out
}

// Summary is a comparison in one sentence: "2 regressed, 1 improved, 17 no change detected; 1 missing".
func Summary(d *comparison.Document) string {
	words, units := counted(d)
	var parts, more []string
	for _, v := range words {
		parts = append(parts, fmt.Sprintf("%d %s", len(units[v]), Word(v)))
	}
	for _, l := range rest(d) {
		more = append(more, fmt.Sprintf("%d %s", len(l.lines), l.name))
	}
	if len(parts) == 0 {
		parts = []string{"nothing could be compared"}
	}
	out := strings.Join(parts, ", ")
	if len(more) > 0 {
		out += "; " + strings.Join(more, ", ")
	}
	return out
}
