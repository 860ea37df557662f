package chrometrace_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/flameox/flameox/evidence"
	formats "github.com/flameox/flameox/formats/chrometrace"
	"github.com/flameox/flameox/formats/timeline"
	"github.com/flameox/flameox/formats/v8profile"
)

const program = `
const { performance } = require('perf_hooks')
function work() { let s = 0; for (let i = 0; i < 3e6; i++) s += i % 7; return s }
for (let i = 0; i < 5; i++) { performance.mark('a'); work(); performance.mark('b'); performance.measure('work', 'a', 'b') }
for (let i = 0; i < 20; i++) require('node:fs').readFileSync(__filename)
setTimeout(() => globalThis.gc(), 5)
`

// reference counts and sums events with its own reading of the file.
const reference = `
const trace = JSON.parse(require('node:fs').readFileSync(process.argv[1], 'utf8')).traceEvents
const out = { slices: {}, async: 0, instants: 0 }
const add = (name, us) => { const r = out.slices[name] ??= [0, 0]; r[0]++; r[1] += Math.round(us * 1000) }
const open = {}
for (const e of trace.toSorted((a, b) => a.ts - b.ts)) {
  const stack = open[e.pid + '/' + e.tid] ??= []
  if (e.ph === 'X' && (e.ts !== 0 || e.dur !== 0)) add(e.name, e.dur)
  else if (e.ph === 'B') stack.push(e)
  else if (e.ph === 'E' && stack.length) { const b = stack.pop(); add(b.name, e.ts - b.ts) }
  else if (e.ph === 'e') out.async++
  else if ('iIRn'.includes(e.ph)) out.instants++
}
console.log(JSON.stringify(out))
`

func TestNodesTracesAgreeWithJavaScript(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("there is no node on PATH")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.js"), []byte(program), 0o644); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "trace.json")
	cmd := exec.CommandContext(t.Context(), node, "--expose-gc", "--trace-event-categories", "v8,node,node.perf,node.fs.sync", "--trace-event-file-pattern", path, "main.js")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b, err := exec.CommandContext(t.Context(), node, "-e", reference, path).Output()
	if err != nil {
		t.Fatal(err)
	}
	var want struct {
		Slices          map[string][2]int64
		Async, Instants int64
	}
	if err := json.Unmarshal(b, &want); err != nil {
		t.Fatal(err)
	}
	out, tables := extract(t, data)
	got := map[string][2]int64{}
	for _, r := range tables["trace_events"] {
		if d, ok := r["duration_ns"].(int64); ok && r["kind"] == "slice" {
			v := got[r["name"].(string)]
			got[r["name"].(string)] = [2]int64{v[0] + 1, v[1] + d}
		}
	}
	if len(got) < 5 || fmt.Sprint(got) != fmt.Sprint(want.Slices) || out.Results["async_slices"] != want.Async || out.Results["instants"] != want.Instants {
		t.Errorf("%v\nwant %v\n%+v", got, want, out)
	}
	if trace, torch := formats.Detect(data[:min(len(data), 4096)]); !trace || torch {
		t.Error("the trace is not recognized")
	}
}

// busy runs long enough to be sampled.
const busy = `
function inner(n) { let s = 0; for (let i = 0; i < n; i++) s += Math.sqrt(i) * i % 7; return s }
function outer() { return inner(3e6) + inner(2e6) }
for (let i = 0; i < 12; i++) outer()
`

// Node writes one profile in both forms at once: as a file of its own, and in pieces into the trace.
func TestNodesSamplesInATraceAreThoseOfItsProfile(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("there is no node on PATH")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.js"), []byte(busy), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), node, "--cpu-prof", "--cpu-prof-name=p.cpuprofile", "--trace-event-categories", "v8,disabled-by-default-v8.cpu_profiler", "--trace-event-file-pattern", "trace.json", "main.js")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	data, err := os.ReadFile(filepath.Join(dir, "trace.json"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "p.cpuprofile"))
	if err != nil {
		t.Fatal(err)
	}
	own, err := v8profile.Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int64{}
	for _, n := range own.Samples {
		f := own.Frames[own.Nodes[n].Frame]
		if f.Function == "" {
			f.Function = "(anonymous)"
		}
		want[f.Function]++
	}
	out, tables := extract(t, data)
	names := map[any]string{}
	for _, r := range tables["frames"] {
		names[r["frame"]] = r["function"].(string)
	}
	got := map[string]int64{}
	profiles := map[string]bool{}
	for _, r := range tables["stacks"] {
		labels := r["labels"].(map[string]string)
		if r["metric"] != formats.HitCount.Name {
			continue
		}
		profiles[labels["profile"]] = true
		if labels["profile"] == "0x1" {
			got[names[r["leaf"]]] += r["weight"].(int64)
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) || want["inner"] < 20 {
		t.Errorf("%v\nwant %v", got, want)
	}
	// The profile that tracing itself takes is beside it.
	if len(profiles) != 2 || out.State != evidence.Complete {
		t.Errorf("the profiles are %v; %v", profiles, out)
	}
}

func FuzzFeed(f *testing.F) {
	for _, s := range []string{
		string(trace(x("a", 1, 5), ev("B", "b", 2), ev("E", "b", 3), ev("C", "c", 3, `,"args":{"x":1.5}`), ev("b", "r", 1, `,"cat":"c","id2":{"local":7}`), ev("s", "f", 2, `,"id":"0x1f"`))),
		`{"otherData":{},"traceEvents":[` + x("a", "1e3", `"2.5"`) + `,{}],"displayTimeUnit":"ns"}`,
		string(trace(profiled("Profile", 1000, `"startTime":1000`), chunk(2000, node(1, 0, "f")+","+node(2, 1, "g"), "1,2", "10,20"), profiled("ProfileChunk", 3000, `"endTime":1100`))),
		string(trace(ev("I", "CpuProfile", 300, `,"args":{"data":{"cpuProfile":{"nodes":[{"id":1,"callFrame":{"functionName":"f","scriptId":"0"},"children":[]}],"startTime":1,"endTime":2,"samples":[1],"timeDeltas":[1]}}}`))),
		`[{"ph":"M","name":"thread_name","pid":1,"tid":2,"args":{"name":"x\u00e9\n"}},` + x("a", 1, 5),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c := timeline.New(timeline.Options{Budget: evidence.DefaultBudget()})
		defer c.Close()
		if _, err := formats.Feed(t.Context(), bytes.NewReader(data), formats.Limits{Bytes: 1 << 22}, c, nil); err != nil {
			return
		}
		sink := evidence.NewSink(t.TempDir(), evidence.FileMeta{Provider: "chrometrace", ProviderVersion: 1}, evidence.DefaultBudget())
		defer sink.Discard()
		if _, err := c.Finish(t.Context(), sink); err != nil {
			t.Skip(err)
		}
		if _, err := sink.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
