package view

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

type model interface {
	Write(io.Writer, Options) error
}

// modes are the outputs that every golden file holds.
var modes = []struct {
	name string
	o    Options
}{
	{"colour", Options{Color: true, Width: 120}},
	{"plain", Options{}},
	{"ascii", Options{ASCII: true, Width: 100}},
	{"narrow", Options{Width: 60}},
}

func golden(t *testing.T, name string, m model) {
	t.Helper()
	var all bytes.Buffer
	for _, mode := range modes {
		var b bytes.Buffer
		if err := m.Write(&b, mode.o); err != nil {
			t.Fatal(err)
		}
		text := b.String()
		if mode.o.Color {
			text = strings.ReplaceAll(text, "\x1b", "␛") // so that a diff can be read
		}
		fmt.Fprintf(&all, "== %s\n%s", mode.name, text)
		checkShape(t, name+" "+mode.name, b.String(), mode.o)
	}
	compare(t, name, all.Bytes())
}

func compare(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.MkdirAll("testdata", 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; make it with go test -update", err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("%s: -want +got:\n%s", name, d)
	}
}

// checkShape is what every output keeps, whatever its golden file says.
func checkShape(t *testing.T, what, text string, o Options) {
	t.Helper()
	if !strings.HasSuffix(text, "\n") {
		t.Errorf("%s: no line break at the end", what)
	}
	for n, l := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		seen := clean(l)
		if o.Color {
			l = seen
		} else if l != seen {
			t.Errorf("%s, line %d: control characters in %q", what, n+1, l)
		}
		if o.Width > 0 && utf8.RuneCountInString(seen) > o.Width {
			t.Errorf("%s, line %d is %d columns wide, more than %d: %s", what, n+1, utf8.RuneCountInString(seen), o.Width, seen)
		}
		if strings.HasSuffix(l, " ") {
			t.Errorf("%s, line %d ends in a space", what, n+1)
		}
		for _, r := range l {
			if o.ASCII && r > 0x7e {
				t.Errorf("%s, line %d: %q is not ASCII", what, n+1, r)
			}
		}
	}
}

var hostAge = Where{Age: 2*time.Hour + 5*time.Minute, Host: "bench-7"}

func TestPlanOfTheDesignDocument(t *testing.T) {
	golden(t, "plan", &Plan{
		Blocks: []Block{
			{"capture.pyperf.sort", []Instance{
				{Key: "n=1000", State: Cached, Where: hostAge},
				{Key: "n=100000", State: Run, Because: []Because{{Fact: "sortlib/merge.py", Verb: "changed", Old: "3f2a91", New: "91bc07"}}},
			}},
			{"capture.memray.sort", []Instance{
				{Key: "n=1000", State: Cached, Where: hostAge},
				{Key: "n=100000", State: Run, Because: []Because{{Fact: "some/quite/long/directory/of/the/project/sortlib/merge.py", Verb: "changed", Old: "3f2a91", New: "91bc07"}, {Fact: "x"}, {Fact: "y"}}},
			}},
			{"extract.pyperf.sort", []Instance{
				{Key: "n=1000", State: Cached},
				{Key: "n=100000", State: MayRun, Because: []Because{{Fact: "after capture.pyperf.sort"}}},
			}},
			{"capture.gobench.sort", []Instance{{State: TopUp, Have: 3, Want: 5, Because: []Because{{Fact: "more attempts are wanted"}}}}},
			{"server.vllm", []Instance{{State: Start, Because: []Because{{Fact: "for 3 stages"}}}}},
			{"capture.nsys.train", []Instance{{State: Blocked, Why: "nsys is not on PATH", Do: "install Nsight Systems 2024.2 or newer, or set tool.nsys"}}},
			{"report.all", []Instance{{State: Excluded}}},
		},
		Estimate: Estimate{Total: 100 * time.Second, Runs: 3, Unknown: 1},
		Saved:    "plans/to night.json",
	})
}

func many(n int, f func(int) Instance) (out []Instance) {
	for i := range n {
		out = append(out, f(i))
	}
	return out
}

