package chrometrace_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/flameox/flameox/evidence"
	formats "github.com/flameox/flameox/formats/chrometrace"
	"github.com/flameox/flameox/formats/timeline"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/providers/chrometrace"
	"github.com/flameox/flameox/providers/providertest"
)

var p = chrometrace.Provider{}

func trace(events ...string) []byte { return []byte("[" + strings.Join(events, ",\n") + "]") }

func x(name string, ts, dur any, more ...string) string {
	return fmt.Sprintf(`{"ph":"X","pid":1,"tid":2,"name":%q,"ts":%v,"dur":%v%s}`, name, ts, dur, strings.Join(more, ""))
}

func ev(ph, name string, ts any, more ...string) string {
	return fmt.Sprintf(`{"ph":%q,"pid":1,"tid":2,"name":%q,"ts":%v%s}`, ph, name, ts, strings.Join(more, ""))
}

func extract(t *testing.T, data []byte) (evidence.Outcome, map[string][]providertest.Row) {
	t.Helper()
	return providertest.Extract(t, p, providertest.Input(t, chrometrace.Role, data), &chrometrace.ExtractOptions{Full: true}, evidence.DefaultBudget())
}

// selves are self and inclusive weights of slice durations by name.
func selves(tables map[string][]providertest.Row) map[string][2]int64 {
	names := map[any]string{}
	for _, r := range tables["frames"] {
		names[r["frame"]] = r["function"].(string)
	}
	out := map[string][2]int64{}
	for _, r := range tables["frame_values"] {
		if r["metric"] == timeline.SliceDuration.Name {
			out[names[r["frame"]]] = [2]int64{r["self"].(int64), r["inclusive"].(int64)}
		}
	}
	return out
}

// slicesOf are the slices with depth, beginning and duration, in order of time.
func slicesOf(tables map[string][]providertest.Row) (out []string) {
	rows := slices.Clone(tables["trace_events"])
	sort.SliceStable(rows, func(i, j int) bool {
		a, b := rows[i], rows[j]
		if a["start_ns"] != b["start_ns"] {
			return a["start_ns"].(int64) < b["start_ns"].(int64)
		}
		if a["depth"] != b["depth"] {
			return a["depth"].(int64) < b["depth"].(int64)
		}
		return a["name"].(string) < b["name"].(string)
	})
	for _, r := range rows {
		if r["kind"] == "slice" {
			out = append(out, fmt.Sprintf("%d %v %v+%v", r["depth"], r["name"], r["start_ns"], r["duration_ns"]))
		}
	}
	return out
}

func TestConformance(t *testing.T) {
	var events []string
	for i := range 40 {
		events = append(events, x(fmt.Sprintf("f%d", i%7), 100+10*i, 9), ev("i", "mark", 101+10*i))
	}
	providertest.Run(t, p, &providertest.Cases{
		Valid: trace(events...), Empty: []byte(`{"traceEvents":[]}`), EmptyValid: true, Role: chrometrace.Role,
		Half: evidence.Partial, HalfValid: true, Cuttable: true,
	}, nil)
}

func TestSelfTimeIsWithoutWhatLiesDirectlyWithin(t *testing.T) {
	_, tables := extract(t, trace(x("A", 0.001, 100), x("B", 10, 40), x("C", 55, 40)))
	want := map[string][2]int64{"A": {20000, 100000}, "B": {40000, 40000}, "C": {40000, 40000}}
	if got := selves(tables); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
	_, tables = extract(t, trace(x("A", 1, 100), x("B", 1, 40), x("C", 1, 40)))
	want = map[string][2]int64{"A": {60000, 100000}, "B": {0, 40000}, "C": {40000, 40000}}
	if got := selves(tables); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestRecursionCountsOnce(t *testing.T) {
	out, tables := extract(t, trace(x("A", 1, 100), x("A", 11, 50)))
	if got := selves(tables)["A"]; got != [2]int64{100000, 100000} {
		t.Errorf("%v", got)
	}
	if out.Results["total"] != int64(100000) {
		t.Errorf("%v", out.Results)
	}
	if len(tables["stacks"]) != 4 { // two stacks, two metrics
		t.Errorf("%d stacks", len(tables["stacks"]))
	}
}

func TestThreadsAndProcessesStaySeparate(t *testing.T) {
	_, tables := extract(t, trace(
		`{"ph":"X","name":"A","pid":1,"tid":1,"ts":1,"dur":5}`, `{"ph":"X","name":"A","pid":1,"tid":2,"ts":2,"dur":2}`, `{"ph":"X","name":"A","pid":2,"tid":1,"ts":2,"dur":1}`,
		`{"ph":"M","name":"thread_name","pid":1,"tid":2,"args":{"name":"worker"}}`, `{"ph":"M","name":"process_name","pid":2,"args":{"name":"child"}}`))
	by := map[string]int64{}
	for _, r := range tables["stacks"] {
		if r["metric"] == "trace.slice_duration" {
			by[fmt.Sprint(r["labels"])] = r["weight"].(int64)
		}
	}
	want := map[string]int64{"map[pid:1 tid:1]": 5000, "map[pid:1 thread:worker tid:2]": 2000, "map[pid:2 process:child tid:1]": 1000}
	if fmt.Sprint(by) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", by, want)
	}
}

