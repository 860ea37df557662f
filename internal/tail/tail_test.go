package tail

import (
	"strings"
	"testing"
)

// Node's last line is its version: the error is above its stack.
func TestTheLineThatSaysMostIsTheLastOrTheErrorThatEndedNode(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "\n \n": "",
		"one\n\n  two  \n\n": "two",
		"throw err;\n^\nError: Cannot find module 'x'\nRequire stack:\n- /p/x.js\nat f (a.js:1)\ncode: 'MODULE_NOT_FOUND',\n}\nNode.js v20.20.2": "Error: Cannot find module 'x'",
		"old: 1\nTypeError: first\nat f\nRangeError [ERR_X]: second\nat g\n\nNode.js v22.1.0\n":                                                  "RangeError [ERR_X]: second",
		"out\nNode.js v20.20.2":                               "Node.js v20.20.2",
		"Traceback\nModuleNotFoundError: No module named 'x'": "ModuleNotFoundError: No module named 'x'",
		strings.Repeat("x", 2*Size) + "\nend":                 "end",
	} {
		if got := Reason(Lines(strings.NewReader(text), int64(len(text)))); got != want {
			t.Errorf("of %.40q: got %.40q, want %q", text, got, want)
		}
	}
}