func manyInstances() *Plan {
	return &Plan{Blocks: []Block{
		{"capture.pyperf.sort", many(10000, func(i int) Instance {
			return Instance{Key: fmt.Sprintf("rows=%d", i), State: Cached, Where: Where{Age: time.Duration(i) * time.Second}}
		})},
		{"capture.memray.sort", many(1000, func(i int) Instance {
			return Instance{Key: fmt.Sprintf("rows=%d", i), State: Run, Because: []Because{{Fact: "never ran"}}}
		})},
		{"capture.gobench.cases", many(500, func(i int) Instance {
			return Instance{Key: fmt.Sprintf("case=%d", i), State: Run, Because: []Because{{Fact: fmt.Sprintf("case_%d.go", i), Verb: "changed"}}}
		})},
		{"capture.gobench.few", many(4, func(i int) Instance { return Instance{Key: fmt.Sprintf("i=%d", i), State: Cached} })},
	}, Estimate: Estimate{Total: 26 * time.Hour, Runs: 1, Elsewhere: true}}
}

func TestEqualInstancesAreOneLine(t *testing.T) {
	golden(t, "plan_many", manyInstances())
}

func TestEveryInstanceIsCountedOnceHoweverMuchIsHidden(t *testing.T) {
	for _, all := range []bool{false, true} {
		v := manyInstances()
		v.All = all
		var b bytes.Buffer
		if err := v.Write(&b, Options{}); err != nil {
			t.Fatal(err)
		}
		rows := 0
		for l := range strings.Lines(b.String()) {
			key, isRow := strings.CutPrefix(l, "  ")
			if !isRow {
				continue
			}
			n := 1
			if more, ok := strings.CutPrefix(key, "("); ok {
				fmt.Sscanf(strings.ReplaceAll(more, ",", ""), "%d more", &n)
			}
			rows += n
		}
		if rows != 11504 {
			t.Errorf("all=%v: the lines stand for %d instances, want 11,504", all, rows)
		}
	}
}

func TestManyCachedBlocksAreOneLineAndWorkIsNeverHidden(t *testing.T) {
	v := &Plan{}
	for i := range 1000 {
		v.Blocks = append(v.Blocks, Block{fmt.Sprintf("capture.gobench.b%03d", i), []Instance{{State: Cached}}})
	}
	v.Blocks[990].Instances[0] = Instance{State: Run, Because: []Because{{Fact: "never ran"}}}
	var b bytes.Buffer
	if err := v.Write(&b, Options{}); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for _, want := range []string{"b990\n", "never ran", "(959 blocks more)", "1 to run, 999 cached."} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
	if n := strings.Count(text, "\n"); n > 100 {
		t.Errorf("%d lines", n)
	}
}

func TestPlansWithoutWorkSaySo(t *testing.T) {
	for want, v := range map[string]*Plan{
		"Nothing to do: there are no stages.\n":     {},
		"\nNothing to do: 1 cached.\n":              {Blocks: []Block{{"a.b", []Instance{{State: Cached}}}}},
		"\nNothing to do: 1 cached, 1 excluded.\n":  {Blocks: []Block{{"a.b", []Instance{{State: Cached}, {State: Excluded}}}}, Estimate: Estimate{Total: time.Hour}},
		"\n1 blocked.\n":                            {Blocks: []Block{{"a.b", []Instance{{State: Blocked, Why: "x"}}}}},
		"\n1 to run. About 14.3 ms on this host.\n": {Blocks: []Block{{"a.b", []Instance{{State: Run}}}}, Estimate: Estimate{Total: 14300 * time.Microsecond}},
	} {
		var b bytes.Buffer
		if err := v.Write(&b, Options{}); err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(b.String(), want) {
			t.Errorf("got %q, want %q at the end", b.String(), want)
		}
	}
}

func TestWhyOfTheDesignDocument(t *testing.T) {
	golden(t, "why", &Why{
		Address: `capture.pyperf.sort["n=100000"]`, State: Run,
		Newest:  RunRef{"01JDABCDEFGHJKMNPQRSTV008K", 2 * time.Hour, "bench-7"},
		Changed: []Fact{{Facet: "inputs", Text: "sortlib/merge.py", Old: "3f2a91", New: "91bc07", Hint: "git diff HEAD -- sortlib/merge.py"}, {Facet: "inputs", Text: "a/very/long/path/that/does/not/fit/in/any/column/new.py", New: "111111"}},
		Same: []Fact{
			{Facet: "definition", Text: "pyperf v1: processes 20, values 3, warmups 1"},
			{Facet: "command", Text: "python bench_sort.py --rows 100000"},
			{Facet: "executables", Text: "python 3.11.7 (environment.python.bench, lock 8c11d2)"},
			{Facet: "host_class", Text: "AMD EPYC 7763, 2 CPUs, 24 GiB"},
		},
		Notes: []string{"One attempt of the newest result was invalid and is not counted."},
	})
}

