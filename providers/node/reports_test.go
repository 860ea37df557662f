package node_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/flameox/flameox/evidence"
)

// What other readers of V8's profiles got wrong, by public reports.

func oneFunction(start, end int64, samples, deltas string) string {
	return fmt.Sprintf(`{"nodes":[{"id":0,"callFrame":{"functionName":"f","scriptId":"1","url":"/a.js","lineNumber":0,"columnNumber":0},"hitCount":3}],"startTime":%d,"endTime":%d,"samples":[%s],"timeDeltas":[%s]}`, start, end, samples, deltas)
}

func TestTheGapInFrontOfTheFirstSampleIsNobodysTime(t *testing.T) { // microsoft/vscode-js-debug#1272, firefox-devtools/profiler#4770
	for _, c := range []struct {
		start, end int64
		want       int64 // ns of f: the profile's time without the gap of 200 ms
	}{{0, 1_200_000, 1_000_000_000}, {0, 1_100_000, 900_000_000}, {5_000_000, 6_200_000, 1_000_000_000}} {
		out, tables := extract(t, oneFunction(c.start, c.end, "0,0,0", "200000,400000,500000"), "function")
		if got := values(tables, "cpu.self_time")["f:1"]; got != [3]int64{c.want, c.want, 3} {
			t.Errorf("f has %v, want %d", got, c.want)
		}
		if out.Results["duration_ns"] != 1000*(c.end-c.start) || out.Results["total"] != c.want {
			t.Errorf("%v", out.Results)
		}
	}
}

func TestAProfileThatTakesNoTimeHasHitsAndNoRatio(t *testing.T) { // hyj1991/v8-profiler-node8#41
	out, tables := extract(t, oneFunction(1000, 1000, "0,0,0", "0,0,0"), "function")
	if got := values(tables, "cpu.hit_count"); !reflect.DeepEqual(got, map[string][3]int64{"f:1": {3, 3, 3}}) {
		t.Errorf("%v", got)
	}
	if out.State != evidence.Complete || out.Results["duration_ns"] != int64(0) || out.Results["total"] != int64(0) {
		t.Errorf("%+v", out)
	}
	for _, rows := range tables {
		for _, r := range rows {
			for k, v := range r {
				if f, ok := v.(float64); ok && f != f {
					t.Errorf("%s is no number", k)
				}
			}
		}
	}
}
