//go:build cgo

package query

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/duckdb/duckdb-go/v2"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/evidence/publish"
	"github.com/flameox/flameox/internal/selftrace"
)

// Available says whether this build can answer SQL.
const Available = true

// DB is one pinned generation of the published evidence. It is for one goroutine.
type DB struct {
	connector *duckdb.Connector
	conn      *duckdb.Conn
	temp      string // private; "" until Open made it
	withheld  int    // runs whose rows are left out
}

// Open pins the generation that is published at dir (".flameox/evidence") and makes the tables and views.
// Where nothing was published every table is there and empty.
func Open(dir string, opt Options) (_ *DB, err error) {
	g, err := publish.Pin(dir)
	if err != nil && !errors.Is(err, publish.ErrNotPublished) {
		return nil, err
	}
	db := &DB{}
	defer func() {
		if err != nil {
			db.Close()
		}
	}()
	if db.temp, err = os.MkdirTemp(opt.Temp, "flameox-query-"); err != nil {
		return nil, fmt.Errorf("opening the evidence: %w", err)
	}
	if db.connector, err = duckdb.NewConnector(dsn(opt), nil); err != nil {
		return nil, fmt.Errorf("starting DuckDB: %w", err)
	}
	conn, err := db.connector.Connect(context.Background())
	if err != nil {
		return nil, fmt.Errorf("starting DuckDB: %w", err)
	}
	db.conn = conn.(*duckdb.Conn)
	failed := func(err error) (*DB, error) { return nil, fmt.Errorf("opening the evidence at %s: %w", dir, err) }
	tables, files, err := tablesOf(g)
	if err != nil {
		return failed(err)
	}
	if !opt.Sensitive {
		if err := db.exec("CREATE TEMP TABLE sensitive_runs AS SELECT run FROM (" + tables[evidence.RunsTable] + ") WHERE " + isSensitive); err != nil {
			return failed(err)
		}
		if db.withheld, err = db.count("SELECT count(*) FROM sensitive_runs"); err != nil {
			return failed(err)
		}
	}
	for _, sql := range db.setup(tables, files) {
		if err := db.exec(sql); err != nil {
			return failed(err)
		}
	}
	return db, nil
}

// Withheld is how many runs there are whose rows are left out because they are sensitive.
func (db *DB) Withheld() int { return db.withheld }

func dsn(opt Options) string {
	memory := opt.Memory
	if memory <= 0 {
		memory = 1 << 30
	}
	s := fmt.Sprintf("?autoinstall_known_extensions=false&autoload_known_extensions=false&memory_limit=%dB", memory)
	if opt.Threads > 0 {
		s += fmt.Sprintf("&threads=%d", opt.Threads)
	}
	return s
}

// tablesOf is the query behind each table, and the files that all of them read.
func tablesOf(g *publish.Generation) (tables map[string]string, all []string, err error) {
	tables = map[string]string{}
	for _, t := range evidence.Tables() {
		var files []string
		var has map[string]bool
		if g != nil {
			for _, f := range g.Files(t.Name) {
				abs, err := filepath.Abs(f)
				if err != nil {
					return nil, nil, err
				}
				files = append(files, abs)
				all = append(all, literal(abs))
			}
			if len(files) > 0 && !g.Current(t.Name) {
				info, err := evidence.Describe(files[0])
				if err != nil {
					return nil, nil, err
				}
				has = map[string]bool{}
				for _, c := range info.Columns {
					has[c.Name] = true
				}
			}
		}
		tables[t.Name] = tableSQL(&t, files, has)
	}
	return tables, all, nil
}

// setup is the statements that make the views and then close the door. The order matters: what is closed
// cannot be opened again.
func (db *DB) setup(tables map[string]string, files []string) []string {
	var out []string
	for _, t := range evidence.Tables() {
		sql := tables[t.Name]
		if db.withheld > 0 {
			sql = withhold(t.Name, sql)
		}
		out = append(out, fmt.Sprintf("CREATE VIEW %s AS %s", ident(t.Name), sql))
	}
	for _, v := range Views() {
		out = append(out, fmt.Sprintf("CREATE VIEW %s AS %s", ident(v.Name), v.sql))
	}
	return append(out,
		"SET TimeZone = 'UTC'",
		"SET temp_directory = "+literal(db.temp),
		"SET allowed_directories = ["+literal(db.temp)+"]",
		"SET allowed_paths = ["+strings.Join(files, ", ")+"]",
		"SET enable_external_access = false",
		"SET lock_configuration = true",
	)
}

// Close ends DuckDB and removes what it left.
func (db *DB) Close() error {
	var errs []error
	if db.conn != nil {
		errs = append(errs, db.conn.Close())
	}
	if db.connector != nil {
		errs = append(errs, db.connector.Close())
	}
	if db.temp != "" {
		errs = append(errs, os.RemoveAll(db.temp))
	}
	*db = DB{}
	return errors.Join(errs...)
}

