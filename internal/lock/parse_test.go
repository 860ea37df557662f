package lock

import (
	"strings"
	"testing"
	"unicode"
)

func FuzzALineOfReadersIsRefusedOrHarmless(f *testing.F) {
	f.Add([]byte(`{"at":"2026-01-01T00:00:00Z","pid":1,"command":"flameox plan"}` + "\n"))
	f.Add([]byte("\x00\x00{\"pid\":1,\"command\":\"\x1b[2J\"}\n"))
	f.Add([]byte(`{"pid":-1}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		r, ok := parse(line)
		if !ok {
			return
		}
		if r.Pid <= 0 || strings.ContainsFunc(r.Command, unicode.IsControl) {
			t.Fatalf("%q is read as %+v", line, r)
		}
	})
}
