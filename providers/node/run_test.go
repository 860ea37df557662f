package node_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/providers/node"
	"github.com/flameox/flameox/providers/providertest"
)

// Real runs of the Node that is on this machine.

const script = `
const { Worker, isMainThread } = require('node:worker_threads')
const { fork } = require('node:child_process')
const kept = globalThis.kept = []
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2) }
function allocate() { for (let i = 0; i < 2000; i++) kept.push(new Array(200).fill(i)) }
const get = { get 'a\nb'() { return fib(22) } }
if (!isMainThread || process.argv[2] === 'child') { fib(33) }
else {
  const until = Date.now() + 200
  while (Date.now() < until) { fib(22); get['a\nb']; eval('fib(18)') }
  allocate()
  if (process.argv[2] === 'family') { new Worker(__filename); fork(__filename, ['child']) }
  if (process.argv[2] === 'fail') process.exitCode = 3
  if (process.argv[2] === 'throw') throw new Error('ouch')
}
`

func needNode(t *testing.T) {
	t.Helper()
	path, err := exec.LookPath("node")
	if err != nil {
		t.Skip("there is no node on PATH")
	}
	probe, version := p.Probe([]string{path})
	out, err := exec.CommandContext(t.Context(), probe[0], probe[1:]...).Output()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := version(out, nil); err != nil {
		t.Skip(err)
	}
}

