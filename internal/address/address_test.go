package address

import (
	"strings"
	"testing"
)

func TestAPatternSelectsWhatItSays(t *testing.T) {
	at := func(s string) Address {
		t.Helper()
		a, err := Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	sort := at(`capture.gobench.sort["impl=heap,n=1000"]`)
	odd := at(`capture.pprof.odd["bench=\"BenchmarkA/n=1,k=[2]\""]`)
	for _, c := range []struct {
		pattern string
		address Address
		want    bool
	}{
		{"capture.gobench.sort", sort, true},
		{"capture.*.sort", sort, true},
		{"capture.*", sort, true},
		{"*.sort", sort, true},
		{"*", sort, true},
		{"capture.gobench.s?rt", sort, true},
		{"capture.gobench.?ort?", sort, false},
		{"capture.gobench.sor", sort, false},
		{"*gobench*", sort, true},
		{"capture.gobench.sort:n=1000", sort, true},
		{"capture.gobench.sort:n=1*", sort, true},
		{"capture.gobench.sort:n=1???", sort, true},
		{"capture.gobench.sort:n=1??", sort, false},
		{"capture.gobench.sort:n=1*,impl=h*", sort, true},
		{"capture.gobench.sort:n=1*,impl=m*", sort, false},
		{"capture.gobench.sort:m=*", sort, false},
		{`capture.gobench.sort["n=1*"]`, sort, true},
		{`capture.gobench.sort[n=1*]`, sort, true},
		{`capture.gobench.sort["n=\"1000\""]`, sort, true},
		{"capture.*.sort[*]", sort, true},
		{"capture.*.sort:*", sort, true},
		{"capture.gobench.sort:n=2*", sort, false},
		// What a value holds besides * and ? stands for itself, and * goes over slashes.
		{"capture.pprof.odd:bench=*", odd, true},
		{"capture.pprof.odd:bench=Benchmark*", odd, true},
		{`capture.pprof.odd:bench="*k=[2]"`, odd, true},
		{`capture.pprof.odd:bench="BenchmarkA/n=1,k=[2]"`, odd, true},
		{"capture.{gobench,pprof}.sort", sort, false},
	} {
		p, err := ParsePattern(c.pattern)
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		if got := p.Match(c.address); got != c.want {
			t.Errorf("%s selects %s: %t, want %t", c.pattern, c.address, got, c.want)
		}
	}
}

func TestWhatIsNoAddressSaysWhatIsWrong(t *testing.T) {
	for s, want := range map[string]string{
		"":                     "has no block",
		":n=1":                 "has no block",
		`["n=1"]`:              "has no block",
		`a.b["n=1"`:            "without ] at the end",
		"a.b:n":                "not name=value",
		"a.b:=1":               "not name=value",
		"a.b:n=1,n=2":          "given twice",
		`a.b:n="1`:             "not closed",
		`a.b:n="1"2`:           "after the closing quote",
		`a.b["n=1"]["m=2"]`:    "not name=value",
		`a.b["impl=a,n"]`:      "not name=value",
		`capture.x.y[n=1`:      "without ] at the end",
		`capture.x.y["n=1"] `:  "without ] at the end",
		`capture.x.y["n=1"]:n`: "without ] at the end",
	} {
		if _, err := ParsePattern(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", s, err, want)
		}
	}
}

func FuzzAnAddressIsReadAsItWasWritten(f *testing.F) {
	f.Add("capture.gobench.sort", "n", "1000", "impl", "a b")
	f.Add("build.b", "n", "", "m", `",=\[]:`)
	f.Add("b", "x", "a/b*?", "y", "\x00\xff\u2028")
	f.Fuzz(func(t *testing.T, block, n1, v1, n2, v2 string) {
		names := "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."
		clean := func(s string) string {
			return strings.Map(func(r rune) rune {
				if strings.ContainsRune(names, r) {
					return r
				}
				return -1
			}, s)
		}
		block, n1, n2 = clean(block), clean(n1), clean(n2)
		if block == "" || n1 == "" || n2 == "" || n1 >= n2 {
			return
		}
		want := Address{Block: block, Axes: Axes{{n1, v1}, {n2, v2}}}
		got, err := Parse(want.String())
		if err != nil || got.String() != want.String() || got.Axes[0] != want.Axes[0] || got.Axes[1] != want.Axes[1] {
			t.Fatalf("%#v is written %s and read as %#v, %v", want, want, got, err)
		}
		short, err := Parse(block + ":" + want.Axes.Key())
		if err != nil || short.String() != want.String() {
			t.Fatalf("%s:%s is read as %s, %v", block, want.Axes.Key(), short, err)
		}
		p, err := ParsePattern(want.String())
		if err != nil || !p.Match(want) {
			t.Fatalf("%s does not select itself: %v", want, err)
		}
	})
}

func FuzzPatternsNeverHang(f *testing.F) {
	f.Add("capture.*.s?rt:n=1*", "capture.gobench.sort", "1000")
	f.Add("*a*a*a*a*a*a*b:n=?*?", strings.Repeat("a", 100), "\xff\xfe")
	f.Fuzz(func(t *testing.T, pattern, block, value string) {
		p, err := ParsePattern(pattern)
		if err != nil {
			return
		}
		p.Match(Address{Block: block, Axes: Axes{{"n", value}}})
		all, err := ParsePattern("*")
		if err != nil || !all.Match(Address{Block: block}) {
			t.Fatalf("* does not select %q: %v", block, err)
		}
	})
}
