package paired

import (
	"fmt"
	"math"
	"sort"

	"github.com/flameox/flameox/internal/stats"
)

// Log's name and version in documents.
const (
	LogName    = "paired-log"
	LogVersion = "v2"
)

// Interval says what an interval assumes of the differences.
type Interval string

// The intervals of Log.
const (
	StudentInterval  Interval = "t"         // normal; from 2 rounds on
	SignFlipInterval Interval = "sign-flip" // symmetric; from 6 rounds on
)

// LogOptions are the parameters of Log.
type LogOptions struct {
	Level     float64  // confidence, 0.95 where nothing else is said
	Interval  Interval // StudentInterval where nothing else is said
	Band      float64  // a relative change up to this does not matter; 0.01
	MinRounds int
	// Looks is how often the verdict may be asked for while rounds are added. Each look spends an equal share of alpha, so that all of them
	// together raise no more false alarms than one. 0 is 1.
	Looks int
	Look  int // which of them this is, from 1; 0 is 1
}

// Unit is one workload and quantity of a comparison.
type Unit struct {
	Rounds    []Round
	Direction Direction
	// Deterministic quantities are equal or not: every run gives the same value, so that one round says all.
	Deterministic bool
}

// check refuses what has no meaning.
func (o LogOptions) check() error {
	switch {
	case !(o.Level > 0 && o.Level < 1):
		return fmt.Errorf("the confidence level is %v; it lies between 0 and 1, such as 0.95", o.Level)
	case !(o.Band >= 0) || math.IsInf(o.Band, 0):
		return fmt.Errorf("the band is %v; it is a relative change from 0 on, such as 0.01 for 1 %%", o.Band)
	case o.Looks < 0 || o.Look < 0:
		return fmt.Errorf("look %d of %d: both are counted from 1", o.Look, o.Looks)
	case o.Interval != StudentInterval && o.Interval != SignFlipInterval:
		return fmt.Errorf("there is no interval %q; there are %q and %q", o.Interval, StudentInterval, SignFlipInterval)
	}
	return nil
}

// LogResult is what Log found of one unit. Effects are relative: 0.03 is 3 % more than the baseline. The numbers are null where there is a reason
// why they have no value.
type LogResult struct {
	Rounds    int
	Reference *float64 // median of the baseline
	Effect    *float64 // exp(mean of ln(contender/baseline)) − 1
	Low, High *float64 // of the interval at Level
	Level     float64  // that the verdict was taken at
	PChange   *float64 // smallest alpha at which the interval lies beyond the band
	PSame     *float64 // smallest alpha at which it lies within
	Verdict   Verdict
	Reason    Reason
}

// Log compares many units at once. A unit is regressed or improved where its interval lies wholly beyond the band, unchanged where it lies wholly within,
// else inconclusive. Over many units some intervals miss by chance, so each kind of claim is made at the level at which, by Benjamini and
// Hochberg's rule, no more than 1 − level of the claims are expected to be wrong, and intervals are given at that same level.
//
// The band is symmetric in the logarithm, from 1/(1+b) to 1+b, so that exchanging the sides exchanges the verdicts.
func Log(units []Unit, o LogOptions) ([]LogResult, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	alpha := (1 - o.Level) / float64(max(1, o.Looks))
	spent := max(1, o.Look) > max(1, o.Looks)
	results := make([]LogResult, len(units))
	estimates := make([]estimate, len(units))
	band := math.Log1p(o.Band)
	var change, same []float64
	for i, u := range units {
		results[i], estimates[i] = o.look(u, spent)
		if e := estimates[i]; e != nil {
			change, same = append(change, e.beyond(band)), append(same, e.within(band))
		}
	}
	alphaChange, alphaSame := benjaminiHochberg(change, alpha), benjaminiHochberg(same, alpha)
	for i, e := range estimates {
		if e != nil {
			decide(&results[i], e, units[i].Direction, band, alphaChange, alphaSame)
		}
	}
	return results, nil
}

