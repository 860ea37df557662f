package spans

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/cmd/flameox/internal/cmdline"
	"github.com/flameox/flameox/cmd/flameox/internal/paging"
	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/evidence/publish"
	"github.com/flameox/flameox/evidence/query"
	"github.com/flameox/flameox/internal/flags"
	"github.com/flameox/flameox/internal/view"
)

// question is one view and how a person is shown it.
type question struct {
	name, usage, about string
	view, order        string
	columns            []column
	filters            map[string]string // condition of each flag, with a place for its value
}

type column struct {
	name, title string
	time        bool // nanoseconds
	right       bool
}

var questions = []question{{
	name: "window", usage: "list the spans that lie in a window of time, as they begin",
	about: "A span lies in the window where any part of it does. Times count from the first span of the payload. The last column says how the span nests: inside its parent, outside of it, " +
		"or that its parent is not in the payload, has no time, or is not the only one of its id. Nothing is moved so that it fits.",
	view: "span_windows", order: "experiment, address, run, artifact, start_ns NULLS LAST, source_ordinal",
	columns: []column{{"start_ns", "begin", true, true}, {"duration_ns", "duration", true, true}, {"name", "operation", false, false}, {"parent_name", "parent", false, false}, {"service", "service", false, false}, {"trace_id", "trace", false, false}, {"nesting", "nesting", false, false}},
	filters: map[string]string{"trace": "trace_id = %s", "operation": "name = %s", "start": "end_ns >= %s", "end": "start_ns <= %s"},
}, {
	name: "transitions", usage: "say which operation calls which, and how often",
	about: "A row is one pair of a parent's and a child's operation. Roots have no parent; where the parent is not in the payload, that is said: the trace is not whole there.",
	view:  "span_transitions", order: "spans DESC, experiment, address, run, artifact, parent_name NULLS FIRST, name, called_from",
	columns: []column{{"spans", "spans", false, true}, {"traces", "traces", false, true}, {"errors", "errors", false, true}, {"total_ns", "total", true, true}, {"median_ns", "median", true, true}, {"max_ns", "longest", true, true}, {"parent_name", "parent", false, false}, {"name", "operation", false, false}, {"called_from", "from", false, false}},
	filters: map[string]string{"operation": "(name = %[1]s OR parent_name = %[1]s)"},
}, {
	name: "sequences", usage: "list operations that one parent calls several times in a row",
	about: "A row is an operation below a parent's: how many times in a row at most, in how many sequences, and the trace with the longest. That something is repeated does not say that it is a loop.",
	view:  "span_sequences", order: "longest DESC, spans DESC, experiment, address, run, artifact, parent_name NULLS FIRST, name",
	columns: []column{{"longest", "in a row", false, true}, {"sequences", "sequences", false, true}, {"spans", "spans", false, true}, {"total_ns", "total", true, true}, {"parent_name", "parent", false, false}, {"name", "operation", false, false}, {"longest_trace", "trace", false, false}},
	filters: map[string]string{"operation": "(name = %[1]s OR parent_name = %[1]s)"},
}, {
	name: "gaps", usage: "list the times of operations that none of their children covers",
	about: "A gap lies between the children it names, before the first or behind the last. Children that overlap cover what any of them does. Operations without children have no gaps.",
	view:  "span_gaps", order: "gap_ns DESC NULLS FIRST, experiment, address, run, artifact, parent_ordinal, start_ns",
	columns: []column{{"gap_ns", "gap", true, true}, {"start_ns", "begin", true, true}, {"parent_name", "operation", false, false}, {"after_name", "after", false, false}, {"before_name", "before", false, false}, {"trace_id", "trace", false, false}},
	filters: map[string]string{"trace": "trace_id = %s", "operation": "parent_name = %s"},
}}

// Command is the command spans.
func Command() *cli.Command {
	c := &cli.Command{
		Name: "spans", Usage: "ask what follows from the spans of traces",
		Description: "The spans are those of the newest valid run of every stage; OTLP files are brought in with `flameox import`. `flameox query` has the same answers as the views span_windows, span_transitions, span_sequences and span_gaps.\n\n" +
			"Examples:\n  flameox spans transitions\n  flameox spans gaps -limit 5",
	}
	for _, q := range questions {
		c.Subcommands = append(c.Subcommands, q.command())
	}
	return c
}

func (q question) command() *cli.Command {
	c := &cli.Command{
		Name: q.name, Usage: q.usage, ArgsUsage: "[ADDRESS]",
		Description: q.about + "\n\nExamples:\n  flameox spans " + q.name,
		Flags:       []cli.Flag{paging.LimitFlag(20), paging.CursorFlag, cmdline.JSONFlag, cmdline.SensitiveFlag},
		Action:      q.run,
	}
	for _, f := range []cli.Flag{
		&cli.StringFlag{Name: "trace", Usage: "only of the trace `ID`"},
		&cli.StringFlag{Name: "operation", Usage: "only of the operation called `NAME`"},
		&cli.StringFlag{Name: "start", Usage: "only what ends at `TIME` or later, from the first span on: 1.5s"},
		&cli.StringFlag{Name: "end", Usage: "only what begins at `TIME` or earlier"},
	} {
		if q.filters[f.Names()[0]] != "" {
			c.Flags = append(c.Flags, f)
		}
	}
	return c
}

// Document is what spans prints with -json.
type Document struct {
	Format   int              `json:"format_version"`
	Question string           `json:"question"`
	Rows     []map[string]any `json:"rows"`           // columns of the view by name; a missing value is null
	More     bool             `json:"more"`           // there are rows behind these
	Next     string           `json:"next,omitempty"` // cursor of the next page
}

