package perfscript

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/flameox/flameox/formats/textline"
)

// gathered is what a text holds, for tests.
type gathered struct {
	frames  []Frame
	samples []Sample
	stacks  []string // root to leaf
}

func (g *gathered) Frame(f Frame) (int32, error) {
	g.frames = append(g.frames, f)
	return int32(len(g.frames) - 1), nil
}

func (g *gathered) Sample(s *Sample) error {
	one := *s
	one.Comm, one.Event, one.Stack = bytes.Clone(s.Comm), bytes.Clone(s.Event), nil
	g.samples = append(g.samples, one)
	var names []string
	for i := len(s.Stack) - 1; i >= 0; i-- {
		f := g.frames[s.Stack[i]]
		name := f.Symbol
		if name == "" {
			name = fmt.Sprintf("%x", f.Address)
		}
		if f.Inlined {
			name += "*"
		}
		names = append(names, name+"@"+f.Object)
	}
	g.stacks = append(g.stacks, strings.Join(names, ">"))
	return nil
}

func read(t *testing.T, text string) (*gathered, Summary) {
	t.Helper()
	var g gathered
	sum, err := Read(strings.NewReader(text), &g)
	if err != nil {
		t.Fatal(err)
	}
	return &g, sum
}

func TestHeaders(t *testing.T) {
	for line, want := range map[string]Sample{
		"w 25917/25918 26383.909277812:    1001001 cpu-clock:ppp: ":           {Comm: []byte("w"), PID: 25917, TID: 25918, Period: 1001001, Event: []byte("cpu-clock:ppp")},
		"          swapper     0 [003] 203265.377022:    1001001 cpu-clock: ": {Comm: []byte("swapper"), PID: 0, TID: -1, Period: 1001001, Event: []byte("cpu-clock")},
		"CUPSManager cup 11320 [001] 5.250: cycles:u:":                        {Comm: []byte("CUPSManager cup"), PID: 11320, TID: -1, Period: -1, Event: []byte("cycles:u")},
		"a 12 [7] b 9/9 1.5: 3 task-clock:":                                   {Comm: []byte("a 12 [7] b"), PID: 9, TID: 9, Period: 3, Event: []byte("task-clock")},
		"my: thr 1 2.5: 31105/31107 27540.699677:   10101010  cpu-clock: ":    {Comm: []byte("my: thr 1 2.5:"), PID: 31105, TID: 31107, Period: 10101010, Event: []byte("cpu-clock")},
		"perf   77 1.0: sched:sched_switch: prev_comm=x prev_pid=3 2.5: y: z": {Comm: []byte("perf"), PID: 77, TID: -1, Period: -1, Event: []byte("sched:sched_switch")},
		"x -1/-1 1.0: 1 cpu_core/cycles/P: ":                                  {Comm: []byte("x"), PID: -1, TID: -1, Period: 1, Event: []byte("cpu_core/cycles/P")},
		"#1 4/4 1.0: 1 cycles:":                                               {Comm: []byte("#1"), PID: 4, TID: 4, Period: 1, Event: []byte("cycles")},
		" 5/5 1.0: 1 cycles:":                                                 {Comm: []byte(""), PID: 5, TID: 5, Period: 1, Event: []byte("cycles")},
	} {
		g, sum := read(t, line)
		if len(g.samples) != 1 || sum.Invalid != 0 {
			t.Errorf("%q: %d samples, %+v", line, len(g.samples), sum)
			continue
		}
		got := g.samples[0]
		if string(got.Comm) != string(want.Comm) || string(got.Event) != string(want.Event) || got.PID != want.PID || got.TID != want.TID || got.Period != want.Period {
			t.Errorf("%q: %q %d/%d %d %q", line, got.Comm, got.PID, got.TID, got.Period, got.Event)
		}
	}
	for _, line := range []string{"no sample", "w 1 2: cycles:", "w x 2.0: cycles:", "w 1 2.0:", "w 1 2.0: cycles", "w 1/x 2.0: cycles:", "at 10:30 we met"} {
		if _, sum := read(t, line+"\n"); sum.Samples != 0 || sum.Invalid != 1 || sum.First == "" {
			t.Errorf("%q: %+v", line, sum)
		}
	}
}

