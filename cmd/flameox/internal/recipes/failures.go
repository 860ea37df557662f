package recipes

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/evidence/query"
	"github.com/flameox/flameox/internal/growth"
	"github.com/flameox/flameox/internal/view"
	"github.com/flameox/flameox/measure/changepoint"
)

// FailureChange is where a stage began, or ceased, to fail in one way.
type FailureChange struct {
	Run      string  `json:"run"` // the first of the new rate, in the order of runs
	Revision string  `json:"source_revision,omitempty"`
	Before   float64 `json:"before"` // share of the stage's runs that failed so, up to the change before
	After    float64 `json:"after"`  // from here to the next change
	P        float64 `json:"p"`      // share of shuffled orders that divide as well
}

// Hypothesis is something that failures of one kind have in common and other runs of the kind of stage have less often. It is no cause: several can fit equally well, and then these runs
// do not tell them apart.
type Hypothesis struct {
	What          string  `json:"what"` // stage, host, source revision, branch, what the key is made of, flameox, axis NAME
	Value         string  `json:"value"`
	FailedWith    int     `json:"failed_with"`
	FailedWithout int     `json:"failed_without"` // which it does not explain
	OthersWith    int     `json:"others_with"`    // which speak against it
	OthersWithout int     `json:"others_without"`
	P             float64 `json:"p"`          // of chance alone (Fisher's exact test, that failures have it more often)
	Adjusted      float64 `json:"adjusted_p"` // by Holm's method, for all hypotheses about these failures
}

// attempt is one run as hypotheses see it.
type attempt struct {
	run, address, kind, cluster string
	facets                      map[string]string
}

// cluster tells failures of one way from those of others.
func cluster(kind any, row map[string]any) string {
	return fmt.Sprint(kind, row["execution"], row["exit"], row["signal"], row["cause"], row["codes"])
}

// explain adds changes and hypotheses to the rows of failures.
func (d *Document) explain(c *cli.Context, db *query.DB) error {
	var kinds []string
	for _, r := range d.Rows {
		if k := text(fmt.Sprint(r["experiment"])) + ", " + text(fmt.Sprint(r["kind"])); !slices.Contains(kinds, "("+k+")") {
			kinds = append(kinds, "("+k+")")
		}
	}
	if len(kinds) == 0 {
		return nil
	}
	of := map[string][]attempt{} // by experiment and kind
	n := 0
	sql := `SELECT run, experiment, address, kind, valid, execution, "exit", signal, cause, list_sort(list_distinct(list_transform(invalid, x -> split_part(x, ':', 1)))) AS codes, axes, host_name, source_revision, source_branch, key, flameox
FROM runs WHERE (experiment, kind) IN (` + strings.Join(kinds, ", ") + `) ORDER BY run`
	err := db.Each(c.Context, sql, func(cols []query.Column, row []any) error {
		if n++; n > mostRows {
			return fmt.Errorf("there are more than %s runs of the kinds that failed; name an address", view.Count(mostRows))
		}
		m := map[string]any{}
		for i, col := range cols {
			m[col.Name] = plain(row[i])
		}
		a := attempt{run: fmt.Sprint(m["run"]), address: fmt.Sprint(m["address"]), kind: fmt.Sprint(m["kind"]), facets: map[string]string{}}
		if m["valid"] != true {
			a.cluster = cluster(m["kind"], m)
		}
		for what, name := range map[string]string{"stage": "address", "host": "host_name", "source revision": "source_revision", "branch": "source_branch", "key": "key", "flameox": "flameox"} {
			if m[name] != nil {
				a.facets[what] = fmt.Sprint(m[name])
			}
		}
		if axes, ok := m["axes"].(map[string]any); ok {
			for k, v := range axes {
				a.facets["axis "+k] = fmt.Sprint(v)
			}
		}
		key := fmt.Sprint(m["experiment"], "\x00", m["kind"])
		of[key] = append(of[key], a)
		return nil
	})
	if err != nil {
		return err
	}
	for _, r := range d.Rows {
		list := of[fmt.Sprint(r["experiment"], "\x00", r["kind"])]
		r["changes"] = changesOf(list, cluster(r["kind"], r), fmt.Sprint(r["address"]))
		r["hypotheses"] = hypotheses(list, cluster(r["kind"], r))
	}
	return nil
}

