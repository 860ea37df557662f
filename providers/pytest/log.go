package pytest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/internal/pattern"
	"github.com/flameox/flameox/providers"
)

// session is what a log says.
type session struct {
	version  string
	finished bool
	exit     int64 // of SessionFinish
	tests    []*test
	byID     map[key]*test
	last     *test            // of the line before: records of one test stand together
	known    map[string]*test // by id alone, the newest
	errors   []collectError

	collected  ids
	deselected ids
	collectors int64 // records of collectors
	skipped    int64 // records of collectors that were skipped as a whole
	bare       int64 // records of collectors without the plugin's list

	origin   int64 // ns since 1970: when the run began; 0 where nothing says so
	began    int64 // ns since 1970: the first phase
	timed    bool  // phases have times
	received bool  // reports have the time at which they came
	phases   int64
	fixtures int64

	lines   int64
	cut     bool  // the last line breaks off
	long    int64 // lines that were passed over for their length
	unknown int64 // records of kinds that are not known
	xdist   bool
}

// ids are names of tests that come in parts.
type ids struct {
	list []string
	seen map[string]bool
	// Under xdist and of deselected tests each list is announced with its length, so that it is known whether it came whole.
	total, got int64
	said       bool
}

func (s *ids) add(id string) {
	if s.seen == nil {
		s.seen = map[string]bool{}
	}
	if !s.seen[id] {
		s.seen[id] = true
		s.list = append(s.list, id)
	}
}

type key struct{ id, worker string }

// test is a test as one worker ran it.
type test struct {
	id, worker string
	file       string // relative to pytest's root folder
	line       int64  // from 1; 0 where there is none
	phases     []phase
	attempts   int64
	subtests   bool // one of them failed
}

// phase is one report of a test.
type phase struct {
	when     string // setup, call, teardown, or crash
	outcome  string // passed, failed, skipped, rerun, xfailed or xpassed
	duration int64  // ns
	start    int64  // ns since 1970; 0 where there is none
	stop     int64
	received int64
	attempt  int64
	message  string
	subtest  string
	fixtures []fixture
}

type fixture struct {
	name, scope, outcome string
	duration             int64
}

type collectError struct{ id, message string }

// The codes of refusals and limitations.
const (
	EmptyFile      = "payload_empty"
	NotALog        = "not_a_reportlog"
	Truncated      = "payload_truncated"
	BrokenLine     = "broken_line"
	TwoSessions    = "two_sessions"
	LongLine       = "line_too_long"
	NotFinished    = "session_not_finished"
	Interrupted    = "session_interrupted"
	SessionFailed  = "session_failed"
	NoTests        = "no_tests"
	Crashed        = "worker_crashed"
	NoTimes        = "times_unavailable"
	NoReceived     = "receipt_times_unavailable"
	Uncollected    = "collected_unknown"
	Deselected     = "deselected_unknown"
	CollectFailed  = "collection_failed"
	QueueUnknown   = "queue_latency_unknown"
	UnknownRecords = "unknown_records"
	UnexpectedExit = "unexpected_exit"
	TextCut        = "text_shortened"
	InputBudget    = providers.InputBudget
	MemoryBudget   = providers.MemoryBudget
	RowBudget      = "row_budget"
)

// maxLine is the longest line that is read. What a test prints is in its record, so a long line is no fault; it is passed over and said.
const maxLine = 16 << 20

// read reads the payload. An error is a *providers.Refusal where the payload is at fault.
func read(ctx context.Context, in providers.Input, budget evidence.Budget) (*session, error) {
	a, err := in.Find(Role)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if budget.InputBytes > 0 && a.Size > budget.InputBytes {
		return nil, providers.Refuse(InputBudget, "the log has %d bytes and the extraction's budget is %d; raise it, or let pytest print less", a.Size, budget.InputBytes)
	}
	f, err := a.Open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return parse(ctx, f, budget)
}

// parse reads a log. An error is a *providers.Refusal where the log is at fault.
func parse(ctx context.Context, r io.Reader, budget evidence.Budget) (*session, error) {
	p := &parser{
		in: bufio.NewReaderSize(r, 1<<18), ctx: ctx, rows: budget.Rows, memory: budget.Memory / 4,
		s: &session{byID: map[key]*test{}, known: map[string]*test{}},
	}
	if p.memory <= 0 {
		p.memory = evidence.DefaultBudget().Memory / 4
	}
	err := p.run()
	return p.s, err
}

