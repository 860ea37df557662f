package recipes

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/cmd/flameox/internal/cmdline"
	"github.com/flameox/flameox/cmd/flameox/internal/paging"
	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/evidence/publish"
	"github.com/flameox/flameox/evidence/query"
	"github.com/flameox/flameox/internal/flags"
	"github.com/flameox/flameox/internal/view"
	"github.com/flameox/flameox/stages/workspace"
)

// recipe is a question with its view.
type recipe struct {
	name, usage, about string
	examples           []string
	columns            []column // that a person is shown; JSON has all of the view, and of failures their changes and hypotheses
	filledBy           string   // what leaves the rows, said where there are none
}

// column is a column of the view as a person is shown it.
type column struct {
	name, title string
	unit        string // of the values; "unit" where the row's column unit has it
	right       bool
}

var recipes = []recipe{{
	name: "memory", usage: "show the memory of runs: peak, retained, volume, temporary, rss, growth",
	about: "The roles are never added up: a peak is no volume, and what a profiler counts is no RSS. A producer's metric stands beside its role. " +
		"Growth is the last sampled RSS of the process tree less the first.",
	examples: []string{"flameox recipe memory 'capture.gobench.sort:impl=merge,n=100000'"},
	columns:  []column{{"address", "stage", "", false}, {"role", "role", "", false}, {"metric", "metric", "", false}, {"value", "value", "unit", true}, {"source", "source", "", false}, {"phase", "phase", "", false}, {"unavailable", "unavailable", "", false}},
	filledBy: "every capture leaves some of them when it runs",
}, {
	name: "failures", usage: "show what failed, those that failed alike together",
	about: "Runs are alike where they are of one kind and ended in one way: execution, exit, signal, cause, and the codes of what made them invalid. valid since says that " +
		"the stage that failed last so has a valid run since. Where the rate of failing so changed along the runs of that stage is said below, and what the failures have in common " +
		"that other runs of their kind have less often: hypotheses that compete, not causes.",
	examples: []string{"flameox recipe failures", "flameox recipe failures 'capture.gobench.*'"},
	columns: []column{{"kind", "kind", "", false}, {"execution", "execution", "", false}, {"exit", "exit", "", true}, {"signal", "signal", "", false}, {"codes", "because", "", false},
		{"failures", "failed", "", true}, {"attempts", "of", "", true}, {"stages", "stages", "", true}, {"address", "last stage", "", false}, {"run", "last run", "", false}, {"valid_since", "valid since", "", false}},
	filledBy: "a run that is not valid does, and there is none",
}, {
	name: "execution", usage: "show what of each file ran, or what two runs ran differently",
	about:    "Lines that ran and steps between lines, by the context in which they did. With -since, each line and arc that one of the two runs ran and the other did not.",
	examples: []string{"flameox recipe execution"},
	columns:  []column{{"address", "stage", "", false}, {"file", "file", "", false}, {"context", "context", "", false}, {"lines", "lines", "", true}, {"first_line", "from", "", true}, {"last_line", "to", "", true}, {"arcs", "arcs", "", true}},
	filledBy: "a capture \"coverage\" leaves them",
}, {
	name: "pytorch", usage: "show the operators of a PyTorch profile, most time of their own first",
	about:    "What to look at is marked: sync (it waits for the device), compile, warm-up, and small (three calls or more, and of the quarter with the shortest).",
	examples: []string{"flameox recipe pytorch -limit 10"},
	columns: []column{{"name", "operator", "", false}, {"calls", "calls", "", true}, {"self_ns", "self", "ns", true}, {"total_ns", "total", "ns", true}, {"device_ns", "device", "ns", true}, {"allocated_bytes", "allocated", "bytes", true},
		{"marks", "look at", "", false}, {"phase", "phase", "", false}, {"shapes", "shapes", "", false}},
	filledBy: "a capture \"torchprofiler\" or an import of its trace leaves them",
}, {
	name: "accelerator_launches", usage: "show what was launched on accelerators, by phase, and when their streams did nothing",
	about: "Direct launches and launches of graphs, kernels, and those whose launch is in the trace. A gap is when a stream had begun and nothing ran on it; it belongs to the phase of what ended it. " +
		"What is missing says which side the trace does not have. `flameox query 'FROM idle_gaps'` lists every gap.",
	examples: []string{"flameox recipe accelerator_launches"},
	columns: []column{{"address", "stage", "", false}, {"phase", "phase", "", false}, {"direct_launches", "direct", "", true}, {"graph_launches", "graphs", "", true}, {"kernels", "kernels", "", true}, {"correlated_kernels", "launched here", "", true},
		{"kernel_ns", "kernel time", "ns", true}, {"streams", "streams", "", true}, {"gaps", "gaps", "", true}, {"gap_ns", "idle", "ns", true}, {"longest_gap_ns", "longest", "ns", true}, {"missing", "missing", "", false}},
	filledBy: "a capture \"torchprofiler\" of a program that uses an accelerator, or an import of its trace, leaves them",
}, {
	name: "slowest_tests", usage: "show tests, the slowest first",
	about:    "All phases of the last attempt at each test together, and each of them.",
	examples: []string{"flameox recipe slowest_tests -limit 10"},
	columns:  []column{{"test", "test", "", false}, {"result", "result", "", false}, {"duration_ns", "took", "ns", true}, {"setup_ns", "setup", "ns", true}, {"call_ns", "call", "ns", true}, {"teardown_ns", "teardown", "ns", true}, {"worker", "worker", "", false}},
	filledBy: "a capture \"pytest\" leaves them",
}}