// changesOf is where the rate of one way of failing changed along the runs of a stage.
func changesOf(list []attempt, way, address string) []FailureChange {
	var values []float64
	var runs []attempt
	for _, a := range list {
		if a.address != address {
			continue
		}
		runs = append(runs, a)
		failed := 0.0
		if a.cluster == way {
			failed = 1
		}
		values = append(values, failed)
	}
	found := changepoint.Find(values, changepoint.Options{})
	rate := func(from, to int) (r float64) {
		for _, v := range values[from:to] {
			r += v / float64(to-from)
		}
		return r
	}
	out := make([]FailureChange, len(found))
	for i, f := range found {
		from, to := 0, len(values)
		if i > 0 {
			from = found[i-1].At
		}
		if i+1 < len(found) {
			to = found[i+1].At
		}
		out[i] = FailureChange{Run: runs[f.At].run, Revision: runs[f.At].facets["source revision"], Before: rate(from, f.At), After: rate(f.At, to), P: f.P}
	}
	return out
}

// hypotheses are what failures of one way have in common, as far as other runs have it less often, the best first.
func hypotheses(list []attempt, way string) []Hypothesis {
	failed, others := 0, 0
	with := map[[2]string]*Hypothesis{}
	values := map[string]map[string]bool{}
	for _, a := range list {
		bad := a.cluster == way
		if bad {
			failed++
		} else {
			others++
		}
		for what, value := range a.facets {
			k := [2]string{what, value}
			h := with[k]
			if h == nil {
				h = &Hypothesis{What: what, Value: value}
				with[k] = h
			}
			if bad {
				h.FailedWith++
			} else {
				h.OthersWith++
			}
			if values[what] == nil {
				values[what] = map[string]bool{}
			}
			values[what][value] = true
		}
	}
	out := []Hypothesis{}
	for k, h := range with {
		h.FailedWithout, h.OthersWithout = failed-h.FailedWith, others-h.OthersWith
		// A value that all runs have tells nothing, and one that failures have less often is no hypothesis about them.
		if len(values[k[0]]) < 2 || h.FailedWith*others <= h.OthersWith*failed {
			continue
		}
		h.P = fisher(h.FailedWith, h.FailedWithout, h.OthersWith, h.OthersWithout)
		out = append(out, *h)
	}
	p := make([]float64, len(out))
	for i := range out {
		p[i] = out[i].P
	}
	for i, a := range growth.Holm(p) {
		out[i].Adjusted = a
	}
	slices.SortFunc(out, func(x, y Hypothesis) int {
		return cmp.Or(cmp.Compare(x.P, y.P), strings.Compare(x.What, y.What), strings.Compare(x.Value, y.Value))
	})
	return out[:min(len(out), mostHypotheses)]
}

// mostHypotheses is how many are kept of one kind of failure; all are counted for the adjustment.
const mostHypotheses = 20

// fisher is how often chance alone puts as many failures with the value, or more, where so many runs failed and so many have it.
func fisher(a, b, c, d int) float64 {
	choose := func(n, k int) float64 {
		x, _ := math.Lgamma(float64(n + 1))
		y, _ := math.Lgamma(float64(k + 1))
		z, _ := math.Lgamma(float64(n - k + 1))
		return x - y - z
	}
	all := choose(a+b+c+d, a+c)
	p := 0.0
	for b >= 0 && c >= 0 {
		p += math.Exp(choose(a+b, a) + choose(c+d, c) - all)
		a, b, c, d = a+1, b-1, c-1, d+1
	}
	return min(1, p)
}

// writeReasons says below the table what stands out of the rows.
func (d *Document) writeReasons(w io.Writer) {
	share := func(r float64) string { return strconv.FormatFloat(100*r, 'f', 0, 64) + " %" }
	for _, r := range d.Rows {
		name := fmt.Sprint(r["kind"], " that ", r["execution"])
		if e, ok := r["exit"].(int64); ok {
			name += fmt.Sprint(" with exit ", e)
		}
		if codes := cell(r, column{name: "codes"}); codes != "" {
			name += " (" + codes + ")"
		}
		for _, c := range r["changes"].([]FailureChange) {
			at := c.Run
			if c.Revision != "" {
				at += " of " + c.Revision[:min(12, len(c.Revision))]
			}
			fmt.Fprintln(w, view.Lines(fmt.Sprintf("%s: %s failed so in %s of its runs before %s, and in %s from there on (p %s).", name, r["address"], share(c.Before), at, share(c.After), chance(c.P))))
		}
		var fits []string
		for _, h := range r["hypotheses"].([]Hypothesis) {
			if h.Adjusted <= level {
				fits = append(fits, fmt.Sprintf("%s %s (%d of %d failures, %d of %d others, adjusted p %s)", h.What, h.Value, h.FailedWith, h.FailedWith+h.FailedWithout, h.OthersWith, h.OthersWith+h.OthersWithout, chance(h.Adjusted)))
			}
		}
		if len(fits) > 0 {
			fmt.Fprintln(w, view.Lines(fmt.Sprintf("%s goes with: %s. These are hypotheses, not causes; -json has all of them.", name, strings.Join(fits, "; "))))
		}
	}
}
