package perf_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/formats/perfscript"
	"github.com/flameox/flameox/internal/token"
	"github.com/flameox/flameox/lang"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/providers/perf"
	"github.com/flameox/flameox/providers/providertest"
)

var p perf.Provider

func options(change ...func(*perf.Options)) *perf.Options {
	o := lang.Defaults(p.Options()).(*perf.Options)
	for _, f := range change {
		f(o)
	}
	return o
}

func text(t *testing.T, data []byte) providers.Input {
	in := providertest.Input(t, perf.Role, data)
	in.Artifacts[0].MediaType = perfscript.MediaType
	return in
}

// values are self, inclusive and samples of a metric by function, or by @module where it has no name.
func values(tables map[string][]providertest.Row, metric string) map[string][3]int64 {
	names := map[string]string{}
	for _, r := range tables["frames"] {
		name, ok := r["function"].(string)
		if !ok {
			module, _ := r["module"].(string)
			name = "@" + module
		}
		names[r["frame"].(string)] = name
	}
	out := map[string][3]int64{}
	for _, r := range tables["frame_values"] {
		if r["metric"] == metric {
			v := out[names[r["frame"].(string)]]
			out[names[r["frame"].(string)]] = [3]int64{v[0] + r["self"].(int64), v[1] + r["inclusive"].(int64), v[2] + int64(r["samples"].(uint64))}
		}
	}
	return out
}

func labels(tables map[string][]providertest.Row) map[string]int64 {
	out := map[string]int64{}
	for _, r := range tables["stacks"] {
		l, _ := r["labels"].(map[string]string)
		out[strings.Trim(l["process"]+"/"+l["thread"], "/")] += r["weight"].(int64)
	}
	return out
}

