package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// testCase is one line of the table, not yet measured.
type testCase struct {
	what    string
	against string
	bound   bound
	// instances is the size of a row that is the same at several sizes; 0 of any other.
	instances int
	rounds    int // 0: as many as the bench has
	// prepare makes what both sides need and returns them. It is not measured.
	prepare func() (subject, baseline side, err error)
	b       *bench
}

// bound is what a figure must not exceed. The zero value is no bound.
type bound struct {
	ratio      float64
	share      float64 // a ratio that is a small part of a whole, shown in percent
	difference time.Duration
	most       time.Duration // whatever the baseline takes
	faster     float64       // how many times as long the baseline has to take
	maxRSS     int64         // bytes
}

func (b bound) String() string {
	s := ""
	if b.ratio > 0 {
		s = fmt.Sprintf("%.3g×", b.ratio)
	}
	if b.share > 0 {
		s = fmt.Sprintf("< %.2g %%", b.share*100)
	}
	if b.difference > 0 {
		s = fmt.Sprintf("< +%s", b.difference)
	}
	if b.most > 0 {
		s = fmt.Sprintf("≤ %s", b.most)
	}
	if b.faster > 0 {
		s = fmt.Sprintf("≥ %g× faster", b.faster)
	}
	if b.maxRSS > 0 {
		s += fmt.Sprintf(", %d MB", b.maxRSS/1e6)
	}
	return s
}

// skip is an error that says why a case cannot be measured here.
type skip struct{ why string }

func (s skip) Error() string { return s.why }

func (c testCase) measure() result {
	r := result{What: c.what, Against: c.against, Bound: c.bound.String(), Instances: c.instances}
	defer c.b.undoAll()
	subject, baseline, err := c.prepare()
	var f, base medians
	if err == nil {
		rounds := c.rounds
		if rounds == 0 || rounds > c.b.rounds {
			rounds = c.b.rounds
		}
		f, base, err = c.b.interleave(rounds, subject, baseline)
	}
	var s skip
	if errors.As(err, &s) {
		r.Skipped = s.why
		return r
	}
	if err != nil {
		r.Error = err.Error()
		return r
	}
	r.Flameox, r.Baseline, r.FlameoxCPU, r.BaselineCPU, r.MaxRSS, r.BaselineRSS = f.wall, base.wall, f.cpu, base.cpu, f.maxRSS, base.maxRSS
	r.Ratio = float64(r.Flameox) / float64(r.Baseline)
	if c.bound.difference > 0 {
		r.Difference = r.Flameox - r.Baseline
	}
	if c.bound != (bound{}) {
		met := (c.bound.ratio == 0 || r.Ratio <= c.bound.ratio) &&
			(c.bound.share == 0 || r.Ratio < c.bound.share) &&
			(c.bound.difference == 0 || r.Difference < c.bound.difference) &&
			(c.bound.most == 0 || r.Flameox <= c.bound.most) &&
			(c.bound.faster == 0 || float64(r.Baseline) >= c.bound.faster*float64(r.Flameox)) &&
			(c.bound.maxRSS == 0 || r.MaxRSS <= c.bound.maxRSS)
		r.Met = &met
	}
	return r
}

// plan is flameox plan in w; exit is 0 where nothing may be left to do, 2 where something must.
func (b *bench) plan(w *workspace, exit int) process {
	return process{dir: w.dir, argv: []string{b.flameox, "plan", "-detailed-exitcode"}, exit: exit}
}

// applied runs everything in w and looks that nothing is left, so that what is measured after it is a no-op. More run at once than the machine has
// CPUs, because many of them wait for the disk.
func (b *bench) applied(w *workspace, err error) (*workspace, error) {
	if err != nil {
		return nil, err
	}
	if _, err := (process{dir: w.dir, argv: []string{b.flameox, "apply", "-parallelism", "32"}}).run(); err != nil {
		return nil, err
	}
	// The first plan remembers what it read, once all of it is old enough to be believed.
	time.Sleep(50 * time.Millisecond)
	_, err = b.plan(w, 0).run()
	return w, err
}

// cases are all lines of the table, in its order. The bounds are the design's.
func cases(b *bench, full bool) []testCase {
	sizes := []int{100, 1000}
	if full {
		sizes = append(sizes, 10_000, 100_000)
	}
	memo := map[int]*workspace{}
	matrix := func(n int) (*workspace, error) {
		if memo[n] != nil {
			return memo[n], nil
		}
		w, err := b.applied(b.matrixWorkspace(n, 1))
		if err == nil {
			memo[n] = w
		}
		return w, err
	}
	all := []testCase{{
		what: "version", against: "true", bound: bound{difference: 30 * time.Millisecond},
		prepare: func() (side, side, error) {
			return b.measured(process{dir: b.dir, argv: []string{b.flameox, "version"}}), b.measured(process{dir: b.dir, argv: []string{"true"}}), nil
		},
	}}
	all = append(all, peerCases(b, sizes, matrix)...)
	all = append(all, changeCases(b, sizes, matrix)...)
	all = append(all, fileCases(b, full)...)
	all = append(all, evidenceCases(b, sizes, matrix)...)
	all = append(all, brokerCases(b)...)
	all = append(all, serverCases(b)...)
	for i := range all {
		all[i].b = b
	}
	return all
}