func TestFrames(t *testing.T) {
	for line, want := range map[string]Frame{
		"\t     116d fib+0x14 (/tmp/w)":                               {Address: 0x116d, Symbol: "fib", Object: "/tmp/w"},
		"\tffff12 [unknown] ([kernel.kallsyms])":                      {Address: 0xffff12, Object: "[kernel.kallsyms]"},
		"\t6ce258d4c544155 [unknown] ([unknown])":                     {Address: 0x6ce258d4c544155},
		"\t10 std::map<a, b>::f(int, char (*)(long))+0x1 (/a b/c)":    {Address: 0x10, Symbol: "std::map<a, b>::f(int, char (*)(long))", Object: "/a b/c"},
		"\t11 operator()(int) const (inlined)":                        {Address: 0x11, Symbol: "operator()(int) const", Inlined: true},
		"\t12 Interpreter ([JIT app cache])":                          {Address: 0x12, Symbol: "Interpreter", Object: "[JIT app cache]"},
		"\t13 f (/tmp/x (deleted))":                                   {Address: 0x13, Symbol: "f", Object: "/tmp/x (deleted)"},
		"\t14 Lfoo;::bar+0x20 (/tmp/perf-4711.map)":                   {Address: 0x14, Symbol: "Lfoo;::bar", Object: "/tmp/perf-4711.map"},
		"\t15 no_object":                                              {Address: 0x15, Symbol: "no_object"},
		"\t16":                                                        {Address: 0x16},
		"\t17 a+0xzz (/x)":                                            {Address: 0x17, Symbol: "a+0xzz", Object: "/x"},
		"\t18 f (/a)b)":                                               {Address: 0x18, Symbol: "f", Object: "/a)b"},
		"            19 spaces (/x)":                                  {Address: 0x19, Symbol: "spaces", Object: "/x"},
		"\t20 __libc_start_main@@GLIBC_2.34+0x5 (/usr/lib/libc.so.6)": {Address: 0x20, Symbol: "__libc_start_main@@GLIBC_2.34", Object: "/usr/lib/libc.so.6"},
	} {
		g, sum := read(t, "w 1/1 1.0: 1 cycles:\n"+line+"\n\n")
		if sum.Invalid != 0 || len(g.frames) != 1 || g.frames[0] != want {
			t.Errorf("%q: %+v %+v", line, g.frames, sum)
		}
	}
}

const text = "# ========\n# captured on: Wed Aug 15 16:01:24 2018\n#\n" +
	"w 1/1 1.0:    250000 cpu-clock:ppp: \n\t 2 leaf+0x1 (/w)\n  w.c:5\n\t 1 main+0x2 (/w)\n\n" +
	"w 1/1 1.5: PERF_RECORD_LOST lost 7\n" +
	"w 1/1 1.6: PERF_RECORD_LOST_SAMPLES lost 3\n" +
	"w 1/1 1.7: PERF_RECORD_EXIT(1:1):(1:1)\n" +
	"thr 1/2 2.0:    250000 cpu-clock:ppp: \n\t 2 leaf+0x1 (/w)\n\t 3 leaf+0x9 (/w)\n\t 1 main+0x2 (/w)\n" +
	"w 1/1 3.0:         1 cycles:  4 here (/w)\n" +
	"w 1/1 4.0: cycles: \n\n\nwhat is this\n" +
	"w 1/1 5.0:    1 cycles:\n\t 1 main+0x2 (/w)"

func TestSamplesEndWithABlankLineAnotherSampleOrTheText(t *testing.T) {
	g, sum := read(t, text)
	want := []string{"main@/w>leaf@/w", "main@/w>leaf@/w>leaf@/w", "here@/w", "", "main@/w"}
	if !reflect.DeepEqual(g.stacks, want) || sum.Samples != 5 || sum.Lost != 7 || sum.Invalid != 1 || !strings.Contains(sum.First, "what is this") || !sum.Unfinished {
		t.Errorf("%q %+v", g.stacks, sum)
	}
	if !g.samples[2].Placed || g.samples[0].Placed || string(g.samples[1].Comm) != "thr" || len(g.frames) != 4 {
		t.Errorf("%+v %d", g.samples, len(g.frames))
	}
	crlf, other := read(t, strings.ReplaceAll(text, "\n", "\r\n"))
	if !reflect.DeepEqual(crlf.stacks, want) || other.Invalid != 1 {
		t.Errorf("with other line ends: %q %+v", crlf.stacks, other)
	}
}

func TestAFirstLookFindsEventsAndProcesses(t *testing.T) {
	s, err := Look(strings.NewReader(text))
	want := &Survey{Events: []Event{{Name: "cpu-clock:ppp", Samples: 2}, {Name: "cycles", Samples: 3, Unsized: 1}}, Processes: map[int64]string{1: "w"}}
	if err != nil || !reflect.DeepEqual(s, want) {
		t.Errorf("%+v %v", s, err)
	}
	var many strings.Builder
	for i := range maxEvents + 1 {
		fmt.Fprintf(&many, "w 1 1.0: 1 e%d:\n", i)
	}
	var bad *TooManyEventsError
	if _, err := Look(strings.NewReader(many.String())); !errors.As(err, &bad) {
		t.Error(err)
	}
}

