package pprof_test

import (
	"bytes"
	"encoding/binary"
	"runtime"
	"strings"
	"testing"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/providers/pprof"
)

// What other readers of profiles got wrong, by public reports.

func TestTextThatIsNoProfileIsRefusedByItsFirstLine(t *testing.T) { // couchbase/sync_gateway#3158, golang/go#48580
	const heap = "heap profile: 1: 2 [3: 4] @ heap/1048576\n1: 2 [3: 4] @ 0x1000\n"
	for name, c := range map[string]struct{ text, line string }{
		"a banner":              {"Profile of node 1\nTaken by hand\n" + heap, `line 1, "Profile of node 1"`},
		"comments":              {"# of node 1\n# by hand\n" + heap, `line 1, "# of node 1"`},
		"comments and a banner": {"# of node 1\n# by hand\n\nProfile:\n" + heap, `line 4, "Profile:"`},
		"a page of an error":    {"<html>\r\n<body>404</body></html>\n", `line 1, "<html>"`},
		"a program that ended":  {"signal: killed\n", `line 1, "signal: killed"`},
		"an endless line":       {strings.Repeat("x", 9000), `line 1, "xxx`},
	} {
		out, tables := extract(t, []byte(c.text), "function")
		if out.State != evidence.Incompatible || len(tables) > 0 || out.Limitations[0].Code != pprof.NotAProfile || !strings.Contains(out.Limitations[0].Text, c.line) || len(out.Limitations[0].Text) > 600 {
			t.Errorf("%s: %s, %v, want %s", name, out.State, out.Limitations, c.line)
		}
	}
	if out, _ := extract(t, []byte(heap), "function"); out.State == evidence.Incompatible {
		t.Errorf("the profile alone: %v", out.Limitations)
	}
	out, _ := extract(t, []byte{0x07, 0x00, 0xFE, 0x81, 0x00}, "function")
	if out.State != evidence.Incompatible || strings.Contains(out.Limitations[0].Text, "line 1") {
		t.Errorf("bytes that are no text: %v", out.Limitations)
	}
}

func TestALengthThatLiesTakesNoMemory(t *testing.T) { // foxglove/mcap#1220
	plain := raw(t, small())
	for _, n := range []uint64{0x7fffffff, 1 << 40, 1<<63 - 1, 1<<64 - 1} {
		data := append(binary.AppendUvarint(append(bytes.Clone(plain), 2<<3|2), n), 1, 2, 3)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		out, _ := extract(t, data, "function")
		runtime.ReadMemStats(&after)
		if out.State != evidence.Incompatible || out.Limitations[0].Code != pprof.Truncated {
			t.Errorf("%#x bytes: %v", n, out)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 64<<20 {
			t.Errorf("%#x bytes: %d bytes of memory were taken", n, took)
		}
	}
}
