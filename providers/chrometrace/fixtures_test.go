package chrometrace_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/providers/providertest"
)

func TestFixturesAreRead(t *testing.T) {
	for name, want := range map[string]struct {
		state  evidence.State
		slices int64
	}{
		"big_trace.json": {evidence.Complete, -1}, "simple_trace.json": {evidence.Complete, -1}, "simple_trace_gz.gz": {evidence.Complete, -1}, "trivial_trace.json": {evidence.Complete, 2},
		"flow_events_json_v1.json": {evidence.Complete, -1}, "flow_events_json_v2.json": {evidence.Complete, -1}, "cpu-profiler-m86.trace.json": {evidence.Complete, -1},
		"chrome141-no-arg-data.json": {evidence.Partial, 0}, "no_navstart_event.json": {evidence.Complete, -1}, "trace-with-bad-world-bounds.json": {evidence.Empty, 0},
		"google_cloud_trace.json": {evidence.Incompatible, 0}, "speedscope-simple-partial.json": {evidence.Partial, 3}, "speedscope-simple-partial-whitespace.json": {evidence.Partial, 3},
	} {
		t.Run(name, func(t *testing.T) {
			out, tables := extract(t, providertest.Fixture(t, filepath.Join("chrome-trace", name)))
			if out.State != want.state || want.slices >= 0 && want.state != evidence.Incompatible && out.Results["slices"] != want.slices {
				t.Errorf("%s, %v, %d rows", out.State, out, len(tables["trace_events"]))
			}
			t.Log(out.Results, out.Limitations)
		})
	}
}

// TestSmallTracesOfSpeedscopeAreReadSliceBySlice has the traces that made readers fail, with what they say by the rules of the format.
func TestSmallTracesOfSpeedscopeAreReadSliceBySlice(t *testing.T) {
	for name, want := range map[string]string{
		"end-event-with-empty-stack":   "0 alpha 0+1000",
		"end-non-top-of-stack":         "",
		"invalid-x-nesting":            "0 alpha 0+10000; 0 beta 5000+10000",
		"mismatched-name":              "0 alpha 0+10000",
		"must-retain-original-order":   "0 A 0+3000; 1 B 0+2000; 2 C 0+1000; 0 A 4000+3000; 1 B 5000+2000; 2 C 6000+1000; 0 X 7000+3000",
		"x-events-matching-start":      "0 alpha 0+20000; 1 beta 1000+2000; 2 gamma 1000+1000; 1 gamma 5000+2000; 2 beta 5000+1000; 1 gamma 9000+2000; 2 beta 9000+1000; 1 beta 13000+2000; 2 gamma 13000+1000",
		"x-events-matching-end":        "",
		"matching-x":                   "",
		"event-reordering-name-match":  "",
		"only-begin-events":            "",
		"not-enough-end-events":        "",
		"out-of-order":                 "",
		"out-of-order-unbalanced-name": "",
		"unbalanced-name":              "",
		"unbalanced-args":              "",
		"simple-hermes":                "",
		"hermes-multiple-frames":       "",
		"simultaneous-anonymous-calls": "",
		"multi-thread-with-samples":    "",
		"simple-with-samples":          "",
		"bex-interaction":              "",
	} {
		out, tables := extract(t, providertest.Fixture(t, "chrome-trace/speedscope-"+name+".json"))
		got := strings.Join(slicesOf(tables), "; ")
		if out.State == evidence.Incompatible || want != "" && got != want {
			t.Errorf("%s: %s, %s\nwant %s\n%v", name, out.State, got, want, out.Limitations)
		}
	}
}
