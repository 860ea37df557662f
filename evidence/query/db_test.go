//go:build cgo

package query

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/parquet/file"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/evidence/publish"
)

func TestEveryTableAndViewIsThereBeforeAnythingWasPublished(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "evidence"))
	for _, name := range names() {
		if got := ask(t, db, "SELECT count(*) AS n FROM "+name, CSV); got != "n\n0\n" {
			t.Errorf("%s: %q", name, got)
		}
	}
	for _, table := range evidence.Tables() {
		var have []string
		if err := db.Each(context.Background(), "DESCRIBE "+table.Name, func(_ []Column, row []any) error {
			have = append(have, row[0].(string)+" "+row[1].(string))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		for i, c := range table.Columns {
			if want := c.Name + " " + strings.Replace(duckType(&c), "TIMESTAMPTZ", "TIMESTAMP WITH TIME ZONE", 1); have[i] != want {
				t.Errorf("%s: column %d is %s, want %s", table.Name, i, have[i], want)
			}
		}
	}
}

func TestTheTypesOfPublishedAndEmptyTablesAreTheSame(t *testing.T) {
	empty, full := open(t, filepath.Join(t.TempDir(), "evidence")), open(t, published(t, 2, 3))
	for _, name := range names() {
		a, b := ask(t, empty, "DESCRIBE "+name, CSV), ask(t, full, "DESCRIBE "+name, CSV)
		if a != b {
			t.Errorf("%s differs\nempty:\n%s\npublished:\n%s", name, a, b)
		}
	}
}

func TestRowsStandBesideTheirRun(t *testing.T) {
	db := open(t, published(t, 3, 4))
	got := ask(t, db, `SELECT run_address, run_axes['n'] AS n, run_valid, count(*) AS rows, max(value_int) AS top
		FROM measurements_runs GROUP BY ALL ORDER BY ALL`, CSV)
	want := "run_address,n,run_valid,rows,top\n" +
		"\"capture.pyperf.sort[\"\"n=0\"\"]\",0,false,4,4611686018427387906\n" +
		"\"capture.pyperf.sort[\"\"n=0\"\"]\",0,true,4,4611686018427387906\n" +
		"\"capture.pyperf.sort[\"\"n=1\"\"]\",1,true,4,4611686018427387906\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestLatestIsTheNewestValidRunOfEveryAddress(t *testing.T) {
	db := open(t, published(t, 5, 1)) // runs 0 to 4; 4 is not valid
	if got := ask(t, db, "SELECT run FROM latest ORDER BY run", CSV); got != "run\n01RUN00002\n01RUN00003\n" {
		t.Errorf("%q", got)
	}
}

func TestHotspotsCountEverySampleOnce(t *testing.T) {
	db := open(t, published(t, 1, 1))
	got := ask(t, db, `SELECT "function", self, inclusive, self_share, inclusive_share FROM hotspots`, CSV)
	want := "function,self,inclusive,self_share,inclusive_share\nmerge,8,8,0.8,0.8\nsort,2,10,0.2,1\nmain,0,10,0,1\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

const everything = `SELECT 9223372036854775807 AS big, 18446744073709551615::UBIGINT AS ubig, sum(9223372036854775807::BIGINT) OVER () AS huge,
	1.5 AS dec, 12345678901234567890.5 AS longdec, 0.1::DOUBLE AS d, 'NaN'::DOUBLE AS nan, NULL::INTEGER AS missing, '' AS empty, 'a"b,é' AS txt,
	true AS yes, TIMESTAMPTZ '2026-05-01 12:00:00.25+00' AS at, DATE '2026-05-01' AS day, TIME '01:02:03.5' AS tod,
	INTERVAL '1 month 2 days 3.5 seconds' AS span, [1, NULL, 3] AS list, {'a': 1, 'b': 'x'} AS rec, MAP {'z': 1, 'a': 2} AS m, '\x01\xFF'::BLOB AS bytes,
	uuid '00000000-0000-0000-0000-0000000000ff' AS id, '{"k": [1]}'::JSON AS js`

func TestJSONKeepsEveryDigitAndEveryNull(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "evidence"))
	want := `[
{"big":9223372036854775807,"ubig":18446744073709551615,"huge":9223372036854775807,"dec":1.5,"longdec":"12345678901234567890.5","d":0.1,"nan":"NaN","missing":null,"empty":"","txt":"a\"b,é","yes":true,"at":"2026-05-01T12:00:00.25Z","day":"2026-05-01","tod":"01:02:03.5","span":"P1M2DT3.5S","list":[1,null,3],"rec":{"a":1,"b":"x"},"m":{"z":1,"a":2},"bytes":"Af8=","id":"00000000-0000-0000-0000-0000000000ff","js":"{\"k\":[1]}"}
]
`
	if got := ask(t, db, everything, JSON); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := ask(t, db, "SELECT 1 AS a WHERE false", JSON); got != "[]\n" {
		t.Errorf("no rows: %q", got)
	}
	if got := ask(t, db, "FROM range(2) t(n)", JSON); got != "[\n{\"n\":0},\n{\"n\":1}\n]\n" {
		t.Errorf("two rows: %q", got)
	}
}

