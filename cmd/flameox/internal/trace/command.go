package trace

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/cmd/flameox/internal/cmdline"
	"github.com/flameox/flameox/cmd/flameox/internal/paging"
	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/internal/flags"
	"github.com/flameox/flameox/internal/view"
	"github.com/flameox/flameox/stages/program"
)

// Command is the command trace.
func Command() *cli.Command {
	return &cli.Command{
		Name: "trace", Usage: "look into the time of a trace",
		Description: "Traces are brought in with `import \"chrometrace\"`, `import \"perfetto\"` and the like, or captured. `flameox query` has all their rows as the table trace_events.\n\n" +
			"Examples:\n  flameox trace window import.chrometrace.startup -start 10ms -end 20ms",
		Subcommands: []*cli.Command{{
			Name: "window", Usage: "list what happened in a window of a trace's time", ArgsUsage: "ADDRESS|RUN",
			Description: "An event is in the window where any part of it lies behind -start and before -end. Times count from the first event that the rows have: " +
				"1.5ms, or a number of nanoseconds. Rows stand in the order in which they began. The rows of an extraction may be the longest alone; the last line says so then, and full = true in its extract block keeps all.\n\n" +
				"Examples:\n  flameox trace window import.chrometrace.startup\n  flameox trace window import.chrometrace.startup -start 10ms -end 20ms -kind slice -limit 100",
			Flags: []cli.Flag{
				&cli.StringFlag{Name: "start", Value: "0", Usage: "what lasts longer than until `TIME`, from the first event on: 1.5ms"},
				&cli.StringFlag{Name: "end", Usage: "what begins before `TIME`; the end of the trace where it is left out"},
				&cli.StringFlag{Name: "kind", Usage: "only of `KIND`: slice, async, instant, counter, flow_start, flow_step or flow_end"},
				&cli.StringFlag{Name: "name", Usage: "only events called `NAME`"},
				&cli.StringFlag{Name: "thread", Usage: "only of the thread with the name or number `THREAD`"},
				providerFlag, paging.LimitFlag(50), paging.CursorFlag, cmdline.JSONFlag, cmdline.SensitiveFlag,
			},
			Action: run,
		}},
	}
}

var providerFlag = &cli.StringFlag{Name: "provider", Usage: "the `PROVIDER` whose rows are meant, where several extracted the run"}

// NoEvents is the state of an answer without rows.
const NoEvents = "no_events_in_window"

// Document is what trace window prints with -json.
type Document struct {
	Format      int              `json:"format_version"`
	Run         string           `json:"run"`       // of the capture or the import
	Address     string           `json:"address"`   // of the stage at the time of the run
	Provider    string           `json:"provider"`  // that extracted
	Artifact    string           `json:"artifact"`  // SHA-256 of the trace, or of the list of traces
	Origin      int64            `json:"origin_ns"` // start_ns of the first event that the rows have: times of the window count from here
	Start       int64            `json:"start_ns"`  // of the window, from the origin
	End         int64            `json:"end_ns"`    // likewise; what begins here is outside
	State       string           `json:"state"`     // events, or no_events_in_window
	Total       int64            `json:"total"`     // events in the window
	Returned    int              `json:"returned"`
	Truncated   bool             `json:"truncated"` // there are events behind those that were returned
	Coverage    string           `json:"coverage"`  // of the trace by the rows: complete or partial
	Limitations []cache.Note     `json:"limitations"`
	CutTexts    int              `json:"cut_texts"`      // texts that are longer than an answer repeats
	Events      []map[string]any `json:"events"`         // columns of trace_events by name; a missing value is null
	Next        string           `json:"next,omitempty"` // cursor of the next page
}

// timeLimit bounds the reading of one answer.
const timeLimit = time.Minute

