package pyperf

import (
	"errors"
	"testing"

	"github.com/flameox/flameox/providers"
)

// FuzzParse holds what is accepted to what pyperf promises of a suite.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`{"benchmarks":[{"metadata":{"name":"x","unit":"second"},"runs":[{"metadata":{"calibrate_loops":1},"warmups":[[1,0.5]]},{"values":[1,2e-7]}]}],"metadata":{"loops":4,"inner_loops":2,"perf_version":"2.1"},"version":"1.0"}`,
		`{"version":"1.0","metadata":null,"benchmarks":[{"runs":[{"metadata":{"name":"","unit":"byte"},"values":[1e300],"warmups":null}]}]}`,
		`{"version":6,"benchmarks":[]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := parse(data)
		var bad *providers.Refusal
		if err != nil {
			if !errors.As(err, &bad) || bad.Code == "" {
				t.Errorf("the error is a %T: %v", err, err)
			}
			return
		}
		var values, warmups int64
		for _, b := range s.benchmarks {
			for _, r := range b.runs {
				values, warmups = values+int64(len(r.values)), warmups+int64(len(r.warmups))
				for _, v := range r.values {
					if v <= 0 {
						t.Errorf("value %v", v)
					}
				}
			}
		}
		if values != s.values || warmups != s.warmups || len(s.benchmarks) == 0 {
			t.Errorf("%d values and %d warm-ups, counted %d and %d", values, warmups, s.values, s.warmups)
		}
	})
}
