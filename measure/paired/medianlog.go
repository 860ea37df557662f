package paired

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/flameox/flameox/internal/stats"
)

// MedianLog's name and version in documents.
const (
	MedianLogName    = "median_paired_log_ratio"
	MedianLogVersion = "bca/v1"
)

// resamples of the bootstrap.
const resamples = 9999

// MedianLogOptions are the parameters of MedianLog.
type MedianLogOptions struct {
	Level     float64 // confidence, 0.95 where nothing else is said
	Threshold float64 // a relative change up to this does not matter; 0 where nothing else is said
	Seed      uint64
	Direction Direction // NoDirection is inconclusive whatever the interval says
}

// MedianLogResult is what MedianLog found. Effects are relative. Low and High are null where there is no interval: then the estimate describes what was
// measured and supports no verdict, and Reason says why.
type MedianLogResult struct {
	Blocks    int
	Effect    *float64 // exp(median of ln(contender/baseline)) − 1
	Low, High *float64
	Verdict   Verdict
	Reason    Reason
}

// IntervalUndefined says that the bias correction or the acceleration of the bootstrap has no value for these blocks.
const IntervalUndefined Reason = "interval-undefined"

// MedianLog is the median over blocks of the log-ratio with a bias-corrected and accelerated (BCa) bootstrap interval, from three blocks on. Where all ratios are
// equal the interval is that one point.
func MedianLog(blocks []Round, o MedianLogOptions) (MedianLogResult, error) {
	if !(o.Level > 0 && o.Level < 1) || !(o.Threshold >= 0) {
		return MedianLogResult{}, fmt.Errorf("level %v and threshold %v: the level lies between 0 and 1, the threshold is a relative change from 0 on", o.Level, o.Threshold)
	}
	out := MedianLogResult{Blocks: len(blocks), Verdict: Inconclusive}
	d := make([]float64, len(blocks))
	for i, r := range blocks {
		if r.Baseline <= 0 || r.Contender <= 0 {
			out.Reason = NotPositive
			return out, nil
		}
		d[i] = math.Log(r.Contender / r.Baseline)
		if math.IsInf(d[i], 0) || math.IsNaN(d[i]) {
			out.Reason = NotFinite
			return out, nil
		}
	}
	if len(d) == 0 {
		out.Reason = InsufficientRounds
		return out, nil
	}
	effect := math.Expm1(stats.Median(d))
	out.Effect = &effect
	if len(d) < 3 {
		out.Reason = InsufficientRounds
		return out, nil
	}
	low, high, ok := medianBCa(d, o.Level, o.Seed)
	if !ok {
		out.Reason = IntervalUndefined
		return out, nil
	}
	low, high = math.Expm1(low), math.Expm1(high)
	out.Low, out.High = &low, &high
	if o.Direction == NoDirection {
		return out, nil
	}
	switch t := o.Threshold; {
	case low > t || high < -t:
		out.Verdict = direct(effect, o.Direction)
	case low >= -t && high <= t:
		out.Verdict = Unchanged
	}
	return out, nil
}

// medianBCa resamples with replacement.
func medianBCa(d []float64, level float64, seed uint64) (low, high float64, ok bool) {
	if slices.Min(d) == slices.Max(d) {
		return d[0], d[0], true
	}
	r := rand.New(rand.NewPCG(seed, uint64(len(d))))
	boot := make([]float64, resamples)
	sample := make([]float64, len(d))
	for i := range boot {
		for j := range sample {
			sample[j] = d[r.IntN(len(d))]
		}
		boot[i] = stats.Median(sample)
	}
	left := make([]float64, len(d)) // the median without each block
	for i := range d {
		left[i] = stats.Median(slices.Concat(d[:i], d[i+1:]))
	}
	return bca(stats.Median(d), boot, left, level)
}

// bca is Efron's interval (1987) from the bootstrap distribution of an estimate and its jackknife. boot is sorted in place.
func bca(estimate float64, boot, jackknife []float64, level float64) (low, high float64, ok bool) {
	slices.Sort(boot)
	below, _ := slices.BinarySearch(boot, estimate)
	notAbove, _ := slices.BinarySearchFunc(boot, estimate, after)
	normal := distuv.UnitNormal
	z0 := normal.Quantile(float64(below+notAbove) / 2 / float64(len(boot)))
	mean, second, third := stats.Mean(jackknife), 0.0, 0.0
	for _, x := range jackknife {
		u := mean - x
		second += u * u
		third += u * u * u
	}
	a := third / (6 * math.Pow(second, 1.5))
	edge := func(z float64) float64 {
		return normal.CDF(z0 + (z0+z)/(1-a*(z0+z)))
	}
	z := normal.Quantile((1 - level) / 2)
	p, q := edge(z), edge(-z)
	if math.IsNaN(p) || math.IsNaN(q) || math.IsInf(z0, 0) {
		return 0, 0, false
	}
	return quantile(boot, p), quantile(boot, q), true
}

// quantile interpolates between the values of a sorted list.
func quantile(sorted []float64, p float64) float64 {
	at := p * float64(len(sorted)-1)
	i := int(math.Floor(at))
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}