func TestPhasesAreInheritedAndTheNearestWins(t *testing.T) {
	_, tables := extract(t, trace(x("flameox.phase:train", 1, 100), x("a", 2, 50), x("b", 3, 20), x("c", 4, 2), x("own", 30, 5, `,"args":{"phase":"eval"}`), x("d", 31, 1), x("out", 200, 1)))
	got := map[string]any{}
	for _, r := range tables["trace_events"] {
		got[r["name"].(string)] = r["phase"]
	}
	for name, want := range map[string]any{"a": "train", "b": "train", "c": "train", "own": "eval", "d": "eval", "out": nil} {
		if got[name] != want {
			t.Errorf("the phase of %s is %v, want %v", name, got[name], want)
		}
	}
}

func TestOneBadEventDoesNotCostTheOthers(t *testing.T) {
	for name, c := range map[string]struct{ event, code string }{
		"ts is null":              {`{"ph":"X","name":"b","ts":null,"dur":1}`, formats.NoTime},
		"ts is missing":           {`{"ph":"X","name":"b","dur":1}`, formats.NoTime},
		"ts is no number":         {`{"ph":"X","name":"b","ts":"soon","dur":1}`, formats.NoTime},
		"dur is missing":          {`{"ph":"X","name":"b","ts":2}`, formats.NoDuration},
		"dur is negative":         {`{"ph":"X","name":"b","ts":2,"dur":-3}`, formats.Negative},
		"time was lost":           {`{"ph":"X","name":"b","ts":0.000,"dur":0.000}`, formats.Zeroed},
		"no phase":                {`{"name":"b","ts":1}`, formats.NoPhase},
		"another phase":           {`{"ph":"q","name":"b","ts":1}`, formats.UnknownPhase},
		"a number":                {`17`, formats.NotAnEvent},
		"a member that is twice":  {`{"ph":"X","ts":1,"ts":2,"dur":1}`, formats.NamedTwice},
		"async without an id":     {`{"ph":"b","name":"b","ts":1}`, formats.OddIdentifier},
		"it ends too late":        {`{"ph":"X","name":"b","ts":9223372036854774,"dur":9223372036854774}`, formats.BeyondInt64},
		"more than 64 bits":       {`{"ph":"X","name":"b","ts":92233720368547758070,"dur":1}`, formats.NoTime},
		"a whole of other digits": {`{"ph":"X","name":"b","ts":1e300,"dur":1}`, formats.NoTime},
	} {
		out, tables := extract(t, trace(x("a", 1, 5), c.event, x("c", 10, 5)))
		if out.State != evidence.Partial || len(tables["trace_events"]) != 2 || len(out.Limitations) == 0 || !strings.Contains(out.Limitations[0].Text, "("+c.code+")") {
			t.Errorf("%s: %s, %d rows, %v", name, out.State, len(tables["trace_events"]), out.Limitations)
		}
	}
}

func TestTimesAreExact(t *testing.T) {
	for ts, want := range map[string]int64{
		`"1747132800123456.789"`: 1747132800123456789, `1747132800123456.789`: 1747132800123456789, `4294967290`: 4294967290000, `0.0005`: 1, `0.0004`: 0,
		`1.7471328001234568e+15`: 1747132800123456800, `-5.5`: -5500, `9007199254740993`: 9007199254740993000, `1e-3`: 1, `25E1`: 250000,
	} {
		_, tables := extract(t, trace(x("a", ts, 1)))
		if len(tables["trace_events"]) != 1 || tables["trace_events"][0]["start_ns"] != want {
			t.Errorf("ts %s: %v, want %d", ts, tables["trace_events"], want)
		}
	}
}