func run(c *cli.Context) error {
	if c.NArg() != 1 {
		return flags.Usage(c, "trace window takes one address or run")
	}
	win := window{kind: c.String("kind"), name: c.String("name"), thread: c.String("thread"), limit: c.Int("limit"), byName: c.IsSet("name"), byThread: c.IsSet("thread")}
	if win.limit < 1 || win.limit > 1000 {
		return flags.Usage(c, "-limit is %d; give 1 to 1000", win.limit)
	}
	if kinds := []string{evidence.TraceSlice, evidence.TraceAsync, evidence.TraceInstant, evidence.TraceCounter, evidence.TraceFlowStart, evidence.TraceFlowStep, evidence.TraceFlowEnd}; c.IsSet("kind") && !slices.Contains(kinds, win.kind) {
		return flags.Usage(c, "-kind is %q; give %s", win.kind, strings.Join(kinds, ", "))
	}
	var err error
	if win.start, err = at(c, "start"); err != nil {
		return err
	}
	if c.IsSet("end") {
		win.bounded = true
		if win.end, err = at(c, "end"); err != nil {
			return err
		}
		if win.end <= win.start {
			return flags.Usage(c, "-end %s is not behind -start %s", c.String("end"), c.String("start"))
		}
	}
	w, err := cmdline.Open(c)
	if err != nil {
		return err
	}
	rec, err := cmdline.FindRun(c, w, c.Args().First())
	if err != nil {
		return err
	}
	if err := cmdline.MayShow(c, rec); err != nil {
		return err
	}
	x, provider, err := extraction(w.Store, rec, c.String("provider"))
	if err != nil {
		return err
	}
	if err := cmdline.MayShow(c, x); err != nil {
		return err
	}
	doc := Document{Format: 1, Run: rec.Run, Address: rec.Address, Provider: provider, Coverage: string(evidence.Complete), Limitations: []cache.Note{}, Events: []map[string]any{}}
	doc.Limitations = append(doc.Limitations, x.Limitations...)
	if x.State != string(evidence.Complete) && x.State != string(evidence.Empty) {
		doc.Coverage = string(evidence.Partial)
	}
	var digests []string
	for _, out := range x.Outputs {
		if out.Role != program.RoleTable+evidence.TraceEventsTable {
			continue
		}
		if w.Store.Lost(out) {
			return fmt.Errorf("the rows of run %s are lost; `flameox apply` makes them again", x.Run)
		}
		win.files = append(win.files, w.Store.CAS.Path(out.Digest))
		digests = append(digests, out.Digest.String())
	}
	of := paging.Ask(digests, "trace window", c.String("start"), c.String("end"), fmt.Sprint(c.IsSet("end")), win.kind, win.name, win.thread, fmt.Sprint(win.byName, win.byThread))
	if win.after, err = decode(c.String("cursor"), of); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(c.Context, timeLimit, fmt.Errorf("reading the window of %s took longer than %s; ask for fewer events with -start and -end, or use `flameox query`", rec.Address, timeLimit))
	defer cancel()
	if err := win.read(ctx, &doc); err != nil {
		return err
	}
	if doc.Truncated {
		doc.Next = encode(of, win.last())
	}
	if c.Bool("json") {
		return cmdline.JSON(c, doc)
	}
	return write(c, &doc)
}

// at is a time that was typed, in nanoseconds.
func at(c *cli.Context, name string) (int64, error) {
	text := c.String(name)
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		var d time.Duration
		d, err = time.ParseDuration(text)
		n = int64(d)
	}
	if err != nil || n < 0 {
		return 0, flags.Usage(c, "-%s is %q; give a time from the first event on, such as 1.5ms, or a number of nanoseconds", name, text)
	}
	return n, nil
}