func (q question) run(c *cli.Context) error {
	if c.NArg() > 1 {
		return flags.Usage(c, "spans %s takes at most one address", q.name)
	}
	limit := c.Int("limit")
	if limit < 1 || limit > 1000 {
		return flags.Usage(c, "-limit is %d; give 1 to 1000", limit)
	}
	where, err := q.where(c)
	if err != nil {
		return err
	}
	w, err := cmdline.Open(c)
	if err != nil {
		return err
	}
	where = append(where, "experiment = "+literal(w.Store.Experiment))
	if c.NArg() == 1 {
		matches, err := cmdline.RunsAt(w.Store, c.Args().First())
		if err != nil {
			return err
		}
		var of []string
		known := map[string]bool{}
		for _, m := range matches {
			if !known[m.Address] {
				known[m.Address] = true
				of = append(of, literal(m.Address))
			}
		}
		if len(of) == 0 {
			return fmt.Errorf("no run of this experiment has the address %s; `flameox runs` lists them", c.Args().First())
		}
		where = append(where, "address IN ("+strings.Join(of, ", ")+")")
	}
	sql := "SELECT * FROM " + q.view + " WHERE " + strings.Join(where, " AND ") + " ORDER BY " + q.order
	dir := filepath.Join(w.Store.Dir, "evidence")
	var files []string
	if g, err := publish.Pin(dir); err == nil {
		for _, t := range evidence.Tables() {
			files = append(files, g.Files(t.Name)...)
		}
	} else if !errors.Is(err, publish.ErrNotPublished) {
		return err
	}
	of := paging.Ask(files, "spans", sql)
	at, err := position(c, of)
	if err != nil {
		return err
	}
	db, err := query.Open(dir, query.Options{Threads: 1, Sensitive: c.Bool(cmdline.SensitiveFlag.Name)})
	if err != nil {
		return err
	}
	defer db.Close()
	if n := db.Withheld(); n > 0 {
		fmt.Fprintf(c.App.ErrWriter, "The rows of %s are left out; -%s includes them.\n", view.Plural(n, "sensitive run", "sensitive runs"), cmdline.SensitiveFlag.Name)
	}
	doc := Document{Format: 1, Question: q.name, Rows: []map[string]any{}}
	err = db.Each(c.Context, fmt.Sprintf("%s LIMIT %d OFFSET %d", sql, limit+1, at), func(cols []query.Column, row []any) error {
		m := make(map[string]any, len(cols))
		for i, col := range cols {
			m[col.Name] = row[i]
		}
		doc.Rows = append(doc.Rows, m)
		return nil
	})
	if err != nil {
		return err
	}
	if len(doc.Rows) > limit {
		doc.Rows, doc.More = doc.Rows[:limit], true
		doc.Next = base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint64(of[:], at+uint64(limit)))
	}
	if c.Bool("json") {
		return cmdline.JSON(c, doc)
	}
	return q.write(c, &doc)
}

// position is how many rows the pages before had. A cursor of another question, or of rows that were published anew, is an error: pages of two answers make none.
func position(c *cli.Context, of paging.Question) (uint64, error) {
	text := c.String("cursor")
	if text == "" {
		return 0, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(raw) != len(of)+8 {
		return 0, fmt.Errorf("-cursor is %q, which is no cursor; the last line of an answer names the next one", text)
	}
	if paging.Question(raw[:len(of)]) != of {
		return 0, errors.New("the cursor belongs to another question, or evidence was published since; ask again without -cursor")
	}
	at := binary.BigEndian.Uint64(raw[len(of):])
	if at > 1<<62 {
		return 0, fmt.Errorf("-cursor is %q, which is no cursor", text)
	}
	return at, nil
}

// where are the conditions that the flags ask for.
func (q question) where(c *cli.Context) (list []string, err error) {
	for _, name := range []string{"trace", "operation", "start", "end"} {
		condition := q.filters[name]
		if condition == "" || !c.IsSet(name) {
			continue
		}
		value := c.String(name)
		switch name {
		case "trace":
			value = literal(strings.ToLower(value))
		case "operation":
			value = literal(value)
		default:
			d, err := time.ParseDuration(value)
			if err != nil {
				return nil, flags.Usage(c, "-%s is %q; give a time from the first span on, such as 1.5s or 200us", name, value)
			}
			value = strconv.FormatInt(int64(d), 10)
		}
		list = append(list, fmt.Sprintf(condition, value))
	}
	return list, nil
}

func literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

func (q question) write(c *cli.Context, doc *Document) error {
	t := &view.Table{Empty: "No such spans. An import of OTLP and its extraction leave them: `flameox import FILE -format otlp-json`, or otlp-protobuf."}
	for _, col := range q.columns {
		t.Columns = append(t.Columns, view.Column{Title: col.title, Right: col.right, Keep: col.right || col.name == "trace_id"})
	}
	for _, r := range doc.Rows {
		var line []string
		for _, col := range q.columns {
			line = append(line, cell(r[col.name], col))
		}
		t.Rows = append(t.Rows, line)
	}
	if doc.More {
		t.Footer = "More: " + paging.More(c, doc.Next, "trace", "operation", "start", "end")
	}
	return t.Write(c.App.Writer, cmdline.View(c))
}

func cell(v any, col column) string {
	switch x := v.(type) {
	case nil:
		return ""
	case int64:
		if col.time {
			return view.Quantity(x, "ns")
		}
		return view.Count(int(x))
	}
	return fmt.Sprint(v)
}
