package completion

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const bashBreaks = " \t\n\"'@><=;|&(:"

func texts(words []word) (out []string) {
	for _, w := range words {
		out = append(out, w.text)
	}
	return out
}

func TestALineIsSplitAsAShellDoes(t *testing.T) {
	for _, c := range []struct {
		line   string
		want   []string
		quote  byte
		broken int
	}{
		{"flameox", []string{"flameox"}, 0, 0},
		{"flameox ", []string{"flameox", ""}, 0, 0},
		{"  flameox\t plan", []string{"flameox", "plan"}, 0, 0},
		{`f 'a b' "c d" e\ f`, []string{"f", "a b", "c d", "e f"}, 0, 0},
		{`f 'a "b`, []string{"f", `a "b`}, '\'', 0},
		{`f "a\"b\c`, []string{"f", `a"b\c`}, '"', 0},
		{`f a'b'"c"d`, []string{"f", "abcd"}, 0, 0},
		{`f ''`, []string{"f", ""}, 0, 0},
		{"f -x=y:zz", []string{"f", "-x=y:zz"}, 0, 5},
		{`f -x\=yy`, []string{"f", "-x=yy"}, 0, 0},
		{`f 'x=yy`, []string{"f", "x=yy"}, '\'', 0},
		{"f 'ä ö'x", []string{"f", "ä öx"}, 0, 0},
		{"f ä=ö", []string{"f", "ä=ö"}, 0, 3},
		{`f a\`, []string{"f", `a\`}, 0, 0},
		{"", []string{""}, 0, 0},
	} {
		got := split(c.line, bashBreaks)
		last := got[len(got)-1]
		if !slices.Equal(texts(got), c.want) || last.quote != c.quote || last.broken != c.broken {
			t.Errorf("%q: %q with quote %q, broken at %d; want %q, %q, %d", c.line, texts(got), last.quote, last.broken, c.want, c.quote, c.broken)
		}
	}
}

func TestTheCommandsOwnWordsAreLeftOut(t *testing.T) {
	for line, want := range map[string]string{
		"flameox plan x": "plan|x", "A=1 B=2 flameox plan": "plan", "A=1 flameox ": "", "flameox": "flameox", "A=1": "A=1", "": "",
	} {
		if got := strings.Join(texts(arguments(split(line, ""))), "|"); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

// What is inserted is, for bash, the candidate again, whatever is in it and however the word was begun.
func TestBashReadsBackWhatIsInserted(t *testing.T) {
	path, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not here: ", err)
	}
	for _, value := range []string{`capture.x.y["a=1,b=\"c d\""]`, "it's", "$HOME `x` \\ !", "a;b|c&d>e(f)*?[g]{h,i}~#j", "ä ö", "plain"} {
		for _, begun := range []string{"", `"`, "'"} {
			if begun == "'" && strings.Contains(value, "'") {
				continue // cannot stand in single quotes
			}
			w := split("f "+begun, bashBreaks)[1]
			script := "printf %s " + begun + w.replacement(value) + begun
			out, err := exec.Command(path, "-c", script).CombinedOutput()
			if err != nil || string(out) != value {
				t.Errorf("%s: %q (%v), want %q", script, out, err, value)
			}
		}
	}
}

func FuzzSplitLosesNothing(f *testing.F) {
	f.Add("flameox why 'capture.x.y[\"a", bashBreaks)
	f.Add("a\\ b \"c\\\"d\" -x=y:z", bashBreaks)
	f.Add("\\", "")
	f.Add("ä\xb5", "0")
	f.Fuzz(func(t *testing.T, line, breaks string) {
		words := split(line, breaks)
		if len(words) == 0 {
			t.Fatal("there is no word to complete")
		}
		for _, w := range words {
			if w.broken > len(w.text) {
				t.Fatalf("%q is broken at %d", w.text, w.broken)
			}
		}
		_ = arguments(words)
		// A word in single quotes is that word.
		if !strings.Contains(line, "'") {
			if got := split("'"+line+"' ", breaks); got[0].text != line || len(got) != 2 {
				t.Fatalf("%q in quotes became %q", line, texts(got))
			}
		}
	})
}

func TestUsagesAreReadAsPlaces(t *testing.T) {
	show := func(list []positional) string {
		var parts []string
		for _, p := range list {
			s := strings.Join(p.names, "|")
			if p.repeated {
				s += "+"
			}
			parts = append(parts, s)
		}
		return strings.Join(parts, " ")
	}
	for usage, want := range map[string]string{
		"": "", "RUN|ADDRESS": "RUN|ADDRESS", "FILE RUN|ADDRESS ...": "FILE RUN|ADDRESS+", "[BLOCK [LABEL]]": "BLOCK LABEL",
		"[FILE|DIR ... | -]": "FILE|DIR|-+", "...": "", "bash|zsh|fish": "bash|zsh|fish",
	} {
		if got := show(positionals(usage)); got != want {
			t.Errorf("%q: %q, want %q", usage, got, want)
		}
	}
}