// look is the unit's estimate, or why it has none.
func (o LogOptions) look(u Unit, spent bool) (LogResult, estimate) {
	rounds := u.Rounds
	out := LogResult{Rounds: len(rounds), Level: o.Level, Verdict: Inconclusive}
	least := max(2, o.MinRounds)
	if o.Interval == SignFlipInterval {
		least = max(signFlipRounds, o.MinRounds)
	}
	switch {
	case u.Deterministic:
		exact(&out, u)
		return out, nil
	case spent:
		out.Reason = LooksSpent
		return out, nil
	case len(rounds) < least:
		out.Reason = InsufficientRounds
		return out, nil
	}
	d := make([]float64, len(rounds))
	base := make([]float64, len(rounds))
	for i, r := range rounds {
		if r.Baseline <= 0 || r.Contender <= 0 {
			out.Reason = NotPositive
			return out, nil
		}
		base[i], d[i] = r.Baseline, math.Log(r.Contender/r.Baseline)
		if math.IsInf(d[i], 0) || math.IsNaN(d[i]) {
			out.Reason = NotFinite
			return out, nil
		}
	}
	reference, effect := stats.Median(base), math.Expm1(stats.Mean(d))
	out.Reference, out.Effect = &reference, &effect
	if o.Interval == SignFlipInterval {
		return out, newTypical(d)
	}
	return out, newStudent(d)
}

// decide gives the verdict and the interval that it was taken by.
func decide(out *LogResult, e estimate, d Direction, band, alphaChange, alphaSame float64) {
	pChange, pSame := e.beyond(band), e.within(band)
	out.PChange, out.PSame = &pChange, &pSame
	alpha := alphaChange
	switch {
	case pChange <= alphaChange:
		out.Verdict = direct(*out.Effect, d)
	case pSame <= alphaSame:
		out.Verdict, alpha = Unchanged, alphaSame
	}
	out.Level = 1 - alpha
	low, high := e.at(alpha)
	if !math.IsInf(low, 0) {
		low, high = math.Expm1(low), math.Expm1(high)
		out.Low, out.High = &low, &high
	}
}

// More is about how many further rounds would bring the interval of an inconclusive unit to one side of the nearer edge of the band, if the noise stays as it is. It is null
// where the unit has its verdict or no interval, or the effect lies so near the edge that a hundred times the rounds would not do.
func More(u Unit, o LogOptions, r LogResult) *int {
	if r.Verdict != Inconclusive || r.Low == nil || o.Interval != StudentInterval {
		return nil
	}
	_, e := o.look(u, false)
	s, ok := e.(student)
	if !ok {
		return nil
	}
	rounds, band, alpha := r.Rounds, math.Log1p(o.Band), 1-r.Level
	room := math.Abs(math.Abs(s.mean) - band)
	missing := sort.Search(100*rounds, func(more int) bool { // the interval only gets narrower
		n := rounds + more
		next := student{s.mean, s.se * math.Sqrt(float64(rounds)/float64(n)), s.t}
		next.t.Nu = float64(n - 1)
		low, high := next.at(alpha)
		return (high-low)/2 <= room
	})
	if missing == 100*rounds {
		return nil
	}
	missing = max(1, missing)
	return &missing
}

// exact compares what has no noise.
func exact(out *LogResult, u Unit) {
	rounds := u.Rounds
	if len(rounds) == 0 {
		out.Reason = InsufficientRounds
		return
	}
	first := rounds[0]
	for _, r := range rounds[1:] {
		if r != first {
			out.Reason = NotDeterministic
			return
		}
	}
	out.Level, out.Verdict = 1, Unchanged
	out.Reference = &first.Baseline
	if first.Baseline != 0 {
		effect := first.Contender/first.Baseline - 1
		out.Effect, out.Low, out.High = &effect, &effect, &effect
	}
	if first.Baseline != first.Contender {
		out.Verdict = direct(first.Contender-first.Baseline, u.Direction)
	}
}

// benjaminiHochberg is the level at which the claims with these p-values may be made so that at most alpha of those made are expected to be wrong.
// It is never below alpha/m, the level of the first claim, so that intervals of units without a claim have one, too.
func benjaminiHochberg(p []float64, alpha float64) float64 {
	m := len(p)
	for r := m; r > 1; r-- {
		level := alpha * float64(r) / float64(m)
		n := 0
		for _, x := range p {
			if x <= level {
				n++
			}
		}
		if n >= r {
			return level
		}
	}
	return alpha / float64(max(1, m))
}
