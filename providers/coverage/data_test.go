package coverage_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/providers/coverage"
	"github.com/flameox/flameox/providers/providertest"
)

// made makes data files with coverage's own API, of what its runs do not leave by themselves.
const made = `
import sqlite3, sys
from coverage import CoverageData
path, kind = sys.argv[1:]
if kind == "half made":
    sqlite3.connect(path).execute("create table t (x)")
    sys.exit()
data = CoverageData(basename=path)
if kind == "numbits":
    data.add_lines({"/p/a.py": [1, 3]})
elif kind == "contexts":
    for context, lines in (("", [1]), ("one", [1, 2]), ("two", [2])):
        data.set_context(context)
        data.add_lines({"/p/a.py": lines})
elif kind == "tracer":
    data.add_arcs({"/p/a.html": [(-1, 1), (1, -1)]})
    data.add_file_tracers({"/p/a.html": "django_coverage_plugin"})
elif kind == "nothing":
    data.write()
else:
    data.add_arcs({"/p/a.py": [(-1, 1), (1, 2), (2, 6), (-2, 3), (3, 4), (4, -2), (6, -1)]})
data.close()
db = sqlite3.connect(path)
if kind == "schema 6" or kind == "schema 8":
    db.execute("update coverage_schema set version = ?", (int(kind[-1]),))
if kind.startswith("without "):
    db.execute("drop table " + kind.split()[1])
db.commit()
db.close()
`

func database(t *testing.T, kind string) []byte {
	t.Helper()
	name := filepath.Join(t.TempDir(), "data")
	if out, err := exec.Command(python(t, newest), "-c", made, name, kind).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v %s", kind, err, out)
	}
	return bytesOf(t, name)
}

// of is an import of data.
func of(t *testing.T, data []byte) providers.Input {
	t.Helper()
	return providertest.Input(t, coverage.Role, data)
}

func TestArcsGiveLinesAndStayAsTheyAre(t *testing.T) {
	_, tables := extract(t, newest, of(t, database(t, "arcs")))
	var lines []string
	for _, n := range []int{1, 2, 3, 4, 6} {
		lines = append(lines, fmt.Sprintf("/p/a.py:%d <nil>", n))
	}
	if got := slices.Sorted(maps.Keys(set(tables, "coverage_lines"))); !slices.Equal(got, lines) {
		t.Error(got)
	}
	if arcs := set(tables, "coverage_arcs"); len(arcs) != 7 || !arcs["/p/a.py:4>-2 <nil>"] || !arcs["/p/a.py:-1>1 <nil>"] {
		t.Error(arcs)
	}
}

func TestLinesContextsAndPlugins(t *testing.T) {
	_, tables := extract(t, newest, of(t, database(t, "numbits")))
	if got := slices.Sorted(maps.Keys(set(tables, "coverage_lines"))); !slices.Equal(got, []string{"/p/a.py:1 <nil>", "/p/a.py:3 <nil>"}) || len(tables["coverage_arcs"]) > 0 {
		t.Error(got)
	}
	_, tables = extract(t, newest, of(t, database(t, "contexts")))
	if got := slices.Sorted(maps.Keys(set(tables, "coverage_lines"))); !slices.Equal(got, []string{"/p/a.py:1 <nil>", "/p/a.py:1 one", "/p/a.py:2 one", "/p/a.py:2 two"}) {
		t.Error(got)
	}
	_, tables = extract(t, newest, of(t, database(t, "tracer")))
	if tables["coverage_lines"][0]["tracer"] != "django_coverage_plugin" || len(tables["coverage_arcs"]) != 2 {
		t.Error(tables)
	}
}

func TestWhatIsNoWholeDataFileIsRefused(t *testing.T) {
	whole := database(t, "arcs")
	for name, c := range map[string]struct {
		data []byte
		code string
	}{
		"schema 6":      {database(t, "schema 6"), "incompatible_schema"},
		"schema 8":      {database(t, "schema 8"), "incompatible_schema"},
		"half made":     {database(t, "half made"), "tables_missing"},
		"without meta":  {database(t, "without meta"), "tables_missing"},
		"without arc":   {database(t, "without arc"), "tables_missing"},
		"cut":           {whole[:len(whole)-4096], "data_damaged"},
		"before 5":      {[]byte("!coverage.py: This is a private format, don't read it directly!{\"lines\":{}}"), coverage.OldData},
		"another":       {[]byte("hello, world, and more\n"), coverage.NotData},
		"nothing":       {nil, coverage.EmptyFile},
		"only the name": {[]byte("SQLite format 3\x00"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			in := of(t, c.data)
			before := slices.Clone(c.data)
			out, _ := extract(t, newest, in)
			if out.State != evidence.Incompatible || c.code != "" && !providertest.HasCode(out.Limitations, c.code) {
				t.Errorf("%+v", out)
			}
			if !slices.Equal(bytesOf(t, in.Artifacts[0].Path), before) {
				t.Error("reading changed the payload")
			}
			in.Paths, in.Exit = providers.Paths{Root: "/p"}, 0
			if r, err := p.Validate(t.Context(), read(t, newest, "validate", in)); err != nil || r.Valid {
				t.Errorf("%+v %v", r, err)
			}
		})
	}
}

