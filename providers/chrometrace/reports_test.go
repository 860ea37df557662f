package chrometrace_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/flameox/flameox/evidence"
	formats "github.com/flameox/flameox/formats/chrometrace"
	"github.com/flameox/flameox/formats/timeline"
	"github.com/flameox/flameox/providers/providertest"
)

// What other readers of this format got wrong, by public reports. Where a test elsewhere in this package has the same input, it is not repeated.

func TestTracesOfAnyShapeAreKnownByTheirContent(t *testing.T) {
	for name, head := range map[string]string{
		"slices only":                       `[{"ph":"X","name":"a","ts":1,"dur":2}]`,                                  // jlfwong/speedscope#162
		"a name with brackets":              `[{"name":"operator[]","ph":"X","ts":1,"dur":2}]`,                         // of any C++ program
		"arguments with lists in front":     `[{"args":{"Input Dims":[[2],[2]]},"name":"mm","ph":"X","ts":1,"dur":2}]`, // members in the order of their names
		"a name with a quote and a bracket": `[{"name":"a\"]{","cat":"c","ph":"B","ts":1}]`,                            //
		"an event without members first":    `[{},{"ph":"X","name":"a","ts":1,"dur":2}]`,                               //
		"metadata first":                    `{"otherData":{"v":["1"]},"traceEvents":[{"ph":"X","ts":1,"dur":1}]}`,     //
		"nothing yet":                       `{"traceEvents":[]}`,                                                      //
		"cut in the first event's args":     `[{"ph":"X","name":"a","ts":1,"dur":2,"args":{"x":[`,                      //
		"a text that is not escaped":        `[{"name":"C:\dir\q","ph":"X","ts":1,"dur":1}]`,
		"nested objects in front":           `[{"args":{"data":{"a":{"b":[{"c":1}]}}},"cat":"c","ph":"X","ts":1,"dur":1`, //
	} {
		if trace, _ := formats.Detect([]byte(head)); !trace {
			t.Errorf("%s is not known: %s", name, head)
		}
	}
	for name, head := range map[string]string{
		"events of something else": `[{"name":"a","args":{"ph":"X"}}]`,
		"texts":                    `["ph","X"]`,
		"lists":                    `[["ph","X"]]`,
		"a text with a ph":         `[{"name":"\"ph\":\"X\""}]`,
		"a ph that is a word":      `[{"ph":"acid"}]`,
		"a later ph":               `[{"name":"a"},{"ph":"X"}]`,
	} {
		if trace, _ := formats.Detect([]byte(head)); trace {
			t.Errorf("%s is taken for a trace: %s", name, head)
		}
	}
}