// Command is the command recipe.
func Command() *cli.Command {
	c := &cli.Command{
		Name: "recipe", Usage: "answer a question that is asked often",
		Description: "Each answer comes from a view of its name, which `flameox query` has too; `flameox tables` lists them. For where time goes there are `flameox hotspots`, callers, callees and stacks.\n\n" +
			"Examples:\n  flameox recipe failures\n  flameox recipe memory -limit 5",
	}
	for _, r := range recipes {
		c.Subcommands = append(c.Subcommands, r.command())
	}
	c.Subcommands = append(c.Subcommands, scalingCommand())
	return c
}

func (r recipe) command() *cli.Command {
	c := &cli.Command{
		Name: r.name, Usage: r.usage, ArgsUsage: "[ADDRESS]",
		Description: r.about + " ADDRESS may have * and ?, and selects every instance where it names none.\n\nExamples:\n  " + strings.Join(r.examples, "\n  "),
		Flags:       []cli.Flag{paging.LimitFlag(20), paging.CursorFlag, cmdline.JSONFlag, cmdline.SensitiveFlag},
		Action:      r.run,
	}
	if r.name == "execution" {
		c.Flags = append([]cli.Flag{&cli.StringFlag{Name: "since", Usage: "compare with `RUN`, or the newest run of an address: the run before"}}, c.Flags...)
	}
	return c
}

// Document is what every recipe prints with -json.
type Document struct {
	Format int              `json:"format_version"`
	Recipe string           `json:"recipe"`
	Rows   []map[string]any `json:"rows"`             // columns of the view by name; a missing value is null
	All    int              `json:"all"`              // rows there are
	Runs   []Evidence       `json:"runs"`             // that the rows come from, where their evidence is not complete
	Status string           `json:"status"`           // available, partial (the evidence of a run is), or empty
	Reason string           `json:"reason,omitempty"` // why there is nothing, and what to do
	Next   string           `json:"next,omitempty"`   // cursor of the next page
}

// Evidence is how far the evidence of a run can be trusted.
type Evidence struct {
	Run         string   `json:"run"`
	Address     string   `json:"address"`
	State       string   `json:"state"`
	Limitations []string `json:"limitations"`
}

