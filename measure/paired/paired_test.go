package paired

import (
	"math"
	"math/rand/v2"
	"testing"
)

func rounds(base, contender []float64) []Round {
	out := make([]Round, len(base))
	for i := range base {
		out[i] = Round{base[i], contender[i]}
	}
	return out
}

func near(t *testing.T, what string, got *float64, want, within float64) {
	t.Helper()
	if got == nil || math.Abs(*got-want) > within {
		t.Errorf("%s is %v, want %v", what, deref(got), want)
	}
}

func deref(p *float64) any {
	if p == nil {
		return "missing"
	}
	return *p
}

func TestRelativeGivesTheFiguresOfItsContract(t *testing.T) {
	ten := []float64{10, 10, 10, 10}
	for _, c := range []struct {
		name                     string
		base, contender          []float64
		k                        float64
		min                      int
		effect, noise, threshold float64
		verdict                  Verdict
		reason                   Reason
	}{
		{name: "quiet", base: ten, contender: []float64{10.2, 10.1, 10.3, 10.2}, k: 3, min: 3, effect: 0.02, noise: 0.0040825, threshold: 0.0122474, verdict: Regressed},
		{name: "quiet with k 5", base: ten, contender: []float64{10.2, 10.1, 10.3, 10.2}, k: 5, min: 3, effect: 0.02, noise: 0.0040825, threshold: 0.0204124, verdict: NoChangeDetected},
		{name: "noisy", base: []float64{2e-3, 2.2e-3, 1.8e-3, 2.1e-3, 1.9e-3, 2e-3}, contender: []float64{2.06e-3, 1.9e-3, 2.1e-3, 2.0e-3, 2.2e-3, 1.95e-3}, k: 3, min: 3,
			effect: 0.0242631, noise: 0.0488412, threshold: 0.1465236, verdict: NoChangeDetected},
		{name: "no noise", base: []float64{1, 2, 3}, contender: []float64{1.1, 2.2, 3.3}, k: 3, min: 3, effect: 0.1, verdict: Regressed},
		{name: "two rounds allowed", base: []float64{5, 5}, contender: []float64{5.5, 5.4}, k: 3, min: 2, effect: 0.09, noise: 0.01, threshold: 0.03, verdict: Regressed},
		{name: "two rounds", base: []float64{5, 5}, contender: []float64{5.5, 5.4}, k: 3, min: 3, verdict: Indeterminate, reason: InsufficientRounds},
		{name: "one round is never enough", base: []float64{5}, contender: []float64{5.5}, k: 3, min: 1, verdict: Indeterminate, reason: InsufficientRounds},
		{name: "zero baseline", base: []float64{5, 0, 5}, contender: []float64{5, 5, 5}, k: 3, min: 3, verdict: Indeterminate, reason: ZeroBaseline},
		{name: "equal", base: ten, contender: ten, k: 3, min: 3, verdict: NoChangeDetected},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Relative(rounds(c.base, c.contender), RelativeOptions{K: c.k, MinRounds: c.min, Direction: LowerIsBetter})
			if got.Verdict != c.verdict || got.Reason != c.reason {
				t.Errorf("%s %q, want %s %q", got.Verdict, got.Reason, c.verdict, c.reason)
			}
			if c.reason != "" {
				return
			}
			near(t, "effect", got.Effect, c.effect, 1e-7)
			near(t, "noise", got.Noise, c.noise, 1e-7)
			near(t, "threshold", got.Threshold, c.threshold, 1e-6)
		})
	}
}