func (db *DB) count(sql string) (n int, err error) {
	err = db.Each(context.Background(), sql, func(_ []Column, row []any) error {
		n = int(row[0].(int64))
		return nil
	})
	return n, err
}

func (db *DB) exec(sql string) error {
	_, err := db.conn.ExecContext(context.Background(), sql, nil)
	return err
}

// Query answers one SQL query in a format. An error in the query is an *Error.
func (db *DB) Query(ctx context.Context, sql string, f Format, w io.Writer) error {
	if f == Parquet {
		return db.Parquet(ctx, sql, nil, w)
	}
	var enc encoder
	err := db.run(ctx, sql, func(cols []Column) (err error) {
		enc, err = newEncoder(f, w, cols)
		return err
	}, func(row []any) error { return enc.row(row) })
	if err != nil {
		return err
	}
	return enc.close()
}

// Each answers one SQL query row by row. Kind says which Go type a value has. The slices are reused.
func (db *DB) Each(ctx context.Context, sql string, fn func(cols []Column, row []any) error) error {
	var cols []Column
	return db.run(ctx, sql, func(c []Column) error { cols = c; return nil }, func(row []any) error { return fn(cols, row) })
}

// prepare checks that sql is one query and prepares it.
func (db *DB) prepare(ctx context.Context, sql string) (*duckdb.Stmt, string, error) {
	one, err := statement(sql)
	if err != nil {
		return nil, "", &Error{Message: err.Error()}
	}
	st, err := db.conn.PrepareContext(ctx, one)
	if err != nil {
		return nil, "", wrap(err, one)
	}
	stmt := st.(*duckdb.Stmt)
	kind, err := stmt.StatementType()
	if err != nil {
		stmt.Close()
		return nil, "", wrap(err, one)
	}
	if kind != duckdb.STATEMENT_TYPE_SELECT && kind != duckdb.STATEMENT_TYPE_EXPLAIN {
		stmt.Close()
		return nil, "", &Error{Message: "only queries are answered: SELECT, WITH, FROM, DESCRIBE, SUMMARIZE, SHOW, EXPLAIN",
			Hint: "The published evidence follows from the store; nothing is changed through it."}
	}
	if n := stmt.NumInput(); n > 0 {
		stmt.Close()
		return nil, "", &Error{Message: fmt.Sprintf("the query has %d parameters and no values for them", n), Hint: "Write the values into the query."}
	}
	return stmt, one, nil
}

func wrap(err error, sql string) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("query: %w", err)
	}
	var d *duckdb.Error
	if errors.As(err, &d) {
		return explain(d.Msg, sql)
	}
	return &Error{Message: err.Error()}
}

func (db *DB) run(ctx context.Context, sql string, start func([]Column) error, each func([]any) error) error {
	defer selftrace.Begin(ctx, "query").End()
	stmt, one, err := db.prepare(ctx, sql)
	if err != nil {
		return err
	}
	defer stmt.Close()
	rows, err := stmt.QueryContext(ctx, nil)
	if err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return wrap(err, one)
	}
	defer rows.Close()
	cols, err := columnsOf(stmt, rows)
	if err != nil {
		return err
	}
	if err := start(cols); err != nil {
		return err
	}
	raw, row := make([]driver.Value, len(cols)), make([]any, len(cols))
	for {
		err := rows.Next(raw)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return wrap(err, one)
		}
		if err := ctx.Err(); err != nil {
			return wrap(err, one)
		}
		for i := range raw {
			if row[i], err = value(&cols[i].Type, raw[i]); err != nil {
				return fmt.Errorf("query: column %s: %w", cols[i].Name, err)
			}
		}
		if err := each(row); err != nil {
			return err
		}
	}
}

// Parquet writes the answer as one Parquet file with key-value metadata. DuckDB writes it, privately, and it is copied.
func (db *DB) Parquet(ctx context.Context, sql string, meta map[string]string, w io.Writer) error {
	stmt, one, err := db.prepare(ctx, sql) // for its errors: positions count from here
	if err != nil {
		return err
	}
	stmt.Close()
	path := filepath.Join(db.temp, "answer.parquet")
	defer os.Remove(path)
	copied := fmt.Sprintf("COPY (\n%s\n) TO %s (FORMAT parquet, COMPRESSION zstd%s)", one, literal(path), kvMetadata(meta))
	if _, err := db.conn.ExecContext(ctx, copied, nil); err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return wrap(err, one)
	}
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("query: reading the answer: %w", err)
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}

// kvMetadata is the option of COPY that writes metadata, names in order.
func kvMetadata(meta map[string]string) string {
	if len(meta) == 0 {
		return ""
	}
	var list []string
	for _, name := range slices.Sorted(maps.Keys(meta)) {
		list = append(list, literal(name)+": "+literal(meta[name]))
	}
	return ", KV_METADATA {" + strings.Join(list, ", ") + "}"
}
