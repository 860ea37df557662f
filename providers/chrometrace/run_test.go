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

func FuzzFeed(f *testing.F) {
	for _, s := range []string{
		string(trace(x("a", 1, 5), ev("B", "b", 2), ev("E", "b", 3), ev("C", "c", 3, `,"args":{"x":1.5}`), ev("b", "r", 1, `,"cat":"c","id2":{"local":7}`), ev("s", "f", 2, `,"id":"0x1f"`))),
		`{"otherData":{},"traceEvents":[` + x("a", "1e3", `"2.5"`) + `,{}],"displayTimeUnit":"ns"}`,
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
