package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/cmd/flameox/internal/cmdline"
	"github.com/flameox/flameox/cmd/flameox/internal/profiles"
	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/evidence/columns"
	"github.com/flameox/flameox/evidence/query"
	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/internal/view"
	"github.com/flameox/flameox/stages/capture"
	"github.com/flameox/flameox/stages/program"
)

func printRuns(c *cli.Context, s *graph.Store, list []*cache.Summary) error {
	if c.Bool("json") {
		doc := runsDocument{Format: 1, Runs: []runRow{}}
		for _, r := range list {
			row := runRow{
				Run: r.Run, Address: r.Address, Kind: r.Kind, Key: r.Key.String(), Generation: r.Generation, Attempt: r.Attempt,
				Execution: string(r.Execution), Capture: string(r.Capture), Validation: string(r.Validation),
				Started: r.Started, WallNS: r.Wall.Nanoseconds(), Host: r.Host,
			}
			if !r.Valid() {
				rec, err := r.Record()
				if err != nil {
					return err
				}
				for _, n := range rec.Invalid {
					row.Reasons = append(row.Reasons, n.Code)
				}
			}
			doc.Runs = append(doc.Runs, row)
		}
		return cmdline.JSON(c, doc)
	}
	o := cmdline.View(c)
	return runsTable(s, list, o.Width > 0 && o.Width < wideRuns).Write(c.App.Writer, o)
}

// wideRuns is how wide an output is that shows all there is to say of a run.
const wideRuns = 110

