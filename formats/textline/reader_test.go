package textline

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf16"
)

func lines(t *testing.T, r io.Reader) (out []string, last *Reader) {
	t.Helper()
	last = New(r)
	for last.Next() {
		out = append(out, string(last.Line()))
	}
	if last.Err() != nil {
		t.Fatal(last.Err())
	}
	return out, last
}

func wideText(text string, order binary.ByteOrder) []byte {
	b := make([]byte, 2)
	order.PutUint16(b, 0xFEFF)
	for _, u := range utf16.Encode([]rune(text)) {
		b = append(b, 0, 0)
		order.PutUint16(b[len(b)-2:], u)
	}
	return b
}

func TestOneTextInEveryEncodingHasTheSameLines(t *testing.T) {
	const text = "a;ü 1\r\n\n𝄞;b 2\r\nlast 3"
	want := []string{"a;ü 1", "", "𝄞;b 2", "last 3"}
	for name, data := range map[string][]byte{
		"UTF-8": []byte(text), "UTF-8 with a mark": append(slices.Clone(mark8), text...),
		"UTF-16LE": wideText(text, binary.LittleEndian), "UTF-16BE": wideText(text, binary.BigEndian),
	} {
		for how, r := range map[string]io.Reader{"whole": bytes.NewReader(data), "by byte": iotest.OneByteReader(bytes.NewReader(data))} {
			got, last := lines(t, r)
			if !slices.Equal(got, want) || !last.Unfinished() || last.Number() != 4 || last.Wide() != strings.HasPrefix(name, "UTF-16") {
				t.Errorf("%s, %s: %q, unfinished %v, %d lines", name, how, got, last.Unfinished(), last.Number())
			}
		}
	}
}

func TestALineEndAtTheEndMakesTheTextFinished(t *testing.T) {
	got, last := lines(t, strings.NewReader("a\nb\n"))
	if !slices.Equal(got, []string{"a", "b"}) || last.Unfinished() {
		t.Errorf("%q, unfinished %v", got, last.Unfinished())
	}
	if got, last = lines(t, strings.NewReader("")); len(got) != 0 || last.Unfinished() {
		t.Errorf("%q", got)
	}
}

func TestLinesLongerThanTheBufferAreWhole(t *testing.T) {
	long := strings.Repeat("x", 3*buffer+7)
	got, _ := lines(t, strings.NewReader("a\n"+long+"\nb\n"+long))
	if len(got) != 4 || got[1] != long || got[2] != "b" || got[3] != long {
		t.Errorf("%d lines", len(got))
	}
	r := New(io.LimitReader(endless{}, MaxLine+1))
	var bad *LongError
	if r.Next() || !errors.As(r.Err(), &bad) || bad.Line != 1 {
		t.Errorf("a line over the limit: %v", r.Err())
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestHalfACharacterIsSeen(t *testing.T) {
	for _, data := range []string{"\xFF\xFEa\x00b", "\xFF\xFEa\x00\x34\xD8", "\xFF\xFEa\x00\x1E\xDD"} {
		if got, _ := lines(t, strings.NewReader(data)); len(got) != 1 || got[0] != "a\uFFFD" {
			t.Errorf("%q: %q", data, got)
		}
	}
}

func TestAnErrorOfTheFileIsNotItsEnd(t *testing.T) {
	boom := errors.New("boom")
	r := New(io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(boom)))
	for r.Next() {
	}
	if !errors.Is(r.Err(), boom) {
		t.Error(r.Err())
	}
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("a\r\nb"))
	f.Add([]byte("\xFF\xFEa\x00\n\x00"))
	f.Add([]byte("\xFE\xFF\x00a\xD8"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := New(bytes.NewReader(data))
		n := 0
		for r.Next() {
			n++
			if bytes.IndexByte(r.Line(), '\n') >= 0 {
				t.Fatal("a line holds its end")
			}
		}
		if r.Err() != nil || int64(n) != r.Number() || n > len(data) {
			t.Fatalf("%d lines of %d bytes: %v", n, len(data), r.Err())
		}
	})
}
