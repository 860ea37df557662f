package timeline

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flameox/flameox/evidence"
)

// many adds slices of random places on a few tracks, which nest by chance.
func many(t *testing.T, c *Collector, n int) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		name, err := c.Text([]byte(fmt.Sprintf("f%d", r.IntN(20))))
		if err != nil {
			t.Fatal(err)
		}
		e := &Event{Kind: Complete, Track: c.Thread([]byte("1"), []byte{'1' + byte(r.IntN(4))}), Ordinal: int64(i), Start: r.Int64N(1000) * 1000, Duration: r.Int64N(1 << r.IntN(16)), Name: name}
		if i%7 == 0 {
			e.Kind, e.Duration = Instant, 0
		}
		if err := c.Add(e); err != nil {
			t.Fatal(err)
		}
	}
}

func finish(t *testing.T, c *Collector) (Summary, []string) {
	t.Helper()
	sink := evidence.NewSink(t.TempDir(), evidence.FileMeta{Provider: "x", ProviderVersion: 1}, c.opt.Budget)
	sum, err := c.Finish(t.Context(), sink)
	if err != nil {
		t.Fatal(err)
	}
	parts, err := sink.Close()
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for _, p := range parts {
		if err := evidence.Scan(p.Path, evidence.ScanOptions{}, func(_ []evidence.Column, row []any) error {
			rows = append(rows, p.Table+fmt.Sprint(row))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	return sum, rows
}

func TestATraceThatIsSortedInPartsIsTheSame(t *testing.T) {
	var want []string
	for _, most := range []int{1 << 20, 1000, 37} {
		c := New(Options{Budget: evidence.DefaultBudget()})
		c.spill.most = most
		many(t, c, 5000)
		sum, rows := finish(t, c)
		c.Close()
		if most == 1<<20 {
			want = rows
		}
		if !slices.Equal(rows, want) || sum.Slices+sum.Instants != 5000 || len(rows) < 5000 {
			t.Errorf("parts of %d: %d rows, not %d, %+v", most, len(rows), len(want), sum.Counts)
		}
		if spilled := len(c.spill.parts) > 0; spilled != (most < 5000) {
			t.Errorf("parts of %d: spilled is %v", most, spilled)
		}
	}
}

func TestSelfTimesAddUpToTheTimeThatIsCovered(t *testing.T) {
	c := New(Options{Budget: evidence.DefaultBudget()})
	defer c.Close()
	var busy [4][2_000_000]bool
	many(t, c, 400)
	for i := range c.spill.part {
		r := &c.spill.part[i]
		if r.kind == Complete {
			for at := r.start; at < r.end(); at++ {
				busy[c.tracks[r.track].thread[0]-'1'][at] = true
			}
		}
	}
	sum, _ := finish(t, c)
	var covered int64
	for _, track := range busy {
		for _, b := range track {
			if b {
				covered++
			}
		}
	}
	// What overlaps without nesting is beside the other and counts for itself, so the sum is no less.
	if got := sum.Profile.Totals[0]; got < covered || sum.Overlapping+sum.Rounded == 0 && got != covered {
		t.Errorf("%d ns are covered, and self times are %d: %+v", covered, got, sum.Counts)
	}
}

func TestDistinctNamesBeyondTheBudgetAreRefused(t *testing.T) {
	b := evidence.DefaultBudget()
	b.Memory = 1 << 20
	c := New(Options{Budget: b})
	defer c.Close()
	var err error
	for i := 0; err == nil && i < 100_000; i++ {
		_, err = c.Text([]byte(fmt.Sprintf("request %d", i)))
	}
	if _, ok := err.(*evidence.BudgetError); !ok {
		t.Errorf("%v", err)
	}
}

func TestIdentifiersKeepTheirText(t *testing.T) {
	c := New(Options{})
	for _, s := range []string{"0", "7", "007", "18446744073709551615", "-5", "-0", "0x1f", "0x0f", "0X1F", "0xffffffffffffffff", "id42", "9223372036854775808", "12345678901234567890123"} {
		id, err := c.ID([]byte(s))
		if err != nil || c.IDText(id) != s {
			t.Errorf("%s became %s (%v)", s, c.IDText(id), err)
		}
	}
}

func TestAStairOfRoundedEndsIsNoStack(t *testing.T) {
	c := New(Options{Budget: evidence.DefaultBudget()})
	defer c.Close()
	for i := range int64(1000) {
		if err := c.Add(&Event{Kind: Complete, Track: c.Thread([]byte("1"), []byte("1")), Ordinal: i, Start: i * Tolerance, Duration: 1000 * Tolerance}); err != nil {
			t.Fatal(err)
		}
	}
	sum, _ := finish(t, c)
	if depth := slices.MaxFunc(c.nest.nodes, func(a, b node) int { return int(a.depth) - int(b.depth) }).depth; depth > 1 || sum.Overlapping < 400 {
		t.Errorf("depth %d, %+v", depth, sum.Counts)
	}
}
