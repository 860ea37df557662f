package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/flameox/flameox/graph/broker"
)

func main() {
	broker.MaybeSupervise()
	maybeServe()
	maybeHelp()
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run() error {
	binary := flag.String("flameox", "bin/flameox", "the binary to measure")
	rounds := flag.Int("rounds", 11, "how often each side runs; odd, so that the median is a run")
	full := flag.Bool("full", false, "also the experiments with 10,000 and 100,000 instances, which take half an hour to prepare")
	keep := flag.String("keep", "", "make the experiments in `FOLDER` and leave them there; what is there from an earlier time is used again")
	only := flag.String("only", "", "measure only rows that this regular expression matches, as \"WHAT, against BASELINE\"")
	asJSON := flag.Bool("json", false, "print JSON instead of a table")
	flag.Parse()

	filter, err := regexp.Compile(*only)
	if err != nil {
		return fmt.Errorf("-only %q is no regular expression: %w", *only, err)
	}
	if *rounds < 1 {
		return fmt.Errorf("-rounds %d: at least one round is needed", *rounds)
	}
	tool, err := filepath.Abs(*binary)
	if err != nil {
		return err
	}
	if _, err := os.Stat(tool); err != nil {
		return fmt.Errorf("there is no flameox to measure: %w; build it with make build or name it with -flameox", err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	dir, err := place(*keep)
	if err != nil {
		return err
	}
	if *keep == "" {
		defer remove(dir)
	}
	b := &bench{ctx: ctx, flameox: tool, dir: dir, rounds: *rounds}
	defer b.helper.close()
	if !*asJSON {
		b.progress = os.Stderr
	}
	var results []result
	for _, c := range cases(b, *full) {
		if !filter.MatchString(c.what + ", against " + c.against) {
			continue
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		b.say("%s, against %s …", c.what, c.against)
		start := time.Now()
		r := c.measure()
		b.say(" %s\n", time.Since(start).Round(100*time.Millisecond))
		results = append(results, r)
	}
	if len(results) == 0 {
		return fmt.Errorf("-only %q matches nothing", *only)
	}
	report := report{
		Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(),
		Rounds: *rounds, Load: load(), Results: results, Growth: growthOf(results),
	}
	if *asJSON {
		e := json.NewEncoder(os.Stdout)
		e.SetIndent("", "  ")
		err = e.Encode(report)
	} else {
		err = report.print(os.Stdout)
	}
	if err != nil {
		return err
	}
	for _, r := range results {
		if r.Error != "" {
			return fmt.Errorf("%s could not be measured", r.What)
		}
	}
	return nil
}

// bench is what every case needs.
type bench struct {
	ctx      context.Context
	flameox  string // absolute path of the binary
	dir      string // removed at the end, unless it is kept
	rounds   int
	helper   helper
	undo     []func() error // what a case leaves behind that the next may not find
	progress *os.File       // nil: quiet
}

// undoAll puts back what the case before has changed.
func (b *bench) undoAll() {
	for _, undo := range b.undo {
		if err := undo(); err != nil {
			fmt.Fprintln(os.Stderr, "bench: put back what a case changed:", err)
		}
	}
	b.undo = nil
}

// place is the folder in which experiments are made.
func place(keep string) (string, error) {
	if keep == "" {
		return os.MkdirTemp("", "flameox-bench-")
	}
	dir, err := filepath.Abs(keep)
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	return dir, err
}

// load is how many processes wanted a CPU, on average of the last minute; "" where the system does not say.
func load() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	one, _, _ := strings.Cut(string(b), " ")
	return one
}

func (b *bench) say(format string, args ...any) {
	if b.progress != nil {
		fmt.Fprintf(b.progress, format, args...)
	}
}

// remove deletes the temporary folder. Stored files and their folders are read-only, so
// folders are made writable on the way.
func remove(dir string) {
	filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			os.Chmod(path, 0o700)
		}
		return nil
	})
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintf(os.Stderr, "bench: %s is left behind: %s\n", dir, strings.TrimSpace(err.Error()))
	}
}
