package speedscope_test

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/flameox/flameox/evidence"
	format "github.com/flameox/flameox/formats/speedscope"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/providers/providertest"
	"github.com/flameox/flameox/providers/speedscope"
)

var p speedscope.Provider

func extract(t *testing.T, data []byte) (evidence.Outcome, map[string][]providertest.Row) {
	t.Helper()
	return providertest.Extract(t, p, providertest.Input(t, speedscope.Role, data), nil, evidence.DefaultBudget())
}

// stacks are weights by names, root to leaf, behind the label profile where there is one.
func stacks(tables map[string][]providertest.Row) map[string]int64 {
	names := map[string]string{}
	for _, r := range tables["frames"] {
		names[r["frame"].(string)], _ = r["function"].(string)
	}
	out := map[string]int64{}
	for _, r := range tables["stacks"] {
		var list []string
		for _, f := range r["frames"].([]string) {
			list = append(list, names[f])
		}
		key := strings.Join(list, ">")
		if l, ok := r["labels"].(map[string]string); ok && l["profile"] != "" {
			key = l["profile"] + ": " + key
		}
		out[key] += r["weight"].(int64)
	}
	return out
}

func inclusive(tables map[string][]providertest.Row, function string) (n int64) {
	for _, f := range tables["frames"] {
		for _, v := range tables["frame_values"] {
			if f["function"] == function && v["frame"] == f["frame"] {
				n += v["inclusive"].(int64)
			}
		}
	}
	return n
}

func TestSampleFiles(t *testing.T) {
	for _, c := range []struct {
		file  string
		want  map[string]int64
		unit  string
		state evidence.State
		codes []string
	}{
		{"simple.speedscope.json", map[string]int64{"a>b>c": 5, "a>b>d": 4, "a>b": 5}, "count", evidence.Complete, nil},
		{"two-sampled.speedscope.json", map[string]int64{"one: a>b>c": 5e9, "one: a>b>d": 4e9, "one: a>b": 5e9, "two: a>b>c": 5e9, "two: a>b>d": 4e9, "two: a>b": 5e9}, "ns", evidence.Complete, nil},
		{"incomplete-trace.json", map[string]int64{"A": 100}, "count", evidence.Partial, []string{format.Unclosed}},
	} {
		t.Run(c.file, func(t *testing.T) {
			out, tables := extract(t, providertest.Fixture(t, "speedscope/"+c.file))
			if got := stacks(tables); !reflect.DeepEqual(got, c.want) || out.State != c.state || out.Results["unit"] != c.unit || !slices.Equal(providertest.Codes(out.Limitations), c.codes) {
				t.Errorf("%v %+v\nwant %v", got, out, c.want)
			}
		})
	}
	t.Run("events that cross", func(t *testing.T) {
		out, tables := extract(t, providertest.Fixture(t, "speedscope/out-of-order-events.json"))
		if out.State != evidence.Incompatible || len(tables) != 0 || !slices.Equal(providertest.Codes(out.Limitations), []string{format.Unbalanced}) {
			t.Errorf("%+v", out)
		}
	})
}