func (r recipe) run(c *cli.Context) error {
	if c.NArg() > 1 {
		return flags.Usage(c, "recipe %s takes at most one address", r.name)
	}
	w, err := cmdline.Open(c)
	if err != nil {
		return err
	}
	db, read, err := open(c, w)
	if err != nil {
		return err
	}
	defer db.Close()
	sql, columns := "FROM "+r.name, r.columns
	if since := c.String("since"); since != "" {
		if sql, err = changed(c, w, since); err != nil {
			return err
		}
		columns = changedColumns
	} else if c.NArg() == 1 {
		list, err := addresses(c, w, c.Args().First())
		if err != nil {
			return err
		}
		sql = fmt.Sprintf("FROM %s WHERE experiment = %s AND address IN (%s)", r.name, text(w.Store.Experiment), strings.Join(list, ", "))
	}
	p, err := paging.Of(c, paging.Ask(read, "recipe", sql))
	if err != nil {
		return err
	}
	doc := &Document{Format: 1, Recipe: r.name, Rows: []map[string]any{}, Runs: []Evidence{}, Status: "available"}
	if err := doc.page(c, db, sql, p); err != nil {
		return err
	}
	if err := doc.trust(c, db); err != nil {
		return err
	}
	if r.name == "failures" {
		if err := doc.explain(c, db); err != nil {
			return err
		}
	}
	if doc.All == 0 {
		doc.Status, doc.Reason = "empty", "the published evidence has no such rows: "+r.filledBy
	}
	if c.Bool("json") {
		return cmdline.JSON(c, doc)
	}
	return doc.write(c, columns)
}

// open opens the published evidence, and names the files that it has.
func open(c *cli.Context, w *workspace.Workspace) (db *query.DB, read []string, err error) {
	dir := filepath.Join(w.Store.Dir, "evidence")
	switch g, err := publish.Pin(dir); {
	case errors.Is(err, publish.ErrNotPublished):
	case err != nil:
		return nil, nil, err
	default:
		for _, t := range evidence.Tables() {
			read = append(read, g.Files(t.Name)...)
		}
		for _, line := range g.Warnings() {
			fmt.Fprintln(c.App.ErrWriter, "Warning: "+view.Lines(line))
		}
	}
	if db, err = query.Open(dir, query.Options{Threads: 1, Sensitive: c.Bool(cmdline.SensitiveFlag.Name)}); err != nil {
		return nil, nil, err
	}
	if n := db.Withheld(); n > 0 {
		fmt.Fprintf(c.App.ErrWriter, "The rows of %s are left out; -%s includes them.\n", view.Plural(n, "sensitive run", "sensitive runs"), cmdline.SensitiveFlag.Name)
	}
	return db, read, nil
}

// addresses are the stages that a pattern, or a run, means, as literals of SQL.
func addresses(c *cli.Context, w *workspace.Workspace, name string) (out []string, err error) {
	matches, err := cmdline.RunsAt(w.Store, name)
	if err != nil || len(matches) == 0 {
		rec, err := cmdline.FindRun(c, w, name)
		if err != nil {
			return nil, err
		}
		return []string{text(rec.Address)}, nil
	}
	add := func(address string) {
		if a := text(address); !slices.Contains(out, a) {
			out = append(out, a)
		}
	}
	of := map[string][]string{} // extraction → runs that its rows are the evidence of
	for _, l := range w.Store.Cache.Links() {
		of[l.Extraction] = append(of[l.Extraction], l.Run)
	}
	for _, r := range matches {
		add(r.Address)
		for _, run := range of[r.Run] {
			if sum, err := w.Store.Cache.Run(run); err == nil {
				add(sum.Address)
			}
		}
	}
	return out, nil
}

func text(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// page reads the rows of the page. All rows are gone through, and those of the page kept: a view is small beside the tables that it is made of.
func (d *Document) page(c *cli.Context, db *query.DB, sql string, p paging.Page) error {
	var rows []map[string]any
	err := db.Each(c.Context, sql, func(cols []query.Column, row []any) error {
		m := make(map[string]any, len(cols))
		for i, col := range cols {
			m[col.Name] = plain(row[i])
		}
		rows = append(rows, m)
		if len(rows) > mostRows {
			return fmt.Errorf("the answer has more than %s rows; name an address, or ask `flameox query`", view.Count(mostRows))
		}
		return nil
	})
	if err != nil {
		return err
	}
	begin, end, next, err := p.Cut(len(rows), func(i int) string { return fmt.Sprint(rows[i]) })
	if err != nil {
		return err
	}
	d.All, d.Next = len(rows), next
	d.Rows = append(d.Rows, rows[begin:end]...)
	return nil
}

// mostRows is what is gone through for one page.
const mostRows = 200_000

// plain is a value as JSON has it.
func plain(v any) any {
	switch x := v.(type) {
	case float64:
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return nil
		}
	case *big.Int:
		return x.String()
	case []query.Entry:
		m := map[string]any{}
		for _, e := range x {
			m[fmt.Sprint(e.Key)] = plain(e.Value)
		}
		return m
	case []any:
		out := make([]any, len(x))
		for i := range x {
			out[i] = plain(x[i])
		}
		return out
	}
	return v
}