func TestHeadlinesOfWhy(t *testing.T) {
	newest := RunRef{Run: "01JDABCDEFGHJKMNPQRSTV008K", Age: time.Hour}
	for want, v := range map[string]*Why{
		"runs, because it never ran.\n": {State: Run, Sentence: "it never ran"},
		"cached, because everything in its key is as in the newest result (run 01JD…8K, 1 h ago).\n": {State: Cached, Newest: newest},
		"runs, because two facets differ from the newest result (run 01JD…8K, 1 h ago):\n":           {State: Run, Newest: newest, Changed: []Fact{{Facet: "command"}, {Facet: "inputs"}, {Facet: "inputs"}}},
		"blocked, because nsys is not on PATH.\n":                                                    {State: Blocked, Sentence: "nsys is not on PATH"},
		"runs again, because 2 of 5 attempts are there (run 01JD…8K, 1 h ago).\n":                    {State: TopUp, Sentence: "2 of 5 attempts are there", Newest: newest},
	} {
		var b bytes.Buffer
		if err := v.Write(&b, Options{}); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(b.String(), want) {
			t.Errorf("got %q, want %q first", b.String(), want)
		}
	}
}

func TestDiffOfTwoRuns(t *testing.T) {
	golden(t, "diff", &Diff{
		A: RunRef{"01JDABCDEFGHJKMNPQRSTV008K", 50 * time.Hour, "bench-7"}, B: RunRef{"01JEABCDEFGHJKMNPQRSTV009Z", time.Minute, "bench-7"},
		Address: `capture.pyperf.sort["n=100000"]`, Verdict: "comparable_with_covariates",
		Why:        []string{"cpu.microcode differs: 0x1 → 0x2"},
		Changed:    []Fact{{Facet: "inputs", Text: "sortlib/merge.py", Old: "3f2a91", New: "91bc07"}, {Facet: "inputs", Text: "sortlib/new.py", New: "0aa0aa"}},
		Covariates: []Fact{{Text: "cpu.microcode", Old: "0x1", New: "0x2"}, {Text: "kernel.perf_event_paranoid", Old: "2"}},
	})
	golden(t, "diff_incomparable", &Diff{
		A: RunRef{Run: "01JDABCDEFGHJKMNPQRSTV008K"}, B: RunRef{Run: "01JEABCDEFGHJKMNPQRSTV009Z"}, Address: "capture.a.b and capture.c.d",
		Verdict: "incomparable", Why: []string{"capture.a and capture.c measure different things", "run 01JE is not valid"},
	})
}

func failure() *Failure {
	return &Failure{
		Address: `capture.pyperf.sort["n=100000"]`, After: 3100 * time.Millisecond, What: "python exited 1",
		Quote: []string{"\x1b[31mImportError\x1b[0m: No module named 'sortlib.merge'\a"}, From: "last line of stderr",
		Kept: []string{"stderr", "partial benchmark.json"},
		Logs: "flameox logs " + ShellQuote(`capture.pyperf.sort["n=100000"]`), Try: []string{"flameox shell " + ShellQuote(`capture.pyperf.sort["n=100000"]`)},
	}
}

func TestFailureOfTheDesignDocument(t *testing.T) { golden(t, "failure", failure()) }

func TestRunDetails(t *testing.T) {
	golden(t, "run", &RunDetails{
		Run: "01JDABCDEFGHJKMNPQRSTV008K", Address: `capture.pyperf.sort["n=100000"]`, Kind: "capture.pyperf", Status: "failed: exit 1",
		Reasons:     []Note{{"exit", "python exited 1, and only 0 is expected"}},
		Fields:      []Field{{"started", "2026-01-02 03:04:05 UTC on bench-7"}, {"took", "850 µs"}, {"command", "python bench_sort.py --rows 100000 --with a --lot of --arguments that do not fit on a narrow line"}, {"attempt", "2 of 5"}, {"exit", "1"}, {"signal", ""}},
		Results:     []Field{{"wall.median", "14.3 ms"}},
		Facts:       []Fact{{Facet: "command", Text: "python bench_sort.py"}, {Facet: "host_class", Text: "AMD EPYC"}},
		Outputs:     []Output{{"benchmark.json", "benchmark", 12345, "3f2a91", ""}, {"profiles/a/long/path/to/some/deep/place/heap.pprof", "profile", 5 << 30, "91bc07", "sensitive"}},
		Limitations: []Note{{"partial", "the file ends early"}},
	})
}

