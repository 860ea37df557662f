package pytest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/providers"
)

// Statuses of pytest.
const (
	exitFailed      = 1
	exitInterrupted = 2
	exitNoTests     = 5
)

// Validate accepts logs that are whole, of sessions that came to their end, whatever became of the tests.
func (Provider) Validate(ctx context.Context, in providers.Input) (providers.Receipt, error) {
	var r providers.Receipt
	say := func(list *[]evidence.Limitation, code, format string, args ...any) {
		*list = append(*list, evidence.Limitation{Code: code, Text: fmt.Sprintf(format, args...)})
	}
	s, err := read(ctx, in, evidence.DefaultBudget())
	var bad *providers.Refusal
	switch {
	case errors.As(err, &bad):
		r.Reasons = append(r.Reasons, bad.Limitation)
		return r, nil
	case err != nil:
		return r, err
	}
	r.Producer = s.version
	sum := s.sum()
	declared := slices.Contains(in.ExpectExit, int(s.exit))
	switch {
	case s.cut:
		say(&r.Reasons, Truncated, "the last line of the log breaks off: pytest was ended while it wrote, or the file was cut")
	case !s.finished:
		say(&r.Reasons, NotFinished, "the session has no end: pytest was killed, or crashed, after %d of its tests", len(s.tests))
	case s.exit == exitNoTests && !declared:
		say(&r.Reasons, NoTests, "pytest ran no test (its status is 5); correct what the command selects, or write expect_exit = [0, 5] in the workload")
	case s.exit > exitInterrupted && !declared:
		say(&r.Reasons, SessionFailed, "pytest's own status is %d: %s", s.exit, statusText(s.exit))
	case !in.ExitExpected() && int64(in.Exit) != s.exit:
		say(&r.Reasons, UnexpectedExit, "the command ended with status %d, and the log with pytest's %d", in.Exit, s.exit)
	}
	if n := sum.failed + sum.errored; n > 0 {
		say(&r.Limitations, "tests_failed", "%d of %d tests failed (pytest's status is %d)", n, sum.executed, s.exit)
	}
	r.Limitations = append(r.Limitations, s.limitations(&sum)...)
	r.Valid = len(r.Reasons) == 0
	return r, nil
}

func statusText(exit int64) string {
	switch exit {
	case 3:
		return "an internal error, of pytest or of a plugin; what it printed says which"
	case 4:
		return "it was called in a way that it does not understand; what it printed says which"
	}
	return "a plugin's, whose meaning is not known; declare it in expect_exit of the workload if it is a success"
}

// ExtractOptions is nil: there is nothing to choose.
func (Provider) ExtractOptions() any { return nil }

// Extract fills tests and measurements. Neither has a weight, so a log with more rows than the budget is refused whole.
func (Provider) Extract(ctx context.Context, in providers.Input, _ any, budget evidence.Budget, sink *evidence.Sink) (evidence.Outcome, error) {
	s, err := read(ctx, in, budget)
	if refused, ok := providers.Refused(err, sink); ok {
		return refused, nil
	}
	if err != nil {
		return evidence.Outcome{}, err
	}
	sum := s.sum()
	out := evidence.Outcome{State: evidence.Complete, Producer: s.version, Limitations: s.limitations(&sum), Results: s.results(&sum)}
	if s.cut || s.long > 0 || !s.finished || s.exit >= exitInterrupted && s.exit != exitNoTests || sum.crashed > 0 {
		out.State = evidence.Partial
	}
	if len(s.tests)+len(s.errors)+len(s.collected.list) == 0 {
		if out.State == evidence.Complete {
			out.State = evidence.Empty
		}
		out.Limitations = append(out.Limitations, evidence.Limitation{Code: NoTests, Text: "the log has no test"})
		return out, nil
	}
	w := writer{s: s, sum: &sum, sink: sink}
	w.measure()
	if budget.Rows > 0 && w.rows() > budget.Rows {
		refused, _ := providers.Refused(tooManyRows(budget.Rows), sink)
		return refused, nil
	}
	if err := w.write(ctx); err != nil {
		return out, err
	}
	if w.cut > 0 {
		out.Limitations = append(out.Limitations, evidence.Limitation{Code: TextCut, Text: fmt.Sprintf("the names of %d tests are longer than %d bytes and shortened in the dimensions of measurements; the table tests has them whole", w.cut, maxName)})
	}
	return out, nil
}

// sums are counts of tests.
type sums struct {
	executed, passed, failed, skipped, errored int64
	xfailed, xpassed, crashed, reruns          int64
	unexecuted                                 []string
	known                                      bool // unexecuted
	deselected                                 int64
	deselectedKnown                            bool
	results                                    []string // by test
}

