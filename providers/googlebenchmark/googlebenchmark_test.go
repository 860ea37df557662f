package googlebenchmark_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/internal/token"
	"github.com/flameox/flameox/lang"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/providers/googlebenchmark"
	"github.com/flameox/flameox/providers/providertest"
)

var p googlebenchmark.Provider

func options(change ...func(*googlebenchmark.Options)) *googlebenchmark.Options {
	o := lang.Defaults(p.Options()).(*googlebenchmark.Options)
	for _, f := range change {
		f(o)
	}
	return o
}

func extract(t *testing.T, data []byte) (evidence.Outcome, []providertest.Row) {
	t.Helper()
	out, tables := providertest.Extract(t, p, providertest.Input(t, googlebenchmark.Role, data), nil, evidence.DefaultBudget())
	return out, tables["measurements"]
}

// document is two repetitions with their mean and cv, and a complexity.
const document = `{"context":{"date":"x","host_name":"secret","executable":"./b","num_cpus":2,"mhz_per_cpu":2000,"cpu_scaling_enabled":false,"caches":[],"load_avg":[],"library_version":"v1.9.5","library_build_type":"release","json_schema_version":1},
"benchmarks":[
{"name":"BM/8","family_index":0,"per_family_instance_index":0,"run_name":"BM/8","run_type":"iteration","repetitions":2,"repetition_index":0,"threads":1,"iterations":1000,"real_time":1.5e+00,"cpu_time":1.25e+00,"time_unit":"us","bytes_per_second":8e9,"depth":3,"label":"l"},
{"name":"BM/8","family_index":0,"per_family_instance_index":0,"run_name":"BM/8","run_type":"iteration","repetitions":2,"repetition_index":1,"threads":1,"iterations":2000,"real_time":2.5e+00,"cpu_time":2.25e+00,"time_unit":"us","nan":NaN,"inf":-Infinity},
{"name":"BM/8_mean","family_index":0,"run_name":"BM/8","run_type":"aggregate","repetitions":2,"threads":1,"aggregate_name":"mean","aggregate_unit":"time","iterations":2,"real_time":2.0e+00,"cpu_time":1.75e+00,"time_unit":"us"},
{"name":"BM/8_cv","family_index":0,"run_name":"BM/8","run_type":"aggregate","repetitions":2,"threads":1,"aggregate_name":"cv","aggregate_unit":"percentage","iterations":2,"real_time":0.25,"cpu_time":0.5,"time_unit":"us","depth":0},
{"name":"BM_BigO","family_index":0,"run_name":"BM","run_type":"aggregate","repetitions":2,"threads":1,"aggregate_name":"BigO","aggregate_unit":"time","cpu_coefficient":2,"real_coefficient":3,"big_o":"N","time_unit":"ns"},
{"name":"BM_RMS","family_index":0,"run_name":"BM","run_type":"aggregate","repetitions":2,"threads":1,"aggregate_name":"RMS","aggregate_unit":"percentage","rms":0.5}]}`

func TestConformance(t *testing.T) {
	empty := document[:strings.Index(document, "[\n{")] + "[]}"
	providertest.Run(t, p, &providertest.Cases{Valid: []byte(document), Empty: []byte(empty), Role: googlebenchmark.Role, Half: evidence.Incompatible},
		&providertest.Plan{Workload: providers.Workload{Argv: []string{"./bench"}}})
}

