package perfetto_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"

	"github.com/flameox/flameox/evidence"
	format "github.com/flameox/flameox/formats/perfetto"
	"github.com/flameox/flameox/formats/timeline"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/providers/perfetto"
	"github.com/flameox/flameox/providers/providertest"
)

var p = perfetto.Provider{}

// A message is written field by field: numbers as varints, texts and messages with their length.
func msg(fields ...any) []byte {
	var b []byte
	for i := 0; i < len(fields); i += 2 {
		n := uint64(fields[i].(int))
		switch v := fields[i+1].(type) {
		case int:
			b = binary.AppendUvarint(binary.AppendUvarint(b, n<<3), uint64(v))
		case uint64:
			b = binary.AppendUvarint(binary.AppendUvarint(b, n<<3), v)
		case string:
			b = append(binary.AppendUvarint(binary.AppendUvarint(b, n<<3|2), uint64(len(v))), v...)
		case []byte:
			b = append(binary.AppendUvarint(binary.AppendUvarint(b, n<<3|2), uint64(len(v))), v...)
		}
	}
	return b
}

func trace(packets ...[]byte) []byte {
	var b []byte
	for _, p := range packets {
		b = append(b, msg(1, p)...)
	}
	return b
}

// event is a packet with a track event.
func event(at int, kind int, fields ...any) []byte {
	return msg(8, at, 10, 1, 11, msg(append([]any{9, kind}, fields...)...))
}

var (
	thread  = msg(10, 1, 60, msg(1, 2, 4, msg(1, 77, 2, 78, 5, "main")))
	process = msg(10, 1, 60, msg(1, 1, 3, msg(1, 77, 6, "server")))
)

func extract(t *testing.T, data []byte) (evidence.Outcome, map[string][]providertest.Row) {
	t.Helper()
	return providertest.Extract(t, p, providertest.Input(t, perfetto.Role, data), &perfetto.ExtractOptions{Full: true}, evidence.DefaultBudget())
}

func slicesOf(tables map[string][]providertest.Row) (out []string) {
	for _, r := range tables["trace_events"] {
		if r["kind"] == "slice" {
			out = append(out, fmt.Sprintf("%v %v+%v %v/%v", r["name"], r["start_ns"], r["duration_ns"], r["process_id"], r["thread"]))
		}
	}
	slices.Sort(out)
	return out
}

func TestConformance(t *testing.T) {
	packets := [][]byte{process, thread}
	for i := range 40 {
		packets = append(packets, event(100+20*i, 1, 11, 2, 23, fmt.Sprintf("f%d", i%5)), event(105+20*i, 3, 11, 2, 23, "mark"), event(110+20*i, 2, 11, 2))
	}
	providertest.Run(t, p, &providertest.Cases{
		Valid: trace(packets...), Empty: trace(process), EmptyValid: true, Role: perfetto.Role, Half: evidence.Partial, HalfValid: true, Cuttable: true,
	}, nil)
}

func TestAnEventOnATrackThatNothingDescribesIsKeptAndSaid(t *testing.T) {
	out, tables := extract(t, trace(event(100, 1, 11, 9, 23, "a"), event(200, 2, 11, 9)))
	if got := slicesOf(tables); !slices.Equal(got, []string{"a 100+100 <nil>/track 9"}) || !providertest.HasCode(out.Limitations, format.Undescribed) {
		t.Errorf("%v %v", got, out.Limitations)
	}
}

func TestADescriptorMayComeLate(t *testing.T) {
	out, tables := extract(t, trace(event(100, 1, 11, 2, 23, "a"), event(200, 2, 11, 2), thread, process))
	if got := slicesOf(tables); !slices.Equal(got, []string{"a 100+100 77/main"}) || out.State != evidence.Complete {
		t.Errorf("%v %v", got, out)
	}
}