func TestOneInstantHasOneOrderWhateverTheFiles(t *testing.T) {
	for name, c := range map[string]struct{ events, want []string }{
		// jlfwong/speedscope#223: spans that end together, in either order.
		"two ends":         {[]string{ev("B", "a", 1), ev("B", "b", 2), ev("E", "b", 5), ev("E", "a", 5)}, []string{"0 a 1000+4000", "1 b 2000+3000"}},
		"three of one end": {[]string{x("a", 1, 9), x("b", 2, 8), x("c", 3, 7)}, []string{"0 a 1000+9000", "1 b 2000+8000", "2 c 3000+7000"}},
		// google/perfetto#970: complete slices beside begun ones.
		"a begun one around":      {[]string{ev("B", "o", 10), x("i", 10, 3), ev("E", "o", 15)}, []string{"0 o 10000+5000", "1 i 10000+3000"}},
		"a complete one around":   {[]string{x("o", 10, 9), ev("B", "i", 10), ev("E", "i", 15)}, []string{"0 o 10000+9000", "1 i 10000+5000"}},
		"one behind the other":    {[]string{ev("B", "a", 1), ev("E", "a", 10), x("b", 10, 5), ev("B", "c", 15), ev("E", "c", 20)}, []string{"0 a 1000+9000", "0 b 10000+5000", "0 c 15000+5000"}},
		"one of each length":      {[]string{x("a", 1, 9), x("b", 1, 5), ev("B", "c", 1), ev("E", "c", 3)}, []string{"0 a 1000+9000", "1 b 1000+5000", "2 c 1000+2000"}},
		"begun between two":       {[]string{x("a", 1, 9), x("c", 1, 2), ev("B", "b", 1), ev("E", "b", 6)}, []string{"0 a 1000+9000", "1 b 1000+5000", "2 c 1000+2000"}},
		"two begun and a slice":   {[]string{ev("B", "a", 1), ev("B", "b", 1), x("c", 1, 2), ev("E", "b", 5), ev("E", "a", 9)}, []string{"0 a 1000+8000", "1 b 1000+4000", "2 c 1000+2000"}},
		"beside an instant":       {[]string{ev("B", "o", 10), ev("i", "now", 10), x("i", 10, 3), ev("E", "o", 15)}, []string{"0 o 10000+5000", "1 i 10000+3000"}},
		"a slice within both":     {[]string{x("o", 1, 20), ev("B", "m", 5), x("i", 5, 3), ev("E", "m", 9)}, []string{"0 o 1000+20000", "1 m 5000+4000", "2 i 5000+3000"}},
		"ends as another begins":  {[]string{x("a", 1, 4), ev("B", "b", 5), ev("E", "b", 9), x("c", 9, 3)}, []string{"0 a 1000+4000", "0 b 5000+4000", "0 c 9000+3000"}},
		"one that lasts no time":  {[]string{ev("B", "o", 1), x("z", 5, 0), ev("E", "o", 5)}, []string{"0 o 1000+4000", "0 z 5000+0"}},
		"the first lasts no time": {[]string{ev("B", "o", 1), x("z", 1, 0), ev("E", "o", 5)}, []string{"0 o 1000+4000", "1 z 1000+0"}},
	} {
		for k, order := range orders(c.events) { // of beginnings at one instant nothing but their order says which is around the other
			out, tables := extract(t, trace(order...))
			if got := slicesOf(tables); !slices.Equal(got, c.want) || len(out.Limitations) > 0 {
				t.Errorf("%s, order %d: %v, want %v: %v\n%s", name, k, got, c.want, out.Limitations, strings.Join(order, "\n"))
				break
			}
		}
	}
}

// orders are some orders of events, in which those of the same phase keep theirs.
func orders(events []string) (out [][]string) {
	phase := func(e string) string { return e[:8] }
	for i := range events {
		for j := range events {
			moved := slices.Clone(events)
			e := moved[i]
			moved = slices.Insert(slices.Delete(moved, i, i+1), j, e)
			kept := true
			for k := range moved {
				for l := k + 1; l < len(moved); l++ {
					a, b := slices.Index(events, moved[k]), slices.Index(events, moved[l])
					kept = kept && (a < b || phase(moved[k]) != phase(moved[l]) || !strings.Contains(moved[k], `"ph":"B"`))
				}
			}
			if kept {
				out = append(out, moved)
			}
		}
	}
	return out
}

func TestTracksAreOrderedEachForItself(t *testing.T) {
	on := func(tid int, e string) string { return strings.Replace(e, `"tid":2`, fmt.Sprint(`"tid":`, tid), 1) }
	var events, want []string
	for tid := 1; tid < 6; tid++ { // what is open at the end of one must not end in the next
		events = append(events, on(tid, ev("B", "never", 5)), on(tid, ev("B", "i", 10)), on(tid, x("o", 10, 9)), on(tid, ev("E", "i", 15)))
		want = append(want, "0 never 5000+<nil>")
	}
	for range 5 {
		want = append(want, "1 o 10000+9000")
	}
	for range 5 {
		want = append(want, "2 i 10000+5000")
	}
	_, tables := extract(t, trace(events...))
	if got := slicesOf(tables); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
}