func TestPlan(t *testing.T) {
	n := 7
	out := "--benchmark_out=" + token.Make("out.dir") + "/benchmark.json"
	for name, c := range map[string]struct {
		argv []string
		o    *googlebenchmark.Options
		want []string
		mode string
	}{
		"the defaults": {[]string{"./b", "x"}, options(), []string{"./b", "x", out, "--benchmark_out_format=json", "--benchmark_repetitions=10", "--benchmark_min_time=0.5"}, "repetitions"},
		"everything": {[]string{"python", "b.py"}, options(func(o *googlebenchmark.Options) {
			o.Filter, o.Repetitions, o.Iterations, o.WarmUp, o.Interleave = "-BM_Slow", 3, &n, 1500*time.Millisecond, true
		}), []string{"python", "b.py", out, "--benchmark_out_format=json", "--benchmark_repetitions=3", "--benchmark_min_time=7x", "--benchmark_min_warmup_time=1.5", "--benchmark_enable_random_interleaving=true", "--benchmark_filter=-BM_Slow"}, "random_interleaving"},
	} {
		t.Run(name, func(t *testing.T) {
			inv, err := p.Plan(providers.Workload{Argv: c.argv}, c.o)
			if err != nil || !slices.Equal(inv.Argv, c.want) || inv.Scope.Mode != c.mode {
				t.Errorf("%q %+v %v", inv.Argv, inv.Scope, err)
			}
		})
	}
	zero := 0
	for name, c := range map[string]struct {
		argv []string
		o    *googlebenchmark.Options
		says string
	}{
		"no repetitions":       {[]string{"./b"}, options(func(o *googlebenchmark.Options) { o.Repetitions = 0 }), "repetitions = 0"},
		"no time":              {[]string{"./b"}, options(func(o *googlebenchmark.Options) { o.MinTime = 0 }), "min_time"},
		"no iterations":        {[]string{"./b"}, options(func(o *googlebenchmark.Options) { o.Iterations = &zero }), "iterations = 0"},
		"a negative warm-up":   {[]string{"./b"}, options(func(o *googlebenchmark.Options) { o.WarmUp = -1 }), "min_warmup_time"},
		"a filter of lines":    {[]string{"./b"}, options(func(o *googlebenchmark.Options) { o.Filter = "a\nb" }), "filter"},
		"an output of its own": {[]string{"./b", "--benchmark_out=x"}, options(), "--benchmark_out=x"},
		"its own repetitions":  {[]string{"./b", "--benchmark_repetitions=3"}, options(), "take it out"},
	} {
		t.Run("refused: "+name, func(t *testing.T) {
			if _, err := p.Plan(providers.Workload{Argv: c.argv}, c.o); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %q", err, c.says)
			}
		})
	}
}