func TestWhatRefersToLostStateIsPassedOver(t *testing.T) {
	named := func(at, flags, dropped int, id int) []byte {
		return msg(8, at, 10, 1, 13, flags, 42, dropped, 11, msg(9, 1, 10, id, 11, 2))
	}
	interned := msg(10, 1, 13, 1, 12, msg(2, msg(1, 1, 2, "early")))
	again := msg(10, 1, 13, 1, 12, msg(2, msg(1, 1, 2, "late")))
	out, tables := extract(t, trace(thread, interned, named(1, 2, 0, 1), named(2, 2, 1, 1), named(3, 2, 0, 1), again, named(4, 2, 0, 1)))
	var names []any
	for _, r := range tables["trace_events"] {
		names = append(names, r["name"])
	}
	if fmt.Sprint(names) != "[late early]" || out.State != evidence.Partial || !strings.Contains(out.Limitations[0].Text, "2 packets or events were passed over (state_lost)") {
		t.Errorf("%v %v", names, out.Limitations)
	}
}

func TestTimesAreBroughtToTheTracesClock(t *testing.T) {
	snapshot := func(writer int, clocks ...[]byte) []byte {
		var fields []any
		for _, c := range clocks {
			fields = append(fields, 1, c)
		}
		return msg(10, writer, 6, msg(fields...))
	}
	machine := snapshot(1, msg(1, 6, 2, 5000), msg(1, 3, 2, 4000))
	own := snapshot(1, msg(1, 3, 2, 4100), msg(1, 64, 2, 10, 4, 10, 3, 1))
	on := func(clock, at, kind int) []byte {
		return msg(8, at, 58, clock, 10, 1, 11, msg(9, kind, 11, 2, 23, "a"))
	}
	for name, c := range map[string]struct {
		packets [][]byte
		want    string
	}{
		"another clock of the machine":        {[][]byte{machine, on(3, 4500, 1), on(3, 4600, 2)}, "a 5500+100 77/main"},
		"differences, through two snapshots":  {[][]byte{machine, own, on(64, 3, 1), on(64, 4, 2)}, "a 5130+40 77/main"},
		"the trace's own, without a snapshot": {[][]byte{on(6, 10, 1), on(6, 30, 2)}, "a 10+20 77/main"},
		"a clock that nothing knows":          {[][]byte{machine, on(70, 10, 1), on(6, 30, 1), on(6, 40, 2)}, "a 30+10 77/main"},
	} {
		out, tables := extract(t, trace(append([][]byte{thread}, c.packets...)...))
		if got := slicesOf(tables); !slices.Equal(got, []string{c.want}) {
			t.Errorf("%s: %v, want %s: %v", name, got, c.want, out.Limitations)
		}
		if unknown := strings.Contains(fmt.Sprint(out.Limitations), format.Clockless); unknown != strings.Contains(name, "nothing knows") {
			t.Errorf("%s: %v", name, out.Limitations)
		}
	}
}

func TestCompressedTracesAreTheSame(t *testing.T) {
	plain := trace(thread, event(100, 1, 11, 2, 23, "a"), event(200, 2, 11, 2))
	var z, g bytes.Buffer
	w := zlib.NewWriter(&z)
	w.Write(plain)
	w.Close()
	gz := gzip.NewWriter(&g)
	gz.Write(plain)
	gz.Close()
	_, want := extract(t, plain)
	for name, data := range map[string][]byte{"packets": trace(msg(50, z.Bytes())), "the whole": g.Bytes()} {
		if _, got := extract(t, data); !slices.Equal(slicesOf(got), slicesOf(want)) || len(slicesOf(got)) != 1 {
			t.Errorf("%s: %v", name, slicesOf(got))
		}
	}
	deep := trace(msg(50, z.Bytes()))
	var zz bytes.Buffer
	w = zlib.NewWriter(&zz)
	w.Write(deep)
	w.Close()
	if out, _ := extract(t, trace(thread, msg(50, zz.Bytes()))); out.State != evidence.Incompatible {
		t.Errorf("compressed packets in compressed packets: %+v", out)
	}
	b := evidence.DefaultBudget()
	b.InputBytes = int64(len(z.Bytes())) + 20
	var bomb bytes.Buffer
	w = zlib.NewWriter(&bomb)
	w.Write(trace(msg(10, 1, 999, strings.Repeat("a", 1<<20))))
	w.Close()
	b.InputBytes = 1 << 16
	refused, _ := providertest.Extract(t, p, providertest.Input(t, perfetto.Role, trace(thread, msg(50, bomb.Bytes()))), nil, b)
	if refused.State != evidence.Incompatible || refused.Limitations[0].Code != providers.InputBudget {
		t.Errorf("%+v", refused)
	}
}

