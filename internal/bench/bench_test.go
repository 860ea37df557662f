package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

func TestMedianIsTheMiddleOrTheMeanOfTwo(t *testing.T) {
	for _, c := range []struct {
		in   []time.Duration
		want time.Duration
	}{
		{nil, 0},
		{[]time.Duration{5}, 5},
		{[]time.Duration{9, 1, 5}, 5},
		{[]time.Duration{9, 1, 5, 7}, 6},
	} {
		if got := median(c.in); got != c.want {
			t.Errorf("median of %v is %v, want %v", c.in, got, c.want)
		}
	}
}

// fixed is a side that always takes d.
func fixed(d time.Duration) side {
	return func() (sample, error) { return sample{wall: d, maxRSS: int64(d)}, nil }
}

func TestBoundsAreMetOrMissed(t *testing.T) {
	b := &bench{ctx: context.Background(), rounds: 3}
	for _, c := range []struct {
		name              string
		bound             bound
		subject, baseline time.Duration
		met               bool
	}{
		{"ratio at the bound", bound{ratio: 1.5}, 30, 20, true},
		{"ratio above", bound{ratio: 1.5}, 31, 20, false},
		{"difference below", bound{difference: 10}, 29, 20, true},
		{"difference at the bound", bound{difference: 10}, 30, 20, false},
		{"share below", bound{share: 0.005}, 4, 1000, true},
		{"share at the bound", bound{share: 0.005}, 5, 1000, false},
		{"at most", bound{most: 30}, 30, 1, true},
		{"more than at most", bound{most: 30}, 31, 100, false},
		{"as much faster", bound{faster: 50}, 2, 100, true},
		{"not as much faster", bound{faster: 50}, 2, 99, false},
		{"memory above", bound{ratio: 9, maxRSS: 30}, 31, 20, false},
	} {
		r := testCase{what: c.name, bound: c.bound, b: b, prepare: func() (side, side, error) {
			return fixed(c.subject), fixed(c.baseline), nil
		}}.measure()
		if r.Met == nil || *r.Met != c.met {
			t.Errorf("%s: met %v, want %v (%+v)", c.name, r.Met, c.met, r)
		}
	}
}

func TestWhatCannotBeMeasuredIsNeverMet(t *testing.T) {
	b := &bench{ctx: context.Background(), rounds: 3}
	for name, err := range map[string]error{"skipped": skip{"no ninja"}, "failed": errors.New("no disk")} {
		r := testCase{what: name, bound: bound{ratio: 100}, b: b, prepare: func() (side, side, error) {
			return nil, nil, err
		}}.measure()
		if r.Met != nil || r.Ratio != 0 {
			t.Errorf("%s: %+v", name, r)
		}
		var out strings.Builder
		if e := (report{Results: []result{r}}).print(&out); e != nil || !strings.Contains(out.String(), name+": "+err.Error()) {
			t.Errorf("%s is not said with its reason: %v\n%s", name, e, out.String())
		}
	}
}

func TestSidesRunInTurnAndTheWarmUpDoesNotCount(t *testing.T) {
	var order strings.Builder
	b := &bench{ctx: context.Background(), rounds: 3}
	n := 0
	subject := func() (sample, error) {
		order.WriteByte('s')
		n++
		if n == 1 {
			return sample{wall: time.Hour}, nil
		}
		return sample{wall: 2}, nil
	}
	baseline := func() (sample, error) { order.WriteByte('b'); return sample{wall: 1}, nil }
	s, base, err := b.interleave(3, subject, baseline)
	if err != nil || s.wall != 2 || base.wall != 1 || order.String() != "sbbssbbs" {
		t.Errorf("got %+v, %+v, %v, order %s", s, base, err, order.String())
	}
}

func TestMain(m *testing.M) {
	maybeHelp()
	os.Exit(m.Run())
}

func TestTheHelperRunsProcessesAndTellsTheirMistakes(t *testing.T) {
	b := &bench{ctx: context.Background(), dir: t.TempDir(), rounds: 1}
	defer b.helper.close()
	ballast := make([]byte, 200<<20)
	for i := range ballast {
		ballast[i] = 1 // the memory of whoever asks is not that of the process
	}
	s, err := b.measured(process{dir: b.dir, argv: []string{"true"}})()
	if err != nil || s.wall <= 0 || s.maxRSS <= 0 || s.maxRSS > 100<<20 {
		t.Errorf("true took %+v, %v; the ballast ends with %d", s, err, ballast[len(ballast)-1])
	}
	if _, err := b.measured(process{dir: b.dir, argv: []string{"sh", "-c", "echo why >&2; exit 3"}})(); err == nil || !strings.Contains(err.Error(), "why") {
		t.Errorf("exit 3 gave %v", err)
	}
	s, err = b.measured(process{dir: b.dir, argv: []string{"sh", "-c", "echo $WHAT"}, env: []string{"WHAT=this"}, contains: "this"})()
	if err != nil {
		t.Error(s, err)
	}
}

func TestGrowthIsWhatOneInstanceMoreCosts(t *testing.T) {
	var rows []result
	for _, n := range []int{100, 1000, 10_000, 100_000} {
		rows = append(rows, result{Instances: n, FlameoxCPU: 5*time.Millisecond + time.Duration(n)*3*time.Microsecond}, result{Instances: 0, FlameoxCPU: 1})
	}
	got := growthOf(rows)
	if len(got) != 1 || got[0].Law != "n" || len(got[0].Each) != 3 || got[0].Each[2] != 3*time.Microsecond {
		t.Errorf("%+v", got)
	}
}

func TestAProcessThatDidNotDoItsJobIsAnError(t *testing.T) {
	if _, err := (process{dir: t.TempDir(), argv: []string{"sh", "-c", "echo why >&2; exit 3"}}).run(); err == nil || !strings.Contains(err.Error(), "why") {
		t.Errorf("exit 3 gave %v", err)
	}
	if _, err := (process{dir: t.TempDir(), argv: []string{"echo", "work"}, contains: "no work to do"}).run(); err == nil {
		t.Error("output without the words was accepted")
	}
	if _, err := (process{dir: t.TempDir(), argv: []string{"sh", "-c", "exit 2"}, exit: 2}).run(); err != nil {
		t.Error(err)
	}
}

func TestTheEquivalentNinjaGraphHasNothingToDoAfterOneRun(t *testing.T) {
	b := &bench{ctx: context.Background(), dir: t.TempDir(), rounds: 1}
	w, err := b.matrixWorkspace(20, 1)
	if err != nil {
		t.Fatal(err)
	}
	run, err := b.noOp(ninja, w, 20)
	var s skip
	if errors.As(err, &s) {
		t.Skip(s.why)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := run(); err != nil {
		t.Error(err)
	}
	if err := w.lstat(); err != nil || len(w.files) != 20 {
		t.Errorf("%d input files, lstat: %v", len(w.files), err)
	}
	if err := w.hash(); err != nil {
		t.Error(err)
	}
}