func TestTimesBeyond32And53BitsAreExact(t *testing.T) { // jlfwong/speedscope#467
	for _, base := range []int64{1<<31 - 3, 1<<32 - 6, 6_000_000_000, 1<<53 - 3} {
		_, tables := extract(t, trace(x("a", base, 12), x("b", base+2, 5), x("c", base+8, 1)))
		want := []string{fmt.Sprintf("0 a %d+12000", 1000*base), fmt.Sprintf("1 b %d+5000", 1000*(base+2)), fmt.Sprintf("1 c %d+1000", 1000*(base+8))}
		if got := slicesOf(tables); !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	}
}

func TestArgumentsOfAnyFormCostNothing(t *testing.T) { // google/trace-viewer#486, #963
	for _, args := range []string{``, `,"args":null`, `,"args":"text"`, `,"args":[1,{"a":[]}]`, `,"args":{"json":"{\"a\":\"b\\\"c\\\\\",\"d\":[1]}"}`, `,"args":{"a":{"b":{"c":[{}]}}}`} {
		out, tables := extract(t, trace(x("a", 1, 5, args), ev("b", "r", 1, `,"cat":"c","id":1`, args), ev("e", "r", 3, `,"cat":"c","id":1`, args)))
		if len(tables["trace_events"]) != 2 || out.State != evidence.Complete || len(out.Limitations) > 0 {
			t.Errorf("%s: %v, %d rows", args, out, len(tables["trace_events"]))
		}
	}
}

func TestTimesThatWereLostAreCountedAndMoveNothing(t *testing.T) { // google/perfetto#6421, pytorch/kineto#109
	const epoch = 1_600_000_000_000_000
	var events []string
	for i := range 100 {
		events = append(events, x("k", epoch+10*i, 5))
	}
	_, before := extract(t, trace(events...))
	for range 100 {
		events = append(events, x("k", "0.000", "0.000"))
	}
	out, tables := extract(t, trace(events...))
	if len(tables["trace_events"]) != 100 || out.Results["slices"] != int64(100) || out.Results["duration_ns"] != int64(995_000) || fmt.Sprint(selves(tables)) != fmt.Sprint(selves(before)) {
		t.Errorf("%v, %d rows", out.Results, len(tables["trace_events"]))
	}
	if len(out.Limitations) != 1 || !strings.HasPrefix(out.Limitations[0].Text, "100 of 200 events were passed over ("+formats.Zeroed+")") {
		t.Errorf("%v", out.Limitations)
	}
}

func TestEndsBeforeTheBeginningAreCounted(t *testing.T) { // google/perfetto#3357, pytorch/kineto#646
	out, tables := extract(t, trace(x("a", 1, 5), x("b", "1747132800123456.789", "-1747132800123456.789"), x("c", 2, -3)))
	if got := slicesOf(tables); !slices.Equal(got, []string{"0 a 1000+5000"}) || len(out.Limitations) != 1 || !strings.HasPrefix(out.Limitations[0].Text, "2 of 3 events were passed over ("+formats.Negative+")") {
		t.Errorf("%v %v", got, out.Limitations)
	}
}

func TestFlowsWhoseIdsDifferBeyondFloatsStayApart(t *testing.T) { // Ascend/pytorch#156
	flow := func(ph, id string) string { return ev(ph, "f", 2, `,"cat":"x","id":`+id) }
	out, _ := extract(t, trace(x("a", 1, 9), flow("s", "9007199254740992"), flow("f", "9007199254740993")))
	if !slices.ContainsFunc(out.Limitations, func(l evidence.Limitation) bool {
		return l.Code == timeline.FlowsOpen && strings.HasPrefix(l.Text, "2 flows")
	}) {
		t.Errorf("two flows became one: %v", out.Limitations)
	}
	out, _ = extract(t, trace(x("a", 1, 9), flow("s", `"9007199254740993"`), flow("f", "9007199254740993")))
	if len(out.Limitations) > 0 {
		t.Errorf("one flow became two: %v", out.Limitations)
	}
}

