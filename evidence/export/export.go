package export

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/evidence/publish"
	"github.com/flameox/flameox/evidence/query"
)

// Format is how rows are written; it is also the extension of the files.
type Format string

// The formats.
const (
	Parquet Format = "parquet"
	CSV     Format = "csv"   // with a header; a missing value is an empty field, an empty text is ""
	JSONL   Format = "jsonl" // one object a line; integers exact
	Arrow   Format = "arrow" // an Arrow IPC stream
)

// Formats lists all formats.
func Formats() []Format { return []Format{Parquet, CSV, JSONL, Arrow} }

// Options say what to export.
type Options struct {
	View      string // the published view, ".flameox/evidence"
	Format    Format
	Tables    []string // all where empty
	Where     string   // a condition in SQL on the rows of every table; all where empty
	Sensitive bool     // also rows of sensitive runs
	Threads   int      // 0: one per CPU
}

// Report is what was written.
type Report struct {
	Format   int    `json:"format"` // 1
	Files    []File `json:"files"`
	Withheld int    `json:"withheld"` // sensitive runs whose rows were left out
}

// File is one written file.
type File struct {
	Table string `json:"table"`
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
}

// ErrNeedsDuckDB says that this build can only copy.
var ErrNeedsDuckDB = errors.New("this build of flameox has no DuckDB, because it was built without cgo: it exports whole tables as Parquet into a directory, and only where no run is sensitive; install a build with it for the rest")

// Dir writes one file a table into dir, which must not exist or be empty, and columns.json with what the columns mean.
func Dir(ctx context.Context, o Options, dir string) (*Report, error) {
	tables, err := chosen(o.Tables)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("export evidence: %w", err)
	}
	if len(entries) > 0 {
		return nil, fmt.Errorf("export evidence: %s is not empty; name a new directory, so that a pattern over it finds only what was exported", dir)
	}
	if !query.Available {
		return copied(ctx, o, tables, dir)
	}
	db, err := query.Open(o.View, query.Options{Threads: o.Threads, Sensitive: o.Sensitive})
	if err != nil {
		return nil, err
	}
	defer db.Close()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("export evidence: %w", err)
	}
	r := &Report{Format: 1, Files: []File{}, Withheld: db.Withheld()}
	for _, t := range tables {
		if err := r.write(ctx, db, o, t, filepath.Join(dir, t.Name+"."+string(o.Format))); err != nil {
			return r, err
		}
	}
	return r, describe(tables, filepath.Join(dir, "columns.json"))
}

// One writes the only table of o to path, which must not exist.
func One(ctx context.Context, o Options, path string) (*Report, error) {
	tables, err := chosen(o.Tables)
	if err != nil {
		return nil, err
	}
	if len(tables) != 1 {
		return nil, fmt.Errorf("export evidence: a file holds one table, and %d are asked for; name a directory instead", len(tables))
	}
	if !query.Available {
		return nil, ErrNeedsDuckDB
	}
	db, err := query.Open(o.View, query.Options{Threads: o.Threads, Sensitive: o.Sensitive})
	if err != nil {
		return nil, err
	}
	defer db.Close()
	r := &Report{Format: 1, Files: []File{}, Withheld: db.Withheld()}
	return r, r.write(ctx, db, o, tables[0], path)
}

func chosen(names []string) ([]evidence.Table, error) {
	all := evidence.Tables()
	if len(names) == 0 {
		return all, nil
	}
	var out []evidence.Table
	for _, name := range names {
		t, ok := evidence.Lookup(name)
		if !ok {
			return nil, fmt.Errorf("export evidence: there is no table %q; `flameox tables` lists them", name)
		}
		if !slices.ContainsFunc(out, func(o evidence.Table) bool { return o.Name == name }) {
			out = append(out, *t)
		}
	}
	return out, nil
}

func (r *Report) write(ctx context.Context, db *query.DB, o Options, t evidence.Table, path string) error {
	sql := `SELECT * FROM "` + t.Name + `"`
	if o.Where != "" {
		sql += " WHERE (" + o.Where + "\n)"
	}
	n, err := whole(path, func(w io.Writer) error {
		switch o.Format {
		case Parquet:
			return db.Parquet(ctx, sql, meaning(&t), w)
		case CSV:
			return db.Query(ctx, sql, query.CSV, w)
		case Arrow:
			return db.Query(ctx, sql, query.Arrow, w)
		case JSONL:
			return lines(w, func(w io.Writer) error { return db.Query(ctx, sql, query.JSON, w) })
		}
		return fmt.Errorf("%q is no format of an export; use parquet, csv, jsonl or arrow", o.Format)
	})
	if err != nil {
		return fmt.Errorf("export the table %s: %w", t.Name, err)
	}
	r.Files = append(r.Files, File{Table: t.Name, Path: path, Bytes: n})
	return nil
}