func TestRows(t *testing.T) {
	out, rows := extract(t, []byte(document))
	if out.State != evidence.Complete || out.Producer != "1.9.5" || !slices.Equal(providertest.Codes(out.Limitations), []string{googlebenchmark.NonFinite}) ||
		!reflect.DeepEqual(out.Results, map[string]any{"benchmarks": int64(2), "samples": int64(2)}) {
		t.Errorf("%+v", out)
	}
	type row struct {
		name, unit, aggregation string
		value                   any
		loops, index, worker    any
	}
	var got []row
	for _, r := range rows {
		got = append(got, row{r["name"].(string), r["unit"].(string), r["aggregation"].(string), r["value_float"], r["loops"], r["value_index"], r["worker"]})
	}
	want := []row{
		{"googlebenchmark.real_time.BM/8", "ns", "sample", 1500.0, uint64(1000), int64(0), "BM/8"},
		{"googlebenchmark.cpu_time.BM/8", "ns", "sample", 1250.0, uint64(1000), int64(0), "BM/8"},
		{"googlebenchmark.bytes_per_second.BM/8", "bytes/s", "sample", 8e9, uint64(1000), int64(0), "BM/8"},
		{"googlebenchmark.depth.BM/8", "counter", "sample", 3.0, uint64(1000), int64(0), "BM/8"},
		{"googlebenchmark.real_time.BM/8", "ns", "sample", 2500.0, uint64(2000), int64(1), "BM/8"},
		{"googlebenchmark.cpu_time.BM/8", "ns", "sample", 2250.0, uint64(2000), int64(1), "BM/8"},
		{"googlebenchmark.real_time.BM/8", "ns", "mean", 2000.0, nil, int64(0), nil},
		{"googlebenchmark.cpu_time.BM/8", "ns", "mean", 1750.0, nil, int64(0), nil},
		{"googlebenchmark.real_time.BM/8", "ratio", "cv", 0.25, nil, int64(0), nil},
		{"googlebenchmark.cpu_time.BM/8", "ratio", "cv", 0.5, nil, int64(0), nil},
		{"googlebenchmark.depth.BM/8", "ratio", "cv", 0.0, nil, int64(0), nil},
		{"googlebenchmark.real_time_coefficient.BM", "ns", "BigO", 3.0, nil, int64(0), nil},
		{"googlebenchmark.cpu_time_coefficient.BM", "ns", "BigO", 2.0, nil, int64(0), nil},
		{"googlebenchmark.complexity.BM", "ratio", "RMS", 0.5, nil, int64(0), nil},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v\nwant %v", got, want)
	}
	if d := rows[0]["dimensions"]; !reflect.DeepEqual(d, map[string]string{"benchmark": "BM/8", "label": "l"}) {
		t.Errorf("dimensions %v", d)
	}
	if d := rows[11]["dimensions"]; !reflect.DeepEqual(d, map[string]string{"benchmark": "BM", "big_o": "N"}) {
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
	const base = googlebenchmark.NonFinite // of the document
	failed := `"error_occurred":true,"error_message":"boom","real_time":`
	for name, c := range map[string]struct {
		data  string
		state evidence.State
		codes []string
	}{
		"noise in front":               {"Run on (2 X 2000 MHz)\n" + document, evidence.Incompatible, []string{googlebenchmark.NotJSON}},
		"noise behind":                 {document + "done", evidence.Incompatible, []string{googlebenchmark.NotJSON}},
		"cut":                          {document[:len(document)-30], evidence.Incompatible, []string{googlebenchmark.Truncated}},
		"a list":                       {"[]", evidence.Incompatible, []string{googlebenchmark.NotBenchmark}},
		"a percent sign":               {doc(`"rms":0.5`, `"rms": 12%`), evidence.Incompatible, []string{googlebenchmark.NotJSON}},
		"a newer schema":               {doc(`"json_schema_version":1`, `"json_schema_version":2`), evidence.Incompatible, []string{googlebenchmark.FormatVersion}},
		"another run type":             {doc(`"run_type":"iteration"`, `"run_type":"warmup"`), evidence.Incompatible, []string{googlebenchmark.FormatVersion}},
		"another unit":                 {doc(`"time_unit":"us"`, `"time_unit":"fortnight"`), evidence.Incompatible, []string{googlebenchmark.Contradiction}},
		"no unit":                      {doc(`"time_unit":"us",`, ``), evidence.Incompatible, []string{googlebenchmark.Contradiction}},
		"a member twice":               {doc(`"depth":3`, `"real_time":3`), evidence.Incompatible, []string{googlebenchmark.NotJSON}},
		"an endless time":              {doc(`"real_time":1.5e+00`, `"real_time":1e308`), evidence.Incompatible, []string{googlebenchmark.Contradiction}},
		"a number beyond floats":       {doc(`"depth":3`, `"depth":1e999`), evidence.Incompatible, []string{googlebenchmark.NotJSON}},
		"no version":                   {doc(`"library_version":"v1.9.5",`, ``), evidence.Complete, []string{googlebenchmark.NoProducer, base}},
		"a debug build":                {doc(`"release"`, `"debug"`), evidence.Complete, []string{googlebenchmark.DebugBuild, base}},
		"scaling":                      {doc(`"cpu_scaling_enabled":false`, `"cpu_scaling_enabled":true`), evidence.Complete, []string{googlebenchmark.Scaling, base}},
		"a member of another type":     {doc(`"depth":3`, `"depth":{"x":1}`), evidence.Complete, []string{base, googlebenchmark.OddMembers}},
		"one of two failed":            {doc(`"real_time":`, failed), evidence.Partial, []string{googlebenchmark.Failed, base}},
		"one of two was skipped":       {doc(`"real_time":`, `"skipped":true,"skip_message":"no GPU","real_time":`), evidence.Partial, []string{googlebenchmark.Failed, base}},
		"a benchmark of the same name": {doc(`"family_index":0,"per_family_instance_index":0,"run_name":"BM/8","run_type":"iteration","repetitions":2,"repetition_index":1`, `"family_index":1,"run_name":"BM/8","run_type":"iteration","repetition_index":0`), evidence.Complete, []string{base, googlebenchmark.SameName}},
		"times that are NaN":           {strings.NewReplacer("1.5e+00", "NaN", "1.25e+00", "-NaN").Replace(document), evidence.Complete, []string{base}},
		"all failed":                   {`{"context":{"library_version":"1.8.0"},"benchmarks":[{"name":"a","run_type":"iteration","error_occurred":true,"error_message":"x","real_time":0,"time_unit":"ns"}]}`, evidence.Empty, []string{googlebenchmark.AllFailed}},
		"aggregates alone":             {`{"context":{"library_version":"1.8.0"},"benchmarks":[{"name":"a_mean","run_name":"a","run_type":"aggregate","aggregate_name":"mean","real_time":1,"time_unit":"ns"}]}`, evidence.Complete, []string{googlebenchmark.AggregatesOnly}},
		"aggregates that are not marked": {`{"context":{"library_version":"1.4.0"},"benchmarks":[{"name":"a","real_time":1,"time_unit":"ns"},{"name":"a_mean","real_time":1,"time_unit":"ns"},{"name":"b_mean","real_time":1,"time_unit":"ns"}]}`,
			evidence.Partial, []string{googlebenchmark.UnclearKind}},
		"a p-value of zero is a value": {`{"context":{"library_version":"1.8.0"},"benchmarks":[{"name":"a","real_time":0,"cpu_time":0,"time_unit":"ns","p":0}]}`, evidence.Complete, nil},
	} {
		t.Run(name, func(t *testing.T) {
			out, rows := extract(t, []byte(c.data))
			if out.State != c.state || !slices.Equal(providertest.Codes(out.Limitations), c.codes) {
				t.Errorf("%s %v, want %s %v", out.State, out.Limitations, c.state, c.codes)
			}
			if (out.State == evidence.Complete || out.State == evidence.Partial) != (len(rows) > 0) {
				t.Errorf("%s with %d rows", out.State, len(rows))
			}
			for _, r := range rows {
				if r["value_float"] == 0.0 && r["aggregation"] == "sample" && name != "a p-value of zero is a value" {
					t.Errorf("a sample of zero: %v", r)
				}
			}
		})
	}
}

func TestFixtures(t *testing.T) {
	for name, c := range map[string]struct {
		state   evidence.State
		samples int
		codes   []string
		claimed bool
	}{
		"local-gbench1.7.1-mixed.json":        {evidence.Partial, 11, []string{googlebenchmark.NoProducer, googlebenchmark.DebugBuild, googlebenchmark.Failed, googlebenchmark.NonFinite}, true},
		"fuser-nvfuser_bench-mislabelled.csv": {evidence.Incompatible, 0, []string{googlebenchmark.Truncated}, true}, // it was cut where it was found
		"googlecpp_output.json":               {evidence.Complete, 2, []string{googlebenchmark.NoProducer}, true},
		"test1_run1.json":                     {evidence.Complete, 0, nil, true},
		"test2_run.json":                      {evidence.Complete, 0, nil, true},
		"test4_run.json":                      {evidence.Incompatible, 0, []string{googlebenchmark.NotBenchmark}, false}, // written by hand, without a context
		"local-gbench1.7.1-aborted.csv":       {evidence.Incompatible, 0, []string{googlebenchmark.NotJSON}, false},
	} {
		t.Run(name, func(t *testing.T) {
			data := providertest.Fixture(t, "google-benchmark/"+name)
			out, rows := extract(t, data)
			samples := 0
			for _, r := range rows {
				if r["aggregation"] == "sample" && strings.HasPrefix(r["name"].(string), "googlebenchmark.real_time.") {
					samples++
				}
			}
			t.Logf("%d samples of %d rows, %v", samples, len(rows), out.Limitations)
			if out.State != c.state || c.samples != 0 && samples != c.samples || c.codes != nil && !slices.Equal(providertest.Codes(out.Limitations), c.codes) {
				t.Errorf("%s, %d samples, %v", out.State, samples, out.Limitations)
			}
			if got := p.Formats()[0].Detect(data[:min(len(data), 4096)]); got != c.claimed {
				t.Errorf("detected: %v", got)
			}
		})
	}
	if p.Formats()[0].Detect([]byte(`{"context": {"x": 1}, "benchmarks": []}`)) {
		t.Error("another document with a context was claimed")
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(document))
	f.Add([]byte(`{"context":{},"benchmarks":[{"name":"a_mean"},{"name":"a","x":-NaN}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		out, rows := extract(t, data)
		r, err := p.Validate(t.Context(), providertest.Input(t, googlebenchmark.Role, data))
		if err != nil || r.Valid != (out.State == evidence.Complete || out.State == evidence.Partial) || r.Valid != (len(rows) > 0) {
			t.Fatalf("valid %v (%v), %s with %d rows", r.Valid, err, out.State, len(rows))
		}
	})
}
