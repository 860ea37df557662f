package perfetto_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"runtime"
	"slices"
	"testing"

	"github.com/flameox/flameox/evidence"
	format "github.com/flameox/flameox/formats/perfetto"
	"github.com/flameox/flameox/providers/providertest"
)

// What other readers of traces got wrong, by public reports.

func TestALengthThatLiesTakesNoMemory(t *testing.T) { // foxglove/mcap#1220
	whole := trace(thread, event(100, 1, 11, 2, 23, "a"), event(200, 2, 11, 2))
	for _, n := range []uint64{0x0fffffff, 0x7fffffff, 1 << 40, 1<<64 - 1} {
		data := append(binary.AppendUvarint(append(bytes.Clone(whole), 0x0a), n), 8, 1)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		out, tables := extract(t, data)
		runtime.ReadMemStats(&after)
		if got := slicesOf(tables); out.State != evidence.Partial || !slices.Equal(got, []string{"a 100+100 77/main"}) {
			t.Errorf("%#x bytes: %v, %v", n, got, out)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 64<<20 {
			t.Errorf("%#x bytes: %d bytes of memory were taken", n, took)
		}
	}
}

func TestAGzipStreamIsReadToItsTrailer(t *testing.T) { // pytorch/pytorch#167707
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write(trace(thread, event(100, 1, 11, 2, 23, "a"), event(200, 2, 11, 2)))
	z.Close()
	whole := b.Bytes()
	for cut := 1; cut <= 8; cut++ {
		out, tables := extract(t, whole[:len(whole)-cut])
		if got := slicesOf(tables); out.State != evidence.Partial || !slices.Equal(got, []string{"a 100+100 77/main"}) {
			t.Errorf("%d bytes of the trailer are missing: %v, %v", cut, got, out)
		}
	}
	wrong := bytes.Clone(whole)
	wrong[len(wrong)-6] ^= 1 // of the checksum
	if out, tables := extract(t, wrong); out.State == evidence.Complete || len(tables) > 0 {
		t.Errorf("a wrong checksum: %v", out)
	}
}

func TestAnAsynchronousThreadOfNoProcessKeepsItsEvents(t *testing.T) { // csmoe/tracing-perfetto#2: a tid below zero
	minus := uint64(1<<64 - 136712896)
	negative := msg(10, 1, 60, msg(1, 2, 4, msg(1, 77, 2, minus, 5, "main")))
	out, tables := extract(t, trace(negative, event(100, 1, 11, 2, 23, "a"), event(200, 2, 11, 2)))
	if got := slicesOf(tables); !slices.Equal(got, []string{"a 100+100 77/main"}) || tables["trace_events"][0]["thread_id"] != int64(-136712896) {
		t.Errorf("%v %v %v", got, tables["trace_events"], out)
	}
	if providertest.HasCode(out.Limitations, format.Undescribed) {
		t.Errorf("%v", out.Limitations)
	}
}