func TestLogs(t *testing.T) {
	golden(t, "logs", models{
		&LogsHeader{Address: "capture.pyperf.sort", Newest: RunRef{"01JDABCDEFGHJKMNPQRSTV008K", 90 * time.Second, "bench-7"}, Status: "exited 1 after 850 µs", Command: "python bench_sort.py", Dir: "/home/me/project"},
		&LogsSection{Name: "stderr", Size: 3 << 20, Cut: 2 << 20},
	})
}

func TestAuditOfResultsThatDiffer(t *testing.T) {
	golden(t, "audit", models{
		&Audit{Address: "build.bench", Same: true, Compared: 2},
		&Audit{Address: `build.site["n=1"]`, Compared: 3, Kept: "01JDABCDEFGHJKMNPQRSTV008K", Changed: []Fact{
			{Facet: "artifact", Text: "site/a/very/long/path/to/an/index.html", Old: "3f2a91", New: "91bc07"}, {Facet: "artifact", Text: "log.txt", Old: "3f2a91"},
		}},
	})
	golden(t, "audit_failed", &Audit{Address: "build.bench", Compared: 1, Reasons: []string{"sh exited 1, and only 0 is expected"}, Kept: "01JDABCDEFGHJKMNPQRSTV008K"})
}

// models is one model after another.
type models [2]model

func (t models) Write(w io.Writer, o Options) error {
	return errors.Join(t[0].Write(w, o), t[1].Write(w, o))
}

func TestTableFitsItsColumns(t *testing.T) {
	golden(t, "table", &Table{
		Columns: []Column{{Title: "run", Keep: true}, {Title: "address", Path: true}, {Title: "took", Right: true, Keep: true}, {Title: "state"}},
		Rows: [][]string{
			{"01JD…8K", `capture.pyperf.sort["n=100000,implementation=a_long_name_of_something"]`, "41.2 s", "valid"},
			{"01JE…9Z", "capture.memray.sort", "1 m 40 s", "failed: a long explanation that takes more room than there is"},
			{"01JF…0A"},
		},
		Footer: "3 runs.",
	})
	golden(t, "table_empty", &Table{Columns: []Column{{Title: "run"}}, Empty: "There are no runs yet: flameox apply makes the first."})
}

