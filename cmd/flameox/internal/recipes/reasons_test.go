package recipes

import (
	"fmt"
	"math"
	"testing"
)

func runs(n int, failed func(i int) bool, facets func(i int) map[string]string) (list []attempt) {
	for i := range n {
		a := attempt{run: fmt.Sprintf("%03d", i), address: "capture.command.x", facets: facets(i)}
		if failed(i) {
			a.cluster = "bad"
		}
		list = append(list, a)
	}
	return list
}

func TestWhereAStageBeganToFailIsFound(t *testing.T) {
	list := runs(40, func(i int) bool { return i >= 25 && i%5 != 0 || i == 3 }, func(i int) map[string]string { return map[string]string{"source revision": fmt.Sprint("r", i/5)} })
	list = append(list, attempt{run: "999", address: "another", cluster: "bad"})
	got := changesOf(list, "bad", "capture.command.x")
	if len(got) != 1 || got[0].Run < "023" || got[0].Run > "027" || got[0].Before > 0.1 || got[0].After < 0.7 || got[0].Revision == "" {
		t.Errorf("%+v", got)
	}
	if got := changesOf(list[:20], "bad", "capture.command.x"); len(got) != 0 {
		t.Errorf("one failure among twenty is a change: %+v", got)
	}
}

func TestHypothesesAreWhatFailuresHaveInCommonAndOthersHaveNot(t *testing.T) {
	list := runs(40, func(i int) bool { return i%4 == 0 }, func(i int) map[string]string {
		m := map[string]string{"host": "a", "flameox": "1", "branch": fmt.Sprint(i % 7), "axis n": "small"}
		if i%4 == 0 { // both fit, and these runs do not tell which
			m["host"], m["axis n"] = "b", "large"
		}
		return m
	})
	got := hypotheses(list, "bad")
	if len(got) < 2 || got[0].What != "axis n" || got[0].Value != "large" || got[1].What != "host" || got[1].Value != "b" || got[0].P != got[1].P {
		t.Fatalf("%+v", got)
	}
	if h := got[0]; h.FailedWith != 10 || h.FailedWithout != 0 || h.OthersWith != 0 || h.OthersWithout != 30 || h.Adjusted > 1e-6 {
		t.Errorf("%+v", h)
	}
	for _, h := range got[2:] {
		if h.Adjusted <= level || h.What == "flameox" {
			t.Errorf("chance stands out: %+v", h)
		}
	}
	if got := hypotheses(runs(5, func(int) bool { return true }, func(int) map[string]string { return map[string]string{"host": "a"} }), "bad"); len(got) != 0 {
		t.Errorf("nothing to compare with gives %+v", got)
	}
}

// The figures are those of scipy.stats.fisher_exact with alternative "greater".
func TestChanceIsThatOfFishersTest(t *testing.T) {
	for _, c := range []struct {
		n [4]int
		p float64
	}{{[4]int{10, 0, 0, 30}, 1.1797175484382118e-09}, {[4]int{3, 2, 4, 20}, 0.07474211612142646}, {[4]int{1, 9, 11, 3}, 0.9999663480953022}, {[4]int{0, 5, 5, 0}, 1.0}, {[4]int{7, 3, 12, 40}, 0.0064561046311777245}} {
		if got := fisher(c.n[0], c.n[1], c.n[2], c.n[3]); math.Abs(got-c.p) > 1e-12 {
			t.Errorf("%v: %v, want %v", c.n, got, c.p)
		}
	}
}

func TestAFrameThatTakesMoreAsTheSizeGrowsStandsOut(t *testing.T) {
	g := &profiles{block: "capture.x", provider: "p", metric: "cpu", unit: "ns"}
	for i, n := range []float64{10, 30, 100, 300, 1000, 3000} {
		p := &profile{size: n, self: map[[2]string]int64{{"sort", ""}: int64(100 + 100*i), {"setup", ""}: int64(900 - 100*i), {"noise", ""}: []int64{20, 25, 19, 22, 21, 24}[i], {"tiny", ""}: int64(i)}}
		for _, v := range p.self {
			p.total += v
		}
		g.list = append(g.list, p)
	}
	few := &profiles{block: "few", list: g.list[:3]}
	d := &HotspotsDocument{}
	all := d.test([]*profiles{g, few})
	if d.Tested != 3 || d.TooFew != 3 || len(all) != 3 {
		t.Fatalf("%d tested, %d too few, %+v", d.Tested, d.TooFew, all)
	}
	rho := map[string]float64{}
	for _, h := range all {
		rho[h.Name] = h.Rho
		if stands := h.Adjusted <= level; stands != (h.Name != "noise") {
			t.Errorf("%s: adjusted p %v", h.Name, h.Adjusted)
		}
	}
	if math.Abs(rho["sort"]-1) > 1e-12 || math.Abs(rho["setup"]+1) > 1e-12 {
		t.Errorf("%v", rho)
	}
	// Two of 720 orders are as strong, times the three that were tested.
	if want := 3 * 2.0 / 720; math.Abs(all[0].Adjusted-want) > 1e-12 {
		t.Errorf("adjusted p %v, want %v", all[0].Adjusted, want)
	}
}
