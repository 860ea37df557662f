package speedscope

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
)

const head = `{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":[{"name":"A"},{"name":"B","file":"b.c","line":7,"col":2},{"name":"C","file":null,"line":null}]},"profiles":[`

func sampled(unit, samples, weights string) string {
	return fmt.Sprintf(`{"type":"sampled","name":"p","unit":"%s","startValue":0,"endValue":1,"samples":%s,"weights":%s}`, unit, samples, weights)
}

func evented(unit, end, events string) string {
	return fmt.Sprintf(`{"events":[%s],"type":"evented","name":"p","unit":"%s","startValue":0,"endValue":%s}`, events, unit, end)
}

// walk is the weights of all profiles by stack.
func walk(data string) (map[string]int64, []Faults, error) {
	f, err := Parse([]byte(data))
	if err != nil {
		return nil, nil, err
	}
	got := map[string]int64{}
	var all []Faults
	for i := range f.Profiles {
		faults, err := f.Profiles[i].Walk(4, func(stack []int32, w int64) error {
			var names []string
			for _, n := range stack {
				names = append(names, f.Frames[n].Name)
			}
			got[strings.Join(names, ">")] += w
			return nil
		})
		if err != nil {
			return got, all, err
		}
		all = append(all, faults)
	}
	return got, all, nil
}

func TestProfiles(t *testing.T) {
	for _, c := range []struct {
		name, profiles string
		want           map[string]int64
		faults         Faults
	}{
		{"seconds are exact to the nanosecond", sampled("seconds", `[[0,1],[0]]`, `[0.005,1747132800.123456789]`), map[string]int64{"A>B": 5_000_000, "A": 1747132800123456789}, Faults{}},
		{"milliseconds and exponents", sampled("milliseconds", `[[0],[1],[2]]`, `[1.5e-3,2E+2,0.0000004]`), map[string]int64{"A": 1500, "B": 200_000_000, "C": 0}, Faults{}},
		{"microseconds and an empty stack", sampled("microseconds", `[[],[0]]`, `[3,1]`), map[string]int64{"": 3000, "A": 1000}, Faults{}},
		{"nanoseconds are rounded", sampled("nanoseconds", `[[0],[1]]`, `[1.5,2.4]`), map[string]int64{"A": 2, "B": 2}, Faults{}},
		{"counts and bytes written with decimals", sampled("none", `[[0]]`, `[3.0]`) + "," + sampled("bytes", `[[1]]`, `[2e3]`), map[string]int64{"A": 3, "B": 2000}, Faults{}},
		{"no sample", sampled("none", `[]`, `[]`), map[string]int64{}, Faults{}},
		{"nested", evented("none", "10", `{"type":"O","frame":0,"at":0},{"type":"O","frame":1,"at":2},{"type":"C","frame":1,"at":6},{"type":"C","frame":0,"at":7}`), map[string]int64{"A": 3, "A>B": 4}, Faults{}},
		{"recursion", evented("seconds", "3", `{"type":"O","frame":0,"at":0},{"type":"O","frame":0,"at":1},{"type":"C","frame":0,"at":2},{"type":"C","frame":0,"at":3}`), map[string]int64{"A": 2e9, "A>A": 1e9}, Faults{}},
		{"a time that does not begin at zero", evented("microseconds", "1747132800123456.9", `{"type":"O","frame":0,"at":1747132800123456.7},{"type":"C","frame":0,"at":1747132800123456.789}`), map[string]int64{"A": 89}, Faults{}},
		{"never closed", evented("none", "100", `{"type":"O","frame":0,"at":0}`), map[string]int64{"A": 100}, Faults{Unclosed: 1}},
		{"closed twice", evented("none", "9", `{"type":"O","frame":0,"at":0},{"type":"C","frame":0,"at":1},{"type":"C","frame":0,"at":2},{"type":"O","frame":1,"at":3},{"type":"C","frame":2,"at":4},{"type":"C","frame":1,"at":5}`), map[string]int64{"A": 1, "B": 2}, Faults{Unopened: 2}},
		{"a unit back", evented("none", "87006", `{"type":"O","frame":0,"at":0},{"type":"O","frame":1,"at":87005},{"type":"C","frame":1,"at":87004},{"type":"C","frame":0,"at":87006}`), map[string]int64{"A": 87006}, Faults{Backward: 1, Furthest: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, faults, err := walk(head + c.profiles + "]}")
			if err != nil || !reflect.DeepEqual(got, c.want) || faults[0] != c.faults {
				t.Errorf("%v %+v %v\nwant %v %+v", got, faults, err, c.want, c.faults)
			}
		})
	}
}