// whole gives a file its name when everything is in it, and replaces none.
func whole(path string, fill func(io.Writer) error) (n int64, err error) {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("%s is there already; name a new file", path)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".flameox-export-")
	if err != nil {
		return 0, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	w := bufio.NewWriterSize(f, 256<<10)
	if err := fill(w); err != nil {
		return 0, err
	}
	if err := w.Flush(); err != nil {
		return 0, err
	}
	if err := f.Chmod(0o644); err != nil {
		return 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), os.Rename(f.Name(), path)
}

// meaning is the metadata that the published files have, too.
func meaning(t *evidence.Table) map[string]string {
	m := map[string]string{"flameox.table": t.Name}
	for _, c := range t.Columns {
		m["flameox.doc."+c.Name] = c.Doc
		if c.Unit != "" {
			m["flameox.unit."+c.Name] = c.Unit
		}
	}
	return m
}

// lines makes one line of each element of a JSON array.
func lines(w io.Writer, array func(io.Writer) error) error {
	pr, pw := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		pw.CloseWithError(array(pw))
	}()
	defer func() {
		pr.Close() // ends the query where a line could not be written
		<-done
	}()
	dec := json.NewDecoder(pr)
	if _, err := dec.Token(); err != nil {
		return err
	}
	var row json.RawMessage
	var line bytes.Buffer
	for dec.More() {
		if err := dec.Decode(&row); err != nil {
			return err
		}
		line.Reset()
		if err := json.Compact(&line, row); err != nil {
			return err
		}
		line.WriteByte('\n')
		if _, err := w.Write(line.Bytes()); err != nil {
			return err
		}
	}
	if _, err := dec.Token(); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, pr)
	return err
}

type columnDoc struct {
	Name string `json:"name"`
	Type string `json:"type"`
	Unit string `json:"unit,omitempty"`
	Doc  string `json:"doc,omitempty"`
}

// describe writes what the columns of the tables mean.
func describe(tables []evidence.Table, path string) error {
	doc := map[string][]columnDoc{}
	for _, t := range tables {
		for _, c := range t.Columns {
			doc[t.Name] = append(doc[t.Name], columnDoc{c.Name, c.ParquetType(), c.Unit, c.Doc})
		}
	}
	b, err := json.MarshalIndent(doc, "", "  ")
	if err == nil {
		_, err = whole(path, func(w io.Writer) error { _, err := w.Write(append(b, '\n')); return err })
	}
	if err != nil {
		return fmt.Errorf("export evidence: %w", err)
	}
	return nil
}

// copied is Dir without DuckDB.
func copied(ctx context.Context, o Options, tables []evidence.Table, dir string) (*Report, error) {
	if o.Format != Parquet || o.Where != "" {
		return nil, ErrNeedsDuckDB
	}
	g, err := publish.Pin(o.View)
	if err != nil {
		return nil, err
	}
	if !o.Sensitive {
		for _, f := range g.Files(evidence.RunsTable) {
			err := evidence.Scan(f, evidence.ScanOptions{Columns: []string{"sensitivity"}}, func(_ []evidence.Column, row []any) error {
				if row[0] == "sensitive" {
					return ErrNeedsDuckDB
				}
				return nil
			})
			if err != nil {
				return nil, err
			}
		}
	}
	var names []string
	for _, t := range tables {
		names = append(names, t.Name)
	}
	if _, err := g.Export(ctx, dir, names); err != nil {
		return nil, err
	}
	r := &Report{Format: 1, Files: []File{}}
	for _, name := range names {
		files, err := filepath.Glob(filepath.Join(dir, name, "*.parquet"))
		if err != nil {
			return r, err
		}
		for _, f := range files {
			if st, err := os.Stat(f); err == nil {
				r.Files = append(r.Files, File{Table: name, Path: f, Bytes: st.Size()})
			}
		}
	}
	return r, describe(tables, filepath.Join(dir, "columns.json"))
}
