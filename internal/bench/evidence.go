package main

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"
)

// evidenceCases are questions to what many runs have published, and publishing one more.
func evidenceCases(b *bench, sizes []int, matrix func(int) (*workspace, error)) (all []testCase) {
	largest := 0
	for _, n := range sizes {
		if n <= 10_000 {
			largest = n
		}
	}
	const question = "SELECT kind, count(*), median(wall_ns) FROM runs WHERE valid GROUP BY ALL ORDER BY ALL"
	ask := func(w *workspace) process {
		return process{dir: w.dir, argv: []string{b.flameox, "query", question}, contains: "build"}
	}
	all = append(all, testCase{
		what: fmt.Sprintf("query over %d published runs, process and all", largest), against: "version", bound: bound{most: 300 * time.Millisecond},
		prepare: func() (side, side, error) {
			w, err := matrix(largest)
			if err != nil {
				return nil, nil, err
			}
			return b.measured(ask(w)), b.measured(process{dir: b.dir, argv: []string{b.flameox, "version"}}), nil
		},
	}, testCase{
		what: fmt.Sprintf("apply of one stale stage, %d runs published", largest), against: fmt.Sprintf("%d runs", sizes[0]), rounds: 5,
		prepare: func() (side, side, error) {
			wl, err := matrix(largest)
			if err != nil {
				return nil, nil, err
			}
			ws, err := matrix(sizes[0])
			return b.oneMore(wl), b.oneMore(ws), err
		},
	}, testCase{
		what: fmt.Sprintf("the same, %d runs, two readers querying", largest), against: "no reader", rounds: 5,
		prepare: func() (side, side, error) {
			w, err := matrix(largest)
			if err != nil {
				return nil, nil, err
			}
			more := b.oneMore(w)
			return func() (sample, error) { return b.beside(ask(w), 2, more) }, more, nil
		},
	})
	return all
}

// oneMore is an apply after one file has changed: it plans, runs one stage, keeps what it left and publishes.
func (b *bench) oneMore(w *workspace) side {
	path := w.files[0]
	b.undo = append(b.undo, w.touched)
	return func() (sample, error) {
		if err := os.WriteFile(path, fmt.Appendf(nil, "at %d\n", time.Now().UnixNano()), 0o644); err != nil {
			return sample{}, err
		}
		return b.measured(process{dir: w.dir, argv: []string{b.flameox, "apply"}, contains: "1 done"})()
	}
}

// beside runs work while n loops run p again and again.
func (b *bench) beside(p process, n int, work side) (sample, error) {
	ctx, end := context.WithCancel(b.ctx)
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			for ctx.Err() == nil && errs[i] == nil {
				_, errs[i] = p.run()
			}
		})
	}
	s, err := work()
	end()
	wg.Wait()
	for _, e := range errs {
		if err == nil {
			err = e
		}
	}
	return s, err
}