func TestPlan(t *testing.T) {
	out := token.Make("out.dir")
	size := func(n int) *int { return &n }
	w := providers.Workload{Argv: []string{"./w", "-x"}}
	for _, c := range []struct {
		name string
		o    *perf.Options
		want string
	}{
		{"the defaults", options(), "perf record -N -F 99 --call-graph fp -o " + out + "/perf.data -- ./w -x"},
		{"everything", options(func(o *perf.Options) {
			o.Event, o.Frequency, o.CallGraph, o.StackSize, o.MaxSize, o.Program = "cycles:u", 10000, "dwarf", size(16384), "500M", "/opt/perf"
		}), "/opt/perf record -N -F 10000 --call-graph dwarf,16384 -e cycles:u --max-size 500M -o " + out + "/perf.data -- ./w -x"},
		{"no stacks", options(func(o *perf.Options) { o.CallGraph, o.Event = "none", "task-clock" }), "perf record -N -F 99 -e task-clock -o " + out + "/perf.data -- ./w -x"},
	} {
		t.Run(c.name, func(t *testing.T) {
			inv, err := p.Plan(w, c.o)
			if err != nil || strings.Join(inv.Argv, " ") != c.want || !slices.Equal(inv.Programs, []string{"./w"}) || !inv.Outputs[0].Required {
				t.Errorf("%q\nwant %q\n%v", inv.Argv, c.want, err)
			}
			if providertest.HasCode(inv.Limitations, perf.NoCallGraph) != (c.o.CallGraph == "none") {
				t.Errorf("%v", inv.Limitations)
			}
		})
	}
	for _, c := range []struct {
		name string
		w    providers.Workload
		o    *perf.Options
		want string
	}{
		{"no command", providers.Workload{}, options(), "no command"},
		{"perf itself", providers.Workload{Argv: []string{"/usr/bin/perf", "stat"}}, options(), "already"},
		{"an unknown event", w, options(func(o *perf.Options) { o.Event = "sched:sched_switch" }), "sched:sched_switch"},
		{"an option in an event", w, options(func(o *perf.Options) { o.Event = "cycles,-o" }), "cycles,-o"},
		{"an unknown call graph", w, options(func(o *perf.Options) { o.CallGraph = "orc" }), "orc"},
		{"too fast", w, options(func(o *perf.Options) { o.Frequency = 10001 }), "frequency = 10001"},
		{"too slow", w, options(func(o *perf.Options) { o.Frequency = 0 }), "frequency = 0"},
		{"a size of stack without dwarf", w, options(func(o *perf.Options) { o.StackSize = size(8192) }), "no effect"},
		{"an odd size of stack", w, options(func(o *perf.Options) { o.CallGraph, o.StackSize = "dwarf", size(9) }), "multiple of 8"},
		{"a size without a unit", w, options(func(o *perf.Options) { o.MaxSize = "500" }), "max_size"},
		{"no program", w, options(func(o *perf.Options) { o.Program = "" }), "program"},
	} {
		t.Run("refused: "+c.name, func(t *testing.T) {
			if _, err := p.Plan(c.w, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

func TestTheProbeSaysTheVersionOrWhatIsInTheWay(t *testing.T) {
	_, version := p.Probe([]string{"perf"})
	if v, err := version([]byte("perf version 6.1.192\n"), []byte("WARNING: x\n")); v != "6.1.192" || err != nil {
		t.Errorf("%q %v", v, err)
	}
	var denied *providers.Denial
	if v, err := version(nil, []byte("\nError:\nAccess is limited.\n")); v != "" || !errors.As(err, &denied) || !strings.Contains(denied.Why, "Error:") || !strings.Contains(denied.Do, "perf_event_paranoid") {
		t.Errorf("%q %v", v, err)
	}
	if v, err := version([]byte("hello"), nil); v != "" || err == nil || errors.As(err, &denied) {
		t.Errorf("%q %v", v, err)
	}
}

func TestWhatTheKernelForbids(t *testing.T) {
	for _, c := range []struct {
		level string
		cap   int
		want  bool
	}{{"4", -1, true}, {"3", -1, true}, {"4", 38, false}, {"4", 21, false}, {"4", 19, true}, {"2", -1, false}, {"-1", -1, false}, {"", -1, false}} {
		settings := map[string]string{}
		if c.level != "" {
			settings[p.Settings()[0]] = c.level
		}
		d := p.Forbidden(settings, func(n int) bool { return n == c.cap })
		if (d != nil) != c.want || d != nil && (!strings.Contains(d.Why, "perf_event_paranoid = "+c.level) || !strings.Contains(d.Do, "CAP_PERFMON")) {
			t.Errorf("%+v: %v", c, d)
		}
	}
}

const script = "w 1/1 1.000000001:    250000 cpu-clock:ppp: \n\t 2 leaf (/home/u/p/bin/w)\n\t 2 leaf (/home/u/p/bin/w)\n\t 1 main (/home/u/p/bin/w)\n\n" +
	"w 1/1 1.100000000:    250000 cpu-clock:ppp: \n\t ff [unknown] ([kernel.kallsyms])\n\t 2 leaf (/home/u/p/bin/w)\n\t 1 main (/home/u/p/bin/w)\n\n" +
	"io: 7 2.0: x 1/2 1.2:    250000 cpu-clock:ppp: \n\t 5 Lfoo;::bar (/tmp/perf-4711.map)\n\t 6 std::map<a, b>::f(int) (inlined)\n\n" +
	"w 1/1 1.3:    7 task-clock:u: \n\n"

func TestATextBecomesMetricsByEvent(t *testing.T) {
	in := text(t, []byte(script))
	in.Paths = providers.Paths{Root: "/home/u/p"}
	out, tables := providertest.Extract(t, p, in, nil, evidence.DefaultBudget())
	want := map[string][3]int64{
		"leaf": {250_000, 500_000, 2}, "main": {0, 500_000, 2}, "@[kernel.kallsyms]": {250_000, 250_000, 1}, "Lfoo;::bar": {250_000, 250_000, 1}, "std::map<a, b>::f(int)": {0, 250_000, 1},
	}
	if got := values(tables, "perf.cpu-clock"); !reflect.DeepEqual(got, want) {
		t.Errorf("%v\nwant %v", got, want)
	}
	if got := values(tables, "perf.task-clock:u"); !reflect.DeepEqual(got, map[string][3]int64{"[unknown]": {7, 7, 1}}) {
		t.Errorf("%v", got)
	}
	if got := labels(tables); !maps.Equal(got, map[string]int64{"w": 500_007, "w/io: 7 2.0: x": 250_000}) {
		t.Errorf("%v", got)
	}
	modules := map[any]bool{}
	for _, f := range tables["frames"] {
		modules[f["module"]] = true
		if f["function"] == nil && f["address"] != uint64(0xff) || f["function"] != nil && f["address"] != nil || strings.HasPrefix(fmt.Sprint(f["function"]), "std::") != (f["inlined"] == true) {
			t.Errorf("%v", f)
		}
	}
	if !modules["bin/w"] || !modules["/tmp/perf-*.map"] {
		t.Errorf("%v", modules)
	}
	results := map[string]any{"samples": int64(4), "lost": int64(0), "default_metric": "perf.cpu-clock", "unit": "ns", "total": int64(750_000)}
	codes := []string{perf.KernelNames, perf.KernelLeftOut, "stack_missing", "symbols_missing"}
	if out.State != evidence.Complete || !reflect.DeepEqual(out.Results, results) || !slices.Equal(providertest.Codes(out.Limitations), codes) {
		t.Errorf("%+v", out)
	}
}

func TestWhatIsMissingIsSaid(t *testing.T) {
	deep := "w 1/1 1.0: 1 cycles:\n" + strings.Repeat("\t1 f (/x)\n", 127) + "\n"
	for _, c := range []struct {
		name, text string
		state      evidence.State
		codes      []string
		total      int64
		unit       string
	}{
		{"no period", "w 1 1.0: cpu-clock:\n\t1 f (/x)\n\nw 1 1.0: 5 cpu-clock:\n\t1 f (/x)\n\n", evidence.Complete, []string{perf.NoPeriods}, 2, "count"},
		{"no call graph", "w 1 1.0: 5 cycles: 1 f (/x)\n", evidence.Complete, []string{perf.OnePlace}, 5, "count"},
		{"lost records", "w 1/1 1.0: PERF_RECORD_LOST lost 9\nw 1 1.0: 5 cycles:\n\t1 f (/x)\n\n", evidence.Partial, []string{perf.Lost}, 5, "count"},
		{"stacks that perf cut", deep, evidence.Complete, []string{perf.StacksCut}, 1, "count"},
		{"a line of something else", "w 1 1.0: 5 cycles:\n\t1 f (/x)\n\nhello\n", evidence.Partial, []string{perf.LinesUnknown}, 5, "count"},
		{"no line end", "w 1 1.0: 5 cycles:\n\t1 f (/x)", evidence.Partial, []string{perf.EndUnknown}, 5, "count"},
		{"cut in a line", "w 1 1.0: 5 cycles:\n\t1 f (/x)\n\t2 mai", evidence.Partial, []string{perf.Truncated}, 5, "count"},
		{"a byte that is no text", "w 1 1.0: 5 cycles:\n\t1 f\xa0 (/x)\n\n", evidence.Complete, []string{"text_not_utf8"}, 5, "count"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, _ := providertest.Extract(t, p, text(t, []byte(c.text)), nil, evidence.DefaultBudget())
			if out.State != c.state || !slices.Equal(providertest.Codes(out.Limitations), c.codes) || out.Results["total"] != c.total || out.Results["unit"] != c.unit {
				t.Errorf("%+v", out)
			}
		})
	}
}

func TestWhatIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		media, data, code string
		state             evidence.State
	}{
		"no bytes":                     {perfscript.MediaType, "", perf.EmptyFile, evidence.Incompatible},
		"prose":                        {perfscript.MediaType, "hello\n", perf.NotAScript, evidence.Incompatible},
		"a recording declared a text":  {perfscript.MediaType, "PERFILE2\x68\x00\x00\n", perf.NotAScript, evidence.Incompatible},
		"a text declared a recording":  {perf.MediaType, script, perf.NotARecording, evidence.Incompatible},
		"a recording of long ago":      {perf.MediaType, "PERFFILE" + strings.Repeat("\x00", 200), perf.OldFormat, evidence.Incompatible},
		"a recording without its perf": {perf.MediaType, "PERFILE2\x10\x00\x00\x00\x00\x00\x00\x00", perf.NoReader, evidence.Unavailable},
	} {
		in := providertest.Input(t, perf.Role, []byte(c.data))
		in.Artifacts[0].MediaType = c.media
		out, tables := providertest.Extract(t, p, in, nil, evidence.DefaultBudget())
		if out.State != c.state || len(tables) != 0 || !slices.Equal(providertest.Codes(out.Limitations), []string{c.code}) {
			t.Errorf("%s: %+v", name, out)
		}
	}
}

func TestTextsOfOtherMachines(t *testing.T) {
	first := regexp.MustCompile(`(?m)^[^\s#].*?\s\d+\.\d+:\s+(?:(\d+)\s+)?[a-z-]+[:a-z]*:`)
	for _, name := range []string{"forks.linux-perf.txt", "local-perf6.1-script.txt", "one-sample.linux-perf.txt", "perf.test01", "rust-mangled.linux-perf.txt", "simple-with-header.linux-perf.txt"} {
		t.Run(name, func(t *testing.T) {
			data := providertest.Fixture(t, "perf-script/"+name)
			if !p.Formats()[1].Detect(data[:min(len(data), 4096)]) || p.Formats()[0].Detect(data) {
				t.Error("it is not known by its content")
			}
			var total, samples int64
			unit := "ns"
			for _, m := range first.FindAllSubmatch(data, -1) {
				samples++
				if len(m[1]) == 0 { // it has no period, and counts itself
					unit, total = "count", total+1
					continue
				}
				n, err := strconv.ParseInt(string(m[1]), 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				total += n
			}
			out, tables := providertest.Extract(t, p, text(t, data), nil, evidence.DefaultBudget())
			if out.Results["total"] != total || out.Results["samples"] != samples || samples == 0 || out.Results["unit"] != unit || len(tables["frames"]) == 0 {
				t.Errorf("%+v, want %d of %d samples", out, total, samples)
			}
			if want := bytes.HasSuffix(data, []byte("\n")); (out.State == evidence.Complete) != want {
				t.Errorf("%+v", out)
			}
		})
	}
	if _, tables := providertest.Extract(t, p, text(t, providertest.Fixture(t, "perf-script/rust-mangled.linux-perf.txt")), nil, evidence.DefaultBudget()); values(tables, "perf.task-clock")["_start"][1] == 0 {
		t.Error("_start has no time")
	}
}

func TestConformanceOfTexts(t *testing.T) {
	valid := script + "w 1/1 1.4: 9 cpu-clock:ppp:\n\t1 " + strings.Repeat("a_very_long_name", len(script)/8) + " (/home/u/p/bin/w)\n\n"
	providertest.Run(t, p, &providertest.Cases{
		Valid: []byte(valid), Empty: []byte("# ========\n# captured on: today\n"), Role: perf.Role, Half: evidence.Partial, Cuttable: true, EmptyValid: true,
	}, &providertest.Plan{Workload: providers.Workload{Argv: []string{"./w"}}})
}