func TestRelativeKnowsWhichWayIsBetter(t *testing.T) {
	r := rounds([]float64{10, 10, 10}, []float64{11, 11, 11})
	for d, want := range map[Direction]Verdict{LowerIsBetter: Regressed, HigherIsBetter: Improved, NoDirection: Changed} {
		if got := Relative(r, RelativeOptions{K: 3, MinRounds: 3, Direction: d}); got.Verdict != want {
			t.Errorf("%q: %s, want %s", d, got.Verdict, want)
		}
	}
	// 1/8 is exact in binary: the effect is exactly three standard errors, which is no change.
	exact := []Round{{1, 1}, {1, 1.5}, {1, 1.25}}
	if got := Relative(exact, RelativeOptions{K: 0.25 / *Relative(exact, RelativeOptions{K: 1}).Noise, MinRounds: 3, Direction: LowerIsBetter}); got.Verdict != NoChangeDetected {
		t.Errorf("an effect of exactly k standard errors is %s", got.Verdict)
	}
	if got := Relative(r, RelativeOptions{K: 3, Deterministic: true}); got.Reason != DeterministicDeferred {
		t.Errorf("%+v", got)
	}
}

// noise draws rounds of two sides that differ by the factor, each value off by sd, relative, normal in the logarithm.
func noise(r *rand.Rand, n int, factor, sd float64) []Round {
	out := make([]Round, n)
	for i := range out {
		out[i] = Round{math.Exp(sd * r.NormFloat64()), factor * math.Exp(sd*r.NormFloat64())}
	}
	return out
}

func unit(r []Round) Unit { return Unit{Rounds: r, Direction: LowerIsBetter} }

const experiments = 10_000

func share(t *testing.T, what string, n int, low, high float64) {
	t.Helper()
	s := float64(n) / experiments
	t.Logf("%s: %.2f %%", what, 100*s)
	if s < low || s > high {
		t.Errorf("%s: %.2f %% of %d, want %.2f to %.2f %%", what, 100*s, experiments, 100*low, 100*high)
	}
}

// The bounds are the stated figure and three standard deviations of a share of 10,000.
func TestFalseAlarmsOfRelativeAreTheOnesThatAreSaid(t *testing.T) {
	for n, want := range map[int]float64{3: 0.094, 5: 0.041, 10: 0.018} {
		r := rand.New(rand.NewPCG(1, uint64(n)))
		alarms := 0
		for range experiments {
			if Relative(noise(r, n, 1, 0.01), RelativeOptions{K: 3, MinRounds: 3, Direction: LowerIsBetter}).Verdict != NoChangeDetected {
				alarms++
			}
		}
		slack := 3 * math.Sqrt(want*(1-want)/experiments)
		share(t, "false alarms", alarms, want-slack-0.003, want+slack)
	}
}

func TestFalseAlarmsOfLogAreNominal(t *testing.T) {
	for _, c := range []struct {
		interval Interval
		n        int
		low      float64
	}{
		{StudentInterval, 3, 0.0434}, {StudentInterval, 5, 0.0434}, {StudentInterval, 10, 0.0434},
		{SignFlipInterval, 6, 0}, {SignFlipInterval, 10, 0}, {SignFlipInterval, 20, 0},
	} {
		r := rand.New(rand.NewPCG(2, uint64(c.n)))
		alarms := 0
		of := experiments
		for range of {
			got, err := Log([]Unit{unit(noise(r, c.n, 1, 0.01))}, LogOptions{Level: 0.95, Interval: c.interval})
			if err != nil {
				t.Fatal(err)
			}
			if got[0].Verdict != Inconclusive {
				alarms++
			}
		}
		share(t, string(c.interval), alarms, c.low, 0.0566)
	}
}

func TestLogFindsASmallRealChange(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 0))
	found := 0
	for range experiments {
		got, _ := Log([]Unit{unit(noise(r, 10, 1.03, 0.005))}, LogOptions{Level: 0.95, Interval: StudentInterval, Band: 0.01})
		if got[0].Verdict == Regressed {
			found++
		}
	}
	share(t, "3 % found at 0.5 % noise in 10 rounds", found, 0.95, 1)
}

