package harness_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flameox/flameox/measure/harness"
)

func TestCasesAreTheProductOfTheirParametersWithTheLastMovingFastest(t *testing.T) {
	cases, err := harness.Combine("bench", []string{"n", "k"}, [][]string{{"10", "1000"}, {"'a'", "'b'"}}, true)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for i, c := range cases {
		names = append(names, c.Text())
		if c.Index != i {
			t.Errorf("%s has the index %d", c.Text(), c.Index)
		}
	}
	if diff := cmp.Diff([]string{"bench(10, 'a')", "bench(10, 'b')", "bench(1000, 'a')", "bench(1000, 'b')"}, names); diff != "" {
		t.Error(diff)
	}
	if cases, err := harness.Combine("bench", nil, nil, false); err != nil || len(cases) != 1 || cases[0].Text() != "bench" || cases[0].Index != -1 {
		t.Errorf("without parameters: %v, %v", cases, err)
	}
	if cases, err := harness.Combine("bench", []string{"n"}, [][]string{{}}, true); err != nil || len(cases) != 0 {
		t.Errorf("a parameter without values: %v, %v", cases, err)
	}
	many := make([]string, 400)
	for i := range many {
		many[i] = strings.Repeat("x", i+1)
	}
	for name, c := range map[string]struct {
		names  []string
		values [][]string
	}{
		"more than": {[]string{"a", "b"}, [][]string{many, many}}, "two parameters called a": {[]string{"a", "a"}, [][]string{{"1"}, {"1"}}},
		"twice": {[]string{"a"}, [][]string{{"1", "1"}}}, "whose address": {[]string{"a"}, [][]string{{"<object object at 0x7f>"}}},
	} {
		if _, err := harness.Combine("bench", c.names, c.values, true); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheExceptionIsTheLineThatIsNoTraceback(t *testing.T) {
	for text, want := range map[string]string{
		"Traceback (most recent call last):\n  File \"x\"\nKeyError: 'a'\n\nDuring handling of the above exception, another exception occurred:\n\nTraceback (most recent call last):\n  File \"y\"\nValueError: b\n": "ValueError: b",
		"": "", "\n \n": "", "  indented\n": "", "plain\r\n": "plain", "bad \xff text": "bad \uFFFD text",
	} {
		if got := harness.Exception([]byte(text), nil); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func TestNativeOutputMayHoldWordsForNumbersThatAreNoneAndNoDepthWithoutEnd(t *testing.T) {
	v, err := harness.JSON([]byte(`{"a":NaN,"b":[-Infinity,1e3],"c":{"d":null,"e":true,"f":"x"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"a": nil, "b": []any{nil, 1000.0}, "c": map[string]any{"d": nil, "e": true, "f": "x"}}, v); diff != "" {
		t.Error(diff)
	}
	for _, text := range []string{"", "{", `{"a":1}{}`, `{"a":1,"a":2}`, strings.Repeat("[", 100000), strings.Repeat(`{"a":`, 5000)} {
		if _, err := harness.JSON([]byte(text)); err == nil {
			t.Errorf("%.40s is read", text)
		}
	}
}
