package pyperf_test

import (
	"testing"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/providers/pyperf"
)

// What was written before 1.0 had another form: psf/pyperf#4.
func TestAFormBefore10IsRefusedAsAVersionThatIsNotKnown(t *testing.T) {
	for name, c := range map[string]struct{ data, code string }{
		"the version of then":           {`{"version": 1, "benchmarks": {"telco": {"runs": [[0.1, 0.2], [0.1, 0.2]]}}}`, pyperf.FormatVersion},
		"a version as text":             {`{"version": "0.9", "benchmarks": {"telco": {"runs": [[0.1]]}}}`, pyperf.FormatVersion},
		"the name of now":               {`{"version": "1.0", "benchmarks": {"telco": {"runs": [[0.1]]}}}`, ""},
		"benchmarks in front of it":     {`{"benchmarks": {"telco": {"runs": [[0.1]]}}, "version": 1}`, pyperf.FormatVersion},
		"runs that are lists of values": {`{"version": "1.0", "metadata": {"name": "x"}, "benchmarks": [{"runs": [[0.1, 0.2]]}]}`, ""},
	} {
		out, rows := extract(t, []byte(c.data))
		if out.State != evidence.Incompatible || len(rows) > 0 || c.code != "" && out.Limitations[0].Code != c.code {
			t.Errorf("%s: %+v", name, out)
		}
	}
}
