package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/cmd/flameox/internal/cmdline"
	"github.com/flameox/flameox/cmd/flameox/internal/profiles"
	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/internal/tail"
	"github.com/flameox/flameox/internal/view"
	"github.com/flameox/flameox/stages/program"
)

// progress shows an apply while it runs: lines for a person, or one JSON document a line.
type progress struct {
	c     *cli.Context
	store *graph.Store
	view  *view.Progress
	json  bool

	mu       sync.Mutex
	counts   view.Counts
	left     map[*graph.Node]*remaining
	failures []applyFailure
}

// remaining is what is left of a node: attempts, and how long each takes as far as it is known.
type remaining struct {
	attempts int
	each     time.Duration
	running  bool
}

func newProgress(c *cli.Context, s *graph.Store, plan *graph.Plan) *progress {
	p := &progress{c: c, store: s, json: c.Bool("json"), left: map[*graph.Node]*remaining{}}
	for _, d := range plan.Decisions {
		switch d.State {
		case graph.Run, graph.TopUp, graph.MayRun:
			n := max(1, d.Want-d.Have)
			p.left[d.Node] = &remaining{attempts: n, each: d.Estimate / time.Duration(n)}
		}
	}
	p.counts.Waiting = len(p.left)
	if !p.json {
		p.view = view.NewProgress(c.App.Writer, cmdline.View(c), time.Now)
		p.view.Animate(time.Second)
	}
	return p
}

func (p *progress) close() {
	if p.view != nil {
		p.view.Close()
	}
}

// stopping is the answer to the first Ctrl-C.
func (p *progress) stopping() {
	const text = "Stopping after the running stage (press again to kill it). Finished work is kept."
	if p.view != nil {
		p.view.Say(text)
	} else {
		fmt.Fprintln(os.Stderr, text)
	}
}

