package chrometrace_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flameox/flameox/evidence"
	formats "github.com/flameox/flameox/formats/chrometrace"
	"github.com/flameox/flameox/providers/providertest"
)

// sampledSelf are self and inclusive weights of samples by the name of the frame, summed over frames of one name.
func sampledSelf(tables map[string][]providertest.Row, metric string) map[string][2]int64 {
	names := map[any]string{}
	for _, r := range tables["frames"] {
		names[r["frame"]] = r["function"].(string)
	}
	out := map[string][2]int64{}
	for _, r := range tables["frame_values"] {
		if r["metric"] == metric {
			v := out[names[r["frame"]]]
			out[names[r["frame"]]] = [2]int64{v[0] + r["self"].(int64), v[1] + r["inclusive"].(int64)}
		}
	}
	return out
}

// reckoned is what the samples of a trace weigh by function, worked out from the document in another way: a line of time for each profile, on which a
// sample is looked up by when it was taken.
func reckoned(t *testing.T, data []byte) (ns, hits map[string]int64, count, lost int64) {
	t.Helper()
	var doc struct{ TraceEvents []json.RawMessage }
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	type event struct {
		Name, Ph, ID string
		Pid          int64
		Ts           float64
		Args         struct {
			Data struct {
				StartTime, EndTime *int64
				TimeDeltas         []int64
				CPUProfile         struct {
					EndTime *int64
					Nodes   []struct {
						ID        int64
						CallFrame struct{ FunctionName string }
					}
					Samples []int64
				} `json:"cpuProfile"`
			}
		}
	}
	type line struct {
		chunks []event
		start  int64
		end    int64
	}
	lines := map[string]*line{}
	for _, raw := range doc.TraceEvents {
		var e event
		if !strings.Contains(string(raw), "\"Profile") {
			continue
		}
		if err := json.Unmarshal(raw, &e); err != nil {
			t.Fatal(err)
		}
		key := fmt.Sprint(e.Pid, e.ID)
		if lines[key] == nil {
			lines[key] = &line{}
		}
		l := lines[key]
		if e.Name == "Profile" {
			l.start = *e.Args.Data.StartTime
		}
		for _, end := range []*int64{e.Args.Data.EndTime, e.Args.Data.CPUProfile.EndTime} {
			if end != nil {
				l.end = *end
			}
		}
		l.chunks = append(l.chunks, e)
	}
	ns, hits = map[string]int64{}, map[string]int64{}
	for _, l := range lines {
		slices.SortStableFunc(l.chunks, func(a, b event) int { return cmp.Compare(a.Ts, b.Ts) })
		name := map[int64]string{}
		type at struct {
			when int64
			node int64
		}
		var list []at
		now := l.start
		for _, c := range l.chunks {
			for _, n := range c.Args.Data.CPUProfile.Nodes {
				if name[n.ID] = n.CallFrame.FunctionName; name[n.ID] == "" {
					name[n.ID] = "(anonymous)"
				}
			}
			for i, d := range c.Args.Data.TimeDeltas {
				now += d
				list = append(list, at{now, c.Args.Data.CPUProfile.Samples[i]})
			}
		}
		slices.SortStableFunc(list, func(a, b at) int { return cmp.Compare(a.when, b.when) })
		for i, s := range list {
			if _, known := name[s.node]; !known {
				lost++
				continue
			}
			until := max(l.end, s.when)
			if i+1 < len(list) {
				until = list[i+1].when
			}
			ns[name[s.node]] += 1000 * (until - s.when)
			hits[name[s.node]]++
			count++
		}
	}
	return ns, hits, count, lost
}

func TestSamplesOfChromeWeighWhatTheDocumentSays(t *testing.T) {
	for name, want := range map[string]struct {
		samples, lost int64
		metric        string
	}{
		// The first has pieces with no data, and lacks some with nodes that others refer to; in the second slices stand beside the samples.
		"chrome141-no-arg-data.json":  {416, 5, formats.SelfTime.Name},
		"cpu-profiler-m86.trace.json": {50294, 0, "trace.slice_duration"},
	} {
		t.Run(name, func(t *testing.T) {
			data := providertest.Fixture(t, filepath.Join("chrome-trace", name))
			ns, hits, count, lost := reckoned(t, data)
			out, tables := extract(t, data)
			if out.Results["samples"] != count || count != want.samples || lost != want.lost || out.Results["default_metric"] != want.metric {
				t.Errorf("%d samples and %d lost, want %d and %d; %v", count, lost, want.samples, want.lost, out.Results)
			}
			for metric, all := range map[string]map[string]int64{formats.SelfTime.Name: ns, formats.HitCount.Name: hits} {
				got := sampledSelf(tables, metric)
				for function, weight := range all {
					if got[function][0] != weight {
						t.Errorf("%s of %s is %d, want %d", metric, function, got[function][0], weight)
					}
				}
			}
			said := slices.ContainsFunc(out.Limitations, func(l evidence.Limitation) bool {
				return l.Code == formats.SamplesLost && strings.HasPrefix(l.Text, fmt.Sprint(want.lost, " samples"))
			})
			if said != (want.lost > 0) {
				t.Errorf("what is lost is not said: %v", out.Limitations)
			}
		})
	}
}