// sum counts. What was not run is what was collected, and neither deselected nor reported.
func (s *session) sum() (c sums) {
	reported := make(map[string]bool, len(s.tests))
	c.results = make([]string, len(s.tests))
	for i, t := range s.tests {
		reported[t.id] = true
		r := t.result()
		c.results[i] = r
		c.executed++
		c.reruns += t.attempts
		switch r {
		case "passed", "xpassed":
			c.passed++
		case "failed":
			c.failed++
		case "skipped", "xfailed":
			c.skipped++
		default:
			c.errored++
		}
		switch r {
		case "xfailed":
			c.xfailed++
		case "xpassed":
			c.xpassed++
		case "crashed":
			c.crashed++
		}
	}
	c.deselected, c.deselectedKnown = int64(len(s.deselected.list)), s.deselected.got >= s.deselected.total
	none := s.finished && s.exit == exitNoTests && len(s.tests) == 0
	if none { // nothing was left to be run, and no record of a test could say so
		c.deselected, c.deselectedKnown = int64(len(s.collected.list)), true
	}
	c.known = s.collectedKnown() && c.deselectedKnown && s.long == 0
	if !c.known || none {
		return c
	}
	for _, id := range s.collected.list {
		if !reported[id] && !s.deselected.seen[id] {
			c.unexecuted = append(c.unexecuted, id)
		}
	}
	return c
}

// collectedKnown says whether the log names everything that was collected.
func (s *session) collectedKnown() bool {
	if s.collected.said { // by xdist's workers
		return s.collected.got >= s.collected.total
	}
	return s.collectors > 0 && s.bare == 0 && !s.xdist
}

// result is what became of the test: of its last attempt.
func (t *test) result() string {
	var failed, skipped, xfailed, xpassed, passed, errored bool
	for i := range t.phases {
		p := &t.phases[i]
		if p.when == "crash" {
			return "crashed"
		}
		if p.attempt != t.attempts {
			continue
		}
		switch {
		case p.when == "subtest":
			failed = failed || p.outcome == "failed"
		case p.outcome == "failed" && p.when == "call":
			failed = true
		case p.outcome == "failed":
			errored = true
		case p.outcome == "xfailed":
			xfailed = true
		case p.outcome == "xpassed":
			xpassed = true
		case p.outcome == "skipped":
			skipped = true
		case p.outcome == "passed" && p.when == "call":
			passed = true
		}
	}
	switch {
	case errored:
		return "errored"
	case failed:
		return "failed"
	case skipped:
		return "skipped"
	case xfailed:
		return "xfailed"
	case xpassed:
		return "xpassed"
	case passed:
		return "passed"
	}
	return "errored"
}

func (s *session) completion() string {
	switch {
	case !s.finished:
		return "incomplete"
	case s.exit == exitInterrupted:
		return "interrupted"
	}
	return "complete"
}

func (s *session) results(c *sums) map[string]any {
	r := map[string]any{
		"completion": s.completion(), "tests": c.executed, "passed": c.passed, "failed": c.failed, "skipped": c.skipped, "errored": c.errored,
		"xfailed": c.xfailed, "xpassed": c.xpassed, "reruns": c.reruns,
	}
	if s.finished {
		r["exit_status"] = s.exit
	}
	if c.known {
		r["unexecuted"] = int64(len(c.unexecuted))
	}
	return r
}

// limitations are what the evidence does not say.
func (s *session) limitations(c *sums) (list []evidence.Limitation) {
	say := func(when bool, code, format string, args ...any) {
		if when {
			list = append(list, evidence.Limitation{Code: code, Text: fmt.Sprintf(format, args...)})
		}
	}
	say(s.cut, Truncated, "the last line of the log breaks off and is left out; what came before it is here")
	say(s.long > 0, LongLine, "%d lines are longer than %d MiB and were passed over, so the tests that they are of may be missing", s.long, maxLine>>20)
	say(!s.finished, NotFinished, "the session has no end: pytest was ended, and what it would have reported later is missing")
	say(s.finished && s.exit == exitInterrupted, Interrupted, "pytest was interrupted (its status is 2), by a signal, a test, an error of the collection, or a bound on failures; later tests did not run")
	say(s.finished && s.exit > exitInterrupted && s.exit != exitNoTests, SessionFailed, "pytest's own status is %d: %s", s.exit, statusText(s.exit))
	say(c.crashed > 0, Crashed, "%d times a worker of xdist died; of a dead worker only those reports are here that had arrived", c.crashed)
	say(len(s.errors) > 0, CollectFailed, "%d files or classes could not be collected, and what tests they have is not known", len(s.errors))
	say(len(s.tests) > 0 && !s.timed, NoTimes, "the reports have no times of day, as those of pytest before 7.3, so the latency of the first failure is not known")
	say(s.timed && s.origin == 0, NoReceived, "the log was written without flameox's plugin: the run begins with its first test here, and when reports arrived and how long fixtures took is not known")
	say(!s.collectedKnown() && len(s.tests) > 0, Uncollected, "the log does not say all that was collected, so what was not run is not known")
	say(!c.deselectedKnown, Deselected, "the log does not name all that was deselected, so what was not run is not known")
	say(s.xdist, QueueUnknown, "how long a test waited for a worker of xdist is not known")
	say(s.unknown > 0, UnknownRecords, "%d records are of kinds that are not known, and were passed over", s.unknown)
	return list
}
