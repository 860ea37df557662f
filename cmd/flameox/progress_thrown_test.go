package main

import (
	"slices"
	"strings"
	"testing"
)

// Node's last line is its version: the error is above its stack.
func TestTheErrorThatEndedNodeIsQuoted(t *testing.T) {
	for text, want := range map[string]string{
		"throw err;\n^\nError: Cannot find module 'x'\nRequire stack:\n- /p/x.js\nat f (a.js:1)\ncode: 'MODULE_NOT_FOUND',\n}\nNode.js v20.20.2": "Error: Cannot find module 'x'",
		"old: 1\nTypeError: first\nat f\nRangeError [ERR_X]: second\nat g\nNode.js v22.1.0":                                                      "RangeError [ERR_X]: second",
		"out\nNode.js v20.20.2": "",
	} {
		lines := strings.Split(text, "\n")
		if !nodeEnds.MatchString(lines[len(lines)-1]) {
			t.Errorf("%q is not known as Node's end", lines[len(lines)-1])
		}
		if got := thrown(slices.Clone(lines)); got != want {
			t.Errorf("of %q: got %q, want %q", text, got, want)
		}
	}
	if nodeEnds.MatchString("ModuleNotFoundError: No module named 'x'") {
		t.Error("the last line of Python is taken for Node's")
	}
}