func TestCSVTellsMissingFromEmpty(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "evidence"))
	if got := ask(t, db, "SELECT 1 AS a, NULL AS b, '' AS c, 'x\ny' AS d", CSV); got != "a,b,c,d\n1,,\"\",\"x\ny\"\n" {
		t.Errorf("%q", got)
	}
}

func TestATableIsAlignedAndPrintable(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "evidence"))
	got := ask(t, db, "SELECT * FROM (VALUES ('sort', 12, NULL), ('é'||chr(27)||'[2J', 7, 1.25)) t(name, n, share)", Table)
	want := "name       n  share\n" +
		"sort      12   NULL\n" +
		"é\\x1b[2J   7   1.25\n" +
		"2 rows\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := ask(t, db, "SELECT repeat('x', 500) AS long", Table); len(got) > 200 || !strings.Contains(got, "…") {
		t.Errorf("a long value is shown in full: %q", got)
	}
}

func TestArrowHoldsTheTypedValues(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "evidence"))
	r, err := ipc.NewReader(strings.NewReader(ask(t, db, everything, Arrow)))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	if !r.Next() {
		t.Fatal(r.Err())
	}
	rec := r.RecordBatch()
	var got []string
	for i, f := range r.Schema().Fields() {
		got = append(got, f.Name+" "+f.Type.String()+" "+rec.Column(i).ValueStr(0))
	}
	want := []string{
		"big int64 9223372036854775807", "ubig uint64 18446744073709551615", "huge decimal256(39, 0) 9223372036854775807", "dec decimal(2, 1) 1.5",
	}
	for i, w := range want {
		if got[i] != w {
			t.Errorf("column %d is %q, want %q", i, got[i], w)
		}
	}
	for _, w := range []string{`list list<item: int32, nullable> [1,null,3]`, `rec struct<a: int32 nullable, b: utf8 nullable> {"a":1,"b":"x"}`, `yes bool true`, `missing int32 (null)`} {
		if !strings.Contains(strings.Join(got, "\n"), w) {
			t.Errorf("no column is %q in\n%s", w, strings.Join(got, "\n"))
		}
	}
	// Several record batches.
	r2, err := ipc.NewReader(strings.NewReader(ask(t, db, "SELECT n, n::VARCHAR AS s FROM range(40000) t(n)", Arrow)))
	if err != nil {
		t.Fatal(err)
	}
	defer r2.Release()
	var rows int64
	for r2.Next() {
		rows += r2.RecordBatch().NumRows()
	}
	if rows != 40000 || r2.Err() != nil || r2.Schema().Field(1).Type.ID() != arrow.STRING {
		t.Errorf("%d rows, %v", rows, r2.Err())
	}
}

func TestParquetIsOneFile(t *testing.T) {
	dir := published(t, 2, 3)
	db := open(t, dir)
	answer := ask(t, db, "SELECT run, value_int, dimensions FROM measurements WHERE value_int IS NOT NULL ORDER BY ALL -- the samples", Parquet)
	r, err := file.NewParquetReader(strings.NewReader(answer))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if r.NumRows() != 4 || r.MetaData().Schema.Root().NumFields() != 3 || r.MetaData().Schema.Column(1).Name() != "value_int" {
		t.Errorf("%d rows of %s", r.NumRows(), r.MetaData().Schema)
	}
	left, _ := os.ReadDir(db.temp)
	if len(left) != 0 {
		t.Errorf("the answer was left behind: %v", left)
	}
}

func TestOnlyOneQueryIsAnswered(t *testing.T) {
	dir := published(t, 1, 2)
	g, err := publish.Pin(dir)
	if err != nil {
		t.Fatal(err)
	}
	segment := g.Files("measurements")[0]
	before, err := os.ReadFile(segment)
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "out.csv")
	secret := filepath.Join(t.TempDir(), "secret.txt")
	if err := os.WriteFile(secret, []byte("secret\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	db := open(t, dir)
	for _, sql := range []string{
		"COPY (SELECT 1) TO '" + out + "'",
		"COPY (SELECT 1) TO '" + segment + "' (FORMAT parquet)",
		"COPY (SELECT 1) TO '" + segment + "' (FORMAT parquet); SELECT 1",
		"SELECT 1; COPY (SELECT 1) TO '" + segment + "' (FORMAT parquet)",
		"SELECT ';'; DROP VIEW runs",
		"CREATE TABLE x AS SELECT 1",
		"DROP VIEW runs",
		"SET threads = 4",
		"RESET enable_external_access",
		"ATTACH '" + out + "'",
		"INSTALL httpfs",
		"LOAD httpfs",
		"EXPORT DATABASE '" + out + "'",
		"PRAGMA database_list; SELECT 1",
		"SELECT * FROM read_csv('" + secret + "')",
		"SELECT * FROM read_text('" + secret + "')",
		"SELECT * FROM '" + secret + "'",
		"SELECT * FROM glob('" + filepath.Dir(secret) + "/*')",
		"SELECT * FROM read_parquet('http://127.0.0.1:1/x.parquet')",
		"SELECT ?",
		"",
		" ; -- nothing",
	} {
		var b bytes.Buffer
		err := db.Query(context.Background(), sql, JSON, &b)
		if strings.Contains(b.String(), "secret") {
			t.Errorf("%s read a file", sql)
		}
		if err == nil && b.String() != "[]\n" {
			t.Errorf("%s was answered: %s", sql, b.String())
		}
	}
	after, err := os.ReadFile(segment)
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("a query changed a published file: %v", err)
	}
	if _, err := os.Stat(out); !errors.Is(err, os.ErrNotExist) {
		t.Error("a query wrote a file")
	}
	if got := ask(t, db, "SELECT count(*) AS n FROM runs; -- done", CSV); got != "n\n1\n" {
		t.Errorf("after all that: %q", got)
	}
}

