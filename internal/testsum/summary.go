package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// event is one line of `go test -json`, as `go doc test2json` describes it.
type event struct {
	Action      string
	Package     string
	ImportPath  string // of build output
	Test        string
	Elapsed     float64
	Output      string
	FailedBuild string
}

// summary counts tests and keeps the output of those that have not ended yet.
type summary struct {
	w                       io.Writer
	passed, failed, skipped int
	packages, badPackages   int
	output                  map[string][]string // by package, and by package and test
	build                   map[string][]string // compiler output by import path
	failures                []string
}

func newSummary(w io.Writer) *summary {
	return &summary{w: w, output: map[string][]string{}, build: map[string][]string{}}
}

// read consumes the events of one go test. A line that is no event is printed as it is: go prints some
// errors of its own that way.
func (s *summary) read(r io.Reader) error {
	in := bufio.NewReaderSize(r, 1<<16)
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) != nil || e.Action == "" {
				fmt.Fprintf(s.w, "%s", line)
			} else {
				s.add(e)
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading the output of go test: %w", err)
		}
	}
}

func (s *summary) add(e event) {
	key := e.Package + " " + e.Test
	switch e.Action {
	case "build-output":
		s.build[e.ImportPath] = append(s.build[e.ImportPath], e.Output)
	case "output":
		s.output[key] = append(s.output[key], e.Output)
	case "pass", "fail", "skip":
		if e.Test == "" {
			s.endPackage(e)
		} else {
			s.endTest(e, s.output[key])
		}
		delete(s.output, key)
	}
}

func (s *summary) endTest(e event, output []string) {
	switch e.Action {
	case "pass":
		s.passed++
	case "skip":
		s.skipped++
		fmt.Fprintf(s.w, "skip  %s %s: %s\n", e.Package, e.Test, reason(output))
	case "fail":
		s.failed++
		s.failures = append(s.failures, e.Package+" "+e.Test)
		for _, o := range output {
			fmt.Fprint(s.w, o)
		}
	}
}

func (s *summary) endPackage(e event) {
	s.packages++
	if e.Action != "fail" {
		if e.Action == "pass" {
			fmt.Fprintf(s.w, "ok    %s %.2fs\n", e.Package, e.Elapsed)
		}
		return
	}
	s.badPackages++
	for _, o := range s.build[e.FailedBuild] {
		fmt.Fprint(s.w, o)
	}
	// What a package prints outside of tests is shown only when it failed: a panic or a
	// failed TestMain is there and nowhere else. Tests that never ended (the process died) follow.
	for key, output := range s.output {
		if !strings.HasPrefix(key, e.Package+" ") {
			continue
		}
		if test := strings.TrimPrefix(key, e.Package+" "); test != "" {
			s.failed++
			s.failures = append(s.failures, e.Package+" "+test+" (did not end)")
		}
		for _, o := range output {
			fmt.Fprint(s.w, o)
		}
		delete(s.output, key)
	}
	what := "FAIL  " + e.Package
	if e.FailedBuild != "" {
		what += " (does not build)"
		s.failures = append(s.failures, e.Package+" (does not build)")
	}
	fmt.Fprintln(s.w, what)
}

// reason is the text that a test gave to Skip: the last line it printed that is not go test's own.
func reason(output []string) string {
	for i := len(output) - 1; i >= 0; i-- {
		line := strings.TrimSpace(output[i])
		if line != "" && !strings.HasPrefix(line, "---") && !strings.HasPrefix(line, "===") {
			return line
		}
	}
	return "no reason given"
}

// finish prints the closing lines and says whether all is well. broken says that go test itself failed.
func (s *summary) finish(broken bool) bool {
	if len(s.failures) > 0 {
		fmt.Fprintln(s.w, "\nfailed:")
		for _, f := range s.failures {
			fmt.Fprintln(s.w, "  "+f)
		}
	}
	ok := !broken && s.failed == 0 && s.badPackages == 0
	if !ok && s.failed == 0 {
		fmt.Fprintf(s.w, "\n%d packages failed outside of a test\n", s.badPackages)
	}
	if s.packages == 0 {
		fmt.Fprintln(s.w, "\nno package was tested")
		ok = false
	}
	fmt.Fprintf(s.w, "\n%d passed, %d failed, %d skipped\n", s.passed, s.failed, s.skipped)
	return ok
}