// event takes the engine's events, from one goroutine.
func (p *progress) event(e graph.Event) {
	if e.Record != nil {
		e.Record = cmdline.Shown(p.c, e.Record)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if e.Kind == graph.EventFailed {
		p.failures = append(p.failures, failureDocument(e))
	}
	if p.json {
		p.line(e)
		return
	}
	switch e.Kind {
	case graph.EventStarted:
		p.view.Start(id(e), view.Running{Address: attemptAddress(e), Command: e.Node.Command, Exclusive: e.Node.Exclusive})
	case graph.EventFinished:
		p.view.Finish(id(e), view.Done{Address: attemptAddress(e), Took: time.Duration(e.Record.WallNS), Summary: runSummary(e.Record)})
		p.counts.Done++
	case graph.EventFailed:
		p.view.Fail(id(e), p.failure(e))
		p.counts.Failed++
	case graph.EventCached:
		p.counts.Cached++
	case graph.EventBlocked:
		p.counts.Blocked++
		if e.Decision != nil && e.Decision.After != nil { // what it needs has been told
			break
		}
		p.view.Say(fmt.Sprintf("%s is blocked: %s", e.Node.Address, e.Err))
	case graph.EventWaiting:
		p.view.Say(fmt.Sprintf("%s waits to be alone on the machine: %s", e.Node.Address, e.Err))
	case graph.EventCleaned:
		p.view.Say(e.Err.Error())
	}
	p.keepLeft(e)
	p.counts.Waiting, p.counts.Left = 0, 0
	for _, r := range p.left {
		p.counts.Left += time.Duration(r.attempts) * r.each
		if !r.running {
			p.counts.Waiting++
		}
	}
	p.view.Count(p.counts)
}

// keepLeft takes what an event settles from what is left to do.
func (p *progress) keepLeft(e graph.Event) {
	r := p.left[e.Node]
	if r == nil {
		return
	}
	switch e.Kind {
	case graph.EventStarted:
		r.running = true
	case graph.EventWaiting: // not settled
	case graph.EventFinished:
		if r.attempts--; r.attempts <= 0 {
			delete(p.left, e.Node)
		}
	default:
		delete(p.left, e.Node)
	}
}

func id(e graph.Event) string { return fmt.Sprintf("%s/%d", e.Node.Address, e.Attempt) }

// attemptAddress names the attempt where there are several.
func attemptAddress(e graph.Event) string {
	if e.Decision != nil && e.Node.Attempts > 1 {
		return fmt.Sprintf("%s (attempt %d)", e.Node.Address, e.Attempt)
	}
	return e.Node.Address.String()
}

// runSummary is what a finished run has to show, in a few words.
func runSummary(rec *cache.Record) string {
	var parts []string
	var rows int64
	for _, o := range rec.Outputs {
		rows += o.Rows
	}
	switch {
	case strings.HasPrefix(rec.Kind, "extract."):
		parts = append(parts, view.Plural(int(rows), "row", "rows"))
		if rec.State != "complete" {
			parts = append(parts, rec.State)
		}
	case strings.HasPrefix(rec.Kind, "register."):
		var verdict string
		if json.Unmarshal(rec.Results["verdict"], &verdict) == nil {
			parts = append(parts, verdict)
		}
		parts = append(parts, view.Plural(int(rows), "row", "rows"))
	default:
		for _, o := range rec.Outputs {
			if o.Tree {
				parts = append(parts, view.Bytes(o.Size))
			}
		}
	}
	if text := profiles.OverheadBrief(rec); text != "" {
		parts = append(parts, text)
	}
	for _, l := range rec.Limitations {
		parts = append(parts, l.Code)
	}
	return strings.Join(parts, ", ")
}

// failure says what went wrong, what was kept and what to try.
func (p *progress) failure(e graph.Event) view.Failure {
	rec := e.Record
	arg := view.ShellQuote(rec.Address)
	f := view.Failure{Address: attemptAddress(e), After: time.Duration(rec.WallNS), What: what(rec), Try: []string{"flameox shell " + arg}}
	if len(rec.Argv) == 0 || rec.Capture == cache.CaptureFailed { // nothing was started
		f.Try = []string{"flameox show " + arg}
		return f
	}
	f.Logs = "flameox logs " + arg
	for _, o := range rec.Outputs {
		if strings.HasPrefix(o.Role, program.RoleTable) || o.Role == program.RolePaths || o.Size == 0 {
			continue
		}
		f.Kept = append(f.Kept, o.Name)
	}
	// Programs say why they fail on one of their streams; on stdout, among other things.
	lines := p.end(rec, program.RoleStderr)
	if line := tail.Reason(lines); line != "" {
		f.Quote, f.From = []string{line}, "stderr"
		if line == lines[len(lines)-1] {
			f.From = "last line of stderr"
		}
	} else {
		lines := p.end(rec, program.RoleStdout)
		f.Quote, f.From = lines[max(0, len(lines)-4):], "end of stdout"
	}
	return f
}

// end is the last lines of a stream, unless it is sensitive.
func (p *progress) end(rec *cache.Record, stream string) []string {
	for _, o := range rec.Outputs {
		if o.Name != stream || o.Sensitivity == cache.Sensitive {
			continue
		}
		r, err := p.store.CAS.Open(o.Digest)
		if err != nil {
			return nil
		}
		defer r.Close()
		return tail.Lines(r, o.Size)
	}
	return nil
}

// what is the failure in the program's words: "sh exited 3".
func what(rec *cache.Record) string {
	if len(rec.Argv) > 0 && len(rec.Invalid) > 0 {
		name := path.Base(rec.Argv[0])
		switch rec.Invalid[0].Code {
		case "exit":
			return fmt.Sprintf("%s exited %d", name, *rec.Exit)
		case "signal":
			return name + " was killed by " + rec.Signal
		}
	}
	return invalidText(rec)
}

func failureDocument(e graph.Event) applyFailure {
	f := applyFailure{Address: e.Node.Address.String(), Run: e.Record.Run, Reasons: notNil(e.Record.Invalid), Kept: []string{}}
	for _, o := range e.Record.Outputs {
		f.Kept = append(f.Kept, o.Name)
	}
	return f
}

// line writes an event as one line of JSON.
func (p *progress) line(e graph.Event) {
	doc := applyEvent{Event: string(e.Kind), Time: e.Time.UTC(), Attempt: e.Attempt}
	if e.Node != nil {
		doc.Address = e.Node.Address.String()
	}
	if e.Record != nil {
		doc.Run, doc.WallNS = e.Record.Run, e.Record.WallNS
		if !e.Record.Valid() {
			doc.Text = what(e.Record)
		}
	}
	if e.Err != nil {
		doc.Text = e.Err.Error()
	}
	b, err := json.Marshal(doc)
	if err != nil {
		panic("flameox: an event cannot be written as JSON: " + err.Error())
	}
	fmt.Fprintln(p.c.App.Writer, string(b))
}

// printReport says what the apply did, and what outputs and checks are.
func printReport(c *cli.Context, r *graph.Report, a *assertions, failures []applyFailure) error {
	if c.Bool("json") {
		return printReportJSON(c, r, a, failures)
	}
	w := c.App.Writer
	if r.Done+r.Failed+r.Blocked+r.Waiting == 0 {
		fmt.Fprintf(w, "Nothing to do: %d cached.\n", r.Cached)
	} else {
		var parts []string
		add := func(n int, word string) {
			if n > 0 {
				parts = append(parts, view.Count(n)+" "+word)
			}
		}
		add(r.Done, "done")
		add(r.Failed, "failed")
		add(r.Blocked, "blocked")
		add(r.Waiting, "not started")
		add(r.Cached, "cached")
		fmt.Fprintln(w, strings.Join(parts, ", ")+".")
	}
	if len(a.outputs) > 0 {
		fmt.Fprintln(w)
		for _, o := range a.outputs {
			fmt.Fprintf(w, "%s = %s\n", o.Name, outputText(o))
		}
	}
	for _, ch := range a.checks {
		switch {
		case ch.Left:
			fmt.Fprintf(w, "\ncheck %s was not looked at: it needs %s, which is left out\n", ch.Check, ch.Missing[0])
		case !ch.Passed:
			fmt.Fprintf(w, "\ncheck %s failed: %s\n", ch.Check, ch.Message)
		}
	}
	return nil
}

func printReportJSON(c *cli.Context, r *graph.Report, a *assertions, failures []applyFailure) error {
	doc := applyDocument{
		Format: 1, Done: r.Done, Cached: r.Cached, Failed: r.Failed, Blocked: r.Blocked, Waiting: r.Waiting, Stopped: r.Stopped,
		Outputs: []outputDoc{}, Checks: []checkDoc{}, Failures: notNil(failures),
	}
	for _, o := range a.outputs {
		v, err := outputJSON(o)
		if err != nil {
			return err
		}
		doc.Outputs = append(doc.Outputs, outputDoc{Name: o.Name, Value: v, Sensitive: o.Sensitive, Missing: o.Missing})
	}
	for _, ch := range a.checks {
		doc.Checks = append(doc.Checks, checkDoc{Check: ch.Check, Passed: ch.Passed, Message: ch.Message, Missing: ch.Missing, Left: ch.Left})
	}
	b, err := json.Marshal(doc)
	if err != nil {
		return err
	}
	fmt.Fprintln(c.App.Writer, string(b))
	return nil
}
