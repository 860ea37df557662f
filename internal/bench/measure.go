package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

// sample is one run of one side.
type sample struct {
	wall   time.Duration
	maxRSS int64 // bytes, of a process; 0 of work inside this program
}

// side is one of the two things that a case compares.
type side func() (sample, error)

// interleave runs both sides in turn, once to warm up and then b.rounds times, and returns the median wall
// time of each and the largest resident set of the first. Which side goes first changes every
// round, so that neither always finds the caches that the other left.
func (b *bench) interleave(subject, baseline side) (s, base time.Duration, maxRSS int64, err error) {
	var ss, bs []time.Duration
	for i := range b.rounds + 1 {
		if b.ctx.Err() != nil {
			return 0, 0, 0, b.ctx.Err()
		}
		order := []bool{true, false}
		if i%2 == 1 {
			order = []bool{false, true}
		}
		for _, isSubject := range order {
			run := baseline
			if isSubject {
				run = subject
			}
			x, err := run()
			if err != nil {
				return 0, 0, 0, err
			}
			switch {
			case i == 0: // warm-up
			case isSubject:
				ss = append(ss, x.wall)
				maxRSS = max(maxRSS, x.maxRSS)
			default:
				bs = append(bs, x.wall)
			}
		}
	}
	return median(ss), median(bs), maxRSS, nil
}

// median of an even number is the mean of the middle two.
func median(d []time.Duration) time.Duration {
	d = slices.Sorted(slices.Values(d))
	n := len(d)
	if n == 0 {
		return 0
	}
	return (d[(n-1)/2] + d[n/2]) / 2
}

// process is a command whose exit status, and optionally output, is checked every time: a
// benchmark of something that did not do its job would measure nothing.
type process struct {
	dir      string
	argv     []string
	exit     int
	contains string // in stdout; "" checks nothing
}

func (p process) run() (sample, error) {
	cmd := exec.Command(p.argv[0], p.argv[1:]...)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), "NO_COLOR=1", "TERM=dumb")
	var stdout, stderr bytes.Buffer
	cmd.Stderr = &stderr
	cmd.Stdout = &stdout
	start := time.Now()
	err := cmd.Run()
	wall := time.Since(start)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return sample{}, fmt.Errorf("%s: %w", strings.Join(p.argv, " "), err)
	}
	if code := cmd.ProcessState.ExitCode(); code != p.exit {
		return sample{}, fmt.Errorf("%s ended with %d, want %d: %s", strings.Join(p.argv, " "), code, p.exit, lastLines(stdout.String()+stderr.String(), 6))
	}
	if !strings.Contains(stdout.String(), p.contains) {
		return sample{}, fmt.Errorf("%s did not print %q: %s", strings.Join(p.argv, " "), p.contains, lastLines(stdout.String(), 6))
	}
	s := sample{wall: wall}
	if ru, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		s.maxRSS = int64(ru.Maxrss) << 10 // KiB on Linux
	}
	return s, nil
}

func lastLines(s string, n int) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], " | ")
}

// timed makes a side of work inside this program.
func timed(work func() error) side {
	return func() (sample, error) {
		start := time.Now()
		err := work()
		return sample{wall: time.Since(start)}, err
	}
}