func TestMetric(t *testing.T) {
	for event, want := range map[string][2]string{
		"cpu-clock:ppp": {"cpu-clock", "ns"}, "task-clock:uppp": {"task-clock:u", "ns"}, "cycles:P": {"cycles", "count"}, "cycles": {"cycles", "count"},
		"sched:sched_switch": {"sched:sched_switch", "count"}, "cpu_core/cycles/P": {"cpu_core/cycles/", "count"}, "cpu/event=0x3c,umask=0x0/u": {"cpu/event=0x3c,umask=0x0/u", "count"},
	} {
		if name, unit := Metric(event); name != want[0] || unit != want[1] {
			t.Errorf("%s: %s %s", event, name, unit)
		}
	}
	if !UserOnly("cycles:uppp") || UserOnly("cycles:ppp") || UserOnly("cycles:uk") || UserOnly("cpu-clock") || UserOnly("uuu") {
		t.Error("u is not known as the modifier that it is")
	}
}

func TestDetectLooksAtContent(t *testing.T) {
	for in, want := range map[string]bool{
		text[:300]: true, "w 1/1 1.0: 1 cycles:\n\t1 a (b)\n": true, "\xFF\xFEw\x00": false, "w 1/1 1.0: 1 cycles:\n": false, "": false,
		"main;parse 3\n": false, "2026-01-01 12 5.0: x: y\n": false, `{"a": 1}`: false,
	} {
		if Detect([]byte(in)) != want {
			t.Errorf("%q: %v", in, !want)
		}
	}
}

func TestBoundsOfALineAndAStack(t *testing.T) {
	deep := "w 1/1 1.0: 1 cycles:\n" + strings.Repeat("\t1 f (/x)\n", maxFrames+1)
	var g gathered
	var tall *TooDeepError
	if _, err := Read(strings.NewReader(deep), &g); !errors.As(err, &tall) {
		t.Error(err)
	}
	var long *textline.LongError
	if _, err := Read(io.LimitReader(repeated{}, textline.MaxLine+2), &g); !errors.As(err, &long) {
		t.Error(err)
	}
	boom := errors.New("boom")
	if _, err := Read(strings.NewReader(text), failing{boom}); !errors.Is(err, boom) {
		t.Error(err)
	}
}

type repeated struct{}

func (repeated) Read(p []byte) (int, error) { return copy(p, bytes.Repeat([]byte("x"), len(p))), nil }

type failing struct{ err error }

func (f failing) Frame(Frame) (int32, error) { return 0, f.err }
func (f failing) Sample(*Sample) error       { return f.err }

func FuzzRead(f *testing.F) {
	f.Add([]byte(text))
	f.Add([]byte("my: thr 1 2.5: 3/4 5.6: 7 a:b: 8 c+0x9 (d (e))\n\tf g (inlined)\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var g gathered
		sum, err := Read(bytes.NewReader(data), &g)
		if err != nil || sum.Samples != int64(len(g.samples)) {
			t.Fatalf("%+v %v", sum, err)
		}
		survey, err := Look(bytes.NewReader(data))
		var many *TooManyEventsError
		if err != nil && !errors.As(err, &many) {
			t.Fatal(err)
		}
		n := int64(0)
		for _, e := range survey.Events {
			n += e.Samples
			Metric(e.Name)
		}
		if err == nil && n != sum.Samples {
			t.Fatalf("a first look finds %d samples, reading %d", n, sum.Samples)
		}
		Detect(data)
	})
}

func BenchmarkRead(b *testing.B) {
	var text strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&text, "worker %d/%d %d.%09d:    1001001 cpu-clock:ppp: \n", 100, 100+i%4, i, i)
		for d := range 20 {
			fmt.Fprintf(&text, "\t%16x some::name<of, a>::function_%d+0x%x (/usr/lib/x86_64-linux-gnu/libthing.so.1)\n", 4096+16*((i*7+d*13)%3000), d, i%90)
		}
		text.WriteByte('\n')
	}
	b.SetBytes(int64(text.Len()))
	for b.Loop() {
		var d detector
		if _, err := Read(strings.NewReader(text.String()), &d); err != nil {
			b.Fatal(err)
		}
	}
}
