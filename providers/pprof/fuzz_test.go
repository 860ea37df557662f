package pprof_test

import (
	"fmt"
	"testing"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/providers/pprof"
	"github.com/flameox/flameox/providers/providertest"
)

func FuzzExtract(f *testing.F) {
	f.Add([]byte{}, false)
	f.Add(raw(f, small()), false)
	f.Add(encode(f, small()), true)
	f.Add([]byte("heap profile: 1: 2 [3: 4] @ heap/1048576\n1: 2 [3: 4] @ 0x420cef 0x42\n\nMAPPED_LIBRARIES:\n"), false)
	f.Add([]byte("goroutine profile: total 1\n1 @ 0x44cb3 0x45045\n"), false)
	f.Add([]byte("--- contention:\ncycles/second = 100\nsampling period = 1\n10 2 @ 0x40 0x41\n"), false)
	f.Add([]byte("--- threadz 1 ---\n\n--- Thread 7f (name: main/1) stack: ---\n  PC: 0x1 f\n  0x2\n"), false)
	f.Add([]byte("--- heapz 1 ---\nformat = java\nresolution = bytes\n1 2 @ 0x1 0x2\n\n0x1 f (a.java:1)\n"), false)
	f.Add([]byte("\x00\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00\x10\x27\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x40\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00"), false)
	f.Fuzz(func(t *testing.T, data []byte, line bool) {
		o := by("function")
		if line {
			o = by("line")
		}
		in := providertest.Input(t, pprof.Role, data)
		budget := evidence.Budget{Memory: 64 << 20, Rows: 1000, Stacks: 100, Frames: 100, StackDepth: 20}
		sink := evidence.NewSink(t.TempDir(), evidence.FileMeta{Provider: p.Name(), ProviderVersion: 1}, budget)
		defer sink.Discard()
		out, err := p.Extract(t.Context(), in, o, budget, sink)
		if err != nil {
			t.Fatal(err)
		}
		if !out.State.Known() || (out.State == evidence.Incompatible && len(out.Limitations) == 0) {
			t.Fatalf("outcome %+v", out)
		}
		if _, err := sink.Close(); err != nil {
			t.Fatal(fmt.Errorf("after %+v: %w", out, err))
		}
		if _, err := p.Validate(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		p.Formats()[0].Detect(data)
	})
}
