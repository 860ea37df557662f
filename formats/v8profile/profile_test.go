package v8profile_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flameox/flameox/formats/v8profile"
)

const frame = `"callFrame":{"functionName":"f","scriptId":"9","url":"file:///p/a.js","lineNumber":4,"columnNumber":2}`

func cpu(nodes, samples, deltas string) string {
	return `{"nodes":[` + nodes + `],"startTime":100,"endTime":200,"samples":[` + samples + `],"timeDeltas":[` + deltas + `]}`
}

func TestCPUProfile(t *testing.T) {
	p, err := v8profile.Parse([]byte("\xEF\xBB\xBF" + cpu(
		`{"id":1,`+frame+`,"hitCount":0,"children":[7,3]},{"id":3,`+frame+`,"hitCount":2,"children":[4],"positionTicks":[{"line":9,"ticks":1}],"new":[{}]},{"id":4,`+frame+`},{"id":7,"callFrame":{"functionName":"g","scriptId":"9","url":"x","lineNumber":-1,"columnNumber":-1},"hitCount":1}`,
		"7,3,4", "10,-2,5") + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	if p.Kind != v8profile.CPU || len(p.Frames) != 2 || p.Frames[0] != (v8profile.CallFrame{Function: "f", Script: "9", URL: "file:///p/a.js", Line: 4, Column: 2}) {
		t.Errorf("frames %+v", p.Frames)
	}
	if p.Start != 100 || p.End != 200 || fmt.Sprint(p.Samples, p.Deltas) != "[3 1 2] [10 -2 5]" || !p.HasHits {
		t.Errorf("%+v", p)
	}
	var walk []string
	if err := p.Walk(func(n int32, depth int) error {
		walk = append(walk, fmt.Sprint(n, ":", depth, ":", p.Nodes[n].Hits, p.Nodes[n].Ticks))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(walk, " "); got != "0:0:0 [] 1:1:2 [{9 1}] 2:2:0 [] 3:1:1 []" {
		t.Error(got)
	}
	stop := errors.New("stop")
	if err := p.Walk(func(int32, int) error { return stop }); err != stop {
		t.Errorf("walking on after %v", err)
	}
}

func TestHeapProfile(t *testing.T) {
	p, err := v8profile.Parse([]byte(`{"head":{` + frame + `,"selfSize":0,"id":1,"children":[{"selfSize":2048,` + frame + `,"id":2,"children":[{` + frame + `,"selfSize":1024,"id":3,"children":[]}]},{` + frame + `,"selfSize":1,"id":4,"children":[],"x":{"y":[1]}}]},"samples":[{"size":10,"nodeId":3,"ordinal":5},{"size":7,"nodeId":99}]}`))
	if err != nil {
		t.Fatal(err)
	}
	var walk []string
	if err := p.Walk(func(n int32, depth int) error {
		walk = append(walk, fmt.Sprint(n, ":", depth, ":", p.Nodes[n].Size))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(walk, " "); p.Kind != v8profile.Heap || got != "0:0:0 1:1:2048 2:2:1024 3:1:1" {
		t.Error(got)
	}
	if fmt.Sprint(p.HeapSamples) != "[{2 10} {-1 7}]" || !p.HasSamples {
		t.Errorf("samples %v", p.HeapSamples)
	}
}

func TestWhatIsRefused(t *testing.T) {
	n := func(id, rest string) string { return `{"id":` + id + `,` + frame + rest + `}` }
	for name, c := range map[string]struct{ data, code, text string }{
		"no bytes":                {"", v8profile.EmptyFile, "no bytes"},
		"other JSON":              {`{"not_a_profile":true}`, v8profile.NotAProfile, "neither nodes nor head"},
		"a list":                  {`[1]`, v8profile.NotAProfile, "no object"},
		"text":                    {"hello", v8profile.NotJSON, "no JSON"},
		"a cut list":              {`[1`, v8profile.NotJSON, "no JSON"},
		"a cut profile":           {cpu(n("1", ""), "1", "1")[:90], v8profile.Truncated, "breaks off"},
		"bytes behind":            {cpu(n("1", ""), "1", "1") + "x", v8profile.NotJSON, "behind the end"},
		"no nodes":                {cpu("", "", ""), v8profile.NotAProfile, "no node"},
		"null nodes":              {`{"nodes":null}`, v8profile.NotJSON, "expected"},
		"no id":                   {cpu(`{`+frame+`}`, "", ""), v8profile.NotAProfile, "no id"},
		"an id that is true":      {cpu(n("true", ""), "", ""), v8profile.NotJSON, "number"},
		"an id with a fraction":   {cpu(n("1.5", ""), "", ""), v8profile.NotJSON, "whole number"},
		"no frame":                {cpu(`{"id":1}`, "", ""), v8profile.NotAProfile, "callFrame"},
		"ids twice":               {cpu(n("1", "")+","+n("1", ""), "", ""), v8profile.Contradiction, "two nodes have the id 1"},
		"an unknown child":        {cpu(n("1", `,"children":[99]`), "", ""), v8profile.Contradiction, "child 99"},
		"two parents":             {cpu(n("1", `,"children":[2,3]`)+","+n("2", `,"children":[3]`)+","+n("3", ""), "", ""), v8profile.Contradiction, "node 3 has two parents"},
		"two roots":               {cpu(n("1", "")+","+n("2", ""), "", ""), v8profile.Contradiction, "no parent"},
		"itself its child":        {cpu(n("1", `,"children":[1]`), "", ""), v8profile.Contradiction, "circle"},
		"a circle apart":          {cpu(n("1", "")+","+n("2", `,"children":[3]`)+","+n("3", `,"children":[2]`), "", ""), v8profile.Contradiction, "2 of its 3 nodes"},
		"negative hits":           {cpu(n("1", `,"hitCount":-1`), "", ""), v8profile.Contradiction, "hitCount -1"},
		"more ticks than hits":    {cpu(n("1", `,"hitCount":1,"positionTicks":[{"line":1,"ticks":2}]`), "", ""), v8profile.Contradiction, "ticks"},
		"a sample that is null":   {cpu(n("1", ""), "null", "1"), v8profile.NotJSON, "number"},
		"a sample of no node":     {cpu(n("1", ""), "2", "1"), v8profile.Contradiction, "node 2"},
		"deltas missing":          {cpu(n("1", ""), "1,1", "1"), v8profile.Contradiction, "2 samples and 1 timeDeltas"},
		"deltas beyond 64 bits":   {cpu(n("1", ""), "1,1", "9223372036854775000,9000"), v8profile.Contradiction, "64 bits"},
		"an end before the start": {strings.Replace(cpu(n("1", ""), "", ""), "200", "20", 1), v8profile.Contradiction, "endTime"},
		"no times":                {`{"nodes":[` + n("1", "") + `]}`, v8profile.Contradiction, "startTime"},
		"timestamps":              {`{"nodes":[` + n("1", "") + `],"startTime":1,"endTime":2,"samples":[1],"timestamps":[1]}`, v8profile.Legacy, "2016"},
		"both kinds":              {`{"nodes":[` + n("1", "") + `],"head":null}`, v8profile.NotAProfile, "both"},
		"heap samples of a cpu":   {cpu(n("1", ""), `{"size":1,"nodeId":1}`, ""), v8profile.NotAProfile, "heap"},
		"cpu samples of a heap":   {`{"head":{` + frame + `,"selfSize":1,"id":1,"children":[]},"samples":[1]}`, v8profile.NotAProfile, "CPU"},
		"a size below zero":       {`{"head":{` + frame + `,"selfSize":-1,"id":1,"children":[]}}`, v8profile.Contradiction, "selfSize -1"},
		"no children":             {`{"head":{` + frame + `,"selfSize":1,"id":1}}`, v8profile.NotAProfile, "lacks"},
		"heap ids twice":          {`{"head":{` + frame + `,"selfSize":1,"id":1,"children":[{` + frame + `,"selfSize":1,"id":1,"children":[]}]}}`, v8profile.Contradiction, "two nodes"},
		"a heap cut in a child":   {`{"head":{` + frame + `,"selfSize":1,"id":1,"children":[{` + frame, v8profile.Truncated, "breaks off"},
		"children twice":          {`{"head":{` + frame + `,"selfSize":1,"id":1,"children":[],"children":[]}}`, v8profile.Contradiction, "children twice"},
		"a heap sample of null":   {`{"head":{` + frame + `,"selfSize":1,"id":1,"children":[]},"samples":[null]}`, v8profile.NotJSON, "number"},
		"the head of old Chrome":  {`{"head":{"functionName":"(root)","id":1,"hitCount":0,"children":[{"functionName":"a","id":2,"children":[]}]},"startTime":1,"endTime":2,"samples":[2],"timestamps":[1]}`, v8profile.Legacy, "2016"},
		"a member twice":          {`{"nodes":[],"nodes":[]}`, v8profile.NotJSON, "twice"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := v8profile.Parse([]byte(c.data))
			var e *v8profile.Error
			if !errors.As(err, &e) || e.Code != c.code || !strings.Contains(e.Text, c.text) {
				t.Errorf("%v, want %s with %q", err, c.code, c.text)
			}
		})
	}
}

// chain is a profile in which each call makes the next.
func chain(n int) []byte {
	var b strings.Builder
	b.WriteString(`{"nodes":[`)
	for i := 1; i <= n; i++ {
		if i > 1 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id":%d,"callFrame":{"functionName":"f%d","scriptId":"9","url":"file:///p/a.js","lineNumber":%d,"columnNumber":2},"hitCount":0`, i, i, i)
		if i < n {
			fmt.Fprintf(&b, `,"children":[%d]`, i+1)
		}
		b.WriteByte('}')
	}
	fmt.Fprintf(&b, `],"startTime":0,"endTime":9,"samples":[%d],"timeDeltas":[1]}`, n)
	return []byte(b.String())
}

func TestDeepChainsCostNoStack(t *testing.T) {
	const n = 200_000
	heap := `{"head":` + strings.Repeat(`{`+frame+`,"selfSize":1,"children":[`, n) + strings.Repeat(`]}`, n) + `}`
	for kind, data := range map[string][]byte{"cpu": chain(n), "heap": []byte(heap)} {
		p, err := v8profile.Parse(data)
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		deepest := 0
		if err := p.Walk(func(_ int32, depth int) error { deepest = max(deepest, depth); return nil }); err != nil || deepest != n-1 || len(p.Nodes) != n {
			t.Errorf("%s: depth %d of %d nodes, %v", kind, deepest, len(p.Nodes), err)
		}
	}
}

// fixture is a file of a real producer from outside the repository.
func fixture(t *testing.T, name string) []byte {
	t.Helper()
	dir := os.Getenv("FLAMEOX_FIXTURES")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "fixtures")
	}
	data, err := os.ReadFile(filepath.Join(dir, name))
	if errors.Is(err, os.ErrNotExist) {
		t.Skipf("there is no fixture %s in %s; set FLAMEOX_FIXTURES to the folder of fixtures", name, dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestRealFiles(t *testing.T) {
	for file, want := range map[string]struct {
		kind           v8profile.Kind
		nodes, samples int
		code           string
	}{
		"node-cpuprofile/chrome65-simple.cpuprofile":                  {v8profile.CPU, 7, 29, ""},
		"node-cpuprofile/local-node20.20.2-names.cpuprofile":          {v8profile.CPU, 114, 543, ""},
		"node-cpuprofile/local-node20.20.2-uncaught-exit1.cpuprofile": {v8profile.CPU, 73, 37, ""},
		"node-cpuprofile/sucrase.cpuprofile":                          {v8profile.CPU, 3493, 17138, ""},
		"node-cpuprofile/example.cpuprofile":                          {code: v8profile.Legacy},
		"node-heapprofile/Heap-20181003T105432.heapprofile":           {v8profile.Heap, 80, 0, ""},
		"node-heapprofile/local-node20.20.2-n.heapprofile":            {v8profile.Heap, 82, 131, ""},
	} {
		t.Run(file, func(t *testing.T) {
			p, err := v8profile.Parse(fixture(t, file))
			var e *v8profile.Error
			if errors.As(err, &e) && e.Code == want.code {
				return
			}
			if err != nil || p.Kind != want.kind || len(p.Nodes) != want.nodes || len(p.Samples)+len(p.HeapSamples) != want.samples {
				t.Errorf("%v, kind %v, %d nodes, %d samples", err, p.Kind, len(p.Nodes), len(p.Samples)+len(p.HeapSamples))
			}
		})
	}
}

// FuzzParse holds what is accepted to what is promised of a Profile.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		cpu(`{"id":1,`+frame+`,"children":[2]},{"id":2,`+frame+`,"hitCount":3,"positionTicks":[{"line":1,"ticks":1}]}`, "2,1", "1,-1"),
		`{"head":{` + frame + `,"selfSize":0,"id":1,"children":[{` + frame + `,"selfSize":5,"id":2,"children":[]}]},"samples":[{"size":5,"nodeId":2}]}`,
		cpu(`{"id":1,`+frame+`,"children":[1]}`, "", ""),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := v8profile.Parse(data)
		var e *v8profile.Error
		if err != nil {
			if !errors.As(err, &e) {
				t.Errorf("the error is a %T", err)
			}
			return
		}
		visited := 0
		if err := p.Walk(func(n int32, depth int) error {
			visited++
			if node := p.Nodes[n]; node.Hits < 0 || node.Size < 0 || int(node.Frame) >= len(p.Frames) || depth >= len(p.Nodes) {
				t.Errorf("node %d %+v at %d", n, node, depth)
			}
			return nil
		}); err != nil || visited != len(p.Nodes) || len(p.Samples) != len(p.Deltas) {
			t.Errorf("%d of %d nodes visited, %v", visited, len(p.Nodes), err)
		}
	})
}

// BenchmarkParse reads a chain, and a call tree of the same size as real ones are.
func BenchmarkParse(b *testing.B) {
	data := chain(20_001)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := v8profile.Parse(data); err != nil {
			b.Fatal(err)
		}
	}
}