// Whoever looks at 5, 10, … 30 rounds and stops at the first alarm raises no more of them than whoever looks once.
func TestManyLooksStayNominal(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 0))
	alarms := 0
	for range experiments {
		all := noise(r, 30, 1, 0.01)
		for look := 1; look <= 6; look++ {
			got, _ := Log([]Unit{unit(all[:5*look])}, LogOptions{Level: 0.95, Interval: StudentInterval, Looks: 6, Look: look})
			if got[0].Verdict != Inconclusive {
				alarms++
				break
			}
		}
	}
	share(t, "false alarms over six looks", alarms, 0, 0.05)
	got, _ := Log([]Unit{unit(noise(r, 30, 2, 0.01))}, LogOptions{Level: 0.95, Interval: StudentInterval, Looks: 2, Look: 3})
	if got[0].Reason != LooksSpent {
		t.Errorf("a third look of two: %+v", got[0])
	}
}

// Of 84 units of which none changed, at most 1 in 20 experiments claims a change of any.
func TestManyUnitsStayNominal(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 0))
	alarms, of := 0, 400
	for range of {
		units := make([]Unit, 84)
		for i := range units {
			units[i] = unit(noise(r, 5, 1, 0.01))
		}
		got, _ := Log(units, LogOptions{Level: 0.95, Interval: StudentInterval})
		for _, u := range got {
			if u.Verdict != Inconclusive {
				alarms++
				break
			}
		}
	}
	if s := float64(alarms) / float64(of); s > 0.05+3*math.Sqrt(0.05*0.95/float64(of)) {
		t.Errorf("%.1f %% of the experiments claim a change", 100*s)
	}
}

func TestLogSaysUnchangedOnlyWithinTheBand(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 0))
	for _, interval := range []Interval{StudentInterval, SignFlipInterval} {
		for _, c := range []struct {
			factor, sd float64
			n          int
			want       Verdict
		}{
			{1, 0.0005, 10, Unchanged}, {1, 0.05, 10, Inconclusive}, {1.1, 0.001, 10, Regressed}, {0.9, 0.001, 10, Improved}, {1.0101, 0.001, 10, Inconclusive},
		} {
			got, err := Log([]Unit{unit(noise(r, c.n, c.factor, c.sd))}, LogOptions{Level: 0.95, Interval: interval, Band: 0.01})
			if err != nil || got[0].Verdict != c.want {
				t.Errorf("%s: ×%v at %v: %+v, %v; want %s", interval, c.factor, c.sd, got[0], err, c.want)
			}
		}
	}
}

func TestExchangingTheSidesExchangesTheVerdicts(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 0))
	opposite := map[Verdict]Verdict{Regressed: Improved, Improved: Regressed, Unchanged: Unchanged, Inconclusive: Inconclusive}
	for i := range 500 {
		a := noise(r, 8, 1+0.02*r.NormFloat64(), 0.005)
		b := make([]Round, len(a))
		for j, x := range a {
			b[j] = Round{x.Contender, x.Baseline}
		}
		o := LogOptions{Level: 0.95, Interval: StudentInterval, Band: 0.01}
		if i%2 == 1 {
			o.Interval = SignFlipInterval
		}
		x, _ := Log([]Unit{unit(a)}, o)
		y, _ := Log([]Unit{unit(b)}, o)
		if y[0].Verdict != opposite[x[0].Verdict] {
			t.Fatalf("%+v and %+v", x[0], y[0])
		}
		if math.Abs((1+*x[0].Effect)*(1+*y[0].Effect)-1) > 1e-9 {
			t.Fatalf("effects %v and %v are not inverse", *x[0].Effect, *y[0].Effect)
		}
	}
}

func TestAVerdictIsWhatItsIntervalShows(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 0))
	band := 0.01
	for i := range 300 {
		units := make([]Unit, 20)
		for j := range units {
			units[j] = unit(noise(r, 6+i%20, 1+0.02*r.NormFloat64(), 0.008))
		}
		interval := StudentInterval
		if i%2 == 1 {
			interval = SignFlipInterval
		}
		got, _ := Log(units, LogOptions{Level: 0.95, Interval: interval, Band: band})
		for _, u := range got {
			if u.Low == nil {
				if u.Verdict != Inconclusive {
					t.Fatalf("a verdict without an interval: %+v", u)
				}
				continue
			}
			beyond := *u.Low > band || *u.High < 1/(1+band)-1
			within := *u.Low > 1/(1+band)-1 && *u.High < band
			switch u.Verdict {
			case Regressed, Improved:
				if !beyond {
					t.Fatalf("%s with [%v, %v]", u.Verdict, *u.Low, *u.High)
				}
			case Unchanged:
				if !within {
					t.Fatalf("unchanged with [%v, %v]", *u.Low, *u.High)
				}
			default:
				if beyond {
					t.Fatalf("inconclusive with [%v, %v] at %v", *u.Low, *u.High, u.Level)
				}
			}
		}
	}
}

