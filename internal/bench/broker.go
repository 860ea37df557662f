package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/flameox/flameox/graph/broker"
)

// brokerCases measure the broker inside this program: what it adds to a process, and what its sampler costs
// beside a running tree.
func brokerCases(b *bench) []testCase {
	return []testCase{{
		what: "broker, one process", against: "fork and exec of true", bound: bound{difference: 5 * time.Millisecond},
		prepare: func() (side, side, error) {
			path, err := exec.LookPath("true")
			if err != nil {
				return nil, nil, skip{"there is no command called true"}
			}
			run := b.brokered(path)
			bare := func() error {
				p, err := os.StartProcess(path, []string{path}, &os.ProcAttr{Dir: b.dir, Env: []string{}})
				if err != nil {
					return err
				}
				_, err = p.Wait()
				return err
			}
			return timed(func() error { _, err := run(0); return err }), timed(bare), nil
		},
	}, {
		what: "sampler, 20 processes, every 250 ms", against: "of wall time", bound: bound{share: 0.005},
		prepare: func() (side, side, error) {
			shell, err := exec.LookPath("sh")
			if err != nil {
				return nil, nil, skip{"there is no command called sh"}
			}
			// The CPU time that this program burns beside a long tree, less that beside a short one: starting and
			// cleaning up cancel out, what is left was burned while the tree ran.
			short, long := b.sleepers(shell, time.Second), b.sleepers(shell, 3*time.Second)
			var between time.Duration
			cpu := func() (sample, error) {
				before := ownCPU()
				shortWall, err := short(250 * time.Millisecond)
				middle := ownCPU()
				if err != nil {
					return sample{}, err
				}
				longWall, err := long(250 * time.Millisecond)
				between = longWall - shortWall
				// On a busy machine the difference of two small figures can be negative; it is kept, the median is over all.
				return sample{wall: (ownCPU() - middle) - (middle - before)}, err
			}
			wall := func() (sample, error) { return sample{wall: between}, nil }
			return cpu, wall, nil
		},
	}}
}

// sleepers is a tree of 20 processes that do nothing for d.
func (b *bench) sleepers(shell string, d time.Duration) func(sampleEvery time.Duration) (time.Duration, error) {
	return b.brokered(shell, "-c", fmt.Sprintf("i=0; while [ $i -lt 20 ]; do sleep %g & i=$((i+1)); done; wait", d.Seconds()))
}

// brokered returns a function that runs argv through one broker and returns the process's wall time.
func (b *bench) brokered(argv ...string) func(sampleEvery time.Duration) (time.Duration, error) {
	br := broker.New(broker.Options{Store: "bench"})
	return func(sampleEvery time.Duration) (time.Duration, error) {
		r, err := br.Run(b.ctx, broker.Command{
			Argv: argv, Dir: b.dir, Env: []string{"PATH=" + os.Getenv("PATH")}, Mark: br.Mark("bench"),
			Stdout: filepath.Join(b.dir, "stdout"), Stderr: filepath.Join(b.dir, "stderr"),
			SampleEvery: sampleEvery,
		})
		if err != nil {
			return 0, err
		}
		if r.Exit != 0 || r.Cause != "" {
			return 0, fmt.Errorf("%s ended with %d %s %s", argv[0], r.Exit, r.Signal, r.Cause)
		}
		return r.Wall, nil
	}
}
