package store

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/flameox/flameox/measure/comparison"
	"github.com/flameox/flameox/measure/identity"
	"github.com/flameox/flameox/measure/paired"
)

func snapshot(t *testing.T, s *Store) *Snapshot {
	t.Helper()
	snap, err := s.Read()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(snap.Close)
	return snap
}

func TestSeriesFollowFromThePolicyAndNullBelongsToNone(t *testing.T) {
	s := newStore(t)
	in := inputs(t, 0, 4)
	for n := 4; n < 6; n++ {
		in = append(in, input(t, fmt.Sprint(n), result(n, 9, map[string]any{"coordinates/environment/system/kernel": "6.9"})))
	}
	in = append(in, input(t, "6", result(6, 9, map[string]any{"coordinates/environment/system": map[string]any{"kernel": nil}})),
		input(t, "7", result(7, 9, map[string]any{"measurement": map[string]any{"status": "error", "reason": "timeout"}})))
	take(t, s, in, "ingested 8, duplicate 0")
	snap := snapshot(t, s)
	l, err := snap.Series(t.Context(), identity.Default(), "w", "wall-time")
	if err != nil {
		t.Fatal(err)
	}
	points := map[string]int{}
	for _, x := range l.Series {
		points[x.Estimator] += x.Points
	}
	if len(l.Series) != 4 || points["median"] != 6 || points["mean"] != 6 || l.Unseriable["/coordinates/environment/system/kernel"] != 1 {
		t.Errorf("%+v", l)
	}
	// A policy that ignores the system joins them.
	joined := identity.Default().Without("x/joined/v1", identity.Rule{Path: "/coordinates/environment/system", Role: identity.Ignore})
	m, err := snap.Series(t.Context(), joined, "", "")
	if err != nil || len(m.Series) != 2 || m.Series[0].Points != 7 || len(m.Unseriable) != 0 {
		t.Errorf("%+v, %v", m, err)
	}
	list, err := snap.History(t.Context(), joined, m.Series[0].Fingerprint[:12])
	if err != nil || len(list) != 7 {
		t.Errorf("%d points, %v", len(list), err)
	}
	if none, err := snap.Series(t.Context(), identity.Default(), "nonesuch", ""); err != nil || len(none.Series) != 0 {
		t.Errorf("%+v, %v", none, err)
	}
}

func TestAPrefixNamesOneSeriesOrNone(t *testing.T) {
	s := newStore(t)
	take(t, s, inputs(t, 0, 3), "")
	snap := snapshot(t, s)
	l, err := snap.Series(t.Context(), identity.Default(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range l.Series {
		list, err := snap.History(t.Context(), identity.Default(), x.Fingerprint)
		if err != nil || len(list) != 3 || list[0].Estimator != x.Estimator {
			t.Errorf("%+v, %v", list, err)
		}
		// The median of 1 and 2; the producer's mean is what it says.
		if want := map[string]float64{"median": 1.5, "mean": 1.5}[x.Estimator]; list[0].Value != want {
			t.Errorf("%s is %v", x.Estimator, list[0].Value)
		}
	}
	for prefix, found := range map[string]int{"": 2, "nonesuch": 0, strings.Repeat("0", 65): 0} {
		var unknown *Unknown
		if _, err := snap.History(t.Context(), identity.Default(), prefix); !errors.As(err, &unknown) || len(unknown.Found) != found {
			t.Errorf("%q: %v", prefix, err)
		}
	}
}

func TestTheNewestComeFirstAndFiltersApplyBeforeTheCount(t *testing.T) {
	s := newStore(t)
	in := inputs(t, 0, 5)
	in = append(in, input(t, "load", result(0, 1, map[string]any{"ingest_key": "load", "measurement/kind": "condition", "measurement/observations": []any{0.5}, "measurement/summaries": nil, "coordinates/quantity": map[string]any{"name": "load-average", "unit": "1"}})))
	take(t, s, in, "ingested 6, duplicate 0")
	ingest(t, s, []Input{input(t, "thin", result(9, 1, map[string]any{"project": nil, "coordinates/workload/name": "other", "coordinates/environment/identity": map[string]any{"cpu": "X"}}))}, "ingested 1, duplicate 0")
	snap := snapshot(t, s) // the last one is in a segment
	for _, c := range []struct {
		n                 int
		project, workload string
		measurands        bool
		want              string
	}{{2, "", "", false, "6 5"}, {3, "", "", true, "6 4 3"}, {9, "local/unknown", "", false, "6"}, {2, "demo", "w", true, "4 3"}, {9, "", "nonesuch", false, ""}} {
		list, err := snap.Latest(t.Context(), c.n, c.project, c.workload, c.measurands)
		var rows []string
		for _, r := range list {
			rows = append(rows, fmt.Sprint(r.Row))
		}
		if got := strings.Join(rows, " "); err != nil || got != c.want {
			t.Errorf("%+v: %s, %v", c, got, err)
		}
	}
}

func TestTheStoreAndAThrowawayOneGiveOneComparison(t *testing.T) {
	s := newStore(t)
	var in []Input
	for n := range 8 {
		side := string(rune('a' + n%2))
		in = append(in, input(t, fmt.Sprint(n), result(n, 1+float64(n%2)/10, map[string]any{"provenance/subject_tree": strings.Repeat(side, 40), "provenance/benchmark_tree": strings.Repeat(side, 40)})))
	}
	take(t, s, in, "ingested 8, duplicate 0")
	take(t, s, []Input{input(t, "another run", result(20, 1, map[string]any{"provenance/run_key": "r2"}))}, "ingested 1, duplicate 0")
	list, err := snapshot(t, s).Run(t.Context(), "r")
	if err != nil || len(list) != 8 {
		t.Fatal(len(list), err)
	}
	d, err := comparison.Compare(list, comparison.Request{RunKey: "r", Profile: comparison.Revisions, Baseline: "a", Relative: paired.RelativeOptions{K: 3, MinRounds: 3}})
	if err != nil || len(d.Units) != 1 || d.Units[0].Verdict != "regressed" || len(d.Inputs) != 8 {
		t.Errorf("%+v, %v", d, err)
	}
	evidence, err := comparison.Show(list, comparison.Request{RunKey: "r", Profile: comparison.Revisions, Baseline: "a"}, d)
	if err != nil || len(evidence) != 1 || len(evidence[0].Sides[0]) != 4 || len(evidence[0].Sides[1]) != 4 || evidence[0].Sides[1][0].Values[0] != 1.1 {
		t.Errorf("%+v, %v", evidence, err)
	}
}
