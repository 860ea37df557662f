package gobench

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/flameox/flameox/evidence"
)

func FuzzRead(f *testing.F) {
	for _, s := range []string{
		"", "PASS\n", "goos: linux\npkg: a\nBenchmarkA/k=v/k=w-8 \t 100\t 1.5 ns/op\t 3 B/op\nok  \ta\t1s\n", "Unit x better=higher assume=exact\nBenchmarkA 1 5 x\n",
		"BenchmarkA 1 NaN x -0 y Inf z\n", "--- SKIP: BenchmarkA\nFAIL\tp [build failed]\n", "{\"Time\":\"t\",\"Action\":\"output\",\"Package\":\"a\",\"Output\":\"BenchmarkA 1 2 ns/op\\n\"}\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var values int64
		s, err := read(t.Context(), bytes.NewReader(data), nil, func(m *evidence.Measurement) error {
			values++
			if (m.ValueInt == nil) == (m.ValueFloat == nil) || m.Unit == "" || m.Loops == nil || *m.Loops == 0 || !strings.HasPrefix(m.Name, "gobench.Benchmark") {
				t.Fatalf("row %+v", m)
			}
			return nil
		})
		var bad *refusal
		if err != nil {
			if !errors.As(err, &bad) {
				t.Fatal(err)
			}
			return
		}
		if s.rows != values || s.bytes != int64(len(data)) {
			t.Fatalf("%d rows for %d values, %d bytes of %d", s.rows, values, s.bytes, len(data))
		}
		// How the bytes arrive must not matter.
		slow, err := read(t.Context(), iotest.OneByteReader(bytes.NewReader(data)), nil, nil)
		if err != nil || slow.rows != s.rows || slow.lost != s.lost || slow.truncated != s.truncated {
			t.Fatalf("read byte by byte: %+v %v", slow, err)
		}
		detect(data)
	})
}

func TestAnErrorOfTheDiskIsNoFaultOfThePayload(t *testing.T) {
	broken := io.MultiReader(strings.NewReader("BenchmarkA 1 5 ns/op\n"), iotest.ErrReader(io.ErrClosedPipe))
	if _, err := read(t.Context(), broken, nil, nil); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("error %v", err)
	}
}

// TestConfigurationTimesNamesIsBounded has 64 keys of 50 kB and then names without end: each would keep all of them.
func TestConfigurationTimesNamesIsBounded(t *testing.T) {
	var head strings.Builder
	for i := range maxKeys {
		fmt.Fprintf(&head, "key%d: %s\n", i, strings.Repeat("v", 50_000))
	}
	names := 0
	endless := readerFunc(func(p []byte) (int, error) {
		names++
		if names > 5000 {
			return 0, io.EOF
		}
		return copy(p, fmt.Sprintf("BenchmarkN%d 1 5 ns/op\n", names)), nil
	})
	var bad *refusal
	_, err := read(t.Context(), io.MultiReader(strings.NewReader(head.String()), endless), nil, nil)
	if !errors.As(err, &bad) || bad.code != MemoryBudget {
		t.Fatalf("after %d names: %v", names, err)
	}
}

// pieces is a test that prints text byte by byte, as `go test -json` reports it.
func pieces(b *strings.Builder, text string) {
	for i := range len(text) {
		fmt.Fprintf(b, "{\"Time\":\"t\",\"Action\":\"output\",\"Package\":\"p\",\"Output\":%q}\n", text[i:i+1])
	}
}

func TestALineInPiecesTakesTimeInProportionToItsLength(t *testing.T) {
	var b strings.Builder
	pieces(&b, strings.Repeat("x", maxLine-100))
	pieces(&b, "\nBenchmarkA 1 5 ns/op\n")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	s, err := read(t.Context(), strings.NewReader(b.String()), nil, nil)
	runtime.ReadMemStats(&after)
	if err != nil || s.rows != 1 || s.long != 0 {
		t.Fatalf("%v: %+v", err, s)
	}
	// Copying what is there for each piece would take 1.8 GB.
	if got := after.TotalAlloc - before.TotalAlloc; got > 200<<20 {
		t.Errorf("%d bytes were allocated for %d pieces", got, maxLine)
	}
}

func TestTheRestOfALineThatIsTooLongIsNoLineOfItsOwn(t *testing.T) {
	var b strings.Builder
	piece := func(out string) {
		fmt.Fprintf(&b, "{\"Time\":\"t\",\"Action\":\"output\",\"Package\":\"p\",\"Output\":%q}\n", out)
	}
	for range 3 {
		piece(strings.Repeat("x", maxLine))
		piece("x")
	}
	piece("BenchmarkNot 1 7 ns/op")
	piece("\nBenchmarkA 1 5 ns/op\n")
	s, err := read(t.Context(), strings.NewReader(b.String()), nil, nil)
	if err != nil || s.rows != 1 || s.long != 1 || s.order[0].name != "BenchmarkA" {
		t.Fatalf("%v: %d values, %d long lines", err, s.rows, s.long)
	}
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func BenchmarkRead(b *testing.B) {
	var text strings.Builder
	text.WriteString("goos: linux\ngoarch: amd64\npkg: example.test/m\ncpu: Some CPU\n")
	for i := range 10_000 {
		fmt.Fprintf(&text, "BenchmarkSort/impl=merge/n=%d-8 \t  714387\t      1423.5 ns/op\t  10.46 MB/s\t      97 B/op\t       4 allocs/op\n", i%100)
	}
	b.SetBytes(int64(text.Len()))
	for b.Loop() {
		if _, err := read(b.Context(), strings.NewReader(text.String()), nil, func(*evidence.Measurement) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}