func TestErrorsPointAtThePlaceAndSayWhatToDo(t *testing.T) {
	db := open(t, published(t, 1, 1))
	for _, c := range []struct {
		sql          string
		line, column int
		says         []string
	}{
		{"SELECT *\nFROM measurments", 2, 6, []string{`"measurments"`, "Did you mean measurements?", "frames", "hotspots"}},
		{"SELECT valeu_int FROM measurements", 1, 8, []string{`"valeu_int"`, "Did you mean value_int?", "flameox tables"}},
		{"SELECT m.unti FROM measurements m", 1, 8, []string{`"unti"`, "Did you mean unit?"}},
		{"SELECT symbolization FROM stacks", 1, 8, []string{"symbolization is a column of frames"}},
		{"SELECT * FROM runs WHER valid", 1, 25, []string{"syntax error"}},
		{"SELECT\t* FROM nothing", 1, 15, []string{`"nothing"`}},
		{"SELECT '" + strings.Repeat("é", 200) + "' AS x, nope FROM runs WHERE '" + strings.Repeat("y", 200) + "' = ''", 1, 217, []string{`"nope"`}},
	} {
		err := db.Query(context.Background(), c.sql, Table, &bytes.Buffer{})
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%s: %v", c.sql, err)
			continue
		}
		if e.Line != c.line || e.Column != c.column {
			t.Errorf("%s: position %d:%d, want %d:%d\n%v", c.sql, e.Line, e.Column, c.line, c.column, err)
		}
		for _, s := range c.says {
			if !strings.Contains(err.Error(), s) {
				t.Errorf("%s: the error does not say %q:\n%v", c.sql, s, err)
			}
		}
	}
}

func TestAnErrorWhileRunningIsReported(t *testing.T) {
	db := open(t, published(t, 1, 1))
	err := db.Query(context.Background(), "SELECT (run || 'x')::INTEGER FROM runs", CSV, &bytes.Buffer{})
	var e *Error
	if !errors.As(err, &e) || !strings.Contains(e.Message, "01RUN00000x") {
		t.Errorf("%v", err)
	}
}

func TestAQueryEndsWithItsContext(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "evidence"))
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	start := time.Now()
	err := db.Query(ctx, "SELECT count(*) FROM range(100000000000) a WHERE sin(a.range) > 2", CSV, &bytes.Buffer{})
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > 10*time.Second {
		t.Errorf("%v after %v", err, time.Since(start))
	}
}

func TestAnOpenDatabaseShowsItsGenerationWhileANewOneIsPublished(t *testing.T) {
	dir := published(t, 2, 5)
	db := open(t, dir)
	rows, load, err := publish.Rows([]evidence.Run{row(9, "capture.pyperf.new", true)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := publish.New(dir, func() time.Time { return day.Add(time.Minute) }).Publish(context.Background(), publish.Desired{Runs: rows, Load: load}); err != nil {
		t.Fatal(err)
	}
	const count = "SELECT (SELECT count(*) FROM runs) AS r, (SELECT count(*) FROM measurements) AS m"
	if got := ask(t, db, count, CSV); got != "r,m\n2,10\n" {
		t.Errorf("the pinned generation shows %q", got)
	}
	if got := ask(t, open(t, dir), count, CSV); got != "r,m\n1,0\n" {
		t.Errorf("a new reader shows %q", got)
	}
}

func TestTimesAndNumbersOfRunsComeBackExactly(t *testing.T) {
	db := open(t, published(t, 1, 1))
	got := ask(t, db, "SELECT started, wall_ns, limitations, exit, signal, axes FROM runs", JSON)
	want := "[\n" + `{"started":"2026-05-01T12:00:00.123456Z","wall_ns":1152921504606846976,"limitations":["a: b"],"exit":0,"signal":null,"axes":{"n":"0"}}` + "\n]\n"
	if got != want {
		t.Errorf("got %s want %s", got, want)
	}
	// Unsigned statistics: a filter beyond int64 must not skip the row group.
	if got := ask(t, db, "SELECT count(*) AS n FROM frame_values WHERE samples > 9223372036854775807", CSV); got != "n\n1\n" {
		t.Errorf("%q", got)
	}
}
