package hyperfine_test

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/internal/token"
	"github.com/flameox/flameox/lang"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/providers/hyperfine"
	"github.com/flameox/flameox/providers/providertest"
)

var p hyperfine.Provider

func options(change ...func(*hyperfine.Options)) *hyperfine.Options {
	o := lang.Defaults(p.Options()).(*hyperfine.Options)
	for _, f := range change {
		f(o)
	}
	return o
}

func extract(t *testing.T, data []byte) (evidence.Outcome, []providertest.Row) {
	t.Helper()
	out, tables := providertest.Extract(t, p, providertest.Input(t, hyperfine.Role, data), nil, evidence.DefaultBudget())
	return out, tables["measurements"]
}

const document = `{"results":[
{"command":"sleep 0.01","mean":0.02,"stddev":0.001,"median":0.02,"user":0.001,"system":0.0000005,"min":0.01,"max":0.03,"times":[0.01,0.0000004],"memory_usage_byte":[4096,8192],"exit_codes":[0,0],"parameters":{"d":"0.01"}},
{"command":"b","mean":1.5,"stddev":null,"median":1.5,"user":0,"system":0,"min":1.5,"max":1.5,"times":[1.5],"exit_codes":[0]}]}`

func TestConformance(t *testing.T) {
	providertest.Run(t, p, &providertest.Cases{Valid: []byte(document), Empty: []byte(`{"results":[]}`), Role: hyperfine.Role, Half: evidence.Incompatible},
		&providertest.Plan{Workload: providers.Workload{Argv: []string{"./app", "x y"}}})
}

func TestPlan(t *testing.T) {
	n := func(v int) *int { return &v }
	out := token.Make("out.dir") + "/hyperfine.json"
	head := func(warmup, shell string) []string {
		return []string{"hyperfine", "--export-json", out, "--style", "basic", "--warmup", warmup, "--shell", shell}
	}
	tool := token.Make("build.x.dir") + "/tool"
	for name, c := range map[string]struct {
		w     providers.Workload
		o     *hyperfine.Options
		want  []string
		codes []string
		needs []string
	}{
		"the defaults": {providers.Workload{Argv: []string{"sort", "-k", "2", "a b", "it's", ""}}, options(),
			append(head("1", "none"), "--min-runs", "10", "--", `sort -k 2 'a b' 'it'\''s' ''`), []string{hyperfine.StartupIncluded}, []string{"sort"}},
		"everything": {providers.Workload{Argv: []string{tool}, ExpectExit: []int{0, 3}}, options(func(o *hyperfine.Options) {
			o.Runs, o.WarmUp, o.Prepare, o.Setup, o.Cleanup, o.Shell, o.Name = n(5), 0, "sync", "-x", "rm x", "bash", "it"
		}), append(head("0", "bash"), "--runs", "5", "--prepare=sync", "--setup=-x", "--cleanup=rm x", "--command-name=it", "--ignore-failure", "--", "'"+tool+"'"), []string{hyperfine.StartupIncluded, hyperfine.ShellSubtracted}, nil},
		"a range of runs": {providers.Workload{Argv: []string{"a"}, ExpectExit: []int{0}}, options(func(o *hyperfine.Options) { o.MaxRuns = n(20) }),
			append(head("1", "none"), "--min-runs", "10", "--max-runs", "20", "--", "a"), []string{hyperfine.StartupIncluded}, []string{"a"}},
	} {
		t.Run(name, func(t *testing.T) {
			inv, err := p.Plan(c.w, c.o)
			if err != nil || !slices.Equal(inv.Argv, c.want) || !slices.Equal(providertest.Codes(inv.Limitations), c.codes) || !slices.Equal(inv.Programs, c.needs) {
				t.Errorf("%q\nwant %q\n%v %v %v", inv.Argv, c.want, inv.Limitations, inv.Programs, err)
			}
		})
	}
	for name, c := range map[string]struct {
		w    providers.Workload
		o    *hyperfine.Options
		says string
	}{
		"no runs":               {providers.Workload{Argv: []string{"a"}}, options(func(o *hyperfine.Options) { o.Runs = n(0) }), "runs = 0"},
		"runs and at most":      {providers.Workload{Argv: []string{"a"}}, options(func(o *hyperfine.Options) { o.Runs, o.MaxRuns = n(3), n(4) }), "one of them"},
		"no fewest":             {providers.Workload{Argv: []string{"a"}}, options(func(o *hyperfine.Options) { o.MinRuns = 0 }), "min_runs = 0"},
		"fewer than the fewest": {providers.Workload{Argv: []string{"a"}}, options(func(o *hyperfine.Options) { o.MaxRuns = n(4) }), "less than min_runs"},
		"a negative warm-up":    {providers.Workload{Argv: []string{"a"}}, options(func(o *hyperfine.Options) { o.WarmUp = -1 }), "warmup = -1"},
		"no shell":              {providers.Workload{Argv: []string{"a"}}, options(func(o *hyperfine.Options) { o.Shell = "" }), "shell"},
		"a failure alone":       {providers.Workload{Argv: []string{"a"}, ExpectExit: []int{1}}, options(), "add 0"},
	} {
		t.Run("refused: "+name, func(t *testing.T) {
			if _, err := p.Plan(c.w, c.o); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %q", err, c.says)
			}
		})
	}
}

