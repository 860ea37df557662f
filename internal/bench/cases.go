package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// testCase is one line of the table, not yet measured.
type testCase struct {
	what    string
	against string
	bound   bound
	// prepare makes what both sides need and returns them. It is not measured.
	prepare func() (subject, baseline side, err error)
	b       *bench
}

// bound is what a figure must not exceed. The zero value is no bound.
type bound struct {
	ratio      float64
	share      float64 // a ratio that is a small part of a whole, shown in percent
	difference time.Duration
	maxRSS     int64 // bytes
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
	if b.maxRSS > 0 {
		s += fmt.Sprintf(", %d MB", b.maxRSS/1e6)
	}
	return s
}

// skip is an error that says why a case cannot be measured here.
type skip struct{ why string }

func (s skip) Error() string { return s.why }

func (c testCase) measure() result {
	r := result{What: c.what, Against: c.against, Bound: c.bound.String()}
	subject, baseline, err := c.prepare()
	var f, base medians
	if err == nil {
		f, base, err = c.b.interleave(subject, baseline)
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
	r.Flameox, r.Baseline, r.FlameoxCPU, r.BaselineCPU, r.MaxRSS = f.wall, base.wall, f.cpu, base.cpu, f.maxRSS
	r.Ratio = float64(r.Flameox) / float64(r.Baseline)
	if c.bound.difference > 0 {
		r.Difference = r.Flameox - r.Baseline
	}
	if c.bound.maxRSS == 0 {
		r.MaxRSS = 0
	}
	if c.bound != (bound{}) {
		met := (c.bound.ratio == 0 || r.Ratio <= c.bound.ratio) &&
			(c.bound.share == 0 || r.Ratio < c.bound.share) &&
			(c.bound.difference == 0 || r.Difference < c.bound.difference) &&
			(c.bound.maxRSS == 0 || r.MaxRSS <= c.bound.maxRSS)
		r.Met = &met
	}
	return r
}

// plan is flameox plan in w; exit is 0 where nothing may be left to do, 2 where something must.
func (b *bench) plan(w *workspace, exit int) process {
	return process{dir: w.dir, argv: []string{b.flameox, "plan", "-detailed-exitcode"}, exit: exit}
}

// applied runs everything in w and looks once that nothing is left, so that what is measured after it is a no-op.
func (b *bench) applied(w *workspace, err error) (*workspace, error) {
	if err != nil {
		return nil, err
	}
	if _, err := (process{dir: w.dir, argv: []string{b.flameox, "apply"}}).run(); err != nil {
		return nil, err
	}
	_, err = b.plan(w, 0).run()
	return w, err
}

// cases are all lines of the table, in its order. The bounds are the design's.
func cases(b *bench, full bool) []testCase {
	sizes := []int{100, 1000}
	ninjaBound := map[int]float64{1000: 1.5, 10_000: 0.7}
	if full {
		sizes = append(sizes, 10_000)
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
			return process{dir: b.dir, argv: []string{b.flameox, "version"}}.run, process{dir: b.dir, argv: []string{"true"}}.run, nil
		},
	}}
	for _, n := range sizes {
		all = append(all, testCase{
			what: fmt.Sprintf("no-op plan, %d instances in one block", n), against: "ninja",
			bound: bound{ratio: ninjaBound[n]},
			prepare: func() (side, side, error) {
				w, err := matrix(n)
				if err != nil {
					return nil, nil, err
				}
				ninja, err := b.ninja(w, n)
				return b.plan(w, 0).run, ninja, err
			},
		})
	}
	// Growth has no foreign baseline: each size is set against the one before it, which is a tenth.
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
				if err != nil {
					return nil, nil, err
				}
				return b.plan(wl, 0).run, b.plan(ws, 0).run, nil
			},
		})
	}
	largest := sizes[len(sizes)-1]
	all = append(all, testCase{
		what: fmt.Sprintf("plan after one file of %d changed", largest), against: "no-op plan", bound: bound{ratio: 1.5},
		prepare: func() (side, side, error) {
			w, err := matrix(largest)
			if err != nil {
				return nil, nil, err
			}
			changed, unchanged := b.oneChanged(w)
			return changed, unchanged, nil
		},
	}, testCase{
		what: "no-op plan, 1000 blocks, 10000 files", against: "parallel lstat", bound: bound{ratio: 3},
		prepare: func() (side, side, error) {
			w, err := b.applied(b.blocksWorkspace(1000, 10))
			if err != nil {
				return nil, nil, err
			}
			return b.plan(w, 0).run, timed(w.lstat), nil
		},
	})
	if full {
		all = append(all, testCase{
			what: "no-op plan, 10000 instances, 100000 files", against: "parallel lstat", bound: bound{ratio: 1.6, maxRSS: 250e6},
			prepare: func() (side, side, error) {
				w, err := b.applied(b.matrixWorkspace(10_000, 10))
				if err != nil {
					return nil, nil, err
				}
				return b.plan(w, 0).run, timed(w.lstat), nil
			},
		})
	}
	all = append(all, testCase{
		what: "cold hashing, 4 × 256 MB", against: "SHA-256, as many workers", bound: bound{ratio: 1 / 0.85},
		prepare: func() (side, side, error) {
			w, err := b.bigWorkspace(4, 256<<20)
			if err != nil {
				return nil, nil, err
			}
			cold := func() (sample, error) {
				remove(filepath.Join(w.dir, ".flameox"))
				return b.plan(w, 2).run()
			}
			return cold, timed(w.hash), nil
		},
	})
	all = append(all, brokerCases(b)...)
	all = append(all, serverCases(b)...)
	for i := range all {
		all[i].b = b
	}
	return all
}

// ninja builds the equivalent graph once and returns ninja with nothing to do.
func (b *bench) ninja(w *workspace, n int) (side, error) {
	path, err := exec.LookPath("ninja")
	if err != nil {
		return nil, skip{"ninja is not on PATH (Debian: apt-get install ninja-build)"}
	}
	if err := w.ninja(n); err != nil {
		return nil, err
	}
	if _, err := (process{dir: w.dir, argv: []string{path, "--quiet"}}).run(); err != nil {
		return nil, err
	}
	return process{dir: w.dir, argv: []string{path}, contains: "no work to do"}.run, nil
}

// oneChanged returns a plan that finds one file with new content, and one that finds all as they were applied.
func (b *bench) oneChanged(w *workspace) (changed, unchanged side) {
	path := w.files[len(w.files)/2]
	original, readErr := os.ReadFile(path)
	round := 0
	changed = func() (sample, error) {
		round++
		if readErr != nil {
			return sample{}, readErr
		}
		if err := os.WriteFile(path, fmt.Appendf(nil, "change %d\n", round), 0o644); err != nil {
			return sample{}, err
		}
		return b.plan(w, 2).run()
	}
	unchanged = func() (sample, error) {
		if err := os.WriteFile(path, original, 0o644); err != nil {
			return sample{}, err
		}
		// The first plan after the file was put back looks into it; the one that is measured need not.
		if _, err := b.plan(w, 0).run(); err != nil {
			return sample{}, err
		}
		return b.plan(w, 0).run()
	}
	return changed, unchanged
}