func TestABudgetIsHeldInTheMiddleOfAFile(t *testing.T) {
	in := read(t, newest, "extract", of(t, database(t, "arcs"))) // 12 rows
	b := evidence.DefaultBudget()
	for rows, state := range map[int64]evidence.State{12: evidence.Complete, 11: evidence.Incompatible, 3: evidence.Incompatible} {
		b.Rows = rows
		out, tables := providertest.Extract(t, p, in, nil, b)
		if out.State != state || state == evidence.Incompatible && len(tables) > 0 {
			t.Errorf("%d rows: %+v %v", rows, out, tables)
		}
	}
}

func TestAnotherVersionThanTheCapturesIsSaid(t *testing.T) {
	in := read(t, oldest, "extract", of(t, database(t, "arcs")))
	in.Reading.Version = newest
	out, _ := providertest.Extract(t, p, in, nil, evidence.DefaultBudget())
	if out.State != evidence.Unavailable || !providertest.HasCode(out.Limitations, coverage.ReaderOther) {
		t.Errorf("%+v", out)
	}
}

// oracle reads a data file with SQL, as coverage's manual describes its tables.
const oracle = `
import json, sqlite3, sys
db = sqlite3.connect("file:%s?mode=ro&immutable=1" % sys.argv[1], uri=True)
lines, arcs = set(), set()
for path, context, a, b in db.execute("select f.path, c.context, a.fromno, a.tono from arc a join file f on f.id = a.file_id join context c on c.id = a.context_id"):
    arcs.add("%s:%d>%d %s" % (path, a, b, context or "<nil>"))
    lines.update("%s:%d %s" % (path, n, context or "<nil>") for n in (a, b) if n > 0)
for path, context, bits in db.execute("select f.path, c.context, l.numbits from line_bits l join file f on f.id = l.file_id join context c on c.id = l.context_id"):
    lines.update("%s:%d %s" % (path, 8 * i + j, context or "<nil>") for i, byte in enumerate(bits) for j in range(8) if byte >> j & 1)
json.dump({"lines": sorted(lines), "arcs": sorted(arcs)}, sys.stdout)
`

func TestFixturesAgreeWithSQL(t *testing.T) {
	data := providertest.Fixture(t, "coverage/local-coverage6.5.0-branch-contexts.sqlite")
	if !p.Formats()[0].Detect(data[:4096]) {
		t.Error("it is not recognized")
	}
	in := of(t, data)
	out, tables := extract(t, newest, in)
	if out.State != evidence.Complete || out.Producer != "6.5.0" {
		t.Errorf("%+v", out)
	}
	text, err := exec.Command(python(t, newest), "-c", oracle, in.Artifacts[0].Path).Output()
	if err != nil {
		t.Fatal(err)
	}
	var theirs struct{ Lines, Arcs []string }
	if err := json.Unmarshal(text, &theirs); err != nil {
		t.Fatal(err)
	}
	for table, want := range map[string][]string{"coverage_lines": theirs.Lines, "coverage_arcs": theirs.Arcs} {
		if got := set(tables, table); len(got) != len(want) || slices.ContainsFunc(want, func(k string) bool { return !got[k] }) || len(want) < 100 {
			t.Errorf("%s: %d rows, and SQL has %d", table, len(got), len(want))
		}
	}
	out, _ = extract(t, newest, of(t, providertest.Fixture(t, "coverage/local-coverage6.5.0-empty.sqlite")))
	if out.State != evidence.Empty || !providertest.HasCode(out.Limitations, coverage.NothingRan) {
		t.Errorf("%+v", out)
	}
	out, _ = extract(t, newest, of(t, providertest.Fixture(t, "coverage/pdf2textbox.coverage")))
	if out.State != evidence.Incompatible || !providertest.HasCode(out.Limitations, coverage.OldData) {
		t.Errorf("%+v", out)
	}
}