func frame(name string, line int) string {
	return fmt.Sprintf(`{"functionName":%q,"scriptId":7,"url":"http://x.test/a.js","lineNumber":%d,"columnNumber":1}`, name, line)
}

func node(id, parent int, name string) string {
	up := ""
	if parent > 0 {
		up = fmt.Sprintf(`"parent":%d,`, parent)
	}
	return fmt.Sprintf(`{"id":%d,%s"callFrame":%s}`, id, up, frame(name, id))
}

// profiled is an event of a profile, on a thread of its own, as Chrome's pieces are.
func profiled(name string, ts int, data string) string {
	tid := 9
	if name == "Profile" {
		tid = 2
	}
	args := ""
	if data != "" {
		args = `,"args":{"data":{` + data + `}}`
	}
	return fmt.Sprintf(`{"ph":"P","pid":1,"tid":%d,"name":%q,"id":"0x1","cat":"disabled-by-default-v8.cpu_profiler","ts":%d%s}`, tid, name, ts, args)
}

func chunk(ts int, nodes, samples, deltas string) string {
	return profiled("ProfileChunk", ts, `"cpuProfile":{"nodes":[`+nodes+`],"samples":[`+samples+`]},"timeDeltas":[`+deltas+`]`)
}

func TestPiecesOfAProfileAreJoinedInTheOrderOfTheirTimes(t *testing.T) {
	begin := profiled("Profile", 1000, `"startTime":1000`)
	first := chunk(2000, node(1, 0, "(root)")+","+node(2, 1, "outer"), "2,2", "10,20")
	second := chunk(3000, node(3, 2, "inner"), "3,2", "30,40")
	name := `{"ph":"M","pid":1,"tid":2,"name":"thread_name","args":{"name":"CrRendererMain"}}`
	slice := x("task", 1000, 500)
	want := map[string][2]int64{"(root)": {0, 90_000}, "outer": {50_000, 90_000}, "inner": {40_000, 40_000}}
	for _, order := range [][]string{{name, begin, first, second}, {second, first, begin, name}, {second, begin, slice, first, name}} {
		out, tables := extract(t, trace(order...))
		if got := sampledSelf(tables, formats.SelfTime.Name); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%v\nwant %v", got, want)
		}
		if out.State != evidence.Complete || out.Results["samples"] != int64(4) {
			t.Errorf("%s, %v", out.State, out)
		}
		for _, s := range tables["stacks"] {
			if labels := s["labels"].(map[string]string); labels["thread"] != "CrRendererMain" || labels["tid"] != "2" {
				t.Errorf("a stack is of %v, not of the thread that was sampled", labels)
			}
		}
		withSlice := len(order) == 5
		if metric := out.Results["default_metric"]; withSlice != (metric == "trace.slice_duration") || !withSlice && out.Results["total"] != int64(90_000) {
			t.Errorf("the profile is by %v, %v in all", metric, out.Results["total"])
		}
		if withSlice && selves(tables)["task"] != [2]int64{500_000, 500_000} {
			t.Errorf("the slice beside the samples weighs %v", selves(tables))
		}
	}
}

func TestAPieceThatOnlySaysTheEndGivesTheLastSampleItsTime(t *testing.T) {
	begin, samples := profiled("Profile", 1000, `"startTime":1000`), chunk(2000, node(1, 0, "f"), "1,1", "10,20")
	for _, end := range []string{profiled("ProfileChunk", 4000, `"endTime":1100`), profiled("ProfileChunk", 4000, `"cpuProfile":{"endTime":1100}`)} {
		out, tables := extract(t, trace(begin, samples, end, profiled("ProfileChunk", 5000, "")))
		if got := sampledSelf(tables, formats.SelfTime.Name)["f"]; got != [2]int64{90_000, 90_000} || out.State != evidence.Complete {
			t.Errorf("f weighs %v; %v", got, out)
		}
	}
}