func TestVersions(t *testing.T) {
	for text, want := range map[string]string{"hyperfine 1.15.0\n": "1.15.0", "hyperfine 1.20.0": "1.20.0", "hyperfine 2.0.0": "2.0.0"} {
		_, version := p.Probe(nil)
		if v, err := version([]byte(text), nil); v != want || err != nil {
			t.Errorf("%q: %q %v", text, v, err)
		}
	}
	for _, text := range []string{"hyperfine 1.12.0", "hyperfine 0.5.0", "sharkdp", ""} {
		_, version := p.Probe(nil)
		if v, err := version([]byte(text), nil); err == nil {
			t.Errorf("%q is accepted as %q", text, v)
		}
	}
}

func TestRows(t *testing.T) {
	out, rows := extract(t, []byte(document))
	if out.State != evidence.Complete || len(out.Limitations) != 0 || !reflect.DeepEqual(out.Results, map[string]any{"commands": int64(2), "samples": int64(3)}) {
		t.Errorf("%+v", out)
	}
	type row struct {
		name, unit, aggregation string
		value                   any
		index, worker           any
	}
	var got []row
	for _, r := range rows {
		v := r["value_int"]
		if v == nil {
			v = r["value_float"]
		}
		got = append(got, row{r["name"].(string), r["unit"].(string), r["aggregation"].(string), v, r["value_index"], r["worker"]})
	}
	want := []row{
		{"hyperfine.wall_time.sleep 0.01", "ns", "sample", int64(10_000_000), int64(0), "sleep 0.01"},
		{"hyperfine.wall_time.sleep 0.01", "ns", "sample", 400.0, int64(1), "sleep 0.01"},
		{"hyperfine.peak_memory.sleep 0.01", "bytes", "sample", int64(4096), int64(0), "sleep 0.01"},
		{"hyperfine.peak_memory.sleep 0.01", "bytes", "sample", int64(8192), int64(1), "sleep 0.01"},
		{"hyperfine.wall_time.sleep 0.01", "ns", "mean", int64(20_000_000), int64(0), nil},
		{"hyperfine.wall_time.sleep 0.01", "ns", "stddev", int64(1_000_000), int64(0), nil},
		{"hyperfine.wall_time.sleep 0.01", "ns", "median", int64(20_000_000), int64(0), nil},
		{"hyperfine.user_time.sleep 0.01", "ns", "mean", int64(1_000_000), int64(0), nil},
		{"hyperfine.system_time.sleep 0.01", "ns", "mean", 500.0, int64(0), nil},
		{"hyperfine.wall_time.sleep 0.01", "ns", "min", int64(10_000_000), int64(0), nil},
		{"hyperfine.wall_time.sleep 0.01", "ns", "max", int64(30_000_000), int64(0), nil},
		{"hyperfine.wall_time.b", "ns", "sample", int64(1_500_000_000), int64(0), "b"},
	}
	if len(got) != 18 || !reflect.DeepEqual(got[:len(want)], want) {
		t.Errorf("%d rows\n%v\nwant %v", len(got), got, want)
	}
	if d := rows[0]["dimensions"]; !reflect.DeepEqual(d, map[string]string{"command": "sleep 0.01", "parameter.d": "0.01", "exit": "0"}) {
		t.Errorf("dimensions %v", d)
	}
}

