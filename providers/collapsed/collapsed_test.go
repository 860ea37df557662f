package collapsed_test

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/flameox/flameox/evidence"
	format "github.com/flameox/flameox/formats/collapsed"
	"github.com/flameox/flameox/providers/collapsed"
	"github.com/flameox/flameox/providers/providertest"
)

var p collapsed.Provider

func extract(t *testing.T, data []byte) (evidence.Outcome, map[string][]providertest.Row) {
	t.Helper()
	return providertest.Extract(t, p, providertest.Input(t, collapsed.Role, data), nil, evidence.DefaultBudget())
}

// values are self, inclusive and samples by function.
func values(tables map[string][]providertest.Row) map[string][3]int64 {
	names := map[string]string{}
	for _, r := range tables["frames"] {
		names[r["frame"].(string)], _ = r["function"].(string)
	}
	out := map[string][3]int64{}
	for _, r := range tables["frame_values"] {
		out[names[r["frame"].(string)]] = [3]int64{r["self"].(int64), r["inclusive"].(int64), int64(r["samples"].(uint64))}
	}
	return out
}

func TestSampleFiles(t *testing.T) {
	simple := map[string][3]int64{"a": {0, 14, 14}, "b": {5, 14, 14}, "c": {5, 5, 5}, "d": {4, 4, 4}}
	for _, c := range []struct {
		file  string
		want  map[string][3]int64
		state evidence.State
		codes []string
	}{
		// Counted by hand: a is on all ten stacks but one, each counted once however often it stands there.
		{"recursion.txt", map[string][3]int64{"a": {1, 9, 9}, "b": {5, 9, 9}, "c": {4, 4, 4}}, evidence.Complete, []string{collapsed.UnitUnknown}},
		{"simple-crlf.txt", simple, evidence.Partial, []string{format.EndUnknown, collapsed.UnitUnknown}},
		{"simple-utf16-le.txt", simple, evidence.Partial, []string{format.EndUnknown, collapsed.UnitUnknown}},
		{"simple-with-invalids.txt", simple, evidence.Partial, []string{format.InvalidLines, collapsed.UnitUnknown}},
	} {
		t.Run(c.file, func(t *testing.T) {
			data := providertest.Fixture(t, "collapsed-stacks/"+c.file)
			if !p.Formats()[0].Detect(data) {
				t.Error("it is not known by its content")
			}
			out, tables := extract(t, data)
			if got := values(tables); !maps.Equal(got, c.want) || out.State != c.state || !slices.Equal(providertest.Codes(out.Limitations), c.codes) {
				t.Errorf("%v %+v\nwant %v", got, out, c.want)
			}
			in := providertest.Input(t, collapsed.Role, data)
			if r, err := p.Validate(t.Context(), in); err != nil || !r.Valid {
				t.Errorf("%+v %v", r, err)
			}
		})
	}
}

func TestWhatIsRefused(t *testing.T) {
	for text, code := range map[string]string{
		"": format.EmptyFile, "one\ntwo 2\nthree\n": format.NotCollapsed, "a;b 1 2\na;c 3 4\n": format.Differential, "a;b 1.5\na;c 2\n": format.Fractional,
		"a;b 9223372036854775807\nc 1\n": "weights_overflow",
	} {
		out, tables := extract(t, []byte(text))
		if out.State != evidence.Incompatible || len(tables) != 0 || !slices.Equal(providertest.Codes(out.Limitations), []string{code}) {
			t.Errorf("%q: %+v", text, out)
		}
		if r, err := p.Validate(t.Context(), providertest.Input(t, collapsed.Role, []byte(text))); err != nil || r.Valid {
			t.Errorf("%q: %+v %v", text, r, err)
		}
	}
}

func TestALineOfACountOnlyKeepsItsWeight(t *testing.T) {
	_, tables := extract(t, []byte("a;b 1\n 5\nc;;d 2\n"))
	want := map[string][3]int64{"a": {0, 1, 1}, "b": {1, 1, 1}, "[unknown]": {5, 7, 7}, "c": {0, 2, 2}, "d": {2, 2, 2}}
	if got := values(tables); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestBytesThatAreNoTextCostNoOthers(t *testing.T) {
	out, tables := extract(t, []byte("main;f\xa0oo 3\nmain;bar 2\n"))
	if got := values(tables); got["f\uFFFDoo"] != [3]int64{3, 3, 3} || got["main"][1] != 5 || !providertest.HasCode(out.Limitations, "text_not_utf8") {
		t.Errorf("%v %+v", got, out)
	}
}

func TestConformance(t *testing.T) {
	valid := strings.Repeat("main;parse;read 3\nmain;parse 2\nmain;write;flush;sync 40\nmain;parse;parse;read 1\n", 5)
	providertest.Run(t, p, &providertest.Cases{
		Valid: []byte(valid + "main;a_long_name_that_is_cut_in_the_middle_of_the_file" + strings.Repeat("x", len(valid)) + " 7\n"), Empty: []byte("# nothing\n\n"),
		Role: collapsed.Role, Half: evidence.Partial, Cuttable: true, EmptyValid: true,
	}, nil)
}
