package v8profile

import (
	"math"
	"strings"

	"github.com/flameox/flameox/formats/profile"
)

// Place is how tables name the function. file is how evidence names a file; within tells profiles of several threads apart, "" where there is one: ids
// of scripts without a URL mean something in one thread only.
func (c CallFrame) Place(file func(string) string, within string) profile.Frame {
	f := profile.Frame{Language: "JavaScript", Function: c.Function}
	if c.Pseudo() {
		return profile.Frame{Function: c.Function, Synthetic: true}
	}
	if strings.HasPrefix(c.URL, "wasm:") {
		f.Language = "WebAssembly"
	}
	if f.Function == "" {
		// Not known by name, so not wholly known, however well its place is.
		f.Function, f.Synthetic = "(anonymous)", true
	}
	switch {
	case c.URL == "" || c.URL == "internal":
		f.Synthetic = true
		if c.Script != "" && c.Script != "0" {
			f.Module = "v8-script:" + c.Script
			if within != "" {
				f.Module += "@" + within
			}
		}
	default:
		f.File = file(c.URL)
		// Node's own sources are in the binary, and no file to open.
		f.Synthetic = f.Synthetic || strings.HasPrefix(c.URL, "node:")
	}
	if c.Line >= 0 && c.Line < math.MaxInt64 {
		f.Line = profile.Some(c.Line + 1)
	}
	if c.Column >= 0 && c.Column < math.MaxInt64 {
		f.Column = profile.Some(c.Column + 1)
	}
	return f
}

// Pseudo says whether a frame is V8's own: (root), (idle), (garbage collector), (program).
func (c CallFrame) Pseudo() bool {
	return c.URL == "" && (c.Script == "0" || c.Script == "") && strings.HasPrefix(c.Function, "(") && strings.HasSuffix(c.Function, ")")
}
