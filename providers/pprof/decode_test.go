package pprof

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"testing"

	"github.com/flameox/flameox/providers"
	"github.com/google/pprof/profile"
)

func uncompressed(t testing.TB, p *profile.Profile) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := p.WriteUncompressed(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestTheFootprintIsFoundBeforeTheMemoryIsTaken compares the estimate with what the reader keeps, for messages that
// each make it take much.
func TestTheFootprintIsFoundBeforeTheMemoryIsTaken(t *testing.T) {
	base := func() *profile.Profile {
		return &profile.Profile{SampleType: []*profile.ValueType{{Type: "cpu", Unit: "ns"}}}
	}
	const n = 50_000
	for name, make := range map[string]func() []byte{
		"samples without anything": func() []byte {
			b := uncompressed(t, &profile.Profile{SampleType: []*profile.ValueType{{Type: "cpu", Unit: "ns"}}})
			for range n {
				b = append(b, 2<<3|2, 0)
			}
			return b
		},
		"deep stacks": func() []byte {
			p := base()
			l := &profile.Location{ID: 1, Address: 1}
			p.Location = []*profile.Location{l}
			var stack []*profile.Location
			for range 200 {
				stack = append(stack, l)
			}
			for range n / 100 {
				p.Sample = append(p.Sample, &profile.Sample{Location: stack, Value: []int64{1}})
			}
			return uncompressed(t, p)
		},
		"labels": func() []byte {
			p := base()
			for range n {
				p.Sample = append(p.Sample, &profile.Sample{Value: []int64{1}, Label: map[string][]string{"a": {"b"}}, NumLabel: map[string][]int64{"n": {1}}, NumUnit: map[string][]string{"n": {"u"}}})
			}
			return uncompressed(t, p)
		},
		"functions and lines": func() []byte {
			p := base()
			for i := range n {
				f := &profile.Function{ID: uint64(i + 1), Name: "f"}
				p.Function = append(p.Function, f)
				p.Location = append(p.Location, &profile.Location{ID: uint64(i + 1), Line: []profile.Line{{Function: f}, {Function: f}}})
			}
			return uncompressed(t, p)
		},
		"text": func() []byte {
			p := base()
			for i := range n {
				p.Comments = append(p.Comments, fmt.Sprint("comment ", i))
			}
			return uncompressed(t, p)
		},
		"comments, packed": func() []byte {
			b := append(uncompressed(t, base()), 13<<3|2)
			b = binary.AppendUvarint(b, n)
			return append(b, bytes.Repeat([]byte{0}, n)...)
		},
		"comments, one by one": func() []byte {
			return append(uncompressed(t, base()), bytes.Repeat([]byte{13 << 3, 0}, n)...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			data := make()
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			p, err := profile.ParseUncompressed(data)
			if err != nil {
				t.Fatal(err)
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			runtime.KeepAlive(p)
			runtime.KeepAlive(data)
			took, said := int64(after.HeapAlloc)-int64(before.HeapAlloc), footprint(data)
			t.Logf("%d bytes took %d, the footprint is %d", len(data), took, said)
			if took > said {
				t.Errorf("%d bytes of profile took %d bytes of memory, and the footprint says %d", len(data), took, said)
			}
			if said > 20*took {
				t.Errorf("%d bytes of profile took %d bytes of memory, and the footprint of %d would refuse ordinary profiles", len(data), took, said)
			}
		})
	}
}

func FuzzDecode(f *testing.F) {
	fn := &profile.Function{ID: 1, Name: "main", Filename: "a.go"}
	l := &profile.Location{ID: 1, Address: 1, Line: []profile.Line{{Function: fn, Line: 1}}}
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "cpu", Unit: "ns"}}, Function: []*profile.Function{fn}, Location: []*profile.Location{l},
		Sample: []*profile.Sample{{Location: []*profile.Location{l}, Value: []int64{5}, Label: map[string][]string{"k": {"v"}}}}}
	f.Add(uncompressed(f, p))
	var z bytes.Buffer
	if err := p.Write(&z); err != nil {
		f.Fatal(err)
	}
	f.Add(z.Bytes())
	for _, s := range []string{"", "\x1f\x8b", "heap profile: 1: 2 [3: 4] @ heap/1048576\n1: 2 [3: 4] @ 0x420cef\n", "goroutine profile: total 1\n1 @ 0x44cb3\n",
		"--- contention:\ncycles/second = 100\n10 2 @ 0x40\n", "--- heapz 1 ---\nformat = java\nresolution = bytes\n1 2 @ 0x1\n\n0x1 f (a.java:1)\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := decode(bytes.NewReader(data), 16<<20)
		var bad *providers.Refusal
		if err != nil && !errors.As(err, &bad) {
			t.Fatalf("the payload is at fault, and the error is %v", err)
		}
		if err == nil && len(d.SampleType) == 0 {
			t.Fatal("a profile without sample types was read")
		}
		detect(data)
	})
}