// capture plans with o over the script and runs it.
func capture(t *testing.T, o *node.Options, args ...string) (providers.Input, providertest.Ran) {
	t.Helper()
	needNode(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.js"), []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	inv, err := p.Plan(providers.Workload{Argv: append([]string{"node", "main.js"}, args...)}, o)
	if err != nil {
		t.Fatal(err)
	}
	ran := providertest.Start(t, inv, dir)
	in := providers.Input{Exit: ran.Exit, Paths: providers.Paths{Root: dir, Dir: dir}}
	for _, out := range inv.Outputs {
		if out.Path == "" {
			continue
		}
		files, err := filepath.Glob(filepath.Join(ran.Out, out.Path))
		if err != nil || len(files) == 0 {
			t.Fatalf("no file is %s: %v\n%s%s", out.Path, err, ran.Stdout, ran.Stderr)
		}
		for _, f := range files {
			data, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			a := providertest.Input(t, out.Role, data).Artifacts[0]
			a.Name, a.MediaType = filepath.Base(f), out.MediaType
			in.Artifacts = append(in.Artifacts, a)
		}
	}
	return in, ran
}

func TestRealRuns(t *testing.T) {
	t.Run("both profiles, told apart by kind", func(t *testing.T) {
		in, _ := capture(t, options(func(o *node.Options) {
			interval := 4096
			o.Profiles, o.HeapInterval = []string{"cpu", "heap"}, &interval
		}))
		if r, err := p.Validate(t.Context(), in); err != nil || !r.Valid {
			t.Fatalf("%+v %v", r, err)
		}
		out, tables := providertest.Extract(t, p, in, nil, evidence.DefaultBudget())
		times, sizes := values(tables, "cpu.self_time"), values(tables, "memory.self_size")
		if fib := times["fib:5"]; fib[0] < 50_000_000 || sizes["allocate:6"][0] < 1_000_000 || out.State != evidence.Complete {
			t.Errorf("fib %v, allocate %v, %+v", fib, sizes["allocate:6"], out)
		}
		for _, r := range tables["frames"] {
			if r["function"] == "fib" && r["file"] != "main.js" {
				t.Errorf("the file is %v and not relative to the project", r["file"])
			}
		}
		for _, a := range in.Artifacts {
			compareWithJavaScript(t, a.Path)
		}
	})
	t.Run("a process that exits otherwise keeps its profile", func(t *testing.T) {
		for arg, exit := range map[string]int{"fail": 3, "throw": 1} {
			in, ran := capture(t, options(), arg)
			r, err := p.Validate(t.Context(), in)
			if err != nil || ran.Exit != exit || r.Valid || len(r.Reasons) != 1 || r.Reasons[0].Code != node.UnexpectedExit {
				t.Errorf("%s: exit %d, %+v %v", arg, ran.Exit, r, err)
			}
		}
	})
	t.Run("workers and children leave files of their own", func(t *testing.T) {
		in, _ := capture(t, options(func(o *node.Options) { o.Children = true }), "family")
		out, tables := providertest.Extract(t, p, in, nil, evidence.DefaultBudget())
		if len(in.Artifacts) != 3 || out.Results["profiles"] != int64(3) {
			t.Fatalf("%d profiles, %+v", len(in.Artifacts), out)
		}
		fib := map[string]bool{}
		for _, r := range tables["frames"] {
			if r["function"] == "fib" {
				fib[r["frame"].(string)] = true
			}
		}
		with := map[string]bool{}
		for _, r := range tables["stacks"] {
			if fib[r["leaf"].(string)] {
				with[r["labels"].(map[string]string)["profile"]] = true
			}
		}
		if len(with) != 3 {
			t.Errorf("fib runs in %v", with)
		}
	})
}

func TestFixturesAgreeWithJavaScript(t *testing.T) {
	needNode(t)
	for _, name := range []string{
		"node-cpuprofile/chrome65-simple.cpuprofile", "node-cpuprofile/local-node20.20.2-names.cpuprofile", "node-cpuprofile/local-node20.20.2-uncaught-exit1.cpuprofile",
		"node-cpuprofile/sucrase.cpuprofile", "node-heapprofile/Heap-20181003T105432.heapprofile", "node-heapprofile/Heap-20181005T144546.heapprofile", "node-heapprofile/local-node20.20.2-n.heapprofile",
	} {
		t.Run(filepath.Base(name), func(t *testing.T) {
			data := providertest.Fixture(t, name)
			path := filepath.Join(t.TempDir(), "p")
			if err := os.WriteFile(path, data, 0o644); err != nil {
				t.Fatal(err)
			}
			compareWithJavaScript(t, path)
		})
	}
}

// reference computes self and inclusive weights of every function as Chrome's tools do, with its own reading of the file: each sample lasts
// until the next one in time, and a function that calls itself counts once per sample.
const reference = `
const profile = JSON.parse(require('node:fs').readFileSync(process.argv[1], 'utf8'))
const table = {}
const key = f => [f.functionName || '(anonymous)', f.url, f.lineNumber + 1, f.columnNumber + 1, f.url === '' && f.scriptId !== '0' && !/^\(.*\)$/.test(f.functionName) ? f.scriptId : ''].join('|')
function add(metric, stack, weight) {
  if (weight === 0n) return
  const functions = stack.map(n => key(n.callFrame))
  const row = k => (table[metric] ??= {})[k] ??= [0n, 0n]
  row(functions[0])[0] += weight
  for (const f of new Set(functions)) row(f)[1] += weight
}
const parent = new Map()
const stack = n => { const s = []; for (; n; n = parent.get(n)) s.push(n); return s }
if (profile.nodes) {
  const byID = new Map(profile.nodes.map(n => [n.id, n]))
  for (const n of profile.nodes) for (const c of n.children ?? []) parent.set(byID.get(c), n)
  for (const n of profile.nodes) add('cpu.hit_count', stack(n), BigInt(n.hitCount ?? 0))
  let at = profile.startTime
  const samples = profile.samples.map((id, i) => ({ id, at: at += profile.timeDeltas[i] }))
  samples.sort((a, b) => a.at - b.at)
  samples.forEach((s, i) => {
    const end = i + 1 < samples.length ? samples[i + 1].at : Math.max(profile.endTime, s.at)
    add('cpu.self_time', stack(byID.get(s.id)), BigInt(end - s.at) * 1000n)
  })
} else {
  const visit = n => { add('memory.self_size', stack(n), BigInt(n.selfSize)); for (const c of n.children) { parent.set(c, n); visit(c) } }
  visit(profile.head)
}
console.log(JSON.stringify(table, (_, v) => typeof v === 'bigint' ? Number(v) : v))
`

func compareWithJavaScript(t *testing.T, path string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "node", "-e", reference, path)
	cmd.Stderr = os.Stderr
	printed, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]map[string][2]int64{}
	if err := json.Unmarshal(printed, &want); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, tables := extract(t, string(data), "function")
	names := map[string]string{}
	for _, r := range tables["frames"] {
		text := func(column string) string {
			if r[column] == nil {
				return map[string]string{"line": "0", "column": "0"}[column]
			}
			return strings.TrimPrefix(fmt.Sprint(r[column]), "v8-script:")
		}
		names[r["frame"].(string)] = strings.Join([]string{text("function"), text("file"), text("line"), text("column"), text("module")}, "|")
	}
	got := map[string]map[string][2]int64{}
	for _, r := range tables["frame_values"] {
		m := r["metric"].(string)
		if got[m] == nil {
			got[m] = map[string][2]int64{}
		}
		got[m][names[r["frame"].(string)]] = [2]int64{r["self"].(int64), r["inclusive"].(int64)}
	}
	if len(want) == 0 {
		t.Error("the reference has no metric")
	}
	for metric, functions := range want {
		if len(got[metric]) != len(functions) {
			t.Errorf("%s of %d functions, the reference has %d", metric, len(got[metric]), len(functions))
		}
		for f, w := range functions {
			if g := got[metric][f]; g != w {
				t.Errorf("%s of %s is %v, the reference says %v", metric, f, g, w)
			}
		}
	}
}