// peerCases are the no-op plan against other tools, and against itself at a tenth of the size.
func peerCases(b *bench, sizes []int, matrix func(int) (*workspace, error)) (all []testCase) {
	ninjaBound := map[int]float64{1000: 1.5, 10_000: 0.7}
	against := func(p peer, n int, limit bound) testCase {
		c := testCase{what: fmt.Sprintf("no-op plan, %d instances", n), against: p.name, bound: limit, rounds: p.rounds}
		c.prepare = func() (side, side, error) {
			w, err := matrix(n)
			if err != nil {
				return nil, nil, err
			}
			other, err := b.noOp(p, w, n)
			return b.measured(b.plan(w, 0)), other, err
		}
		return c
	}
	for _, n := range sizes {
		c := against(ninja, n, bound{ratio: ninjaBound[n]})
		c.instances = n
		all = append(all, c)
	}
	for _, p := range []peer{dvc, snakemake} {
		all = append(all, against(p, 1000, bound{faster: 50}))
	}
	// Its time grows with the square of the number of resources of a block: a thousand take minutes.
	all = append(all, against(tofu, 100, bound{faster: 50}))
	if slices.Contains(sizes, 10_000) {
		all = append(all, against(tofu, 1000, bound{faster: 50}))
	}
	for i := 1; i < len(sizes); i++ {
		small, large := sizes[i-1], sizes[i]
		all = append(all, testCase{
			what: fmt.Sprintf("growth: no-op plan, %d instances", large), against: fmt.Sprintf("%d instances", small),
			bound: bound{ratio: 10},
			prepare: func() (side, side, error) {
				ws, err := matrix(small)
				if err != nil {
					return nil, nil, err
				}
				wl, err := matrix(large)
				return b.measured(b.plan(wl, 0)), b.measured(b.plan(ws, 0)), err
			},
		})
	}
	return all
}

// changeCases are plans that find something.
func changeCases(b *bench, sizes []int, matrix func(int) (*workspace, error)) (all []testCase) {
	for _, n := range sizes {
		if n < 1000 || n > 10_000 {
			continue
		}
		limit := bound{}
		if n == 10_000 {
			limit.ratio = 1.5
		}
		all = append(all, testCase{
			what: fmt.Sprintf("plan after one file of %d changed", n), against: "no-op plan", bound: limit,
			prepare: func() (side, side, error) {
				w, err := matrix(n)
				if err != nil {
					return nil, nil, err
				}
				changed, unchanged := b.oneChanged(w)
				return changed, unchanged, nil
			},
		}, testCase{
			what: fmt.Sprintf("the long way, %d instances", n), against: "no-op plan", rounds: 5,
			prepare: func() (side, side, error) {
				w, err := matrix(n)
				if err != nil {
					return nil, nil, err
				}
				long := b.plan(w, 0)
				long.argv = append(long.argv, "-no-shortcut")
				noOp := func() (sample, error) { // -no-shortcut forgets the remembered plan
					if _, err := b.plan(w, 0).run(); err != nil {
						return sample{}, err
					}
					return b.measured(b.plan(w, 0))()
				}
				return b.measured(long), noOp, nil
			},
		})
	}
	return all
}

// fileCases are experiments with many files, and with large ones.
func fileCases(b *bench, full bool) []testCase {
	all := []testCase{{
		what: "no-op plan, 1000 blocks, 10000 files", against: "parallel lstat", bound: bound{ratio: 3},
		prepare: func() (side, side, error) {
			w, err := b.applied(b.blocksWorkspace(1000, 10))
			if err != nil {
				return nil, nil, err
			}
			return b.measured(b.plan(w, 0)), timed(w.lstat), nil
		},
	}}
	if full {
		all = append(all, testCase{
			what: "no-op plan, 10000 instances, 100000 files", against: "parallel lstat", bound: bound{ratio: 1.6, maxRSS: 250e6},
			prepare: func() (side, side, error) {
				w, err := b.applied(b.matrixWorkspace(10_000, 10))
				if err != nil {
					return nil, nil, err
				}
				return b.measured(b.plan(w, 0)), timed(w.lstat), nil
			},
		})
	}
	return append(all, testCase{
		what: "cold hashing, 4 × 256 MB", against: "SHA-256, as many workers", bound: bound{ratio: 1 / 0.85}, rounds: 5,
		prepare: func() (side, side, error) {
			w, err := b.bigWorkspace(4, 256<<20)
			if err != nil {
				return nil, nil, err
			}
			cold := func() (sample, error) {
				remove(filepath.Join(w.dir, ".flameox"))
				return b.measured(b.plan(w, 2))()
			}
			return cold, timed(w.hash), nil
		},
	})
}

// oneChanged returns a plan that finds one file with new content, and one that finds all as they were applied.
func (b *bench) oneChanged(w *workspace) (changed, unchanged side) {
	path := w.files[len(w.files)/2]
	original, readErr := os.ReadFile(path)
	b.undo = append(b.undo, func() error { return errors.Join(os.WriteFile(path, original, 0o644), w.touched()) })
	round := 0
	changed = func() (sample, error) {
		round++
		if readErr != nil {
			return sample{}, readErr
		}
		if err := os.WriteFile(path, fmt.Appendf(nil, "change %d\n", round), 0o644); err != nil {
			return sample{}, err
		}
		return b.measured(b.plan(w, 2))()
	}
	unchanged = func() (sample, error) {
		if err := os.WriteFile(path, original, 0o644); err != nil {
			return sample{}, err
		}
		// The plan that finds the file put back looks into it; and one that is as young as the file is not remembered.
		for range 2 {
			time.Sleep(50 * time.Millisecond)
			if _, err := b.plan(w, 0).run(); err != nil {
				return sample{}, err
			}
		}
		return b.measured(b.plan(w, 0))()
	}
	return changed, unchanged
}