func TestOtherProtobufIsRefusedAndNotDetected(t *testing.T) {
	pprof := msg(1, msg(1, 1, 2, 2), 1, msg(1, 3, 2, 4), 2, msg(1, 1))
	if out, _ := extract(t, pprof); out.State != evidence.Incompatible {
		t.Errorf("a pprof profile: %+v", out)
	}
	if format.Detect(pprof) || format.Detect([]byte("[{}]")) || !format.Detect(trace(thread, process)) {
		t.Error("detection takes one format for another")
	}
}

// TestFlowsCountersAndAsync checks kinds that are no slices of a thread.
func TestFlowsCountersAndAsync(t *testing.T) {
	counter := msg(10, 1, 60, msg(1, 4, 5, 1, 2, "memory", 8, msg(4, 1024, 5, 1)))
	_, tables := extract(t, trace(process, thread, counter,
		event(1, 4, 11, 4, 30, 3), event(2, 4, 11, 4, 30, 2),
		event(3, 1, 11, 2, 23, "a", 36, 7), event(4, 1, 11, 2, 23, "b", 36, 7), event(5, 2, 11, 2, 42, 7), event(6, 2, 11, 2),
		msg(8, 7, 10, 1, 11, msg(11, 2, 23, "r", 6, msg(2, int('b'), 6, 99))), msg(8, 9, 10, 1, 11, msg(11, 2, 23, "r", 6, msg(2, int('e'), 6, 99)))))
	var got []string
	for _, r := range tables["trace_events"] {
		if r["kind"] != "slice" {
			got = append(got, fmt.Sprintf("%v %v %v %v %v %v", r["kind"], r["name"], r["start_ns"], r["duration_ns"], r["value"], r["correlation"]))
		}
	}
	slices.Sort(got)
	want := []string{"async r 7 2 <nil> 99", "counter memory 1 <nil> 3072 <nil>", "counter memory 2 <nil> 5120 <nil>", "flow_end <unnamed> 5 <nil> <nil> 7", "flow_start a 3 <nil> <nil> 7", "flow_step b 4 <nil> <nil> 7"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s\nwant %s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// venv is an environment with Perfetto's own library, made once.
var venv struct {
	once        sync.Once
	python, why string
}

const library = "perfetto==0.59.1"

func TestMain(m *testing.M) {
	code := m.Run()
	if venv.python != "" {
		os.RemoveAll(filepath.Dir(filepath.Dir(venv.python)))
	}
	os.Exit(code)
}

func python(t *testing.T) string {
	t.Helper()
	venv.once.Do(func() {
		dir, err := os.MkdirTemp("", "perfetto-")
		if err != nil {
			venv.why = err.Error()
			return
		}
		venv.python = filepath.Join(dir, "bin", "python")
		for _, argv := range [][]string{{"python3", "-m", "venv", dir}, {venv.python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--only-binary", ":all:", "--no-deps", library, "protobuf"}} {
			if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
				venv.why = fmt.Sprintf("%s: %v: %s", strings.Join(argv, " "), err, out)
				return
			}
		}
	})
	if venv.why != "" {
		t.Skipf("there is no Python with %s, and none could be made: %s", library, venv.why)
	}
	return venv.python
}

// agrees compares slices by name with what Python makes of the same packets with Perfetto's own messages.
func agrees(t *testing.T, data []byte) (evidence.Outcome, map[string][]providertest.Row) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "trace")
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), python(t), filepath.Join("testdata", "reference.py"), path)
	cmd.Stderr = os.Stderr
	b, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][2]int64{}
	if err := json.Unmarshal(b, &want); err != nil {
		t.Fatal(err)
	}
	out, tables := extract(t, data)
	got := map[string][2]int64{}
	for _, r := range tables["trace_events"] {
		if d, ok := r["duration_ns"].(int64); ok && r["kind"] == "slice" {
			name := r["name"].(string)
			if name == timeline.Unnamed {
				name = ""
			}
			v := got[name]
			got[name] = [2]int64{v[0] + 1, v[1] + d}
		}
	}
	for name, w := range want {
		if got[name] != w {
			t.Errorf("%s: %v, Perfetto's messages say %v", name, got[name], w)
		}
		delete(got, name)
	}
	if len(got) > 0 {
		t.Errorf("slices that Perfetto's messages do not have: %v", got)
	}
	t.Logf("%d names, %v", len(want), out.Results)
	return out, tables
}