func TestWhatIsRefusedAndWhatIsSaid(t *testing.T) {
	doc := func(old, new string) string {
		if !strings.Contains(document, old) {
			t.Fatalf("the document has no %q", old)
		}
		return strings.Replace(document, old, new, 1)
	}
	for name, c := range map[string]struct {
		data  string
		state evidence.State
		codes []string
	}{
		"noise in front":              {"Benchmark 1: x\n" + document, evidence.Incompatible, []string{hyperfine.NotJSON}},
		"cut":                         {document[:len(document)-2], evidence.Incompatible, []string{hyperfine.Truncated}},
		"a list":                      {"[]", evidence.Incompatible, []string{hyperfine.NotHyperfine}},
		"results of something else":   {`{"results":[{"energy":1420.4}]}`, evidence.Incompatible, []string{hyperfine.NotHyperfine}},
		"a page of an interface":      {`{"swagger":"2.0","paths":{}}`, evidence.Incompatible, []string{hyperfine.NotHyperfine}},
		"NaN":                         {doc("0.001", "NaN"), evidence.Incompatible, []string{hyperfine.NotJSON}},
		"a time below zero":           {doc("[0.01,", "[-0.01,"), evidence.Incompatible, []string{hyperfine.Contradiction}},
		"a time without end":          {doc("[0.01,", "[1e300,"), evidence.Incompatible, []string{hyperfine.Contradiction}},
		"a status too many":           {doc(`"exit_codes":[0,0]`, `"exit_codes":[0,0,0]`), evidence.Incompatible, []string{hyperfine.Contradiction}},
		"a memory too few":            {doc("[4096,8192]", "[4096]"), evidence.Incompatible, []string{hyperfine.Contradiction}},
		"a member twice":              {doc(`"user":0.001`, `"mean":1`), evidence.Incompatible, []string{hyperfine.NotJSON}},
		"a run that failed":           {doc(`"exit_codes":[0,0]`, `"exit_codes":[0,1]`), evidence.Partial, []string{hyperfine.FailedRuns}},
		"a run that was killed":       {doc(`"exit_codes":[0,0]`, `"exit_codes":[null,0]`), evidence.Partial, []string{hyperfine.FailedRuns}},
		"a time of zero":              {doc("0.0000004", "0.0"), evidence.Complete, []string{hyperfine.ZeroTimes}},
		"one command twice":           {doc(`"command":"b"`, `"command":"sleep 0.01"`), evidence.Complete, []string{hyperfine.SameCommand}},
		"a member that is new":        {doc(`"median":0.02,`, `"median":0.02,"energy":{"j":1},`), evidence.Complete, []string{hyperfine.UnknownMembers}},
		"no times":                    {`{"results":[{"command":"a","mean":1,"times":null}]}`, evidence.Empty, []string{hyperfine.NoValues}},
		"one of two without times":    {doc(`"times":[1.5],"exit_codes":[0]`, `"exit_codes":[0]`), evidence.Partial, []string{hyperfine.NoTimes}},
		"parameters that are numbers": {doc(`"d":"0.01"`, `"d":0.01`), evidence.Complete, nil},
	} {
		t.Run(name, func(t *testing.T) {
			out, rows := extract(t, []byte(c.data))
			if out.State != c.state || !slices.Equal(providertest.Codes(out.Limitations), c.codes) || (out.State == evidence.Complete || out.State == evidence.Partial) != (len(rows) > 0) {
				t.Errorf("%s %v with %d rows, want %s %v", out.State, out.Limitations, len(rows), c.state, c.codes)
			}
		})
	}
}