type parser struct {
	in     *bufio.Reader
	ctx    context.Context
	s      *session
	buf    []byte
	sc     scanner
	rows   int64 // that the extraction may write; 0 for any number
	memory int64 // bytes of names that may still be kept
	rec    record
}

func (p *parser) run() error {
	for {
		line, whole, err := p.next()
		if err == io.EOF {
			if p.s.lines == 0 {
				return providers.Refuse(EmptyFile, "the log has no line: pytest ended before its session began")
			}
			return nil
		}
		if err != nil {
			return err
		}
		p.s.lines++
		if p.s.lines%4096 == 0 && p.ctx.Err() != nil {
			return p.ctx.Err()
		}
		if line == nil {
			p.s.long++
			continue
		}
		if err := p.line(line, whole); err != nil {
			return err
		}
	}
}

// next is the next line; whole says that it ends as lines do. line is nil where it is too long.
func (p *parser) next() (line []byte, whole bool, err error) {
	p.buf = p.buf[:0]
	long := false
	for {
		part, err := p.in.ReadSlice('\n')
		if err == nil && len(p.buf) == 0 && !long {
			return part, true, nil
		}
		if long = long || len(p.buf)+len(part) > maxLine; long {
			p.buf = p.buf[:0]
		} else {
			p.buf = append(p.buf, part...)
		}
		switch {
		case err == nil:
		case err == io.EOF && (len(p.buf) > 0 || long):
			if long {
				p.s.cut = true
			}
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		default:
			return nil, false, err
		}
		if long {
			return nil, true, nil
		}
		return p.buf, err == nil, nil
	}
}

func (p *parser) line(line []byte, whole bool) error {
	r := &p.rec
	r.read(&p.sc, line)
	if p.sc.bad {
		if !whole && p.s.lines > 1 {
			p.s.cut = true
			return nil
		}
		if p.s.lines == 1 {
			return notALog()
		}
		return providers.Refuse(BrokenLine, "line %d of the log is no JSON object (%s)", p.s.lines, head(line))
	}
	if p.s.lines == 1 {
		if r.kind != "SessionStart" || !versionText.MatchString(r.version) {
			return notALog()
		}
		p.s.version = r.version
		return nil
	}
	switch r.kind {
	case "SessionStart":
		return providers.Refuse(TwoSessions, "line %d of the log begins a second session; a log is of one, and pytest-reportlog writes each anew: make each a capture or an import of its own", p.s.lines)
	case "SessionFinish":
		if !r.hasExit {
			return providers.Refuse(BrokenLine, "line %d of the log ends the session without its exit status", p.s.lines)
		}
		p.s.finished, p.s.exit = true, r.exit
	case "CollectReport":
		return p.collector(r)
	case "TestReport", "SubTestReport":
		return p.report(r)
	case "WarningMessage":
	case "":
		return providers.Refuse(BrokenLine, "line %d of the log is an object without $report_type (%s)", p.s.lines, head(line))
	default:
		p.s.unknown++
	}
	return nil
}

var versionText = pattern.Lazy{Expr: `^[0-9]+(\.[0-9]+)*[0-9a-z.+-]{0,40}$`}

func notALog() error {
	return providers.Refuse(NotALog, "the payload does not begin as a log of pytest-reportlog does: with one line, a JSON object of $report_type SessionStart and pytest_version")
}

// head quotes the beginning of a line.
func head(line []byte) string {
	line = bytes.TrimSpace(line)
	if len(line) > 60 {
		line = append(line[:60:60], "…"...)
	}
	return fmt.Sprintf("%q", line)
}

// keep counts a name that is kept.
func (p *parser) keep(text string) (string, error) {
	p.memory -= int64(len(text)) + 64
	if p.memory < 0 {
		return "", providers.Refuse(MemoryBudget, "the log names more tests than fit into the memory that the extraction may take; run fewer tests in one capture")
	}
	return text, nil
}

func (p *parser) collector(r *record) error {
	s := p.s
	s.collectors++
	switch r.outcome {
	case "failed":
		id, err := p.keep(r.id())
		if err != nil {
			return err
		}
		s.errors = append(s.errors, collectError{id, r.message})
	case "skipped":
		s.skipped++
	}
	if !r.listed {
		s.bare++
	}
	return p.names(&s.collected, r.collected)
}

