package paired

import (
	"math"

	"github.com/flameox/flameox/internal/stats"
)

// RelativeMethod names Relative's rule in documents.
const (
	RelativeName    = "benchx/paired-relative"
	RelativeVersion = "v1"
)

// Round is one value of each side, both positive in what Log takes.
type Round struct{ Baseline, Contender float64 }

// Direction says which way is better.
type Direction string

// Directions as result documents spell them; NoDirection where the quantity has none.
const (
	LowerIsBetter  Direction = "lower-is-better"
	HigherIsBetter Direction = "higher-is-better"
	NoDirection    Direction = ""
)

// Verdict is what a method says of one unit.
type Verdict string

// The verdicts. Relative says Changed, NoChangeDetected and Indeterminate; Log and MedianLog say Changed, Unchanged and Inconclusive. Both say Regressed and Improved.
const (
	Regressed        Verdict = "regressed"
	Improved         Verdict = "improved"
	Changed          Verdict = "changed" // of a quantity that has no better direction
	NoChangeDetected Verdict = "no-change-detected"
	Indeterminate    Verdict = "indeterminate"
	Unchanged        Verdict = "unchanged"
	Inconclusive     Verdict = "inconclusive"
)

// Reason says why there is no verdict.
type Reason string

// The reasons.
const (
	InsufficientRounds    Reason = "insufficient-rounds"
	ZeroBaseline          Reason = "zero-baseline" // or below zero: a ratio to it has no meaning
	DeterministicDeferred Reason = "deterministic-deferred"
	NotPositive           Reason = "not-positive" // a logarithm needs positive values
	NotFinite             Reason = "not-finite"
	LooksSpent            Reason = "looks-spent"       // more looks were taken than alpha was kept for
	NotDeterministic      Reason = "not-deterministic" // said to be, and two rounds differ
)

// RelativeOptions are the parameters of Relative.
type RelativeOptions struct {
	K             float64 // 3 where nothing else is said
	MinRounds     int     // 3 likewise; at least 2 are always needed
	Direction     Direction
	Deterministic bool // every run gives the same value, so that standard errors say nothing
}

// RelativeResult is what Relative found. Effect, Noise, Threshold and Reference are null where there is a reason for no verdict.
type RelativeResult struct {
	Rounds    int
	Reference *float64 // median of the baseline
	Effect    *float64 // mean of contender/baseline − 1
	Noise     *float64 // its standard error
	Threshold *float64 // k × noise
	Verdict   Verdict
	Reason    Reason
}

// Relative compares as benchx/paired-relative/v1 does: a change is what lies beyond k standard errors of the mean of the relative
// differences. One that is exactly k standard errors is none.
func Relative(rounds []Round, o RelativeOptions) RelativeResult {
	out := RelativeResult{Rounds: len(rounds), Verdict: Indeterminate}
	if o.Deterministic {
		out.Reason = DeterministicDeferred
		return out
	}
	if len(rounds) < max(2, o.MinRounds) {
		out.Reason = InsufficientRounds
		return out
	}
	base := make([]float64, len(rounds))
	d := make([]float64, len(rounds))
	for i, r := range rounds {
		if !(r.Baseline > 0) {
			out.Reason = ZeroBaseline
			return out
		}
		base[i], d[i] = r.Baseline, r.Contender/r.Baseline-1
		if math.IsInf(d[i], 0) || math.IsNaN(d[i]) {
			out.Reason = NotFinite
			return out
		}
	}
	reference, effect, noise := stats.Median(base), stats.Mean(d), stats.StandardError(d)
	threshold := o.K * noise
	out.Reference, out.Effect, out.Noise, out.Threshold = &reference, &effect, &noise, &threshold
	out.Verdict = NoChangeDetected
	if math.Abs(effect) > threshold {
		out.Verdict = direct(effect, o.Direction)
	}
	return out
}

// direct names a change of the given sign.
func direct(effect float64, d Direction) Verdict {
	switch {
	case d == NoDirection:
		return Changed
	case (effect > 0) == (d == LowerIsBetter):
		return Regressed
	default:
		return Improved
	}
}