func TestStatusesAreHeldAgainstWhatTheWorkloadExpects(t *testing.T) {
	data := []byte(strings.Replace(document, `"exit_codes":[0,0]`, `"exit_codes":[0,3]`, 1))
	for name, c := range map[string]struct {
		expect []int
		valid  bool
	}{"of an import nothing is expected": {nil, true}, "expected": {[]int{0, 3}, true}, "not expected": {[]int{0, 2}, false}} {
		in := providertest.Input(t, hyperfine.Role, data)
		in.ExpectExit = c.expect
		if r, err := p.Validate(t.Context(), in); err != nil || r.Valid != c.valid {
			t.Errorf("%s: %+v %v", name, r, err)
		}
	}
}

func TestFixtures(t *testing.T) {
	for name, c := range map[string]struct {
		state   evidence.State
		samples int64
		codes   []string
	}{
		"1brc-hyperfine.json":                      {evidence.Complete, 6, nil},
		"bencher-one.json":                         {evidence.Complete, 0, nil},
		"local-hyperfine1.15-params-failures.json": {evidence.Partial, 20, []string{hyperfine.FailedRuns, hyperfine.ZeroTimes, hyperfine.SameCommand}},
		"local-hyperfine1.15-unicode-name.json":    {evidence.Complete, 2, nil},
	} {
		t.Run(name, func(t *testing.T) {
			data := providertest.Fixture(t, "hyperfine/"+name)
			out, rows := extract(t, data)
			t.Logf("%v %v", out.Results, out.Limitations)
			if out.State != c.state || c.samples != 0 && out.Results["samples"] != c.samples || !slices.Equal(providertest.Codes(out.Limitations), c.codes) {
				t.Errorf("%+v", out)
			}
			if !p.Formats()[0].Detect(data[:min(len(data), 4096)]) {
				t.Error("it is not claimed")
			}
			means(t, rows)
		})
	}
}

// means computes hyperfine's means again, from the samples.
func means(t *testing.T, rows []providertest.Row) {
	t.Helper()
	type sum struct{ n, total, mean float64 }
	sums := map[string]*sum{}
	for _, r := range rows {
		d := r["dimensions"].(map[string]string)
		key := r["name"].(string) + " " + d["result"]
		if sums[key] == nil {
			sums[key] = &sum{}
		}
		v, ok := r["value_float"].(float64)
		if !ok {
			v = float64(r["value_int"].(int64))
		}
		switch r["aggregation"] {
		case "sample":
			sums[key].n++
			sums[key].total += v
		case "mean":
			sums[key].mean = v
		}
	}
	checked := 0
	for key, s := range sums {
		if s.n == 0 {
			continue
		}
		checked++
		if math.Abs(s.total/s.n-s.mean) > 1+1e-9*s.mean {
			t.Errorf("%s: the mean is %v, and of the samples it is %v", key, s.mean, s.total/s.n)
		}
	}
	if checked == 0 {
		t.Error("there is no sample")
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(document))
	f.Add([]byte(`{"results":[{"command":"a","mean":0,"times":[0],"exit_codes":[null],"parameters":{"a":1}}],"x":1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		out, rows := extract(t, data)
		r, err := p.Validate(t.Context(), providertest.Input(t, hyperfine.Role, data))
		if err != nil || r.Valid != (out.State == evidence.Complete || out.State == evidence.Partial) || r.Valid != (len(rows) > 0) {
			t.Fatalf("valid %v (%v), %s with %d rows", r.Valid, err, out.State, len(rows))
		}
	})
}