func TestTextFromOutsideCannotControlTheTerminal(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                             "plain",
		"über":                              "über",
		"\x1b[2J\x1b[31mred\x1b[0m":         "red",
		"\x1b]0;title\x07x\x1b]8;;a\x1b\\y": "xy",
		"a\nb\tc\rd":                        "a b c d",
		"bell\a":                            `bell\u0007`,
		"\x1b":                              `\u001b`,
		"\x1b[":                             `\u001b[`,
		"bad\xffutf8":                       `bad\xffutf8`,
		"c1\u009b31m":                       `c1\u009b31m`,
		"bidi\u202e":                        `bidi\u202e`,
	} {
		if got := clean(in); got != want {
			t.Errorf("clean(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestLinesOfAnErrorKeepTheirEndsAndNothingElse(t *testing.T) {
	if got, want := Lines("a\x1b[31mb\n\tc\x00\u202e"), "ab\n c\\u0000\\u202e"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestNumbers(t *testing.T) {
	for want, got := range map[string]string{
		"0": Count(0), "999": Count(999), "9,998": Count(9998), "-1,234,567": Count(-1234567),
		"1 stage": Plural(1, "stage", "stages"), "0 stages": Plural(0, "stage", "stages"),
		"0 ns": Duration(0), "850 ns": Duration(850), "1.50 µs": Duration(1500), "14.3 ms": Duration(14300 * time.Microsecond), "1.0 s": Duration(999600 * time.Microsecond),
		"41.2 s": Duration(41200 * time.Millisecond), "59.9 s": Duration(59940 * time.Millisecond), "1 m": Duration(59960 * time.Millisecond), "1 m 40 s": Duration(100 * time.Second),
		"2 h 5 m": Duration(125 * time.Minute), "1 h": Duration(59*time.Minute + 59600*time.Millisecond), "3 d 4 h": Duration(76 * time.Hour), "1 d": Duration(23*time.Hour + 59*time.Minute + 50*time.Second), "-1.00 ms": Duration(-time.Millisecond),
		"0:12": Clock(12 * time.Second), "1:05": Clock(65 * time.Second), "1:02:03": Clock(3723 * time.Second), "0:00": Clock(-time.Second),
		"just now": Age(-time.Hour), "12 s ago": Age(12 * time.Second), "59 m ago": Age(time.Hour - 1), "47 h ago": Age(47 * time.Hour), "3 d ago": Age(73 * time.Hour), "2 y ago": Age(800 * 24 * time.Hour),
		"0 B": Bytes(0), "1023 B": Bytes(1023), "1.50 KiB": Bytes(1536), "1.00 MiB": Bytes(1<<20 - 1), "23.5 GiB": Bytes(25232932864), "8.00 EiB": Bytes(1<<63 - 1), "-1.00 KiB": Bytes(-1024),
		"01JD…8K": ShortRun("01JDABCDEFGHJKMNPQRSTV008K"), "short": ShortRun("short"),
		"a.b": ShellQuote("a.b"), `'a["x=1"]'`: ShellQuote(`a["x=1"]`), `'it'\''s'`: ShellQuote("it's"), "''": ShellQuote(""),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestDetectFollowsTheTerminalAndTheEnvironment(t *testing.T) {
	for _, c := range []struct {
		name string
		tty  bool
		cols int
		env  string
		want Options
	}{
		{"a terminal", true, 120, "LANG=en_US.UTF-8", Options{Color: true, Width: 120, Live: true}},
		{"a terminal without a size", true, 0, "", Options{Color: true, Width: 80, Live: true}},
		{"a pipe", false, 0, "LANG=de_DE.utf8", Options{}},
		{"a pipe with COLUMNS", false, 0, "COLUMNS=70", Options{Width: 70}},
		{"COLUMNS over the terminal's size", true, 120, "COLUMNS=100", Options{Color: true, Width: 100, Live: true}},
		{"COLUMNS that is none", true, 120, "COLUMNS=x", Options{Color: true, Width: 120, Live: true}},
		{"very narrow", true, 10, "", Options{Color: true, Width: 40, Live: true}},
		{"NO_COLOR", true, 80, "NO_COLOR=1", Options{Width: 80, Live: true}},
		{"a dumb terminal", true, 80, "TERM=dumb", Options{Width: 80}},
		{"the C locale", true, 80, "LANG=C", Options{Color: true, ASCII: true, Width: 80, Live: true}},
		{"LC_ALL over LANG", false, 0, "LC_ALL=POSIX LANG=en_US.UTF-8", Options{ASCII: true}},
		{"C.UTF-8", false, 0, "LC_ALL=C.UTF-8", Options{}},
	} {
		env := map[string]string{}
		for kv := range strings.FieldsSeq(c.env) {
			k, v, _ := strings.Cut(kv, "=")
			env[k] = v
		}
		if d := cmp.Diff(c.want, detect(c.tty, c.cols, func(k string) string { return env[k] })); d != "" {
			t.Errorf("%s: -want +got:\n%s", c.name, d)
		}
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if o := Detect(file, func(string) string { return "" }); o != (Options{}) {
		t.Errorf("a file is taken for a terminal: %+v", o)
	}
}

func FuzzNothingIsWiderThanTheOutputOrControlsIt(f *testing.F) {
	f.Add("capture.a.b", `n="x y"`, "a/b c  d\x1b[1m", 60)
	f.Add("ü\u202e", "", strings.Repeat("x", 200), 41)
	f.Fuzz(func(t *testing.T, a, b, c string, width int) {
		if width < minWidth || width > 300 {
			width = minWidth
		}
		o := Options{Width: width}
		for _, m := range []model{
			&Plan{Blocks: []Block{{a, []Instance{{Key: b, State: Blocked, Why: c, Do: a}, {Key: c, State: Run, Because: []Because{{Fact: a, Verb: b, Old: c}}}}}}},
			&Why{State: Run, Sentence: c, Changed: []Fact{{Facet: "inputs", Text: b, Old: a, New: c, Hint: a}}, Same: []Fact{{Facet: "command", Text: c}}},
			&Failure{Address: a, What: b, Quote: []string{c, a}, Kept: []string{a, b}, Logs: c, Try: []string{b}},
			&Table{Columns: []Column{{Title: "a"}, {Path: true}, {Right: true}}, Rows: [][]string{{a, b, c}, {c}}},
		} {
			var out bytes.Buffer
			if err := m.Write(&out, o); err != nil {
				t.Fatal(err)
			}
			for l := range strings.Lines(out.String()) {
				l = strings.TrimSuffix(l, "\n")
				if l != clean(l) {
					t.Fatalf("%T: %q has control characters", m, l)
				}
				if n := utf8.RuneCountInString(l); n > width {
					t.Fatalf("%T: %d columns, more than %d: %q", m, n, width, l)
				}
			}
		}
	})
}