func TestAnOverlapOfANanosecondDropsNoRow(t *testing.T) { // pytorch/kineto#914, AMD-AGI/TraceLens#669
	out, tables := extract(t, trace(x("annotation", "1.000", "9.000"), x("k1", "1.000", "4.001"), x("k2", "5.000", "5.001")))
	if got := slicesOf(tables); len(got) != 3 || out.State != evidence.Complete {
		t.Errorf("%v, %v", got, out)
	}
	for name, v := range selves(tables) {
		if v[0] < 0 || name == "annotation" && v[0] != 0 {
			t.Errorf("%s has a self time of %d", name, v[0])
		}
	}
}

func TestATextThatItsProducerDidNotEscapeIsRefusedWhereItStands(t *testing.T) { // namhyung/uftrace#183, gradle/gradle-profiler#293
	good := x("a", 1, 5)
	for name, bad := range map[string]string{
		"a backslash":      `{"ph":"X","name":"C:\dir","ts":1,"dur":1}`,
		"a quote":          `{"ph":"X","name":"say "hi"","ts":1,"dur":1}`,
		"a comma for dots": `{"ph":"X","name":"b","ts":1,5,"dur":1}`,
		"a line end":       "{\"ph\":\"X\",\"name\":\"a\nb\",\"ts\":1,\"dur\":1}",
	} {
		out, tables := extract(t, trace(good, bad))
		if out.State != evidence.Incompatible || len(tables) > 0 || !strings.Contains(out.Limitations[0].Text, "byte ") {
			t.Errorf("%s: %s, %v", name, out.State, out.Limitations)
		}
	}
}

func TestAGzipStreamIsReadToItsTrailer(t *testing.T) { // pytorch/pytorch#167707, bazelbuild/bazel#12965
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write(trace(x("a", 1, 5), x("b", 7, 5)))
	z.Close()
	whole := b.Bytes()
	for cut := 1; cut <= 8; cut++ {
		out, tables := extract(t, whole[:len(whole)-cut])
		if out.State != evidence.Partial || len(tables["trace_events"]) != 2 || !providertest.HasCode(out.Limitations, formats.TraceCut) {
			t.Errorf("%d bytes of the trailer are missing: %v, %d rows", cut, out, len(tables["trace_events"]))
		}
	}
	wrong := bytes.Clone(whole)
	wrong[len(wrong)-6] ^= 1 // of the checksum
	if out, tables := extract(t, wrong); out.State != evidence.Incompatible || len(tables) > 0 {
		t.Errorf("a wrong checksum: %v", out)
	}
	for n := range 3 { // members without a byte
		data := append(slices.Clone(whole), bytes.Repeat(emptyMember(), n)...)
		if out, tables := extract(t, data); out.State != evidence.Complete || len(tables["trace_events"]) != 2 {
			t.Errorf("%d empty members behind it: %v", n, out)
		}
	}
}

func emptyMember() []byte {
	var b bytes.Buffer
	gzip.NewWriter(&b).Close()
	return b.Bytes()
}

func TestAMemberOfArgumentsThatStandsTwiceIsSaid(t *testing.T) { // wappalyzer#3293, mitre/cti#147
	for name, args := range map[string]string{
		"one that is read":     `,"args":{"External id":1,"External id":2}`,
		"one that is not":      `,"args":{"note":"a","note":"b"}`,
		"a name in two forms":  `,"args":{"phase":"a","\u0070hase":"b"}`,
		"the second is no use": `,"args":{"line":3,"line":"x"}`,
	} {
		out, tables := extract(t, trace(x("a", 1, 5, args)))
		if len(tables["trace_events"]) != 1 || len(out.Limitations) == 0 {
			t.Errorf("%s: %d rows, %v", name, len(tables["trace_events"]), out.Limitations)
			continue
		}
		if r := tables["trace_events"][0]; r["external"] != nil || r["phase"] != nil || r["line"] != nil {
			t.Errorf("%s: one of the two was taken: %v", name, r)
		}
	}
}
