package paired

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"
)

// scipy is a Python that has SciPy, installed for the test where none has.
func scipy(t *testing.T) string {
	t.Helper()
	for _, python := range []string{os.Getenv("FLAMEOX_SCIPY_PYTHON"), "python3"} {
		if python != "" && exec.Command(python, "-c", "import scipy.stats").Run() == nil {
			return python
		}
	}
	venv := t.TempDir() + "/venv"
	for _, argv := range [][]string{{"python3", "-m", "venv", "--without-pip", venv}, {"python3", "-m", "pip", "--python", venv + "/bin/python", "install", "--quiet", "--disable-pip-version-check", "scipy"}} {
		if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
			t.Skipf("SciPy cannot be installed; name a Python that has it in FLAMEOX_SCIPY_PYTHON: %v\n%s", err, out)
		}
	}
	return venv + "/bin/python"
}

// The BCa edges, the t interval and the p-values are those of SciPy for the same numbers.
func TestIntervalsAreThoseOfSciPy(t *testing.T) {
	python := scipy(t)
	type problem struct {
		D    []float64
		Boot []float64
		Left []float64
		Est  float64
	}
	type answer struct{ Low, High, TLow, THigh, P float64 }
	r := rand.New(rand.NewPCG(11, 0))
	var problems []problem
	for i := range 50 {
		n := 3 + i%20
		p := problem{}
		for range n {
			p.D = append(p.D, 0.01*r.NormFloat64()+0.005)
		}
		mean := func(skip int, v []float64) float64 {
			s, k := 0.0, 0
			for j, x := range v {
				if j != skip {
					s += x
					k++
				}
			}
			return s / float64(k)
		}
		for range 999 {
			sample := make([]float64, n)
			for j := range sample {
				sample[j] = p.D[r.IntN(n)]
			}
			p.Boot = append(p.Boot, mean(-1, sample))
		}
		for j := range n {
			p.Left = append(p.Left, mean(j, p.D))
		}
		p.Est = mean(-1, p.D)
		problems = append(problems, p)
	}
	input, err := json.Marshal(problems)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/in.json", input, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(python, "-c", `
import json, sys
import numpy as np
from scipy import stats
from scipy.special import ndtr, ndtri
answers = []
for p in json.load(open(sys.argv[1])):
    d, boot, left = (np.array(p[k]) for k in ("D", "Boot", "Left"))
    z0 = ndtri(((boot < p["Est"]).sum() + (boot <= p["Est"]).sum()) / 2 / len(boot))
    u = left.mean() - left
    a = (u**3).sum() / (6 * (u**2).sum() ** 1.5)
    z = ndtri(0.025)
    edges = [ndtr(z0 + (z0 + s) / (1 - a * (z0 + s))) for s in (z, -z)]
    low, high = np.percentile(boot, [100 * e for e in edges])
    tlow, thigh = stats.t.interval(0.95, len(d) - 1, d.mean(), stats.sem(d))
    answers.append({"Low": low, "High": high, "TLow": tlow, "THigh": thigh, "P": stats.ttest_1samp(d, 0).pvalue})
print(json.dumps(answers))
`, dir+"/in.json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var answers []answer
	if err := json.Unmarshal(out, &answers); err != nil {
		t.Fatal(err)
	}
	same := func(what string, i int, got, want float64) {
		if math.Abs(got-want) > 1e-9*(math.Abs(want)+1e-3) {
			t.Errorf("problem %d: %s is %v, SciPy says %v", i, what, got, want)
		}
	}
	for i, p := range problems {
		low, high, ok := bca(p.Est, p.Boot, p.Left, 0.95)
		if !ok {
			t.Fatalf("problem %d has no interval", i)
		}
		same("low", i, low, answers[i].Low)
		same("high", i, high, answers[i].High)
		s := newStudent(p.D)
		low, high = s.at(0.05)
		same("t low", i, low, answers[i].TLow)
		same("t high", i, high, answers[i].THigh)
		same("p", i, s.beyond(0), answers[i].P)
	}
}

func TestMedianLogGivesAnIntervalFromThreeBlocksOn(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 0))
	o := MedianLogOptions{Level: 0.95, Threshold: 0.01, Seed: 1, Direction: LowerIsBetter}
	for _, c := range []struct {
		name   string
		blocks []Round
		want   Verdict
		reason Reason
	}{
		{"none", nil, Inconclusive, InsufficientRounds},
		{"two", noise(r, 2, 2, 0.01), Inconclusive, InsufficientRounds},
		{"slower", noise(r, 20, 1.1, 0.01), Regressed, ""},
		{"faster", noise(r, 20, 0.9, 0.01), Improved, ""},
		{"equal", []Round{{1, 1}, {2, 2}, {3, 3}}, Unchanged, ""},
		{"the same ratio", []Round{{1, 2}, {2, 4}, {4, 8}}, Regressed, ""},
		{"negative", []Round{{1, 1}, {1, 1}, {1, -1}}, Inconclusive, NotPositive},
	} {
		got, err := MedianLog(c.blocks, o)
		if err != nil || got.Verdict != c.want || got.Reason != c.reason {
			t.Errorf("%s: %+v, %v; want %s %q", c.name, got, err, c.want, c.reason)
		}
	}
	blocks := noise(r, 9, 1.02, 0.02)
	a, _ := MedianLog(blocks, o)
	b, _ := MedianLog(blocks, o)
	if *a.Low != *b.Low || *a.High != *b.High {
		t.Error("the same seed gives another interval")
	}
	if n, _ := MedianLog(noise(r, 20, 1.1, 0.01), MedianLogOptions{Level: 0.95, Seed: 1}); n.Verdict != Inconclusive || n.Low == nil {
		t.Errorf("a quantity without a direction: %+v", n)
	}
	if _, err := MedianLog(blocks, MedianLogOptions{Level: 2}); err == nil {
		t.Error("level 2 was accepted")
	}
}