func TestFixturesAgreeWithPerfettosOwnMessages(t *testing.T) {
	out, _ := agrees(t, providertest.Fixture(t, "perfetto/nowinandroid-trace.perfetto-trace"))
	if out.State != evidence.Complete || out.Results["slices"] != int64(3122) || out.Results["async_slices"] != int64(1) {
		t.Errorf("%+v", out)
	}
	if out, _ := extract(t, providertest.Fixture(t, "perfetto/qmljulia-trace.pftrace")); out.State != evidence.Empty {
		t.Errorf("a trace without events: %+v", out)
	}
}

func TestTracesOfPerfettosOwnLibraryAgreeWithItsMessages(t *testing.T) {
	path := filepath.Join(t.TempDir(), "own")
	if out, err := exec.CommandContext(t.Context(), python(t), filepath.Join("testdata", "write.py"), path).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	out, tables := agrees(t, data)
	if out.Results["slices"] != int64(61) || out.Results["flows"] != int64(40) || out.Results["counters"] != int64(20) || !providertest.HasCode(out.Limitations, timeline.UnendedSlices) {
		t.Errorf("%+v", out)
	}
	for _, r := range tables["trace_events"] {
		if r["name"] == "flameox.phase:warm" && (r["stream"] != int64(0) || r["correlation"] != "c0" || r["phase"] != "warm" || r["thread"] != "main" || r["process"] != "server") {
			t.Errorf("%v", r)
		}
		if r["name"] == "request" && r["kind"] == "slice" && (r["file"] != "server.cc" || r["line"] != int64(12) || r["category"] != "http") {
			t.Errorf("%v", r)
		}
		if r["kind"] == "counter" && r["event"] == int64(5) && (r["value"] != 3072.0 || r["name"] != "memory") {
			t.Errorf("%v", r)
		}
	}
}

func TestChromiumsTracesAgreeWithPerfettosOwnMessages(t *testing.T) {
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("there is no chromium on PATH")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "trace")
	cmd := exec.CommandContext(t.Context(), chromium, "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir="+filepath.Join(dir, "profile"), "--trace-startup=toplevel,blink,v8", "--trace-startup-format=proto", "--trace-startup-duration=3",
		"--trace-startup-file="+path, "--virtual-time-budget=2000", "--dump-dom", "data:text/html,<script>function f(n){return n<2?n:f(n-1)+f(n-2)};f(22)</script>")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("chromium did not run here: %v: %.300s", err, out)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Skipf("chromium left no trace: %v", err)
	}
	if out, _ := agrees(t, data); out.Results["slices"].(int64) < 100 || !format.Detect(data[:4096]) {
		t.Errorf("%+v", out)
	}
}

func FuzzFeed(f *testing.F) {
	f.Add(trace(process, thread, event(100, 1, 11, 2, 23, "a", 36, 7, 4, msg(10, "stream", 4, 3)), event(200, 2, 11, 2)))
	f.Add(trace(msg(10, 1, 6, msg(1, msg(1, 6, 2, 5000), 1, msg(1, 64, 2, 10, 4, 10, 3, 1))), msg(8, 1, 58, 64, 10, 1, 11, msg(9, 4, 11, 4, 30, 3))))
	f.Add(trace(thread, msg(10, 1, 1, msg(1, 0, 2, msg(1, 5, 2, 78, 3, msg(2, "B|77|x\n"))))))
	f.Fuzz(func(t *testing.T, data []byte) {
		c := timeline.New(timeline.Options{Budget: evidence.DefaultBudget()})
		defer c.Close()
		if _, err := format.Feed(t.Context(), bytes.NewReader(data), format.Limits{Bytes: 1 << 22}, c); err != nil {
			return
		}
		sink := evidence.NewSink(t.TempDir(), evidence.FileMeta{Provider: "perfetto", ProviderVersion: 1}, evidence.DefaultBudget())
		defer sink.Discard()
		if _, err := c.Finish(t.Context(), sink); err != nil {
			t.Skip(err)
		}
		if _, err := sink.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