func TestWhatIsNoJSONIsRefusedWhereItStands(t *testing.T) {
	for in, want := range map[string]string{
		`[{"ph":"X","name":"C:\dir\q","ts":1,"dur":1}]`:                            "byte 21 ",
		`[{"ph":"X","name":"{"device": "cpu"}(12): run","ts":1,"dur":1}]`:          "byte 21 ",
		`[{"ph":"X","pid":1,"tid": 0","ts":1,"dur":1}]`:                            "byte 27 ",
		"[{\"ph\":\"X\",\"name\":\"a\x01\xff\",\"ts\":1,\"dur\":1}]":               "byte 20 ",
		`[{"ph":"X","ts":NaN,"dur":1}]`:                                            "byte 16 ",
		`[{"ph":"X","ts":1,"dur":1}] x`:                                            "byte 28 ",
		`{"traceEvents":[],"traceEvents":[]}`:                                      "two members",
		`{"traceEvents":{}}`:                                                       "no array",
		`{"schema":"1.0.1","pid":1,"nodes":[]}`:                                    "execution trace",
		`[[-1, 1, 37888, 7], [-1, 1, 512, 7]]`:                                     "another kind of JSON",
		`[{"name":"x"},{"name":"y"}]`:                                              "no element of the array has a ph",
		`{"projectId": "My Google Cloud Project","traceId":"6e","spans":[]}`:       `"spans"`,
		`[{"ph":"X","name":"` + strings.Repeat("a", 70<<20) + `","ts":1,"dur":1}]`: "longer than any event",
		`{"metadata":{"a":1},`:                                                     "breaks off",
		`[`:                                                                        "breaks off",
	} {
		out, tables := extract(t, []byte(in))
		if out.State != evidence.Incompatible || len(tables) > 0 || !strings.Contains(out.Limitations[0].Text, want) {
			t.Errorf("%.60q: %s, %v, want %q", in, out.State, out.Limitations, want)
		}
	}
}

func TestWhatIsInFrontOfABreakIsRead(t *testing.T) {
	for in, code := range map[string]string{
		`[` + x("a", 1, 5) + `,` + x("b", 7, 5):                             formats.ArrayOpen,
		`[` + x("a", 1, 5) + `,` + x("b", 7, 5) + `,`:                       formats.ArrayOpen,
		`[` + x("a", 1, 5) + `,` + x("b", 7, 5) + `,{"ph":"X","na`:          formats.TraceCut,
		`{"traceEvents":[` + x("a", 1, 5) + `,` + x("b", 7, 5) + `,{"ph"`:   formats.TraceCut,
		`{"traceEvents":[` + x("a", 1, 5) + `,` + x("b", 7, 5):              formats.TraceCut,
		`{"traceEvents":[` + x("a", 1, 5) + `,` + x("b", 7, 5) + `],"x":[1`: formats.TraceCut,
	} {
		out, tables := extract(t, []byte(in))
		if out.State != evidence.Partial || len(tables["trace_events"]) != 2 || out.Limitations[0].Code != code {
			t.Errorf("%s: %s, %d rows, %v", in, out.State, len(tables["trace_events"]), out.Limitations)
		}
	}
	out, tables := extract(t, []byte(`[`+x("a", 1, 5)+`,]`))
	if out.State != evidence.Complete || len(tables["trace_events"]) != 1 {
		t.Errorf("a comma in front of the end: %s, %v", out.State, out.Limitations)
	}
	out, tables = extract(t, []byte("\xEF\xBB\xBF[\n"+x("a", 1, 5)+",\n{}]"))
	if out.State != evidence.Complete || len(tables["trace_events"]) != 1 {
		t.Errorf("an event without members at the end: %s, %v", out.State, out.Limitations)
	}
}

func TestGzipIsToldByItsBytes(t *testing.T) {
	packed := func(parts ...string) []byte {
		var b bytes.Buffer
		for _, s := range parts {
			z := gzip.NewWriter(&b)
			z.Write([]byte(s))
			z.Close()
		}
		return b.Bytes()
	}
	whole := string(trace(x("a", 1, 5), x("b", 7, 5)))
	out, tables := extract(t, packed(whole[:20], whole[20:]))
	if out.State != evidence.Complete || len(tables["trace_events"]) != 2 {
		t.Errorf("two members: %s, %v", out.State, out.Limitations)
	}
	cut := packed(whole)
	if out, _ := extract(t, cut[:len(cut)-12]); out.State == evidence.Complete {
		t.Errorf("cut: %s, %v", out.State, out.Limitations)
	}
	bomb := packed("[" + strings.Repeat(" ", 8<<20) + x("a", 1, 1) + "]")
	b := evidence.DefaultBudget()
	b.InputBytes = 1 << 20
	refused, _ := providertest.Extract(t, p, providertest.Input(t, chrometrace.Role, bomb), nil, b)
	if refused.State != evidence.Incompatible || refused.Limitations[0].Code != providers.InputBudget {
		t.Errorf("%d bytes that inflate to 8 MiB: %s, %v", len(bomb), refused.State, refused.Limitations)
	}
}

