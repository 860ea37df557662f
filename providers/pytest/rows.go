package pytest

import (
	"context"

	"github.com/flameox/flameox/evidence"
)

// writer makes the rows of a session. Maps of dimensions are shared by rows that have the same.
type writer struct {
	s    *session
	sum  *sums
	sink *evidence.Sink
	list []evidence.Measurement // counts and latencies
	cut  int64
}

// rows is how many there will be.
func (w *writer) rows() int64 {
	n := int64(len(w.list)+len(w.s.errors)+len(w.sum.unexecuted)) + w.s.phases + w.s.fixtures
	for _, t := range w.s.tests {
		for i := range t.phases {
			if timed(t.phases[i].when) {
				n++
			}
		}
	}
	return n
}

// timed says whether a phase's duration is a measurement.
func timed(when string) bool { return when == "setup" || when == "call" || when == "teardown" }

const scope = "test_suite"

// measure makes the measurements that are of the whole session.
func (w *writer) measure() {
	s, c := w.s, w.sum
	put := func(name, unit, aggregation string, value int64) {
		w.list = append(w.list, evidence.Measurement{Name: name, ValueInt: &value, Unit: unit, Aggregation: aggregation, Scope: scope})
	}
	count := func(name string, n int64) { put("pytest.tests."+name, "count", "sum", n) }
	if s.collectedKnown() {
		count("collected", int64(len(s.collected.list)))
	}
	if c.deselectedKnown && s.origin > 0 && !s.xdist || c.deselected > 0 {
		count("deselected", c.deselected)
	}
	count("executed", c.executed)
	count("passed", c.passed)
	count("failed", c.failed)
	count("skipped", c.skipped)
	count("errored", c.errored)
	count("xfailed", c.xfailed)
	count("xpassed", c.xpassed)
	count("crashed", c.crashed)
	count("reruns", c.reruns)
	if c.known {
		count("unexecuted", int64(len(c.unexecuted)))
	}
	if s.origin > 0 {
		total := int64(0)
		for _, t := range s.tests {
			for i := range t.phases {
				for _, f := range t.phases[i].fixtures {
					total += f.duration
				}
			}
		}
		put("pytest.fixture_setup.total", "ns", "sum", total)
	}
	origin := s.begin()
	observed, reported := int64(0), int64(0)
	for _, t := range s.tests {
		for i := range t.phases {
			p := &t.phases[i]
			if p.outcome != "failed" {
				continue
			}
			if p.stop > 0 && (observed == 0 || p.stop < observed) {
				observed = p.stop
			}
			if p.received > 0 && (reported == 0 || p.received < reported) {
				reported = p.received
			}
		}
	}
	if origin > 0 && observed >= origin {
		put("pytest.time_to_first_failure.observed", "ns", "first", observed-origin)
	}
	if origin > 0 && reported >= origin {
		put("pytest.time_to_first_failure.reported", "ns", "first", reported-origin)
	}
}

// begin is when the run began, in ns since 1970; 0 where nothing says so.
func (s *session) begin() int64 {
	if s.origin > 0 {
		return s.origin
	}
	return s.began
}

func (w *writer) write(ctx context.Context) error {
	for i := range w.list {
		if err := w.sink.Measurements.Put(&w.list[i]); err != nil {
			return err
		}
	}
	failed, errored := "failed", "errored"
	collect := "collect"
	for i := range w.s.errors {
		e := &w.s.errors[i]
		row := evidence.Test{Test: e.id, Result: errored, Phase: &collect, Outcome: &failed, Message: text(e.message)}
		if err := w.sink.Tests.Put(&row); err != nil {
			return err
		}
	}
	for i, t := range w.s.tests {
		if i%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := w.test(t, w.sum.results[i]); err != nil {
			return err
		}
	}
	for _, id := range w.sum.unexecuted {
		if err := w.sink.Tests.Put(&evidence.Test{Test: id, Result: "unexecuted"}); err != nil {
			return err
		}
	}
	return nil
}

func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// maxName bounds the names in dimensions, which are in every row of a test.
const maxName = 1000

var phaseMetrics = map[string]string{"setup": "pytest.phase.setup", "call": "pytest.phase.call", "teardown": "pytest.phase.teardown"}

func (w *writer) test(t *test, result string) error {
	name := shorten(t.id, maxName)
	if name != t.id {
		w.cut++
	}
	var dims map[string]string // of the last phase
	row := evidence.Test{Test: t.id, Result: result, Worker: &t.worker, File: text(t.file)}
	if t.line > 0 {
		row.Line = &t.line
	}
	m := evidence.Measurement{Unit: "ns", Aggregation: evidence.Sample, Scope: scope, Worker: &t.worker}
	begin := w.s.begin()
	for i := range t.phases {
		p := &t.phases[i]
		row.Phase, row.Attempt, row.Outcome, row.Message, row.Subtest = &p.when, p.attempt, &p.outcome, text(p.message), text(p.subtest)
		row.DurationNS, row.StartNS = nil, nil
		if p.when != "crash" {
			row.DurationNS = &p.duration
		}
		if p.start >= begin && begin > 0 && p.start > 0 {
			start := p.start - begin
			row.StartNS = &start
		}
		if err := w.sink.Tests.Put(&row); err != nil {
			return err
		}
		m.ValueIndex = p.attempt
		for j := range p.fixtures {
			f := &p.fixtures[j]
			m.Name, m.ValueInt = "pytest.fixture_setup", &f.duration
			m.Dimensions = map[string]string{"fixture": f.name, "scope": f.scope, "nodeid": name, "outcome": f.outcome}
			if err := w.sink.Measurements.Put(&m); err != nil {
				return err
			}
		}
		if !timed(p.when) {
			continue
		}
		if dims == nil || dims["outcome"] != p.outcome {
			dims = map[string]string{"nodeid": name, "outcome": p.outcome}
		}
		m.Name, m.ValueInt, m.Dimensions = phaseMetrics[p.when], &p.duration, dims
		if err := w.sink.Measurements.Put(&m); err != nil {
			return err
		}
	}
	return nil
}
