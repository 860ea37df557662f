package pyspy_test

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/formats/collapsed"
	"github.com/flameox/flameox/formats/speedscope"
	"github.com/flameox/flameox/internal/token"
	"github.com/flameox/flameox/lang"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/providers/providertest"
	"github.com/flameox/flameox/providers/pyspy"
)

var p pyspy.Provider

func options(change ...func(*pyspy.Options)) *pyspy.Options {
	o := lang.Defaults(p.Options()).(*pyspy.Options)
	for _, f := range change {
		f(o)
	}
	return o
}

// stacks are weights by names, root to leaf; labels stand in front.
func stacks(tables map[string][]providertest.Row, lines bool) map[string]int64 {
	names := map[string]string{}
	for _, r := range tables["frames"] {
		name, _ := r["function"].(string)
		if n, ok := r["line"].(int64); ok && lines {
			name += ":" + string(rune('0'+n%10))
		}
		names[r["frame"].(string)] = name
	}
	out := map[string]int64{}
	for _, r := range tables["stacks"] {
		var list []string
		for _, f := range r["frames"].([]string) {
			list = append(list, names[f])
		}
		key := strings.Join(list, ">")
		if l, _ := r["labels"].(map[string]string); len(l) > 0 {
			key = strings.Trim(l["process"]+"/"+l["thread"], "/") + ": " + key
		}
		out[key] += r["weight"].(int64)
	}
	return out
}

func extract(t *testing.T, media, data, granularity string) (evidence.Outcome, map[string][]providertest.Row) {
	t.Helper()
	in := providertest.Input(t, pyspy.Role, []byte(data))
	in.Artifacts[0].MediaType = media
	in.Paths = providers.Paths{Root: "/home/u/p"}
	return providertest.Extract(t, p, in, &pyspy.ExtractOptions{Granularity: granularity}, evidence.DefaultBudget())
}