func TestTheOrderOfTheFileChangesNothing(t *testing.T) {
	events := []string{x("a", 1, 20), ev("B", "b", 2), x("c", 3, 4), ev("E", "b", 10), ev("B", "d", 10), ev("E", "d", 20), ev("i", "now", 10), x("e", 21, 0)}
	_, want := extract(t, trace(events...))
	for k := range len(events) {
		moved := append(slices.Clone(events[k:]), events[:k]...)
		_, got := extract(t, trace(moved...))
		if a, b := slicesOf(want), slicesOf(got); !slices.Equal(a, b) {
			t.Errorf("rotated by %d: %v, want %v", k, b, a)
		}
		if a, b := selves(want), selves(got); fmt.Sprint(a) != fmt.Sprint(b) {
			t.Errorf("rotated by %d: %v, want %v", k, b, a)
		}
	}
}

func TestNestingThatContradictsItselfIsSaidAndNotRepaired(t *testing.T) {
	for name, c := range map[string]struct {
		events []string
		code   string
		want   []string
	}{
		"an end too many":         {[]string{ev("B", "a", 1), ev("E", "a", 3), ev("E", "a", 5)}, timeline.UnbegunSlices, []string{"0 a 1000+2000"}},
		"no end":                  {[]string{ev("B", "a", 1), ev("B", "b", 2), ev("E", "b", 5)}, timeline.UnendedSlices, []string{"0 a 1000+<nil>", "1 b 2000+3000"}},
		"ends cross":              {[]string{ev("B", "a", 1), ev("B", "b", 2), ev("E", "a", 5), ev("E", "b", 9)}, timeline.MisnamedEnds, []string{"0 a 1000+8000", "1 b 2000+3000"}},
		"slices overlap":          {[]string{x("a", 1, 10), x("b", 6, 10)}, timeline.OverlapsBeside, []string{"0 a 1000+10000", "0 b 6000+10000"}},
		"a child ends 1 µs later": {[]string{x("a", 1, 10), x("b", 2, 10)}, timeline.EndsRounded, []string{"0 a 1000+10000", "1 b 2000+10000"}},
		"a flow that never ends":  {[]string{x("a", 1, 10), ev("s", "f", 2, `,"cat":"x","id":"id42"`), ev("t", "f", 3, `,"cat":"x","id":"id42"`)}, timeline.FlowsOpen, []string{"0 a 1000+10000"}},
		"an end without a name":   {[]string{ev("B", "a", 1), `{"ph":"E","pid":1,"tid":2,"ts":4}`}, "", []string{"0 a 1000+3000"}},
		"the same instant":        {[]string{x("a", 10, 5), ev("i", "p", 10), x("z", 20, 0), ev("i", "q", 20)}, "", []string{"0 a 10000+5000", "0 z 20000+0"}},
		"one begins as one ends":  {[]string{ev("B", "a", 1), ev("E", "a", 5), ev("B", "a", 5), ev("E", "a", 9)}, "", []string{"0 a 1000+4000", "0 a 5000+4000"}},
		"nothing between the two": {[]string{ev("B", "o", 1), ev("B", "a", 5), ev("E", "a", 5), ev("E", "o", 9)}, "", []string{"0 o 1000+8000", "1 a 5000+0"}},
	} {
		out, tables := extract(t, trace(c.events...))
		if got := slicesOf(tables); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
		if c.code == "" && len(out.Limitations) > 0 || c.code != "" && !providertest.HasCode(out.Limitations, c.code) {
			t.Errorf("%s: %v, want %s", name, out.Limitations, c.code)
		}
		for _, r := range tables["trace_events"] {
			if s, ok := r["self_ns"].(int64); ok && s < 0 {
				t.Errorf("%s: a self time of %d", name, s)
			}
		}
	}
}

func TestBusyTimeIsTheUnionOfWhatOverlaps(t *testing.T) {
	_, tables := extract(t, trace(x("around", 1, 100), x("k1", 10, 20), x("k2", 20, 20)))
	for _, r := range tables["trace_events"] {
		if r["name"] == "around" && r["self_ns"] != int64(70000) {
			t.Errorf("self is %v and not without the 30 µs that the two take together", r["self_ns"])
		}
	}
}