// trust finds out how complete the evidence of the rows is.
func (d *Document) trust(c *cli.Context, db *query.DB) error {
	var runs []string
	for _, r := range d.Rows {
		if run, ok := r["run"].(string); ok && !slices.Contains(runs, text(run)) {
			runs = append(runs, text(run))
		}
	}
	if len(runs) == 0 || d.Recipe == "failures" { // which says of each what was wrong with it
		return nil
	}
	sql := "SELECT run, address, state, limitations FROM runs WHERE state <> 'complete' AND run IN (" + strings.Join(runs, ", ") + ") ORDER BY run"
	return db.Each(c.Context, sql, func(_ []query.Column, row []any) error {
		e := Evidence{Run: row[0].(string), Address: row[1].(string), State: fmt.Sprint(row[2]), Limitations: []string{}}
		if list, ok := row[3].([]any); ok {
			for _, l := range list {
				e.Limitations = append(e.Limitations, fmt.Sprint(l))
			}
		}
		d.Runs, d.Status = append(d.Runs, e), "partial"
		return nil
	})
}

func (d *Document) write(c *cli.Context, columns []column) error {
	if d.All == 0 {
		fmt.Fprintln(c.App.Writer, view.Lines("Nothing: "+d.Reason+"."))
		return nil
	}
	t := &view.Table{}
	shown := slices.DeleteFunc(slices.Clone(columns), func(col column) bool { // a column of which every value is missing says nothing
		return !slices.ContainsFunc(d.Rows, func(r map[string]any) bool { return cell(r, col) != "" })
	})
	for _, col := range shown {
		t.Columns = append(t.Columns, view.Column{Title: col.title, Right: col.right, Keep: col.right, Path: col.name == "file" || col.name == "address"})
	}
	for _, r := range d.Rows {
		var line []string
		for _, col := range shown {
			line = append(line, cell(r, col))
		}
		t.Rows = append(t.Rows, line)
	}
	t.Footer = view.Plural(len(d.Rows), "row", "rows") + " of " + view.Count(d.All) + "."
	if more := paging.More(c, d.Next, "since"); more != "" {
		t.Footer += " More: " + more
	}
	if err := t.Write(c.App.Writer, cmdline.View(c)); err != nil {
		return err
	}
	if d.Recipe == "failures" {
		d.writeReasons(c.App.Writer)
	}
	for _, e := range d.Runs {
		fmt.Fprintln(c.App.Writer, view.Lines(fmt.Sprintf("The evidence of %s is %s: %s", e.Address, e.State, strings.Join(e.Limitations, "; "))))
	}
	return nil
}

// cell is a value as a person is shown it.
func cell(row map[string]any, col column) string {
	if col.name == "marks" {
		return marks(row)
	}
	unit := col.unit
	if unit == "unit" {
		unit, _ = row["unit"].(string)
	}
	switch v := row[col.name].(type) {
	case nil:
		return ""
	case bool:
		if !v {
			return "no"
		}
		return "yes"
	case int64:
		if unit == "" {
			return view.Count(int(v))
		}
		return view.Quantity(v, unit)
	case []any:
		var out []string
		for _, x := range v {
			out = append(out, fmt.Sprint(x))
		}
		return strings.Join(out, ", ")
	default:
		return fmt.Sprint(v)
	}
}

// marks is what of an operator is worth a look.
func marks(row map[string]any) string {
	var out []string
	for _, m := range [][2]string{{"synchronizes", "sync"}, {"compiles", "compile"}, {"warmup", "warm-up"}, {"small_repeated", "small"}} {
		if row[m[0]] == true {
			out = append(out, m[1])
		}
	}
	return strings.Join(out, ", ")
}
