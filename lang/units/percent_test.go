package units

import "testing"

func TestPercentWantsTheSign(t *testing.T) {
	for s, want := range map[string]float64{"5%": 0.05, "0.5 %": 0.005, " 100% ": 1} {
		if got, err := Percent(s); err != nil || got != want {
			t.Errorf("%q is %v, %v; want %v", s, got, err, want)
		}
	}
	for _, s := range []string{"", "5", "0.05", "%", "x%", "-5%", "1e3%", "5%%", "1.2.3%", "NaN%"} {
		if got, err := Percent(s); err == nil {
			t.Errorf("%q is %v", s, got)
		}
	}
}