// runsTable lists runs. A narrow one names each by as much of its id as tells it from all others, and says how long ago it was, so that the
// stage can be read.
func runsTable(s *graph.Store, list []*cache.Summary, narrow bool) *view.Table {
	t := &view.Table{
		Columns: []view.Column{{Title: "run", Keep: true}, {Title: "stage", Path: true}, {Title: "attempt", Right: true}, {Title: "result"}, {Title: "took", Right: true}, {Title: "when"}, {Title: "host"}},
		Empty:   "Nothing was run yet. `flameox apply` runs what `flameox plan` shows.",
	}
	if len(s.Cache.All()) > 0 {
		t.Empty = "No run is like that."
	}
	id := 0
	if narrow {
		id = idLength(s.Cache.All())
		t.Columns = t.Columns[:6]
		t.Columns[2].Title = "#"
		for i := 2; i < 6; i++ { // they are short
			t.Columns[i].Keep = true
		}
	}
	for _, r := range list {
		result := string(r.Validation)
		if !r.Valid() && r.Execution != cache.ExecutionSucceeded && r.Execution != cache.ExecutionNotApplicable {
			result = strings.ReplaceAll(string(r.Execution), "_", " ")
		}
		stage := r.Address
		if r.Experiment != s.Experiment { // of another experiment in the repository
			stage = cmp.Or(r.Experiment, ".") + ": " + stage
		}
		row := []string{r.Run, stage, strconv.Itoa(r.Attempt), result, view.Duration(r.Wall), r.Started.Local().Format("2006-01-02 15:04:05"), r.Host}
		if narrow {
			row[0], row[5] = r.Run[:min(id, len(r.Run))], view.Age(s.Now().Sub(r.Started))
			row = row[:6]
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// idLength is how many characters of a run's id tell it from all others.
func idLength(all []*cache.Summary) int {
	ids := make([]string, len(all))
	for i, r := range all {
		ids[i] = r.Run
	}
	slices.Sort(ids)
	n := 10 // its time
	for i := 1; i < len(ids); i++ {
		a, b := ids[i-1], ids[i]
		same := 0
		for same < len(a) && same < len(b) && a[same] == b[same] {
			same++
		}
		n = max(n, same+1)
	}
	return n
}

func printRun(c *cli.Context, s *graph.Store, rec *cache.Record) error {
	rec = cmdline.Shown(c, rec)
	if c.Bool("json") {
		return cmdline.JSON(c, rec)
	}
	v := view.RunDetails{
		Run: rec.Run, Address: rec.Address, Kind: rec.Kind, Good: rec.Valid(), Status: "valid",
		Reasons: viewNotes(rec.Invalid), Limitations: viewNotes(rec.Limitations),
	}
	if !rec.Valid() {
		v.Status = "failed: " + what(rec)
	}
	field := func(name, value string) { v.Fields = append(v.Fields, view.Field{Name: name, Value: value}) }
	field("started", rec.Started.Local().Format("2006-01-02 15:04:05 -0700"))
	field("took", view.Duration(time.Duration(rec.WallNS)))
	field("execution", strings.ReplaceAll(string(rec.Execution), "_", " "))
	field("artifacts", string(rec.Capture))
	if rec.Exit != nil {
		field("exit", strconv.Itoa(*rec.Exit))
	}
	field("signal", rec.Signal)
	field("ended by flameox", rec.Cause)
	field("attempt", attemptText(rec))
	field("revision", strconv.Itoa(rec.Revision))
	field("verdict", rec.Verdict)
	if len(rec.Argv) > 0 {
		args := make([]string, len(rec.Argv))
		for i, a := range rec.Argv {
			args[i] = view.ShellQuote(a)
		}
		field("command", strings.Join(args, " "))
	}
	field("in", rec.Dir)
	field("host", rec.Host.Name)
	field("producer", rec.Producer)
	field("evidence", evidenceState(s, rec))
	if rec.Results != nil || !graph.IsSensitive(rec.Outputs) { // results of what is sensitive are kept back
		field("overhead", profiles.OverheadText(rec))
	}
	for _, r := range rec.Registrations {
		field("registered", registration(&r))
	}
	field("key", rec.Key.String())
	for _, f := range rec.Manifest.Facets {
		v.Facts = append(v.Facts, view.Fact{Facet: facetWords(f.Name), Text: facetLine(f, cmdline.View(c))})
	}
	for name, value := range rec.Results {
		if name == capture.OverheadResult { // it has a line of its own
			continue
		}
		v.Results = append(v.Results, view.Field{Name: name, Value: string(value)})
	}
	sort.Slice(v.Results, func(i, j int) bool { return v.Results[i].Name < v.Results[j].Name })
	for _, o := range rec.Outputs {
		out := view.Output{Name: o.Name, Role: o.Role, Size: o.Size, Digest: o.Digest.Short()}
		switch {
		case s.Lost(o):
			out.Mark = "lost"
		case o.Sensitivity == cache.Sensitive:
			out.Mark = "sensitive"
		case o.Tree:
			out.Mark = "tree"
		}
		v.Outputs = append(v.Outputs, out)
	}
	return v.Write(c.App.Writer, cmdline.View(c))
}

// registration is what was appended to a run, from where, by whom, and since when.
func registration(r *cache.Registration) string {
	text := r.Output + " from " + r.From
	if r.Pipeline != "" {
		text += ", about " + r.Pipeline
	}
	if r.Verdict != "" {
		text += ", " + r.Verdict
	}
	if r.Producer != "" {
		text += ", by " + r.Producer
	}
	return text + fmt.Sprintf(", revision %d, %s, rows in run %s", r.Reviewed+1, r.When.Local().Format("2006-01-02 15:04:05 -0700"), r.By)
}

func attemptText(rec *cache.Record) string {
	s := strconv.Itoa(rec.Attempt)
	if rec.Generation > 0 {
		s += fmt.Sprintf(" of generation %d", rec.Generation)
	}
	return s
}

// evidenceState is how complete the rows are, of an extraction itself or of the one that is linked to a capture.
func evidenceState(s *graph.Store, rec *cache.Record) string {
	if rec.State != "" {
		return rec.State
	}
	for _, l := range s.Cache.Links() {
		if l.Run != rec.Run {
			continue
		}
		if x, err := s.Cache.Run(l.Extraction); err == nil {
			return x.State + ", by run " + x.Run
		}
	}
	return ""
}

func viewNotes(notes []cache.Note) (out []view.Note) {
	for _, n := range notes {
		out = append(out, view.Note{Code: n.Code, Text: n.Text})
	}
	return out
}

func printDiff(c *cli.Context, d *graph.RunDiff) error {
	if c.Bool("json") {
		return cmdline.JSON(c, diffDocument{
			Format: 1, A: d.A.Run, B: d.B.Run, Verdict: d.Verdict, Why: notNil(d.Why), Changes: notNil(d.Changes),
			Files: notNil(d.Files), Covariates: notNil(d.Covariates),
		})
	}
	return diffView(d).Write(c.App.Writer, cmdline.View(c))
}

func diffView(d *graph.RunDiff) *view.Diff {
	ref := func(r *cache.Record) view.RunRef {
		return view.RunRef{Run: r.Run, Age: time.Since(r.Started), Host: r.Host.Name}
	}
	v := &view.Diff{A: ref(d.A), B: ref(d.B), Address: d.A.Address, Verdict: strings.ReplaceAll(string(d.Verdict), "_", " "), Why: d.Why}
	if d.A.Address != d.B.Address {
		v.Address += " and " + d.B.Address
	}
	trees := ""
	for _, ch := range d.Changes {
		switch name := facetWords(ch.Facet); {
		case !ch.Tree || name == trees:
		case trees == "":
			trees = name
		default:
			trees = "files" // of several facets: which file is of which is not on the list
		}
	}
	for _, f := range d.Files {
		v.Changed = append(v.Changed, view.Fact{Facet: trees, Text: f.Path, Old: f.Old.Short(), New: f.New.Short()})
	}
	for _, ch := range d.Changes {
		if ch.Tree && len(d.Files) > 0 {
			continue
		}
		v.Changed = append(v.Changed, view.Fact{Facet: facetWords(ch.Facet), Text: factName(ch), Old: shortValue(ch.Old), New: shortValue(ch.New)})
	}
	for _, ch := range d.Covariates {
		v.Covariates = append(v.Covariates, view.Fact{Text: ch.Name, Old: shortValue(ch.Old), New: shortValue(ch.New)})
	}
	return v
}

// printRows prints a run's own rows of a table, read from the store: it needs neither a published view nor SQL.
func printRows(c *cli.Context, s *graph.Store, rec *cache.Record, name string) error {
	t, ok := evidence.Lookup(name)
	if !ok {
		return unknownTable(name)
	}
	files, err := rowFiles(s, rec, name)
	if err != nil {
		return err
	}
	var rows [][]any
	total := 0
	limit := c.Int("limit")
	for _, f := range files {
		err := evidence.Scan(f, evidence.ScanOptions{}, func(_ []evidence.Column, row []any) error {
			if total++; limit <= 0 || total <= limit {
				rows = append(rows, append([]any(nil), row...))
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	shown := t.PartSchema().Columns
	if c.Bool("json") {
		return printRowsJSON(c, shown, rows)
	}
	v := view.Table{Empty: fmt.Sprintf("Run %s has no rows in %s.", rec.Run, name)}
	for _, col := range shown {
		v.Columns = append(v.Columns, view.Column{Title: col.Name, Right: col.Shape == columns.Scalar && (col.Type == columns.Int64 || col.Type == columns.Uint64 || col.Type == columns.Float64)})
	}
	for _, r := range rows {
		line := make([]string, len(r))
		for i, x := range r {
			line[i] = cellText(x)
		}
		v.Rows = append(v.Rows, line)
	}
	if total > len(rows) {
		v.Footer = fmt.Sprintf("%s of %s rows; -limit 0 shows all.", view.Count(len(rows)), view.Count(total))
	}
	return v.Write(c.App.Writer, cmdline.View(c))
}

// rowFiles are the Parquet parts of a run: its own, and those of the extractions that are linked to it.
func rowFiles(s *graph.Store, rec *cache.Record, table string) ([]string, error) {
	outputs := rec.Outputs
	for _, l := range s.Cache.Links() {
		if l.Run != rec.Run {
			continue
		}
		x, err := s.Cache.Run(l.Extraction)
		if err != nil {
			return nil, err
		}
		outputs = append(outputs[:len(outputs):len(outputs)], x.Outputs...)
	}
	var files []string
	for _, o := range outputs {
		if o.Role != program.RoleTable+table {
			continue
		}
		if s.Lost(o) {
			return nil, fmt.Errorf("the rows of run %s are lost; `flameox apply` makes them again", rec.Run)
		}
		files = append(files, s.CAS.Path(o.Digest))
	}
	return files, nil
}

func cellText(v any) string {
	switch x := v.(type) {
	case nil:
		return ""
	case string:
		return x
	case []string:
		return strings.Join(x, "/")
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

func printRowsJSON(c *cli.Context, shown []evidence.Column, rows [][]any) error {
	out := make([]map[string]any, len(rows))
	for i, r := range rows {
		out[i] = map[string]any{}
		for k, col := range shown {
			out[i][col.Name] = r[k]
		}
	}
	return cmdline.JSON(c, out)
}

func printTables(c *cli.Context, tables []evidence.Table) error {
	if c.Bool("json") {
		doc := tablesDocument{Format: 1}
		for i := range tables {
			doc.Tables = append(doc.Tables, tableDocument(&tables[i]))
		}
		return cmdline.JSON(c, doc)
	}
	v := view.Table{Columns: []view.Column{{Title: "table", Keep: true}, {Title: "columns", Right: true}, {Title: "a row is"}}}
	for _, t := range tables {
		v.Rows = append(v.Rows, []string{t.Name, strconv.Itoa(len(t.Columns)), t.Doc})
	}
	for _, w := range query.Views() {
		v.Rows = append(v.Rows, []string{w.Name, "view", w.Doc})
	}
	return v.Write(c.App.Writer, cmdline.View(c))
}

func printTable(c *cli.Context, t *evidence.Table) error {
	if c.Bool("json") {
		return cmdline.JSON(c, tablesDocument{Format: 1, Tables: []tableDoc{tableDocument(t)}})
	}
	fmt.Fprintf(c.App.Writer, "%s: %s.\n\n", t.Name, strings.TrimSuffix(t.Doc, "."))
	v := view.Table{Columns: []view.Column{{Title: "column", Keep: true}, {Title: "type", Keep: true}, {Title: "unit"}, {Title: "is"}, {Title: "from"}}}
	for _, col := range tableDocument(t).Columns {
		typ := col.Type
		if col.Nullable {
			typ += "?"
		}
		v.Rows = append(v.Rows, []string{col.Name, typ, col.Unit, col.Doc, col.Source})
	}
	return v.Write(c.App.Writer, cmdline.View(c))
}

func tableDocument(t *evidence.Table) tableDoc {
	doc := tableDoc{Name: t.Name, Doc: t.Doc, Columns: []columnDoc{}}
	for _, col := range t.Columns {
		doc.Columns = append(doc.Columns, columnDoc{
			Name: col.Name, Type: col.TypeName(), Nullable: col.Nullable, Unit: col.Unit, Doc: col.Doc, Source: col.Source,
		})
	}
	return doc
}
