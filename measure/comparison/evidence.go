package comparison

import (
	"slices"

	"github.com/flameox/flameox/measure/document"
)

// Attempt is one side's observations in one round.
type Attempt struct {
	Round  int // -1 where it has none
	Slot   int
	Values []float64 // in the quantity's unit; empty where it did not succeed
	Status string
}

// Evidence is what a unit was judged by.
type Evidence struct {
	Workload Workload
	Quantity string
	Sides    [2][]Attempt // of the baseline and of the contender, by round
}

// Show gives the observations of the units of a comparison that was made of these results, in the order of its units. It is for pictures: a comparison holds every number that its
// verdicts follow from but these.
func Show(results []Result, r Request, d *Document) ([]Evidence, error) {
	all, err := r.collect(results)
	if err != nil {
		return nil, err
	}
	attempts := compared(all)
	if _, _, err := r.settle(attempts); err != nil {
		return nil, err
	}
	byName := map[string]*group{}
	for _, g := range groups(attempts) {
		byName[g.label()+"\x00"+g.quantity] = g
	}
	var out []Evidence
	for _, u := range d.Units {
		e := Evidence{Workload: u.Workload, Quantity: u.Quantity}
		g := byName[(&group{name: u.Workload.Name, params: u.Workload.Parameters}).label()+"\x00"+u.Quantity]
		if g == nil {
			out = append(out, e)
			continue
		}
		for _, a := range g.attempts {
			i := 0
			switch {
			case a.side == d.Baseline:
			case d.Contender != nil && a.side == *d.Contender:
				i = 1
			default:
				continue
			}
			e.Sides[i] = append(e.Sides[i], Attempt{a.round, a.slot, document.Values(a.doc), a.status})
		}
		for i := range e.Sides {
			slices.SortStableFunc(e.Sides[i], func(a, b Attempt) int { return a.Round - b.Round })
		}
		out = append(out, e)
	}
	return out, nil
}