func TestExactQuantitiesAreEqualOrNot(t *testing.T) {
	o := LogOptions{Level: 0.95, Interval: StudentInterval, Band: 0.5}
	for _, c := range []struct {
		rounds []Round
		want   Verdict
		reason Reason
	}{
		{[]Round{{5, 5}}, Unchanged, ""}, {[]Round{{5, 6}}, Regressed, ""}, {[]Round{{0, 0}, {0, 0}}, Unchanged, ""}, {[]Round{{6, 5}, {6, 5}}, Improved, ""},
		{[]Round{{5, 5}, {5, 6}}, Inconclusive, NotDeterministic}, {nil, Inconclusive, InsufficientRounds},
	} {
		got, err := Log([]Unit{{Rounds: c.rounds, Direction: LowerIsBetter, Deterministic: true}}, o)
		if err != nil || got[0].Verdict != c.want || got[0].Reason != c.reason {
			t.Errorf("%v: %+v, %v", c.rounds, got[0], err)
		}
	}
}

func TestLogRefusesWhatHasNoLogarithm(t *testing.T) {
	o := LogOptions{Level: 0.95, Interval: StudentInterval}
	for _, c := range []struct {
		rounds []Round
		want   Reason
	}{
		{[]Round{{1, 1}, {0, 1}, {1, 1}}, NotPositive}, {[]Round{{1, 1}, {1, -1}, {1, 1}}, NotPositive}, {[]Round{{1, math.Inf(1)}, {1, 1}}, NotFinite},
		{[]Round{{1, math.NaN()}, {1, 1}}, NotFinite}, {[]Round{{1, 1}}, InsufficientRounds},
	} {
		if got, err := Log([]Unit{unit(c.rounds)}, o); err != nil || got[0].Reason != c.want || got[0].Verdict != Inconclusive {
			t.Errorf("%v: %+v, %v; want %s", c.rounds, got[0], err, c.want)
		}
	}
	for _, bad := range []LogOptions{{Level: 0, Interval: StudentInterval}, {Level: 1, Interval: StudentInterval}, {Level: 0.95}, {Level: 0.95, Interval: StudentInterval, Band: -1}, {Level: 0.95, Interval: StudentInterval, Band: math.NaN()}} {
		if _, err := Log(nil, bad); err == nil {
			t.Errorf("%+v was accepted", bad)
		}
	}
}

func TestMoreRoundsAreAboutAsManyAsItTakes(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 0))
	short, unknown := 0, 0
	for range 200 {
		rs := noise(r, 5, 1.02, 0.01)
		o := LogOptions{Level: 0.95, Interval: StudentInterval, Band: 0.01}
		got, _ := Log([]Unit{unit(rs)}, o)
		if got[0].Verdict != Inconclusive {
			continue
		}
		missing := More(unit(rs), o, got[0])
		if missing == nil {
			unknown++ // the effect lies on the edge of the band
			continue
		}
		if *missing < 1 {
			t.Fatalf("%d more rounds", *missing)
		}
		short++
		// With the same mean and noise at that many rounds there is a verdict.
		many := make([]Round, 0, 5+*missing)
		for len(many) < cap(many) {
			many = append(many, rs[len(many)%5])
		}
		if len(many)%5 == 0 {
			if again, _ := Log([]Unit{unit(many)}, o); again[0].Verdict == Inconclusive {
				t.Errorf("%d more rounds were not enough: %+v", *missing, again[0])
			}
		}
	}
	if short < 10*unknown {
		t.Errorf("%d experiments say how many rounds are missing, %d do not", short, unknown)
	}
}