func TestAProfileOfPySpy(t *testing.T) {
	data := providertest.Fixture(t, "py-spy/profile-py-spy-0.4.2.speedscope.json")
	var doc struct {
		Shared   struct{ Frames []struct{ Name string } }
		Profiles []struct {
			Name    string
			Samples [][]int
			Weights []float64
		}
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	want := map[string]int64{}
	samples := int64(0)
	for _, pr := range doc.Profiles {
		for i, s := range pr.Samples {
			var list []string
			for _, f := range s {
				list = append(list, doc.Shared.Frames[f].Name)
			}
			want[pr.Name+": "+strings.Join(list, ">")] += int64(math.Round(pr.Weights[i] * 1e9))
			samples++
		}
	}
	out, tables := extract(t, data)
	if got := stacks(tables); !reflect.DeepEqual(got, want) {
		t.Errorf("%d stacks, want %d", len(got), len(want))
	}
	if out.State != evidence.Complete || out.Producer != "py-spy@0.4.2" || out.Results["samples"] != samples || out.Results["default_metric"] != "speedscope.time" {
		t.Errorf("%+v", out)
	}
}

const head = `{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":[{"name":"a","file":"/home/u/p/src/a.c","line":3},{"name":"b","line":0}]},"profiles":[`

const valid = head + `{"type":"sampled","name":"t","unit":"milliseconds","startValue":0,"endValue":9,"samples":[[0,1],[0,0,1],[0],[]],"weights":[1,2,3,4]}]}`

func TestRecursionCountsOnceAndAnEmptyStackKeepsItsWeight(t *testing.T) {
	in := providertest.Input(t, speedscope.Role, []byte(valid))
	in.Paths = providers.Paths{Root: "/home/u/p"}
	out, tables := providertest.Extract(t, p, in, nil, evidence.DefaultBudget())
	if a, u := inclusive(tables, "a"), inclusive(tables, "[unknown]"); a != 6e6 || u != 4e6 {
		t.Errorf("a %d, unknown %d", a, u)
	}
	for _, f := range tables["frames"] {
		if f["function"] == "a" && (f["file"] != "src/a.c" || f["line"] != int64(3)) || f["function"] == "b" && f["line"] != nil {
			t.Errorf("%v", f)
		}
	}
	if out.State != evidence.Complete || out.Results["total"] != int64(10e6) {
		t.Errorf("%+v", out)
	}
}

func TestProfilesThatContradictThemselvesCostNoOthers(t *testing.T) {
	crossing := `{"type":"evented","name":"bad","unit":"none","startValue":0,"endValue":9,"events":[{"type":"O","frame":0,"at":0},{"type":"O","frame":1,"at":1},{"type":"C","frame":0,"at":2}]}`
	out, tables := extract(t, []byte(strings.Replace(valid, `"profiles":[`, `"profiles":[`+crossing+",", 1)))
	if out.State != evidence.Partial || !providertest.HasCode(out.Limitations, format.ProfileLeftOut) || len(stacks(tables)) != 4 || stacks(tables)["t: a"] != 3e6 {
		t.Errorf("%+v %v", out, stacks(tables))
	}
}

func TestUnitsAreMetricsOfTheirOwn(t *testing.T) {
	bytes := `{"type":"sampled","name":"m","unit":"bytes","startValue":0,"endValue":9,"samples":[[0]],"weights":[4096]}`
	out, tables := extract(t, []byte(strings.Replace(valid, `"profiles":[`, `"profiles":[`+bytes+",", 1)))
	got := map[string]int64{}
	for _, r := range tables["stacks"] {
		got[r["metric"].(string)+" "+r["unit"].(string)] += r["weight"].(int64)
	}
	if want := map[string]int64{"speedscope.bytes bytes": 4096, "speedscope.time ns": 10e6}; !reflect.DeepEqual(got, want) || out.Results["default_metric"] != "speedscope.bytes" {
		t.Errorf("%v %+v", got, out)
	}
}

func TestDetectLooksAtContent(t *testing.T) {
	detect := p.Formats()[0].Detect
	for text, want := range map[string]bool{
		valid: true, "\xEF\xBB\xBF \n" + valid: true, `{"exporter":"speedscope@0.6.0","name":null,"activeProfileIndex":1,` + head[1:]: true,
		`{"profiles":[]}`: false, `{"x":["$schema":"` + format.Schema + `"]}`: false, "": false, `{"nodes":[{"callFrame":{}}]}`: false, `{"$schema":"https://json-schema.org/x"}`: false,
	} {
		if detect([]byte(text)) != want {
			t.Errorf("%.60q: %v", text, !want)
		}
	}
}

func TestConformance(t *testing.T) {
	providertest.Run(t, p, &providertest.Cases{
		Valid: []byte(valid), Empty: []byte(head + "]}"), Role: speedscope.Role, Half: evidence.Incompatible, Cuttable: true, EmptyValid: true,
	}, nil)
}