// extraction is the one that left the run's events.
func extraction(s *graph.Store, rec *cache.Record, provider string) (found *cache.Record, by string, err error) {
	has := func(r *cache.Record) bool {
		return slices.ContainsFunc(r.Outputs, func(o cache.Output) bool { return o.Role == program.RoleTable+evidence.TraceEventsTable })
	}
	if of, ok := strings.CutPrefix(rec.Kind, "extract."); ok {
		if has(rec) || rec.State == string(evidence.Empty) {
			return rec, of, nil
		}
		return nil, "", fmt.Errorf("run %s of %s has no events of a trace: %s extracts none from it", rec.Run, rec.Address, of)
	}
	var names []string
	var empty *cache.Record
	for _, l := range s.Cache.Links() {
		if l.Run != rec.Run || provider != "" && l.Provider != provider {
			continue
		}
		sum, err := s.Cache.Run(l.Extraction)
		if err != nil {
			return nil, "", err
		}
		x, err := sum.Record()
		if err != nil {
			return nil, "", err
		}
		if has(x) {
			found, by, names = x, l.Provider, append(names, l.Provider)
		} else if x.State == string(evidence.Empty) {
			empty, by = x, l.Provider
		}
	}
	switch {
	case len(names) > 1:
		slices.Sort(names)
		return nil, "", fmt.Errorf("several providers extracted events from run %s of %s; choose one by -provider: %s", rec.Run, rec.Address, strings.Join(names, ", "))
	case found == nil && empty != nil:
		return empty, by, nil
	case found == nil && !rec.Valid():
		return nil, "", fmt.Errorf("run %s of %s failed, so nothing was extracted from it; `flameox show %s` says why", rec.Run, rec.Address, rec.Run)
	case found == nil:
		return nil, "", fmt.Errorf("no events of a trace were extracted from run %s of %s: it is none, its extraction failed, or `flameox apply` has not extracted it yet; `flameox show %s` says what is there", rec.Run, rec.Address, rec.Run)
	}
	return found, by, nil
}

func write(c *cli.Context, doc *Document) error {
	t := &view.Table{
		Columns: []view.Column{{Title: "begin", Right: true, Keep: true}, {Title: "duration", Right: true, Keep: true}, {Title: "self", Right: true}, {Title: "event"}, {Title: "thread"}, {Title: "process"}, {Title: "phase"}},
		Empty:   "No event of the rows lies in the window (" + NoEvents + ").",
	}
	for _, e := range doc.Events {
		name := fmt.Sprint(e["name"])
		switch e["kind"] {
		case evidence.TraceSlice:
			depth, _ := e["depth"].(int64)
			name = strings.Repeat("  ", int(min(depth, 12))) + name
		case evidence.TraceCounter:
			if s, ok := e["series"].(string); ok && s != "" {
				name += " " + s
			}
			name += fmt.Sprintf(" = %v", e["value"])
		default:
			name += fmt.Sprintf(" (%s)", strings.ReplaceAll(fmt.Sprint(e["kind"]), "_", " "))
		}
		t.Rows = append(t.Rows, []string{quantity(e["start_ns"].(int64) - doc.Origin), quantity(e["duration_ns"]), quantity(e["self_ns"]), name, who(e, "thread"), who(e, "process"), text(e["phase"])})
	}
	var notes []string
	if doc.Total > 0 {
		notes = append(notes, fmt.Sprintf("%s of %s in the window.", view.Count(doc.Returned), view.Plural(int(doc.Total), "event", "events")))
	}
	if doc.Coverage != string(evidence.Complete) {
		for _, l := range doc.Limitations {
			notes = append(notes, "Partial: "+view.Lines(l.Text)+".")
		}
	}
	if doc.Next != "" {
		notes = append(notes, "More: "+paging.More(c, doc.Next, "start", "end", "kind", "name", "thread", "provider"))
	}
	t.Footer = strings.Join(notes, "\n")
	return t.Write(c.App.Writer, cmdline.View(c))
}

func quantity(v any) string {
	if n, ok := v.(int64); ok {
		return view.Quantity(n, "ns")
	}
	return ""
}

func who(e map[string]any, what string) string {
	if s := text(e[what]); s != "" {
		return s
	}
	return text(e[what+"_id"])
}

func text(v any) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}
