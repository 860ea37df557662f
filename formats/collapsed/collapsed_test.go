package collapsed

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// read is a file as its stacks and counts by name.
func read(t *testing.T, text string) (map[string]int64, Summary) {
	t.Helper()
	got := map[string]int64{}
	sum, err := Read(strings.NewReader(text), func(s Stack) error {
		var names []string
		for f := range s.Frames() {
			names = append(names, string(f))
		}
		got[strings.Join(names, "|")] += s.Count
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got, sum
}

func TestLines(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       map[string]int64
		sum        Summary
	}{
		{"names with spaces and digits", "a b 1;c 2;f(int, long) 3\n", map[string]int64{"a b 1|c 2|f(int, long)": 3}, Summary{Lines: 1, Stacks: 1}},
		{"equal stacks", "a;b 1\na;b 2\n", map[string]int64{"a|b": 3}, Summary{Lines: 2, Stacks: 2}},
		{"blanks and tabs", "a;b\t 7 \n\n  \na 0\n", map[string]int64{"a|b": 7, "a": 0}, Summary{Lines: 4, Stacks: 2}},
		{"a count only", "5\n 6\n", map[string]int64{"": 11}, Summary{Lines: 2, Stacks: 2}},
		{"empty names", "a;;b 1\n;c 1\nd; 1\n", map[string]int64{"a||b": 1, "|c": 1, "d|": 1}, Summary{Lines: 3, Stacks: 3}},
		{"comments and others", "# x\n// y\n#f;g 2\nz\na 1.5\nb -1\nc 99999999999999999999\n", map[string]int64{"#f|g": 2},
			Summary{Lines: 7, Stacks: 1, Comments: 2, Invalid: 4, Fractions: 1, First: `line 4: "z"`}},
		{"two counts", "a;b 5 7\nc 0 1\n", map[string]int64{"a|b 5": 7, "c 0": 1}, Summary{Lines: 2, Stacks: 2, TwoNumbers: 2}},
		{"no line end", "a 1\nb 2", map[string]int64{"a": 1, "b": 2}, Summary{Lines: 2, Stacks: 2, Unfinished: true}},
		{"cut in a name", "a 1\nb;c", map[string]int64{"a": 1}, Summary{Lines: 2, Stacks: 1, Invalid: 1, First: `line 2: "b;c"`, Unfinished: true, Cut: true}},
		{"zeros", "a;b\x00 1\n", map[string]int64{}, Summary{Lines: 1, Invalid: 1, First: `line 1: "a;b\x00 1"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, sum := read(t, c.text)
			if !reflect.DeepEqual(got, c.want) || sum != c.sum {
				t.Errorf("%v %+v\nwant %v %+v", got, sum, c.want, c.sum)
			}
		})
	}
}

func TestAFileOfTwoCountsIsKnown(t *testing.T) {
	for text, want := range map[string]bool{"a;b 5 7\n": true, "a;b 5 7\nc 1\n": false, "a;b 7\n": false, "": false, "5 7\n": false} {
		if _, sum := read(t, text); sum.Differential() != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}

func TestDetectLooksAtContent(t *testing.T) {
	for text, want := range map[string]bool{
		"a;b 1\n": true, "# made by x\na;b 1\na;c": true, "\xFF\xFEa\x00;\x00b\x00 \x001\x00\n\x00": true,
		"listening on 8080\n": false, "a 1\nb 2\n": false, "a;b 1\nc\nd;e 2\n": false, "a;b 1\na;b 1\na;b 1\nc\nd;e 2\n": true, "": false, `{"a;b": 1}`: false, "PASS\n;ok 1\n": false,
	} {
		if got := Detect([]byte(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{"a;b 1\n", "a 1.5", "# x\n5\n", "a;b 5 7\r\n", "\xFF\xFEa\x00 \x001\x00"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var n int64
		sum, err := Read(bytes.NewReader(data), func(s Stack) error {
			n++
			if s.Count < 0 || bytes.IndexByte(s.Text, '\n') >= 0 {
				t.Fatalf("%+v", s)
			}
			frames := 0
			for range s.Frames() {
				frames++
			}
			if want := bytes.Count(s.Text, []byte(";")); len(s.Text) > 0 && frames != want+1 {
				t.Fatalf("%d frames in %q", frames, s.Text)
			}
			return nil
		})
		if err != nil || n != sum.Stacks || sum.Stacks+sum.Comments+sum.Invalid > sum.Lines || sum.Fractions > sum.Invalid {
			t.Fatalf("%+v %v", sum, err)
		}
		Detect(data)
	})
}

func BenchmarkRead(b *testing.B) {
	var text strings.Builder
	for i := range 20000 {
		fmt.Fprintf(&text, "main;run;step_%d;work;leaf_%d %d\n", i%50, i%300, i)
	}
	b.SetBytes(int64(text.Len()))
	for b.Loop() {
		if _, err := Read(strings.NewReader(text.String()), func(Stack) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}