func TestAsynchronousEventsPairByIdWhateverItsForm(t *testing.T) {
	ids := []string{`,"id":7`, `,"id":"7"`, `,"id2":{"local":7}`, `,"id2":{"global":"0x1f"}`, `,"id":"x-1"`}
	for _, id := range ids {
		out, tables := extract(t, trace(ev("b", "r", 1, `,"cat":"c"`, id), ev("n", "mid", 2, `,"cat":"c"`, id), ev("b", "in", 2, `,"cat":"c"`, id), ev("e", "in", 3, `,"cat":"c"`, id), ev("e", "r", 9, `,"cat":"c"`, id)))
		var got []string
		for _, r := range tables["trace_events"] {
			got = append(got, fmt.Sprintf("%v %v %v", r["kind"], r["name"], r["duration_ns"]))
		}
		slices.Sort(got)
		if want := []string{"async in 1000", "async r 8000", "instant mid <nil>"}; !slices.Equal(got, want) || out.State != evidence.Complete || len(tables["stacks"]) > 0 {
			t.Errorf("%s: %v, %v, %d stacks", id, got, out, len(tables["stacks"]))
		}
	}
}

func TestWideIdentifiersStayWhatTheyAre(t *testing.T) {
	_, tables := extract(t, trace(`{"ph":"X","pid":7168000000,"tid":"-136712896","name":"a","ts":1,"dur":1,"args":{"correlation":9007199254740993,"External id":18446744073709551615,"device":"0","stream":7}}`))
	r := tables["trace_events"][0]
	if r["process_id"] != int64(7168000000) || r["thread_id"] != int64(-136712896) || r["correlation"] != "9007199254740993" || r["external"] != "18446744073709551615" || r["device"] != int64(0) || r["stream"] != int64(7) {
		t.Errorf("%v", r)
	}
}

func TestCountersHaveARowForEachSeries(t *testing.T) {
	_, tables := extract(t, trace(ev("C", "mem", 1, `,"args":{"heap":10,"line":2.5,"text":"x"}`), ev("C", "mem", 2, `,"args":{"heap":-1e3}`)))
	var got []string
	for _, r := range tables["trace_events"] {
		got = append(got, fmt.Sprintf("%v %v %v %v", r["kind"], r["start_ns"], r["series"], r["value"]))
	}
	slices.Sort(got)
	if want := []string{"counter 1000 heap 10", "counter 1000 line 2.5", "counter 2000 heap -1000"}; !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
}

func TestBadTextIsRepairedAndCounted(t *testing.T) {
	out, tables := extract(t, trace("{\"ph\":\"X\",\"name\":\"a\xff\xfeb\",\"ts\":1,\"dur\":1}", x("c", 2, 1)))
	if !providertest.HasCode(out.Limitations, timeline.TextNotUTF8) || selves(tables)["a\uFFFDb"] != [2]int64{1000, 1000} {
		t.Errorf("%v %v", selves(tables), out.Limitations)
	}
}

func TestTheLongestAreKeptAndTheRestIsSaid(t *testing.T) {
	var events []string
	for i := range 100 {
		events = append(events, x("f", 1+1000*i, 1+i), ev("i", "m", 1000*i))
	}
	in := providertest.Input(t, chrometrace.Role, trace(events...))
	out, tables := providertest.Extract(t, p, in, &chrometrace.ExtractOptions{Events: 20}, evidence.DefaultBudget())
	if len(tables["trace_events"]) != 25 || out.State != evidence.Partial || tables["trace_events"][0]["duration_ns"] != int64(100000) || tables["trace_events"][19]["duration_ns"] != int64(81000) {
		t.Errorf("%d rows, %s, %v", len(tables["trace_events"]), out.State, tables["trace_events"][0])
	}
	for i, want := range []string{"the 20 heaviest of 100 slices; the 80 others have 3,240,000 ns together", "the 5 heaviest of 100 instants"} {
		if !strings.Contains(out.Limitations[i].Text, want) {
			t.Errorf("%s, want %s", out.Limitations[i].Text, want)
		}
	}
	if selves(tables)["f"] != [2]int64{5050000, 5050000} {
		t.Errorf("the sums are not of the whole trace: %v", selves(tables))
	}
	full, tables := extract(t, trace(events...))
	if len(tables["trace_events"]) != 200 || full.State != evidence.Complete {
		t.Errorf("full: %d rows, %s", len(tables["trace_events"]), full.State)
	}
}
