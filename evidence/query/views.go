package query

import (
	"fmt"
	"strings"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/evidence/columns"
)

// View is a view that the package adds to the tables.
type View struct {
	Name string
	Doc  string
	sql  string
}

// joined are the columns of runs that stand beside the rows of <table>_runs, each with the prefix run_. The
// prefix is always there: some tables have columns of the same name, and a name must not depend on the table.
var joined = []string{"experiment", "address", "block", "axes", "kind", "nature", "generation", "attempt", "valid", "started", "wall_ns", "host_name", "host_class", "labels", "key"}

// Views lists the views in the order in which they are made.
func Views() []View {
	out := []View{{
		Name: "latest",
		Doc:  "the newest valid run of every address: runs, one row per instance",
		// Runs sort in the order of commits; the wall clock is never used for order.
		sql: `SELECT * FROM runs WHERE valid QUALIFY row_number() OVER (PARTITION BY experiment, address, axes::VARCHAR ORDER BY run DESC) = 1`,
	}, {
		Name: "hotspots",
		Doc:  "frames of the newest valid run of every address, heaviest first, with their share of all samples",
		// Rows with labels are parts of the rows without: counting both would count samples twice.
		sql: `SELECT r.address, v.metric, f."function", f.module, f.file, f.line, v.self, v.inclusive, v.unit,
	v.self / nullif(sum(v.self) OVER whole, 0)::DOUBLE AS self_share,
	v.inclusive / nullif(sum(v.self) OVER whole, 0)::DOUBLE AS inclusive_share,
	f."language", v.samples, v.run, v.artifact, v.provider, v.frame
FROM frame_values v
JOIN latest r ON r.run = v.run
LEFT JOIN frames f ON f.run = v.run AND f.artifact = v.artifact AND f.provider = v.provider AND f.frame = v.frame
WHERE cardinality(v.labels) = 0
WINDOW whole AS (PARTITION BY v.run, v.artifact, v.provider, v.metric)
ORDER BY self_share DESC NULLS LAST, v.self DESC, r.address, v.metric, f."function", v.frame`,
	}}
	out = append(out, recipes()...)
	out = append(out, spans()...)
	for _, t := range evidence.Tables() {
		if t.Name == evidence.RunsTable {
			continue
		}
		var cols []string
		for _, c := range joined {
			cols = append(cols, fmt.Sprintf("r.%s AS run_%s", c, c))
		}
		out = append(out, View{
			Name: t.Name + "_runs",
			Doc:  t.Name + " with the run of every row beside it: run_address, run_axes, run_started, run_valid and more",
			sql:  fmt.Sprintf("SELECT t.*, %s FROM %s t LEFT JOIN runs r ON r.run = t.run", strings.Join(cols, ", "), t.Name),
		})
	}
	return out
}

// names are everything that can stand after FROM.
func names() []string {
	var out []string
	for _, t := range evidence.Tables() {
		out = append(out, t.Name)
	}
	for _, v := range Views() {
		out = append(out, v.Name)
	}
	return out
}

// duckType is the type of a column in DuckDB.
func duckType(c *columns.Column) string {
	t := map[columns.Type]string{
		columns.String: "VARCHAR", columns.Bool: "BOOLEAN", columns.Int64: "BIGINT", columns.Uint64: "UBIGINT",
		columns.Float64: "DOUBLE", columns.Timestamp: "TIMESTAMPTZ",
	}[c.Type]
	switch c.Shape {
	case columns.List:
		return t + "[]"
	case columns.Map:
		return "MAP(VARCHAR, VARCHAR)"
	}
	return t
}

// isSensitive is the condition on runs whose rows are left out.
const isSensitive = "sensitivity = 'sensitive'"

// withhold leaves what derives from the artifacts of sensitive runs out of a table. That they ran is no secret.
func withhold(table, sql string) string {
	if table == evidence.RunsTable {
		return "SELECT * REPLACE (CASE WHEN " + isSensitive + " THEN [] ELSE limitations END AS limitations, CASE WHEN " + isSensitive + " THEN [] ELSE invalid END AS invalid) FROM (" + sql + ")"
	}
	return "SELECT * FROM (" + sql + ") WHERE run NOT IN (SELECT run FROM sensitive_runs)"
}

// tableSQL selects a table's columns from its files. has are the columns that the files have, nil where they
// have all: files of another version of flameox may lack some, which are null then.
func tableSQL(t *evidence.Table, files []string, has map[string]bool) string {
	var cols []string
	for i := range t.Columns {
		c := &t.Columns[i]
		if len(files) == 0 || has != nil && !has[c.Name] {
			cols = append(cols, fmt.Sprintf("NULL::%s AS %s", duckType(c), ident(c.Name)))
		} else {
			cols = append(cols, ident(c.Name))
		}
	}
	list := strings.Join(cols, ", ")
	if len(files) == 0 {
		return "SELECT " + list + " WHERE false"
	}
	var paths []string
	for _, f := range files {
		paths = append(paths, literal(f))
	}
	return fmt.Sprintf("SELECT %s FROM read_parquet([%s], hive_partitioning = false, filename = false)", list, strings.Join(paths, ", "))
}

func ident(s string) string   { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }
func literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
