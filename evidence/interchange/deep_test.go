package interchange

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	pb "github.com/google/pprof/profile"

	"github.com/flameox/flameox/evidence/callgraph"
)

// random is a profile of n stacks over names that are parts of each other, in two metrics.
func random(n int) *Profile {
	rng := rand.New(rand.NewPCG(5, 6))
	names := []string{"a", "ab", "a b", "a!", "a:", "a<", "", "abc", "é", "a;", "[x]", "z"}
	p := &Profile{Name: "random", Started: time.Unix(1700000000, 5), Duration: 3 * time.Second, Comments: []string{"one", "one", ""}, Metrics: []callgraph.Metric{{Name: "hits", Unit: "count"}, {Name: "cpu", Unit: "ns"}}}
	for i := range 40 {
		f := &callgraph.Frame{ID: fmt.Sprintf("%02d", i), Function: names[i%len(names)], File: names[i%5], Line: int64(i % 3), Column: int64(i % 2)}
		if i%7 == 0 {
			f.Address = new(uint64(1)<<40 + uint64(i))
		}
		p.Frames = append(p.Frames, f)
	}
	for range n {
		s := Sample{Path: make([]uint32, rng.IntN(6)), Weights: []int64{rng.Int64N(3), rng.Int64N(1 << 50)}}
		for i := range s.Path {
			s.Path[i] = uint32(rng.IntN(len(p.Frames)))
		}
		if rng.IntN(4) == 0 {
			s.Labels = map[string]string{"thread": fmt.Sprint(rng.IntN(3)), "phase": "x"}
		}
		p.Samples = append(p.Samples, s)
	}
	return p
}

func TestPprofIsWhatItsOwnLibraryWouldWrite(t *testing.T) {
	p := random(500)
	var b bytes.Buffer
	if _, err := WritePprof(&b, p); err != nil {
		t.Fatal(err)
	}
	got, err := pb.Parse(&b)
	if err != nil {
		t.Fatal(err)
	}
	if err := got.CheckValid(); err != nil {
		t.Fatal(err)
	}
	if len(got.Sample) != len(p.Samples) || got.TimeNanos != p.Started.UnixNano() || got.DurationNanos != int64(p.Duration) || fmt.Sprint(got.Comments) != "[random one one ]" {
		t.Errorf("%d samples, %d, %d, %q", len(got.Sample), got.TimeNanos, got.DurationNanos, got.Comments)
	}
	if m := got.Mapping[0]; len(got.Mapping) != 1 || !m.HasFunctions || !m.HasFilenames || !m.HasLineNumbers {
		t.Errorf("the mapping is %+v", m)
	}
	for i, s := range p.Samples {
		x := got.Sample[i]
		if !slices.Equal(x.Value, s.Weights) || len(x.Location) != len(s.Path) || len(x.Label) != len(s.Labels) {
			t.Fatalf("sample %d is %+v, want %+v", i, x, s)
		}
		for k, v := range s.Labels {
			if !slices.Equal(x.Label[k], []string{v}) {
				t.Fatalf("sample %d has the labels %v, want %v", i, x.Label, s.Labels)
			}
		}
		for j, l := range x.Location {
			f := p.Frames[s.Path[len(s.Path)-1-j]]
			line := l.Line[0]
			address := uint64(0)
			if f.Address != nil {
				address = *f.Address
			}
			if line.Function.Name != f.Name() || line.Function.SystemName != f.Name() || line.Function.Filename != f.File || line.Line != f.Line || line.Column != f.Column || l.Address != address {
				t.Fatalf("sample %d, place %d is %+v of %+v, want %+v", i, j, l, line.Function, f)
			}
		}
	}
}

func TestCollapsedLinesAreInTheOrderOfTheirTextAndEachOnce(t *testing.T) {
	p := random(3000)
	p.Primary = 0
	want := map[string]int64{}
	for _, s := range p.Samples {
		if s.Weights[0] == 0 {
			continue
		}
		var names []string
		for _, f := range s.Path {
			names = append(names, strings.ReplaceAll(p.Frames[f].Name(), ";", ":"))
		}
		want[strings.Join(names, ";")] += s.Weights[0]
	}
	lines := make([]string, 0, len(want))
	for stack := range want {
		lines = append(lines, stack)
	}
	slices.Sort(lines)
	var text strings.Builder
	for _, l := range lines {
		fmt.Fprintf(&text, "%s %d\n", l, want[l])
	}
	var b bytes.Buffer
	if _, err := WriteCollapsed(&b, p); err != nil {
		t.Fatal(err)
	}
	if b.String() != text.String() {
		t.Error("the lines are not those of a sort of their texts")
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, fmt.Errorf("the disk is full") }

func TestADiskThatIsFullIsAnErrorOfEveryFormat(t *testing.T) {
	p := random(20000)
	for name, write := range map[string]func() error{
		"pprof":      func() error { _, err := WritePprof(full{}, p); return err },
		"collapsed":  func() error { _, err := WriteCollapsed(full{}, p); return err },
		"speedscope": func() error { _, err := WriteSpeedscope(full{}, p); return err },
		"perfetto":   func() error { _, err := WritePerfetto(full{}, p); return err },
	} {
		if err := write(); err == nil || !strings.Contains(err.Error(), "the disk is full") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