func TestWhatIsRefused(t *testing.T) {
	whole := head + sampled("none", `[[0]]`, `[1]`) + "]}"
	for _, c := range []struct{ name, data, code, text string }{
		{"nothing", "", EmptyFile, "no bytes"},
		{"cut", whole[:len(whole)-9], Truncated, "breaks off"},
		{"no JSON", "<html>", NotJSON, "byte 0"},
		{"an unescaped quote", strings.Replace(whole, `"A"`, `"A"B"`, 1), NotJSON, "byte 95"},
		{"another schema", strings.Replace(whole, "speedscope", "speedrun", 1), NotSpeedscope, "speedrun"},
		{"other JSON", `{"version":"1.0","benchmarks":[{}]}`, NotSpeedscope, "$schema"},
		{"no frames", `{"$schema":"` + Schema + `","profiles":[],"shared":{}}`, Contradiction, "frames"},
		{"no profiles", `{"$schema":"` + Schema + `","shared":{"frames":[]}}`, Contradiction, "profiles"},
		{"a frame without a name", strings.Replace(whole, `{"name":"A"}`, `{"file":"A"}`, 1), Contradiction, "no name"},
		{"frames twice", strings.Replace(whole, `"shared":{`, `"shared":{"frames":[],`, 1), NotJSON, "twice"},
		{"an unknown type", head + `{"type":"binned","unit":"none"}]}`, Unknown, "binned"},
		{"an unknown unit", head + sampled("fortnights", `[[0]]`, `[1]`) + "]}", Unknown, "fortnights"},
		{"no unit", head + `{"type":"sampled","samples":[],"weights":[]}]}`, Unknown, `unit ""`},
		{"no weights", head + `{"type":"sampled","unit":"none","samples":[]}]}`, Contradiction, "no weights"},
		{"no end", head + `{"type":"evented","unit":"none","events":[]}]}`, Contradiction, "endValue"},
		{"fewer weights", head + sampled("none", `[[0],[1]]`, `[1]`) + "]}", Contradiction, "1 weights"},
		{"fewer samples", head + sampled("none", `[[0]]`, `[1,2]`) + "]}", Contradiction, "1 samples"},
		{"a frame that is not", head + sampled("none", `[[3]]`, `[1]`) + "]}", Contradiction, "frame 3"},
		{"a negative frame", head + sampled("none", `[[-1]]`, `[1]`) + "]}", Contradiction, "frame -1"},
		{"half a count", head + sampled("none", `[[0]]`, `[0.5]`) + "]}", NotWhole, "0.5"},
		{"a null weight", head + sampled("seconds", `[[0]]`, `[null]`) + "]}", Contradiction, "null"},
		{"a negative weight", head + sampled("seconds", `[[0]]`, `[-1]`) + "]}", Contradiction, "-1"},
		{"a NaN weight", head + sampled("seconds", `[[0]]`, `[NaN]`) + "]}", NotJSON, "NaN"},
		{"too long a time", head + sampled("seconds", `[[0]]`, `[9223372037]`) + "]}", Overflow, "9223372037"},
		{"a huge exponent", head + sampled("bytes", `[[0]]`, `[1e99999]`) + "]}", Overflow, "1e99999"},
		{"too deep", head + sampled("none", `[[0,0,0,0,0]]`, `[1]`) + "]}", Contradiction, "more than 4 frames"},
		{"too many open", head + evented("none", "9", strings.Repeat(`{"type":"O","frame":0,"at":0},`, 4)+`{"type":"O","frame":0,"at":0}`) + "]}", Contradiction, "more than 4 frames"},
		{"crossing events", head + evented("none", "9", `{"type":"O","frame":0,"at":0},{"type":"O","frame":1,"at":1},{"type":"C","frame":0,"at":2}`) + "]}", Unbalanced, "frame 1 is the innermost"},
		{"an event without a time", head + evented("none", "9", `{"type":"O","frame":0}`) + "]}", Contradiction, "lacks"},
		{"an event of another kind", head + evented("none", "9", `{"type":"X","frame":0,"at":1}`) + "]}", Unknown, `"X"`},
		{"a time of null", head + evented("none", "9", `{"type":"O","frame":0,"at":null}`) + "]}", Contradiction, "null"},
		{"all of time", head + evented("nanoseconds", "9", `{"type":"O","frame":0,"at":-9223372036854775807},{"type":"C","frame":0,"at":9223372036854775807}`) + "]}", Overflow, "64 bits"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := walk(c.data)
			var bad *Error
			if !errors.As(err, &bad) || bad.Code != c.code || !strings.Contains(bad.Text, c.text) {
				t.Errorf("%v, want %s with %q", err, c.code, c.text)
			}
		})
	}
}

