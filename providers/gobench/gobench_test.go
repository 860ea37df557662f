package gobench_test

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"golang.org/x/perf/benchfmt"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/lang"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/providers/gobench"
	"github.com/flameox/flameox/providers/providertest"
)

var p gobench.Provider

func defaults() *gobench.Options {
	return lang.Defaults(p.Options()).(*gobench.Options)
}

func extract(t *testing.T, data string) (evidence.Outcome, []providertest.Row) {
	t.Helper()
	out, tables := providertest.Extract(t, p, providertest.Input(t, gobench.Role, []byte(data)), nil, evidence.DefaultBudget())
	return out, tables["measurements"]
}

func validate(t *testing.T, data string, exit int) providers.Receipt {
	t.Helper()
	in := providertest.Input(t, gobench.Role, []byte(data))
	in.Exit = exit
	r, err := p.Validate(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// figure is one value as the producer wrote it.
type figure struct {
	name  string // with -N
	iters uint64
	value float64
	unit  string
	pkg   string
}

func (f figure) String() string {
	return fmt.Sprintf("%s %s %d %v %s", f.pkg, f.name, f.iters, f.value, f.unit)
}

// independent reads data with nothing but benchfmt.
func independent(data []byte) (out []string) {
	r := benchfmt.NewReader(bytes.NewReader(data), "x")
	for r.Scan() {
		res, ok := r.Result().(*benchfmt.Result)
		if !ok {
			continue
		}
		for _, v := range res.Values {
			f := figure{"Benchmark" + string(res.Name), uint64(res.Iters), v.Value, v.Unit, res.GetConfig("pkg")}
			if v.OrigUnit != "" {
				f.value, f.unit = v.OrigValue, v.OrigUnit
			}
			out = append(out, f.String())
		}
	}
	return out
}

func figures(rows []providertest.Row) (out []string) {
	for _, r := range rows {
		f := figure{name: strings.TrimPrefix(r["name"].(string), "gobench."), unit: r["unit"].(string)}
		dims, _ := r["dimensions"].(map[string]string)
		f.pkg = dims["pkg"]
		if n := dims["gomaxprocs"]; n != "" {
			f.name += "-" + n
		}
		f.iters = r["loops"].(uint64)
		if n, ok := r["value_int"].(int64); ok {
			f.value = float64(n)
		} else {
			f.value = r["value_float"].(float64)
		}
		out = append(out, f.String())
	}
	return out
}

func TestEveryValueOfRealFilesIsOneRowAsBenchfmtReadsIt(t *testing.T) {
	for name, want := range map[string]struct {
		state evidence.State
		rows  int
	}{
		"crc-old.txt":                         {evidence.Complete, 720},
		"new.txt":                             {evidence.Complete, 20},
		"old.txt":                             {evidence.Complete, 20},
		"issue19565.txt":                      {evidence.Complete, 24},
		"units.txt":                           {evidence.Complete, 8},
		"zero.txt":                            {evidence.Complete, 20},
		"local-go1.26.8-mixed.txt":            {evidence.Partial, 26},
		"go_fiber_duplicate_names_output.txt": {evidence.Complete, 16},
	} {
		t.Run(name, func(t *testing.T) {
			data := providertest.Fixture(t, "go-bench/"+name)
			out, rows := extract(t, string(data))
			got, indep := figures(rows), independent(data)
			if !slices.Equal(got, indep) {
				t.Errorf("rows %q\nbenchfmt %q", got, indep)
			}
			if out.State != want.state || len(rows) != want.rows {
				t.Errorf("state %s with %d rows: %v", out.State, len(rows), out.Limitations)
			}
		})
	}
}

func TestBenchmarksOfOneNameInSeveralPackagesStayApart(t *testing.T) { // golang/go#14313
	_, rows := extract(t, string(providertest.Fixture(t, "go-bench/go_fiber_duplicate_names_output.txt")))
	seen := map[string]bool{}
	for _, r := range rows {
		dims := r["dimensions"].(map[string]string)
		key := fmt.Sprint(dims["pkg"], r["name"], r["unit"])
		if seen[key] || r["value_index"] != int64(0) {
			t.Errorf("%s: index %v", key, r["value_index"])
		}
		seen[key] = true
	}
}

func TestConfigurationThatChangesWithinAFileIsADimension(t *testing.T) {
	_, rows := extract(t, string(providertest.Fixture(t, "go-bench/issue19565.txt")))
	count := map[string]int64{}
	for _, r := range rows {
		key := r["name"].(string) + " " + r["dimensions"].(map[string]string)["note"]
		if r["value_index"] != count[key] {
			t.Errorf("%s: index %v, want %d", key, r["value_index"], count[key])
		}
		count[key]++
	}
	want := map[string]int64{"gobench.BenchmarkA before": 6, "gobench.BenchmarkB before": 6, "gobench.BenchmarkA after": 6, "gobench.BenchmarkC after": 6}
	if !reflect.DeepEqual(count, want) {
		t.Errorf("samples %v, want %v", count, want)
	}
}

func TestRowsOfAResultLine(t *testing.T) {
	out, rows := extract(t, "goos: linux\ngoarch: amd64\npkg: a/b\ncpu: X Y\nsize: 9\n"+
		"Unit items/op better=higher assume=exact\n"+
		"BenchmarkSort/impl=merge/size=10/plain-8 \t     100\t      1423 ns/op\t  10.46 MB/s\t        2.500 items/op\t      97 B/op\t       4 allocs/op\nPASS\n")
	if out.State != evidence.Complete || len(out.Limitations) != 0 || out.Results["benchmarks"] != int64(1) || out.Results["samples"] != int64(1) {
		t.Errorf("outcome %+v", out)
	}
	type value struct {
		n      any
		f      any
		unit   string
		better any
	}
	var got []value
	for _, r := range rows {
		got = append(got, value{r["value_int"], r["value_float"], r["unit"].(string), r["better"]})
		if r["name"] != "gobench.BenchmarkSort/impl=merge/size=10/plain" || r["loops"] != uint64(100) || r["aggregation"] != "sample" ||
			r["scope"] != "workload" || r["warmup"] != false || r["worker"] != nil || r["phase"] != nil {
			t.Errorf("row %v", r)
		}
		want := map[string]string{"goos": "linux", "goarch": "amd64", "pkg": "a/b", "cpu": "X Y", "gomaxprocs": "8", "impl": "merge", "size": "9", "/size": "10"}
		if r["unit"] == "items/op" {
			want["unit:assume"] = "exact"
		}
		if !reflect.DeepEqual(r["dimensions"], want) {
			t.Errorf("dimensions %v, want %v", r["dimensions"], want)
		}
	}
	want := []value{{int64(1423), nil, "ns/op", "lower"}, {nil, 10.46, "MB/s", "higher"}, {nil, 2.5, "items/op", "higher"}, {int64(97), nil, "B/op", "lower"}, {int64(4), nil, "allocs/op", "lower"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("values %v, want %v", got, want)
	}
}

func TestAUnitLineCountsForResultsBeforeIt(t *testing.T) {
	_, rows := extract(t, "BenchmarkA 1 5 hits\nUnit hits better=higher\n")
	if rows[0]["better"] != "higher" {
		t.Errorf("row %v", rows[0])
	}
}

func TestAUnitWithoutMetadataHasNoDirection(t *testing.T) {
	_, rows := extract(t, "BenchmarkA 1 5 hits\n")
	if rows[0]["better"] != nil {
		t.Errorf("row %v", rows[0])
	}
}

func TestFiguresBeyondExactIntegersAreFloats(t *testing.T) {
	_, rows := extract(t, "BenchmarkA 1 9007199254740992 x/op 9007199254740994 y/op 0 z/op\n")
	if rows[0]["value_int"] != int64(1<<53) || rows[1]["value_float"] != float64(9007199254740994) || rows[2]["value_int"] != int64(0) {
		t.Errorf("rows %v", rows)
	}
}

func TestValuesNoTableCanHoldAreLeftOutAndSaid(t *testing.T) {
	out, rows := extract(t, "BenchmarkA 1 NaN ns/op 7 B/op\nBenchmarkA 1 +Inf ns/op\nBenchmarkA 1 -0 x/op\nBenchmarkA 1 3 ns/op\n")
	if out.State != evidence.Partial || !slices.Equal(providertest.Codes(out.Limitations), []string{gobench.ValueRefused}) {
		t.Errorf("outcome %+v", out)
	}
	if want := "3 values are not finite, or a negative zero, and were left out, never made zero: line 1: NaN ns/op, line 2: +Inf ns/op, line 3: -0 x/op"; out.Limitations[0].Text != want {
		t.Errorf("text %q", out.Limitations[0].Text)
	}
	if len(rows) != 2 || rows[0]["unit"] != "B/op" || rows[1]["value_int"] != int64(3) || rows[1]["value_index"] != int64(3) {
		t.Errorf("rows %v", rows)
	}
}

func TestALineThatOnlyNamesABenchmarkIsNoResult(t *testing.T) { // golang/go#58528
	out, rows := extract(t, "goos: linux\nBenchmarkA\nBenchmarkA-2 \t 10\t 5 ns/op\nPASS\n")
	if out.State != evidence.Complete || len(rows) != 1 || len(out.Limitations) != 0 {
		t.Errorf("outcome %+v, rows %v", out, rows)
	}
}

func TestTextThatIsUTF16IsRefused(t *testing.T) { // golang/go#58576, #58579, #65157
	text := "goos: linux\r\nBenchmarkA-2 10 5 ns/op\r\n"
	for _, c := range []struct {
		name string
		big  bool
		mark bool
	}{{"little endian", false, true}, {"big endian", true, true}, {"little endian, no mark", false, false}, {"big endian, no mark", true, false}} {
		t.Run(c.name, func(t *testing.T) {
			units := utf16.Encode([]rune(text))
			if c.mark {
				units = append([]uint16{0xFEFF}, units...)
			}
			var b []byte
			for _, u := range units {
				if c.big {
					b = append(b, byte(u>>8), byte(u))
				} else {
					b = append(b, byte(u), byte(u>>8))
				}
			}
			out, rows := extract(t, string(b))
			if out.State != evidence.Incompatible || out.Limitations[0].Code != "text_is_utf16" || len(rows) != 0 {
				t.Errorf("outcome %+v", out)
			}
			if !p.Formats()[0].Detect(b) {
				t.Error("the import would call the format unknown instead of saying what is wrong")
			}
		})
	}
}

func TestAByteOrderMarkOfUTF8DoesNotHideTheFirstLine(t *testing.T) {
	_, rows := extract(t, "\xEF\xBB\xBFpkg: a\nBenchmarkA 10 5 ns/op\n")
	if len(rows) != 1 || rows[0]["dimensions"].(map[string]string)["pkg"] != "a" {
		t.Errorf("rows %v", rows)
	}
}

func TestWhatLooksLikeALostResultIsCounted(t *testing.T) {
	for _, c := range []struct {
		name, text, code string
	}{
		{"a result without its name", "BenchmarkA 1 5 ns/op\n      10\t      2452 ns/op\n", gobench.LostResult},
		{"two records on one line", "BenchmarkA 1 5 ns/op\nBenchmarkB-8 BenchmarkC-8 100 12 ns/op\n", gobench.Unreadable}, // hw-native-sys/pypto#2064
		{"a name without Benchmark", "BenchmarkA 1 5 ns/op\nQuery/tpch 1 7 ns/op\n", gobench.Misnamed},                    // cockroachdb#98382, kr/ct#30
		{"no figures", "BenchmarkA 1 5 ns/op\nBenchmarkB-8 \thello\n", gobench.Unreadable},
		{"no iterations", "BenchmarkA 1 5 ns/op\nBenchmarkB 0 5 ns/op\n", gobench.Unreadable},
		{"two values of one unit", "BenchmarkA 1 5 ns/op\nBenchmarkB 1 5 ns/op 6 ns/op\n", gobench.Unreadable},
		{"a figure out of range", "BenchmarkA 1 5 ns/op\nBenchmarkB 1 1e999 ns/op\n", gobench.Unreadable},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, rows := extract(t, c.text)
			if len(rows) != 1 || !slices.Equal(providertest.Codes(out.Limitations), []string{c.code}) {
				t.Errorf("outcome %+v with %d rows", out, len(rows))
			}
			if want := c.code != gobench.Misnamed; (out.State == evidence.Partial) != want {
				t.Errorf("state %s", out.State)
			}
		})
	}
}

func TestProseThatBeginsWithBenchmarkIsNoBrokenResult(t *testing.T) {
	out, _ := extract(t, "BenchmarkA 1 5 ns/op\nBenchmarking 3 engines\nBenchmarks done\n")
	if out.State != evidence.Complete || len(out.Limitations) != 0 {
		t.Errorf("outcome %+v", out)
	}
}

func TestALastLineWithoutItsNewlineIsNotUsed(t *testing.T) {
	out, rows := extract(t, "BenchmarkA 1 5 ns/op\nBenchmarkA 1 57 ns/o")
	if out.State != evidence.Partial || len(rows) != 1 || !providertest.HasCode(out.Limitations, gobench.Truncated) {
		t.Errorf("outcome %+v with %d rows", out, len(rows))
	}
	if r := validate(t, "BenchmarkA 1 5 ns/op\nBenchmarkA 1 57 ns/o", 0); r.Valid {
		t.Error("a payload that breaks off is a valid run")
	}
	out, rows = extract(t, "BenchmarkA 1 5 ns/op\nPASS")
	if out.State != evidence.Complete || len(rows) != 1 {
		t.Errorf("nothing is cut but a newline, and the state is %s", out.State)
	}
}

func TestALongLogLineDoesNotHideResultsBehindIt(t *testing.T) {
	for _, n := range []int{70 << 10, 3 << 20} {
		out, rows := extract(t, "BenchmarkA 1 5 ns/op\n"+strings.Repeat("x", n)+"\nBenchmarkB 1 6 ns/op\n")
		if len(rows) != 2 || out.State != evidence.Partial || !slices.Equal(providertest.Codes(out.Limitations), []string{gobench.LongLines}) {
			t.Errorf("%d bytes: outcome %+v with %d rows", n, out, len(rows))
		}
	}
}

func TestLogLinesDoNotFloodTheDimensions(t *testing.T) {
	var b strings.Builder
	for i := range 200 {
		fmt.Fprintf(&b, "key%d: value\n", i)
	}
	out, rows := extract(t, b.String()+"BenchmarkA 1 5 ns/op\n")
	if n := len(rows[0]["dimensions"].(map[string]string)); n != 64 || out.State != evidence.Partial || !providertest.HasCode(out.Limitations, gobench.KeysCut) {
		t.Errorf("%d dimensions, outcome %+v", n, out)
	}
}

func TestANumberBehindANameIsDoubtfulWhereOthersHaveNone(t *testing.T) {
	out, rows := extract(t, "BenchmarkA/size-100 1 5 ns/op\nBenchmarkB 1 5 ns/op\n")
	if !slices.Equal(providertest.Codes(out.Limitations), []string{gobench.ProcsAmbiguous}) || rows[0]["dimensions"].(map[string]string)["gomaxprocs"] != "100" {
		t.Errorf("outcome %+v, row %v", out, rows[0])
	}
	out, rows = extract(t, "BenchmarkA 1 5 ns/op\nBenchmarkA-2 1 5 ns/op\n")
	if len(out.Limitations) != 0 || rows[0]["value_index"] != int64(0) || rows[1]["value_index"] != int64(0) {
		t.Errorf("-cpu=1,2: outcome %+v, rows %v", out, rows)
	}
}

func TestNamesThatAreNotUTF8AreReplaced(t *testing.T) {
	_, rows := extract(t, "pkg: \xff\nBenchmarkA\xfe/k=\xfd 1 5 ns/op\n")
	if rows[0]["name"] != "gobench.BenchmarkA\uFFFD/k=\uFFFD" {
		t.Errorf("row %v", rows[0])
	}
	if math.IsNaN(rowsValue(rows[0])) {
		t.Error("no value")
	}
}

func rowsValue(r providertest.Row) float64 {
	if n, ok := r["value_int"].(int64); ok {
		return float64(n)
	}
	return r["value_float"].(float64)
}

func TestDetectLooksAtContentOnly(t *testing.T) {
	detect := p.Formats()[0].Detect
	for _, yes := range []string{
		"goos: linux\ngoarch: amd64\npkg: a\n",
		"note: x\n\nBenchmarkA-8 \t 10\t 1.5 ns/op\n",
		"BenchmarkÄ 1 5 ns/op\n",
		`{"Time":"2026-01-01T00:00:00Z","Action":"start","Package":"a"}` + "\n",
	} {
		if !detect([]byte(yes)) {
			t.Errorf("not claimed: %q", yes)
		}
	}
	for _, no := range []string{
		"", "PASS\n", "hello\n", "Benchmarking 3 engines\n", "\x1f\x8b\x08\x00", `{"benchmarks":[]}`, "\x00\x01\x02",
		"Benchmark  Time  CPU  Iterations\nBM_x 5 ns 5 ns 100\n", `{"Time":"x","level":"info"}` + "\n",
	} {
		if detect([]byte(no)) {
			t.Errorf("claimed: %q", no)
		}
	}
}