func TestConformance(t *testing.T) {
	plan := &providertest.Plan{Workload: providers.Workload{Argv: []string{"node", "main.js"}}}
	root := `{"callFrame":{"functionName":"(root)","scriptId":"0","url":"","lineNumber":-1,"columnNumber":-1},"id":1,`
	t.Run("cpu", func(t *testing.T) {
		in, _ := capture(t, options())
		valid, err := os.ReadFile(in.Artifacts[0].Path)
		if err != nil {
			t.Fatal(err)
		}
		providertest.Run(t, p, &providertest.Cases{
			Valid: valid, Empty: []byte(`{"nodes":[` + root + `"hitCount":0}],"startTime":5,"endTime":9,"samples":[],"timeDeltas":[]}`), EmptyValid: true, Several: true, Role: node.Role, Half: evidence.Incompatible, Cuttable: true,
		}, plan)
	})
	t.Run("heap", func(t *testing.T) {
		in, _ := capture(t, options(func(o *node.Options) {
			interval := 16384
			o.Profiles, o.HeapInterval = []string{"heap"}, &interval
		}))
		valid, err := os.ReadFile(in.Artifacts[0].Path)
		if err != nil {
			t.Fatal(err)
		}
		providertest.Run(t, p, &providertest.Cases{
			Valid: valid, Empty: []byte(`{"head":` + root + `"selfSize":0,"children":[]},"samples":[]}`), EmptyValid: true, Several: true, Role: node.Role, Half: evidence.Incompatible, Cuttable: true,
		}, plan)
	})
}

// big is a profile of n nodes with a few hundred functions and stacks of about 25 frames, as a server has them.
func big(n int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	kids := make([][]int, n+1)
	depth := make([]int, n+1)
	for i := 2; i <= n; i++ {
		parent := 1 + r.IntN(i-1)
		if i > 40 && depth[i-1] < 40 && r.IntN(20) > 0 {
			parent = i - 1
		}
		kids[parent], depth[i] = append(kids[parent], i), depth[parent]+1
	}
	var b strings.Builder
	b.WriteString(`{"nodes":[`)
	for i := 1; i <= n; i++ {
		f, hits := r.IntN(700), 0
		if i%10 == 1 { // most calls are on the way to the one that is sampled
			hits = 10
		}
		list, _ := json.Marshal(kids[i])
		if i > 1 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id":%d,"callFrame":{"functionName":"f%d","scriptId":"%d","url":"file:///home/u/p/src/m%d.js","lineNumber":%d,"columnNumber":2},"hitCount":%d,"children":%s}`, i, f, f%50, f%50, f, hits, strings.Replace(string(list), "null", "[]", 1))
	}
	samples, deltas := make([]int, n), make([]int, n)
	for i := range samples {
		samples[i], deltas[i] = i-i%10+1, 900+r.IntN(200)
	}
	s, _ := json.Marshal(samples)
	d, _ := json.Marshal(deltas)
	fmt.Fprintf(&b, `],"startTime":0,"endTime":%d,"samples":%s,"timeDeltas":%s}`, n*1200, s, d)
	return []byte(b.String())
}

func TestTwentyThousandNodesAreReadAtOnce(t *testing.T) {
	data := string(big(20_001))
	began := time.Now()
	out, tables := extract(t, data, "function")
	if out.State != evidence.Complete || values(tables, "cpu.hit_count")["f1:2"][0] == 0 {
		t.Errorf("%+v", out)
	}
	// Far above what it takes, and far below what anything quadratic would.
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
}

// BenchmarkExtract is what an extraction takes in process, without reading its rows back.
func BenchmarkExtract(b *testing.B) {
	data := big(20_001)
	path := filepath.Join(b.TempDir(), "blob")
	if err := os.WriteFile(path, data, 0o444); err != nil {
		b.Fatal(err)
	}
	in := providers.Input{Artifacts: []providers.Artifact{{Name: "p", Role: node.Role, Size: int64(len(data)), Path: path}}}
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		sink := evidence.NewSink(b.TempDir(), evidence.FileMeta{Provider: "node", ProviderVersion: 1}, evidence.DefaultBudget())
		if _, err := p.Extract(b.Context(), in, nil, evidence.DefaultBudget(), sink); err != nil {
			b.Fatal(err)
		}
		if _, err := sink.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
