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
	cpu    time.Duration // user and system
	maxRSS int64         // bytes, of a process; 0 of work inside this program
}

// medians are what a side comes to over all rounds.
type medians struct {
	wall, cpu time.Duration
	maxRSS    int64 // the largest
}

// side is one of the two things that a case compares.
type side func() (sample, error)

// interleave runs both sides in turn, once to warm up and then rounds times. Which side goes first changes every
// round, so that neither always finds the caches that the other left.
func (b *bench) interleave(rounds int, subject, baseline side) (medians, medians, error) {
	var of [2][]sample
	sides := []side{subject, baseline}
	for i := range rounds + 1 {
		for k := range sides {
			if b.ctx.Err() != nil {
				return medians{}, medians{}, b.ctx.Err()
			}
			which := (k + i) % 2
			x, err := sides[which]()
			if err != nil {
				return medians{}, medians{}, err
			}
			if i > 0 {
				of[which] = append(of[which], x)
			}
		}
	}
	return summarize(of[0]), summarize(of[1]), nil
}

func summarize(samples []sample) (m medians) {
	var wall, cpu []time.Duration
	for _, s := range samples {
		wall, cpu = append(wall, s.wall), append(cpu, s.cpu)
		m.maxRSS = max(m.maxRSS, s.maxRSS)
	}
	m.wall, m.cpu = median(wall), median(cpu)
	return m
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
	env      []string // beside this program's own
	exit     int
	contains string // in what it prints; "" checks nothing
}

func (p process) run() (sample, error) {
	cmd := exec.Command(p.argv[0], p.argv[1:]...)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), "NO_COLOR=1", "TERM=dumb")
	cmd.Env = append(cmd.Env, p.env...)
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
	if printed := stdout.String() + stderr.String(); !strings.Contains(printed, p.contains) {
		return sample{}, fmt.Errorf("%s did not print %q: %s", strings.Join(p.argv, " "), p.contains, lastLines(printed, 6))
	}
	s := sample{wall: wall, cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
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
		cpu, start := ownCPU(), time.Now()
		err := work()
		return sample{wall: time.Since(start), cpu: ownCPU() - cpu}, err
	}
}

// ownCPU is the CPU time that this process has used, user and system, without its children's.
func ownCPU() time.Duration {
	var ru syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &ru) != nil {
		return 0
	}
	return time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
}