func TestPlan(t *testing.T) {
	out := token.Make("out.dir")
	seconds := func(v float64) *float64 { return &v }
	for _, c := range []struct {
		name string
		w    providers.Workload
		o    *pyspy.Options
		want string
	}{
		{"the defaults", providers.Workload{Argv: []string{"python3", "m.py", "-x"}}, options(), "py-spy record --format speedscope --rate 100 --full-filenames --output " + out + "/profile.speedscope.json -- python3 m.py -x"},
		{"everything", providers.Workload{Argv: []string{"python3", "m.py"}, ExpectExit: []int{0, 3}}, options(func(o *pyspy.Options) {
			o.Rate, o.Native, o.GIL, o.Idle, o.Subprocesses, o.Nonblocking, o.Duration, o.Program = 1000, true, true, true, true, true, seconds(5), "/opt/py-spy"
		}), "/opt/py-spy record --format speedscope --rate 1000 --full-filenames --native --gil --idle --subprocesses --nonblocking --duration 5 --output " + out + "/profile.speedscope.json -- python3 m.py"},
		{"raw", providers.Workload{Argv: []string{"python3", "m.py"}}, options(func(o *pyspy.Options) { o.Format = "raw" }), "py-spy record --format raw --rate 100 --full-filenames --output " + out + "/profile.collapsed.txt -- python3 m.py"},
	} {
		t.Run(c.name, func(t *testing.T) {
			inv, err := p.Plan(c.w, c.o)
			if err != nil || strings.Join(inv.Argv, " ") != c.want || !slices.Equal(inv.Programs, []string{"python3"}) || !inv.Outputs[0].Required || !providertest.HasCode(inv.Limitations, pyspy.ExitHidden) {
				t.Errorf("%q\nwant %q\n%+v %v", inv.Argv, c.want, inv, err)
			}
			if len(inv.Scope.Filters) != 5 || inv.Scope.Bounds["rate"] == "" {
				t.Errorf("the scope does not say what is off: %+v", inv.Scope)
			}
		})
	}
	built := token.Make("build.b.dir") + "/main"
	if inv, err := p.Plan(providers.Workload{Argv: []string{built}}, options()); err != nil || len(inv.Programs) != 0 {
		t.Errorf("%+v %v", inv.Programs, err)
	}
	for _, c := range []struct {
		name string
		w    providers.Workload
		o    *pyspy.Options
		want string
	}{
		{"no command", providers.Workload{}, options(), "no command"},
		{"a status that py-spy hides", providers.Workload{Argv: []string{"python3"}, ExpectExit: []int{3}}, options(), "status 3"},
		{"an unknown format", providers.Workload{Argv: []string{"python3"}}, options(func(o *pyspy.Options) { o.Format = "flamegraph" }), "flamegraph"},
		{"too slow", providers.Workload{Argv: []string{"python3"}}, options(func(o *pyspy.Options) { o.Rate = 0 }), "rate = 0"},
		{"too fast", providers.Workload{Argv: []string{"python3"}}, options(func(o *pyspy.Options) { o.Rate = 1001 }), "rate = 1001"},
		{"raw of several processes", providers.Workload{Argv: []string{"python3"}}, options(func(o *pyspy.Options) { o.Format, o.Subprocesses = "raw", true }), "processes apart"},
		{"half a second", providers.Workload{Argv: []string{"python3"}}, options(func(o *pyspy.Options) { o.Duration = seconds(0.5) }), "duration = 0.5"},
		{"no program", providers.Workload{Argv: []string{"python3"}}, options(func(o *pyspy.Options) { o.Program = "" }), "program"},
		{"py-spy itself", providers.Workload{Argv: []string{"/usr/bin/py-spy", "record"}}, options(), "already"},
	} {
		t.Run("refused: "+c.name, func(t *testing.T) {
			if _, err := p.Plan(c.w, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

func TestVersionsThatAreRefused(t *testing.T) {
	probe, version := p.Probe([]string{"/bin/py-spy"})
	if !slices.Equal(probe, []string{"/bin/py-spy", "--version"}) {
		t.Errorf("probe %q", probe)
	}
	for text, want := range map[string]string{"py-spy 0.4.3\n": "0.4.3", "py-spy 0.4.2": "0.4.2", "py-spy 0.4.10\n": "0.4.10"} {
		if v, err := version([]byte(text), nil); err != nil || v != want {
			t.Errorf("%q: %q %v", text, v, err)
		}
	}
	for text, want := range map[string]string{"py-spy 0.5.0\n": "0.5.0", "py-spy 0.4.1\n": "0.4.1", "py-spy 1.4.2\n": "1.4.2", "py-spy 0.3.14": "0.3.14", "": "", "0.4.3": "", "spy-py 0.4.3": ""} {
		if v, err := version([]byte(text), nil); err == nil || v != want {
			t.Errorf("%q: %q %v", text, v, err)
		}
	}
}

func TestWhatTheKernelForbids(t *testing.T) {
	for _, c := range []struct {
		scope string
		cap   bool
		want  string
	}{{"0", false, ""}, {"1", false, ""}, {"2", true, ""}, {"2", false, "ptrace_scope = 2"}, {"3", true, "ptrace_scope = 3"}, {"", false, ""}} {
		settings := map[string]string{}
		if c.scope != "" {
			settings[p.Settings()[0]] = c.scope
		}
		d := p.Forbidden(settings, func(n int) bool { return c.cap && n == 19 })
		if (d == nil) != (c.want == "") || d != nil && (!strings.Contains(d.Why, c.want) || d.Do == "") {
			t.Errorf("%q: %v", c.scope, d)
		}
	}
}

const head = `{"$schema":"https://www.speedscope.app/file-format-schema.json","exporter":"py-spy@0.4.3","name":"py-spy profile","activeProfileIndex":null,"shared":{"frames":[
{"name":"<module>","file":"/home/u/p/m.py","line":8,"col":null},{"name":"fib","file":"/home/u/p/m.py","line":2,"col":null},{"name":"fib","file":"/home/u/p/m.py","line":3,"col":null},
{"name":"grüß","file":"/home/u/p/m.py","line":5,"col":null},{"name":"thread (7): a; b","file":"","line":0,"col":null},{"name":"process 7:\"python3 -c \nx\"","file":"","line":0,"col":null},
{"name":"0x7efc86a4524a","file":"/usr/lib/libc.so.6","line":0,"col":null},{"name":"_find_and_load","file":"<frozen importlib._bootstrap>","line":1176,"col":null}]},"profiles":[`

const valid = head + `{"type":"sampled","name":"Thread 7 \"a; b\"","unit":"seconds","startValue":0.0,"endValue":0.04,"samples":[[5,4,0,1,2,1],[4,0,3],[0,6],[7]],"weights":[0.01,0.01,0.01,0.01]},
{"type":"sampled","name":"Process 9 Thread 0x1A \"\"","unit":"seconds","startValue":0.0,"endValue":0.01,"samples":[[0]],"weights":[0.01]}]}`

func TestFramesThreadsAndProcesses(t *testing.T) {
	out, tables := extract(t, speedscope.MediaType, valid, "function")
	want := map[string]int64{"a; b: <module>>fib>fib>fib": 1e7, "a; b: <module>>grüß": 1e7, "a; b: <module>>": 1e7, "a; b: _find_and_load": 1e7, "9: <module>": 1e7}
	if got := stacks(tables, true); !reflect.DeepEqual(got, want) {
		t.Errorf("%v\nwant %v", got, want)
	}
	for _, r := range tables["frame_values"] { // recursion counts once
		for _, f := range tables["frames"] {
			if f["frame"] == r["frame"] && f["function"] == "fib" && (r["inclusive"] != int64(1e7) || r["self"] != int64(1e7) || f["file"] != "m.py" || f["language"] != "Python") {
				t.Errorf("%v %v", f, r)
			}
		}
	}
	for _, f := range tables["frames"] {
		if f["module"] == "/usr/lib/libc.so.6" && (f["function"] != nil || f["address"] != uint64(0x7efc86a4524a) || f["language"] != nil) {
			t.Errorf("%v", f)
		}
	}
	results := map[string]any{"threads": int64(2), "processes": int64(1), "samples": int64(5), "default_metric": "pyspy.time", "unit": "ns", "total": int64(5e7)}
	if out.State != evidence.Complete || out.Producer != "0.4.3" || !reflect.DeepEqual(out.Results, results) || !providertest.HasCode(out.Limitations, pyspy.Sampled) {
		t.Errorf("%+v", out)
	}
	_, tables = extract(t, speedscope.MediaType, valid, "line")
	if got := stacks(tables, true); got["a; b: <module>:8>fib:2>fib:3>fib:2"] != 1e7 {
		t.Errorf("%v", got)
	}
}

func TestRaw(t *testing.T) {
	const text = "<module> (/home/u/p/m.py:8);fib (/home/u/p/m.py:2);fib (/home/u/p/m.py:3) 4\n" +
		"process 9:\"python3 x.py\";thread (0x1A): main;<module> (/home/u/p/m (copy).py:8);sort (/usr/lib/libc.so.6);plain;0x7f (/x/libc-2.31.so) 2\n"
	out, tables := extract(t, collapsed.MediaType, text, "line")
	want := map[string]int64{"<module>:8>fib:2>fib:3": 4, "<module>:8>sort>plain>": 2}
	if got := stacks(tables, true); !reflect.DeepEqual(got, want) || out.State != evidence.Complete || out.Results["samples"] != int64(6) || out.Results["default_metric"] != "pyspy.samples" {
		t.Errorf("%v %+v", got, out)
	}
	files := map[string]bool{}
	for _, f := range tables["frames"] {
		if name, ok := f["file"].(string); ok {
			files[name] = true
		}
	}
	if !reflect.DeepEqual(files, map[string]bool{"m.py": true, "m (copy).py": true}) {
		t.Errorf("files %v", files)
	}
}

func TestWhatIsRefused(t *testing.T) {
	for name, c := range map[string]struct{ media, data, code string }{
		"another exporter":             {speedscope.MediaType, strings.Replace(valid, "py-spy@0.4.3", "rbspy@0.4.3", 1), pyspy.OtherExporter},
		"declared as the other format": {speedscope.MediaType, "a (b:1) 2\n", speedscope.NotJSON},
		"declared as raw":              {collapsed.MediaType, valid, collapsed.NotCollapsed},
		"a unit that is not known":     {speedscope.MediaType, strings.Replace(valid, `"seconds"`, `"days"`, 1), speedscope.Unknown},
	} {
		out, tables := extract(t, c.media, c.data, "function")
		if out.State != evidence.Incompatible || len(tables) != 0 || !slices.Equal(providertest.Codes(out.Limitations), []string{c.code}) {
			t.Errorf("%s: %+v", name, out)
		}
	}
}

func TestAProfileOfAnotherMachine(t *testing.T) {
	data := providertest.Fixture(t, "py-spy/profile-py-spy-0.4.2.speedscope.json")
	want := generalReader(t, data)
	out, tables := extract(t, speedscope.MediaType, string(data), "function")
	got := map[string]int64{}
	for stack, n := range stacks(tables, false) {
		thread, _, _ := strings.Cut(stack, ": ")
		got[thread] += n
	}
	if !reflect.DeepEqual(got, want) || len(want) != 4 || out.Producer != "0.4.2" || out.Results["threads"] != int64(4) {
		t.Errorf("%v, want %v\n%+v", got, want, out)
	}
}

// generalReader is the time of each thread in a file of speedscope's format.
func generalReader(t *testing.T, data []byte) map[string]int64 {
	t.Helper()
	var doc struct {
		Profiles []struct {
			Name    string
			Weights []float64
		}
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	out := map[string]int64{}
	for _, pr := range doc.Profiles {
		_, name, _ := strings.Cut(pr.Name, ` "`)
		for _, w := range pr.Weights {
			out[strings.TrimSuffix(name, `"`)] += int64(math.Round(w * 1e9))
		}
	}
	return out
}

func TestConformance(t *testing.T) {
	plan := &providertest.Plan{Workload: providers.Workload{Argv: []string{"python3", "m.py"}}}
	t.Run("speedscope", func(t *testing.T) {
		providertest.Run(t, p, &providertest.Cases{Valid: []byte(valid), Empty: []byte(head + "]}"), Role: pyspy.Role, Half: evidence.Incompatible, Cuttable: true, EmptyValid: true}, plan)
	})
	t.Run("chrometrace", func(t *testing.T) {
		frame := func(name, ph string, ts int) string {
			return fmt.Sprintf(`{"args":{"filename":"/home/u/p/m.py","line":%d},"cat":"py-spy","name":%q,"ph":%q,"pid":7,"tid":139704771165056,"ts":%d}`, ts%9+1, name, ph, ts)
		}
		trace := "[" + strings.Join([]string{frame("<module>", "B", 10), frame("f", "B", 20), frame("g", "B", 30), frame("g", "E", 50), frame("f", "E", 90), frame("<module>", "E", 100)}, ",") + "]"
		in := providertest.Input(t, pyspy.Role, []byte(trace))
		out, tables := providertest.Extract(t, p, in, &pyspy.ExtractOptions{Granularity: "function"}, evidence.DefaultBudget())
		if inclusive(tables, "f") != 70_000 || out.Results["total"] != int64(90_000) {
			t.Errorf("%+v", out)
		}
		providertest.Run(t, p, &providertest.Cases{Valid: []byte(trace), Empty: []byte("[]"), Role: pyspy.Role, Half: evidence.Partial, Cuttable: true, EmptyValid: true}, plan)
	})
	t.Run("raw", func(t *testing.T) {
		lines := strings.Repeat("<module> (m.py:1);f (m.py:2) 3\n<module> (m.py:1);g (m.py:4);f (m.py:2) 5\n", 4)
		providertest.Run(t, p, &providertest.Cases{Valid: []byte(lines + strings.Repeat("x", len(lines)) + " (m.py:1) 7\n"), Role: pyspy.Role, Half: evidence.Partial, Cuttable: true}, plan)
	})
}