// names adds names of tests, still quoted.
func (p *parser) names(to *ids, quoted [][]byte) error {
	for _, q := range quoted {
		id, err := p.keep(plain(q))
		if err != nil {
			return err
		}
		to.add(id)
	}
	return nil
}

func (p *parser) part(to *ids, list *listed) error {
	if !list.there {
		return nil
	}
	if !to.said || list.total > to.total {
		to.said, to.total = true, list.total
	}
	before := len(to.list)
	if err := p.names(to, list.ids); err != nil {
		return err
	}
	to.got += int64(len(to.list) - before)
	return nil
}

func (p *parser) report(r *record) error {
	s := p.s
	if r.outcome == "" || r.when == "" || !r.hasID {
		return providers.Refuse(BrokenLine, "line %d of the log is the report of a test without nodeid, when or outcome", s.lines)
	}
	if r.origin > 0 && (s.origin == 0 || r.origin < s.origin) {
		s.origin = r.origin
	}
	if r.start > 0 && (s.began == 0 || r.start < s.began) {
		s.began = r.start
	}
	s.timed = s.timed || r.stop > 0
	s.received = s.received || r.received > 0
	s.xdist = s.xdist || r.worker != ""
	if err := errors.Join(p.part(&s.collected, &r.workers), p.part(&s.deselected, &r.deselected)); err != nil {
		return err
	}
	if r.kind == "SubTestReport" {
		return p.subtest(r)
	}
	t, err := p.test(r)
	if err != nil {
		return err
	}
	if r.when == "setup" && len(t.phases) > 0 {
		t.attempts++
	}
	ph := phase{
		when: r.when, outcome: r.outcome, duration: r.duration, start: r.start, stop: r.stop, received: r.received,
		attempt: t.attempts, message: r.message,
	}
	switch {
	case r.crash:
		ph.when = "crash"
	case r.xfail && r.outcome == "skipped":
		ph.outcome = "xfailed"
	case r.xfail && r.outcome == "passed":
		ph.outcome = "xpassed"
	}
	if len(r.fixtures) > 0 {
		ph.fixtures = append([]fixture(nil), r.fixtures...)
	}
	t.phases = append(t.phases, ph)
	s.phases++
	s.fixtures += int64(len(r.fixtures))
	return p.bounded()
}

func (p *parser) subtest(r *record) error {
	t, err := p.test(r)
	if err != nil {
		return err
	}
	t.subtests = t.subtests || r.outcome == "failed"
	name := r.subtest
	if name == "" {
		name = "subtest"
	}
	t.phases = append(t.phases, phase{
		when: "subtest", outcome: r.outcome, duration: r.duration, start: r.start, stop: r.stop, received: r.received,
		attempt: t.attempts, message: r.message, subtest: name,
	})
	p.s.phases++
	return p.bounded()
}

// bounded stops before more is kept than can be written.
func (p *parser) bounded() error {
	if n := p.s.phases + p.s.fixtures; p.rows > 0 && n > p.rows {
		return tooManyRows(p.rows)
	}
	return nil
}

func tooManyRows(rows int64) error {
	return providers.Refuse(RowBudget, "the log has more phases, fixtures and counts than the %d rows that the extraction may write, and none has a weight by which it could be left out; run fewer tests in one capture", rows)
}

// test is the test that a report is of.
func (p *parser) test(r *record) (*test, error) {
	s := p.s
	worker := r.worker
	if worker == "" {
		worker = master
	}
	if s.last != nil && s.last.worker == worker && string(r.quotedID) == s.last.id && bytes.IndexByte(r.quotedID, '\\') < 0 {
		return s.last, nil // what has no escapes is the same quoted and plain
	}
	id := r.id()
	if r.crash && r.worker == "" { // it is the controller's report, and says itself whose crash it is in prose only
		if t := s.known[id]; t != nil {
			return t, nil
		}
	}
	k := key{id, worker}
	t := s.byID[k]
	if t == nil {
		if _, err := p.keep(id); err != nil {
			return nil, err
		}
		t = &test{id: id, worker: worker, line: r.line, phases: make([]phase, 0, 3)}
		if r.file != nil {
			if s.last != nil && string(r.file) == s.last.file {
				t.file = s.last.file
			} else {
				t.file = plain(r.file)
			}
		}
		s.byID[k] = t
		s.tests = append(s.tests, t)
	}
	s.known[id] = t
	s.last = t
	return t, nil
}

// master is the worker of a run without xdist, as xdist calls it.
const master = "master"
