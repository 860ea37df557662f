package gobench_test

import (
	"strings"
	"testing"

	"github.com/flameox/flameox/evidence"
)

// An event of which a member stands twice says two things: mitre/cti#147.
func TestAnEventThatContradictsItselfIsRefusedWhereItStands(t *testing.T) {
	const start = `{"Time":"2026-01-01T00:00:00Z","Action":"start","Package":"a"}` + "\n"
	for name, c := range map[string]struct{ event, want string }{
		"two outputs":       {`{"Time":"x","Action":"output","Package":"a","Output":"BenchmarkA 1 5 ns/op\n","Output":"BenchmarkA 1 9 ns/op\n"}`, "twice"},
		"two packages":      {`{"Time":"x","Action":"output","Package":"a","Package":"b","Output":"BenchmarkA 1 5 ns/op\n"}`, "twice"},
		"a number":          {`{"Time":"x","Action":"output","Package":"a","Output":5}`, "byte "},
		"an event and more": {`{"Time":"x","Action":"output","Package":"a","Output":"BenchmarkA 1 5 ns/op\n"} x`, "byte "},
	} {
		out, rows := extract(t, start+c.event+"\n")
		if out.State != evidence.Incompatible || len(rows) > 0 || !strings.Contains(out.Limitations[0].Text, "line 2") || !strings.Contains(out.Limitations[0].Text, c.want) {
			t.Errorf("%s: %+v", name, out)
		}
	}
	_, rows := extract(t, start+`{"Time":"x","Action":"output","Package":"a","output":"BenchmarkA 1 9 ns/op\n","Output":"BenchmarkA 1 5 ns/op\n","New":[{}]}`+"\n")
	if len(rows) != 1 || rows[0]["value_int"] != int64(5) {
		t.Errorf("a member of another name was taken for it: %v", rows)
	}
}
