package pprof_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/providers/pprof"
	"github.com/flameox/flameox/providers/providertest"
)

var p pprof.Provider

func by(granularity string) *pprof.ExtractOptions {
	return &pprof.ExtractOptions{Granularity: granularity}
}

func extract(t *testing.T, data []byte, granularity string) (evidence.Outcome, map[string][]providertest.Row) {
	t.Helper()
	return providertest.Extract(t, p, providertest.Input(t, pprof.Role, data), by(granularity), evidence.DefaultBudget())
}

func validate(t *testing.T, data []byte) providers.Receipt {
	t.Helper()
	r, err := p.Validate(t.Context(), providertest.Input(t, pprof.Role, data))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// encode writes a profile as a producer would.
func encode(t testing.TB, pr *profile.Profile) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := pr.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func raw(t testing.TB, pr *profile.Profile) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := pr.WriteUncompressed(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// small is a profile with an inlined call, recursion, labels of both kinds and an address without a symbol.
func small() *profile.Profile {
	m := &profile.Mapping{ID: 1, Start: 0x1000, Limit: 0x9000, File: "/home/u/p/bin/app", BuildID: "abc", HasFunctions: true}
	fn := func(id uint64, name, file string) *profile.Function {
		return &profile.Function{ID: id, Name: name, SystemName: name, Filename: file}
	}
	main, work, leaf := fn(1, "main.main", "/home/u/p/main.go"), fn(2, "main.work", "/home/u/p/work.go"), fn(3, "lib.leaf", "/usr/lib/leaf.go")
	at := func(id, addr uint64, lines ...profile.Line) *profile.Location {
		return &profile.Location{ID: id, Mapping: m, Address: addr, Line: lines}
	}
	l1 := at(1, 0x1010, profile.Line{Function: main, Line: 3})
	l2 := at(2, 0x1020, profile.Line{Function: leaf, Line: 9, Column: 2}, profile.Line{Function: work, Line: 7}) // leaf inlined into work
	l3 := at(3, 0x1030, profile.Line{Function: work, Line: 8})
	l4 := at(4, 0x1040)
	return &profile.Profile{
		SampleType:        []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		DefaultSampleType: "cpu",
		PeriodType:        &profile.ValueType{Type: "cpu", Unit: "nanoseconds"},
		Period:            10,
		DurationNanos:     1000,
		Sample: []*profile.Sample{
			{Location: []*profile.Location{l2, l3, l1}, Value: []int64{2, 20}, Label: map[string][]string{"req": {"a b"}}, NumLabel: map[string][]int64{"size": {64}, "n": {1, 2}}, NumUnit: map[string][]string{"size": {"bytes"}}},
			{Location: []*profile.Location{l3, l1}, Value: []int64{1, 10}},
			{Location: []*profile.Location{l4, l1}, Value: []int64{4, 40}},
		},
		Mapping:  []*profile.Mapping{m},
		Location: []*profile.Location{l1, l2, l3, l4},
		Function: []*profile.Function{main, work, leaf},
	}
}

// names maps frame ids to something readable.
func names(rows []providertest.Row) map[string]string {
	out := map[string]string{}
	for _, r := range rows {
		s, _ := r["function"].(string)
		if n, ok := r["line"].(int64); ok {
			s += fmt.Sprint(":", n)
		}
		if n, ok := r["address"].(uint64); ok {
			s += fmt.Sprintf("@%x", n)
		}
		out[r["frame"].(string)] = s
	}
	return out
}

func values(tables map[string][]providertest.Row, metric string) map[string][2]int64 {
	name := names(tables["frames"])
	out := map[string][2]int64{}
	for _, r := range tables["frame_values"] {
		if r["metric"] == metric {
			out[name[r["frame"].(string)]] = [2]int64{r["self"].(int64), r["inclusive"].(int64)}
		}
	}
	return out
}

func TestFramesOfEveryGranularity(t *testing.T) {
	data := encode(t, small())
	for granularity, want := range map[string]map[string][2]int64{
		"function": {"main.main": {0, 70}, "main.work": {10, 30}, "lib.leaf": {20, 20}, "@1040": {40, 40}},
		"line":     {"main.main:3": {0, 70}, "main.work:8": {10, 30}, "main.work:7": {0, 20}, "lib.leaf:9": {20, 20}, "@1040": {40, 40}},
		"address":  {"main.main:3@1010": {0, 70}, "main.work:8@1030": {10, 30}, "main.work:7@1020": {0, 20}, "lib.leaf:9@1020": {20, 20}, "@1040": {40, 40}},
	} {
		out, tables := extract(t, data, granularity)
		if got := values(tables, "cpu"); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", granularity, got, want)
		}
		if out.State != evidence.Complete {
			t.Errorf("%s: %+v", granularity, out)
		}
	}
}

func TestWhatAFrameSays(t *testing.T) {
	in := providertest.Input(t, pprof.Role, encode(t, small()))
	in.Paths = providers.Paths{Root: "/home/u/p"}
	_, tables := providertest.Extract(t, p, in, by("line"), evidence.DefaultBudget())
	got := map[string]providertest.Row{}
	name := names(tables["frames"])
	for _, r := range tables["frames"] {
		got[name[r["frame"].(string)]] = r
	}
	check := func(frame, column string, want any) {
		t.Helper()
		if got[frame][column] != want {
			t.Errorf("%s of %s is %v, want %v", column, frame, got[frame][column], want)
		}
	}
	check("main.work:7", "file", "work.go")
	check("main.work:7", "inlined", false)
	check("lib.leaf:9", "inlined", true)
	check("lib.leaf:9", "column", int64(2))
	check("lib.leaf:9", "file", "/usr/lib/leaf.go")
	check("main.work:8", "inlined", nil)
	check("main.work:8", "column", nil)
	check("main.work:8", "module", "bin/app")
	check("main.work:8", "build_id", "abc")
	check("main.work:8", "symbolization", "complete")
	check("@1040", "symbolization", "absent")
	check("@1040", "file", nil)
}

func TestLabelsKeepTheirUnitsAndSpaces(t *testing.T) {
	out, tables := extract(t, encode(t, small()), "function")
	want := map[string]string{"req": "a b", "size": "64 bytes", "n": "1,2"}
	found := false
	for _, r := range tables["stacks"] {
		if m, ok := r["labels"].(map[string]string); ok && len(m) > 0 {
			found = true
			if !reflect.DeepEqual(m, want) {
				t.Errorf("labels %v, want %v", m, want)
			}
		}
	}
	if !found || !providertest.HasCode(out.Limitations, pprof.LabelsJoined) {
		t.Errorf("limitations %v", out.Limitations)
	}
}

func TestResultsNameTheDefaultTypeAndWhatTheProfileSaysOfItself(t *testing.T) {
	out, _ := extract(t, encode(t, small()), "function")
	want := map[string]any{"sample_types": "samples/count,cpu/nanoseconds", "default_sample_type": "cpu", "unit": "nanoseconds",
		"duration_ns": int64(1000), "period": int64(10), "period_type": "cpu", "period_unit": "nanoseconds", "samples": int64(3), "total": int64(70)}
	if !reflect.DeepEqual(out.Results, want) {
		t.Errorf("results %v, want %v", out.Results, want)
	}
	pr := small()
	pr.DefaultSampleType, pr.DurationNanos, pr.SampleType[0].Unit = "", 0, ""
	out, _ = extract(t, encode(t, pr), "function")
	if out.Results["default_sample_type"] != "cpu" || !providertest.HasCode(out.Limitations, pprof.NoDuration) || !providertest.HasCode(out.Limitations, pprof.NoUnit) {
		t.Errorf("outcome %+v", out)
	}
	if _, ok := out.Results["duration_ns"]; ok {
		t.Error("a missing duration became a figure")
	}
}

func TestGzipRawAndRepeatedEmptyStringsReadAlike(t *testing.T) {
	_, zipped := extract(t, encode(t, small()), "line")
	_, plain := extract(t, raw(t, small()), "line")
	for _, tab := range []string{"frames", "frame_values", "call_edges", "stacks"} {
		if a, b := withoutArtifact(zipped[tab]), withoutArtifact(plain[tab]); !reflect.DeepEqual(a, b) || len(a) == 0 {
			t.Errorf("%s: %v, then %v", tab, a, b)
		}
	}
	// Some producers write the empty string again and again (grafana/pyroscope#3244): only index 0 is reserved.
	more := append(raw(t, small()), 6<<3|2, 0, 6<<3|2, 0)
	_, again := extract(t, more, "line")
	if a, b := withoutArtifact(plain["stacks"]), withoutArtifact(again["stacks"]); !reflect.DeepEqual(a, b) {
		t.Errorf("stacks %v, then %v", a, b)
	}
}

func withoutArtifact(rows []providertest.Row) []providertest.Row {
	for _, r := range rows {
		delete(r, "artifact")
	}
	return rows
}

// What is wrong with a payload is told apart: golang/go#48580, pkg/profile#41, code-graph-rag#1266.
func TestWhatIsWrongWithAPayloadIsToldApart(t *testing.T) {
	good := encode(t, small())
	plain := raw(t, small())
	zip := func(b []byte) []byte {
		var out bytes.Buffer
		z := gzip.NewWriter(&out)
		z.Write(b)
		z.Close()
		return out.Bytes()
	}
	flipped := bytes.Clone(good)
	flipped[len(flipped)-6] ^= 0xFF // in the checksum
	dup := small()
	dup.SampleType[0] = dup.SampleType[1]
	dangling := small()
	dangling.Sample[0].Value = []int64{1}
	over := small()
	over.Sample[0].Value = []int64{1, math.MaxInt64}
	untyped := small()
	untyped.SampleType, untyped.Sample, untyped.DefaultSampleType = nil, nil, ""
	badDrop := small()
	badDrop.DropFrames = "("
	for name, c := range map[string]struct {
		data []byte
		code string
	}{
		"no bytes":              {nil, pprof.EmptyFile},
		"empty gzip":            {zip(nil), pprof.EmptyFile},
		"gzip without its end":  {good[:len(good)-1], pprof.Truncated},
		"only the gzip header":  {good[:5], pprof.Truncated},
		"wrong checksum":        {flipped, pprof.Corrupt},
		"bytes behind the gzip": {append(bytes.Clone(good), "garbage!!!"...), pprof.Corrupt},
		"half of the message":   {plain[:len(plain)/2], pprof.Truncated},
		"twice compressed":      {zip(good), pprof.NotAProfile},
		"text":                  {[]byte("signal: killed\n"), pprof.NotAProfile},
		"gzip of text":          {zip([]byte("signal: killed\n")), pprof.NotAProfile},
		"no sample types":       {raw(t, untyped), pprof.NoSampleTypes},
		"one type twice":        {raw(t, dup), pprof.SampleTypesDup},
		"too few values":        {raw(t, dangling), pprof.Corrupt},
		"weights overflow":      {raw(t, over), pprof.Overflow},
		"bad drop_frames":       {raw(t, badDrop), pprof.Corrupt},
	} {
		t.Run(name, func(t *testing.T) {
			out, tables := extract(t, c.data, "function")
			if out.State != evidence.Incompatible || len(tables) != 0 || len(out.Limitations) != 1 || out.Limitations[0].Code != c.code {
				t.Errorf("outcome %+v, want %s", out, c.code)
			}
		})
	}
}

func TestASmallFileThatDecompressesToAnythingIsRefused(t *testing.T) {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
	z.Write(raw(t, small()))
	zeros := make([]byte, 1<<20)
	for range 256 {
		z.Write(zeros)
	}
	z.Close()
	budget := evidence.DefaultBudget()
	budget.Memory = 64 << 20
	out, _ := providertest.Extract(t, p, providertest.Input(t, pprof.Role, b.Bytes()), by("function"), budget)
	if out.State != evidence.Incompatible || out.Limitations[0].Code != pprof.MemoryBudget {
		t.Errorf("outcome %+v", out)
	}
	// Two bytes of message become an object of two hundred.
	many := raw(t, small())
	for range 1 << 20 {
		many = append(many, 2<<3|2, 0)
	}
	out, _ = providertest.Extract(t, p, providertest.Input(t, pprof.Role, many), by("function"), budget)
	if out.State != evidence.Incompatible || out.Limitations[0].Code != pprof.MemoryBudget {
		t.Errorf("outcome %+v", out)
	}
}

func TestFramesThatTheProfileAsksToDropAreDroppedAndSaid(t *testing.T) {
	pr := small()
	pr.DropFrames = "lib\\.leaf"
	out, tables := extract(t, encode(t, pr), "function")
	if got := values(tables, "cpu"); got["main.work"] != [2]int64{30, 30} || !providertest.HasCode(out.Limitations, pprof.ProducerDropped) {
		t.Errorf("values %v, limitations %v", got, out.Limitations)
	}
}

func TestTheDifferenceOfTwoProfilesKeepsItsSigns(t *testing.T) {
	pr := small()
	pr.Sample[1].Value = []int64{-1, -10}
	out, tables := extract(t, encode(t, pr), "function")
	if got := values(tables, "cpu"); got["main.work"] != [2]int64{-10, 10} || !providertest.HasCode(out.Limitations, pprof.Negative) {
		t.Errorf("values %v, limitations %v", got, out.Limitations)
	}
}

func TestRunsOfSeveralProfilesNameWhatWouldBeMixed(t *testing.T) {
	cpu := small()
	contention := func() *profile.Profile {
		pr := small()
		pr.SampleType = []*profile.ValueType{{Type: "contentions", Unit: "count"}, {Type: "delay", Unit: "nanoseconds"}}
		pr.DefaultSampleType = ""
		return pr
	}
	var in providers.Input
	for name, pr := range map[string]*profile.Profile{"cpu": cpu, "block": contention(), "mutex": contention()} {
		a := providertest.Input(t, pprof.Role, encode(t, pr)).Artifacts[0]
		a.Name = name
		in.Artifacts = append(in.Artifacts, a)
	}
	slices.SortFunc(in.Artifacts, func(a, b providers.Artifact) int { return strings.Compare(b.Name, a.Name) }) // mutex, cpu, block
	out, tables := providertest.Extract(t, p, in, by("function"), evidence.DefaultBudget())
	want := "mutex.contentions/count,mutex.delay/nanoseconds,samples/count,cpu/nanoseconds,block.contentions/count,block.delay/nanoseconds"
	if out.State != evidence.Complete || out.Results["sample_types"] != want || out.Results["default_sample_type"] != "mutex.delay" {
		t.Errorf("outcome %+v", out)
	}
	for _, m := range []string{"cpu", "block.delay", "mutex.delay"} {
		if got := values(tables, m); got["main.main"] != [2]int64{0, 70} {
			t.Errorf("%s: %v", m, got)
		}
	}
	seen := map[any]bool{}
	for _, r := range tables["frames"] {
		if seen[r["frame"]] {
			t.Error("a frame has two rows")
		}
		seen[r["frame"]] = true
	}
}

func TestAProfileWithoutSamplesIsValidAndEmpty(t *testing.T) {
	pr := small()
	pr.Sample = nil
	out, tables := extract(t, encode(t, pr), "function")
	if out.State != evidence.Empty || len(tables) != 0 || !providertest.HasCode(out.Limitations, pprof.NoSamples) {
		t.Errorf("outcome %+v", out)
	}
	if r := validate(t, encode(t, pr)); !r.Valid {
		t.Errorf("receipt %+v", r)
	}
}

func TestAnUnknownGranularityIsAnError(t *testing.T) {
	in := providertest.Input(t, pprof.Role, encode(t, small()))
	sink := evidence.NewSink(t.TempDir(), evidence.FileMeta{Artifact: digest.Sum(nil)}, evidence.Budget{})
	defer sink.Discard()
	if _, err := p.Extract(t.Context(), in, by("stack"), evidence.DefaultBudget(), sink); err == nil || !strings.Contains(err.Error(), "granularity") {
		t.Errorf("error %v", err)
	}
}

func TestDetectLooksAtContentAndNotAtCompression(t *testing.T) {
	detect := p.Formats()[0].Detect
	good := encode(t, small())
	for name, head := range map[string][]byte{
		"gzip": good, "gzip, cut": good[:len(good)*2/3], "raw": raw(t, small()), "raw, cut": raw(t, small())[:40],
		"heap text": []byte("heap profile: 13: 1595680 [47130736: 2584596557304] @ heap/1048576\n"),
		"goroutine": []byte("goroutine profile: total 7\n1 @ 0x44cb3\n"),
	} {
		if !detect(head) {
			t.Errorf("%s is not claimed", name)
		}
	}
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	w.Write([]byte(`{"traceEvents":[]}`))
	w.Close()
	for name, head := range map[string][]byte{
		"nothing": nil, "gzip of JSON": z.Bytes(), "gzip header": good[:4], "text": []byte("hello\n"), "zeros": make([]byte, 512),
		"another message": {1<<3 | 2, 4, 1<<3 | 2, 2, 'a', 'b'}, // field 1 of field 1 is text, as in OTLP
		"perfetto":        {1<<3 | 2, 6, 8 << 3, 1, 58<<3&0x7F | 0x80, 3, 2, 0},
		"ELF":             []byte("\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00"),
	} {
		if detect(head) {
			t.Errorf("%s is claimed", name)
		}
	}
}

func TestRealProfilesAreDetectedAndRead(t *testing.T) {
	for name, want := range map[string]struct {
		state  evidence.State
		legacy bool
		total  int64
	}{
		"cppbench.cpu":                    {evidence.Complete, true, 7120000000},
		"cppbench.cpu_no_samples_type":    {evidence.Complete, false, 7120000000},
		"go.godoc.thread":                 {evidence.Complete, true, 7},
		"gobench.cpu":                     {evidence.Complete, true, 3050000000},
		"gobench.heap":                    {evidence.Complete, true, 0},
		"java.cpu":                        {evidence.Complete, true, 0},
		"local-go1.26.8-cpu-labels.pb.gz": {evidence.Complete, false, 540000000},
		"profile-with-labels.pb.gz":       {evidence.Complete, false, 462},
		"sample.cpu":                      {evidence.Complete, false, 0},
		"simple.prof":                     {evidence.Complete, false, 1500000000},
	} {
		t.Run(name, func(t *testing.T) {
			data := providertest.Fixture(t, "pprof/"+name)
			if !p.Formats()[0].Detect(data[:min(len(data), 4096)]) {
				t.Error("not detected")
			}
			out, tables := extract(t, data, "function")
			if out.State != want.state || providertest.HasCode(out.Limitations, pprof.Legacy) != want.legacy || len(tables["stacks"]) == 0 {
				t.Errorf("outcome %+v", out)
			}
			if want.total != 0 && out.Results["total"] != want.total {
				t.Errorf("total %v, want %d", out.Results["total"], want.total)
			}
			if r := validate(t, data); !r.Valid {
				t.Errorf("receipt %+v", r)
			}
		})
	}
	t.Run("a crasher of pprof's fuzzer", func(t *testing.T) {
		data := providertest.Fixture(t, "pprof/fuzz-7e3c9248")
		if out, _ := extract(t, data, "function"); out.State != evidence.Incompatible && out.State != evidence.Empty {
			t.Errorf("outcome %+v", out)
		}
	})
}

func TestLabelsOfARealProfileHaveTheirSpaces(t *testing.T) {
	_, tables := extract(t, providertest.Fixture(t, "pprof/local-go1.26.8-cpu-labels.pb.gz"), "function")
	seen := false
	for _, r := range tables["stacks"] {
		if m, ok := r["labels"].(map[string]string); ok && m["req"] == "a b" && m["n"] == "1" {
			seen = true
		}
	}
	if !seen {
		t.Error("no stack has the labels req=a b and n=1")
	}
}