func TestFramesKeepWhatTheFileSays(t *testing.T) {
	f, err := Parse([]byte(strings.Replace(head, `"shared"`, `"exporter":"x@1","name":"n","activeProfileIndex":null,"shared"`, 1) + "]}"))
	want := []Frame{{"A", "", -1, -1}, {"B", "b.c", 7, 2}, {"C", "", -1, -1}}
	if err != nil || !reflect.DeepEqual(f.Frames, want) || f.Exporter != "x@1" || f.Name != "n" || len(f.Profiles) != 0 {
		t.Errorf("%+v %v", f, err)
	}
}

func TestDecimal(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "-0": 0, "0.1": 100, "-0.1": -100, "1.2345": 1235, "1.2344": 1234, "-1.2345": -1235, "9223372036854775.807": math.MaxInt64,
		"1e3": 1_000_000, "1e-3": 1, "5e-4": 1, "4e-4": 0, "1e-400": 0, "12.5E+1": 125_000, "0.0005": 1, "0e999999999": 0,
	} {
		if n, _, ok := decimal([]byte(text), 3); !ok || n != want {
			t.Errorf("%s: %d %v, want %d", text, n, ok, want)
		}
	}
	for _, text := range []string{"", "-", "x", "1x", "1e", "1e+", "null", "9223372036854775.808", "1e17", "1.1.1"} {
		if n, _, ok := decimal([]byte(text), 3); ok {
			t.Errorf("%s is %d", text, n)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(head + sampled("seconds", `[[0,1],[0]]`, `[0.005,1e-2]`) + "]}"))
	f.Add([]byte(head + evented("none", "9", `{"type":"O","frame":0,"at":0},{"type":"C","frame":0,"at":1}`) + "]}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Parse(data)
		var bad *Error
		if err != nil {
			if !errors.As(err, &bad) {
				t.Fatalf("%T %v", err, err)
			}
			return
		}
		for i := range file.Profiles {
			_, err := file.Profiles[i].Walk(64, func(stack []int32, w int64) error {
				if w < 0 || len(stack) > 64 {
					t.Fatalf("%v %d", stack, w)
				}
				for _, n := range stack {
					_ = file.Frames[n]
				}
				return nil
			})
			if err != nil && !errors.As(err, &bad) {
				t.Fatalf("%T %v", err, err)
			}
		}
	})
}