func TestWhatIsWrongWithSamplesIsSaidAndCostsNoOthers(t *testing.T) {
	begin := profiled("Profile", 1000, `"startTime":1000`)
	good := chunk(2000, node(1, 0, "f"), "1,1", "10,20")
	for name, c := range map[string]struct {
		events []string
		code   string
		f      int64
		state  evidence.State
	}{
		"a piece in another form":     {[]string{begin, good, chunk(2500, `{"id":"x"}`, "1", "5")}, formats.SamplesBad, 20_000, evidence.Partial},
		"a node that is not there":    {[]string{begin, good, chunk(2500, "", "99", "5")}, formats.SamplesLost, 25_000, evidence.Partial},
		"a parent that is not there":  {[]string{begin, chunk(2000, node(1, 77, "f"), "1,1", "10,20")}, formats.SamplesLost, 20_000, evidence.Partial},
		"parents in a circle":         {[]string{begin, chunk(2000, node(1, 2, "f")+","+node(2, 1, "g"), "1,1", "10,20")}, formats.SamplesLost, 20_000, evidence.Partial},
		"an id twice":                 {[]string{begin, good, chunk(2500, node(1, 0, "g"), "1", "5")}, formats.SamplesBad, 25_000, evidence.Partial},
		"a sample without a time":     {[]string{begin, chunk(2000, node(1, 0, "f"), "1,1,1", "10,20")}, formats.SamplesLost, 20_000, evidence.Partial},
		"no beginning":                {[]string{good}, formats.SamplesCut, 20_000, evidence.Complete},
		"no end":                      {[]string{begin, good}, formats.SamplesCut, 20_000, evidence.Complete},
		"times that go back":          {[]string{begin, chunk(2000, node(1, 0, "f"), "1,1,1", "10,20,-5")}, formats.SamplesOrder, 20_000, evidence.Complete},
		"times beyond 64 bits":        {[]string{begin, good, strings.Replace(chunk(2500, node(1, 0, "g"), "1,1", "9223372036854775000,9223372036854775000"), "0x1", "0x2", 1)}, formats.SamplesLost, 20_000, evidence.Partial},
		"a time that is no number":    {[]string{begin, good, chunk(2500, "", "1", `"5"`)}, formats.SamplesBad, 20_000, evidence.Partial},
		"a member that stands twice":  {[]string{begin, good, profiled("ProfileChunk", 2500, `"timeDeltas":[],"timeDeltas":[]`)}, formats.SamplesBad, 20_000, evidence.Partial},
		"args that are no object":     {[]string{begin, good, strings.Replace(profiled("ProfileChunk", 2500, ""), `"ts"`, `"args":7,"ts"`, 1)}, formats.SamplesCut, 20_000, evidence.Complete},
		"an event of the same phase":  {[]string{begin, good, ev("P", "Other", 5)}, formats.OtherEvents, 20_000, evidence.Complete},
		"a function without a name":   {[]string{begin, good, chunk(2500, `{"id":5,"callFrame":{"functionName":"","scriptId":"3"}}`, "5", "5")}, formats.SamplesSampled, 25_000, evidence.Complete},
		"a profile without any piece": {[]string{begin, good, strings.Replace(begin, "0x1", "0x2", 1)}, formats.SamplesSampled, 20_000, evidence.Complete},
	} {
		t.Run(name, func(t *testing.T) {
			out, tables := extract(t, trace(c.events...))
			if got := sampledSelf(tables, formats.SelfTime.Name)["f"][0]; got != c.f || out.State != c.state {
				t.Errorf("f weighs %d, want %d; %s, want %s: %v", got, c.f, out.State, c.state, out.Limitations)
			}
			if !slices.ContainsFunc(out.Limitations, func(l evidence.Limitation) bool { return l.Code == c.code }) {
				t.Errorf("%s is not said: %v", c.code, out.Limitations)
			}
		})
	}
}

func TestAnOldTraceWithAWholeProfileInOneEventHasItsSamples(t *testing.T) {
	whole := `{"nodes":[{"id":1,"callFrame":` + frame("(root)", 0) + `,"hitCount":0,"children":[2]},{"id":2,"callFrame":` + frame("f", 3) + `,"hitCount":2}],"startTime":100,"endTime":200,"samples":[2,2],"timeDeltas":[10,20]}`
	whole = strings.ReplaceAll(whole, `"scriptId":7`, `"scriptId":"7"`)
	out, tables := extract(t, trace(ev("I", "CpuProfile", 300, `,"args":{"data":{"cpuProfile":`+whole+`}}`), ev("I", "CpuProfile", 301)))
	if got := sampledSelf(tables, formats.SelfTime.Name)["f"]; got != [2]int64{90_000, 90_000} || out.Results["samples"] != int64(2) || out.Results["instants"] != int64(1) {
		t.Errorf("f weighs %v; %v", got, out)
	}
	out, tables = extract(t, trace(x("task", 1, 2), ev("I", "CpuProfile", 300, `,"args":{"data":{"cpuProfile":`+strings.Replace(whole, "[2,2]", "[2,3]", 1)+`}}`)))
	if out.State != evidence.Partial || selves(tables)["task"][0] != 2000 {
		t.Errorf("a profile that contradicts itself: %v", out)
	}
}
