package gobench

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/flameox/flameox/internal/pattern"
)

// maxLine is the longest line that benchfmt is given: its scanner stops for good at 64 KiB, and one
// long log line must not hide every result behind it.
const maxLine = 60 << 10

// maxNames bounds the names that are kept of failures and the like; all are counted.
const maxNames = 8

// refusal says why nothing of a payload is read: it is no benchmark output by its encoding alone, or it would take too much memory.
type refusal struct{ code, text string }

func (e *refusal) Error() string { return e.text }

// tally counts things and keeps the first few names.
type tally struct {
	n     int64
	names []string
}

func (t *tally) add(name string) {
	t.n++
	if len(t.names) < maxNames {
		if len(name) > 200 {
			name = name[:200] + "…"
		}
		t.names = append(t.names, strings.ToValidUTF8(name, "\uFFFD"))
	}
}

func (t *tally) String() string {
	s := strings.Join(t.names, ", ")
	if rest := t.n - int64(len(t.names)); rest > 0 {
		s += fmt.Sprintf(" and %d more", rest)
	}
	return s
}

// facts are what the lines say beside results.
type facts struct {
	bytes     int64
	json      bool  // go test -json
	testing   int64 // lines that only Go's testing prints: PASS, ok, goos: …
	failed    tally // benchmarks
	skipped   tally
	panics    tally
	packages  tally // that failed as a whole
	builds    tally // that did not build
	lost      int64 // lines that hold the figures of a result without its name
	misnamed  tally // results whose name does not begin with Benchmark
	long      int64 // lines over maxLine
	truncated bool  // the last line has no newline and may be part of a result
}

var (
	// What testing prints behind a benchmark's name, where something stands in front that is no name.
	lostResult = pattern.Lazy{Expr: `(^|[^0-9])[1-9][0-9]*\t *[0-9.]+ ns/op`}
	// A result line of the format but for the name.
	otherResult = pattern.Lazy{Expr: `^(\S+)\s+[1-9][0-9]*\s+[0-9][0-9.eE+-]*\s+[^\s0-9]*/op(\s|$)`}
)

// lines is the payload as benchfmt reads it, with everything noted on the way that benchfmt ignores.
// Every line of the payload is one line here, so benchfmt's line numbers are the payload's (in JSON, the
// number of the line of test output).
type lines struct {
	facts
	in   *bufio.Reader
	out  []byte
	err  error
	line int64

	// go test -json
	part    map[string]*unfinished // by package: output after its last newline
	current string                 // package of the line before
}

func newLines(r io.Reader) *lines {
	return &lines{in: bufio.NewReaderSize(r, 1<<20)}
}

// Read implements io.Reader.
func (l *lines) Read(p []byte) (int, error) {
	for len(l.out) == 0 {
		if l.err != nil {
			return 0, l.err
		}
		l.next()
	}
	n := copy(p, l.out)
	l.out = l.out[n:]
	return n, nil
}

// next reads one line of the payload.
func (l *lines) next() {
	l.out = l.out[:0]
	line, err := l.in.ReadSlice('\n')
	l.bytes += int64(len(line))
	first := l.line == 0
	l.line++
	if first {
		if e := encodingOf(line); e != nil {
			l.err = e
			return
		}
		line = bytes.TrimPrefix(line, []byte("\xEF\xBB\xBF"))
		l.json = jsonLine(line)
	}
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		l.long++
		if l.err = l.skip(); l.err == nil || l.err == io.EOF {
			l.out = append(l.out, '\n')
		}
		return
	case err != nil && err != io.EOF:
		l.err = err
		return
	}
	terminated := err == nil
	if !terminated {
		l.err = io.EOF
		if len(line) == 0 {
			l.flushJSON()
			return
		}
	}
	if l.json {
		if !terminated {
			l.truncated = true
		} else {
			l.event(line)
		}
		if !terminated {
			l.flushJSON()
		}
		return
	}
	l.text(bytes.TrimRight(line, "\r\n"), terminated)
}

// skip reads to the end of a line that is too long.
func (l *lines) skip() error {
	for {
		rest, err := l.in.ReadSlice('\n')
		l.bytes += int64(len(rest))
		if !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}

// text takes one line of test output.
func (l *lines) text(line []byte, terminated bool) {
	if len(line) > maxLine {
		l.long++
		line = nil
	}
	if bytes.IndexByte(line, 0) >= 0 {
		l.err = &refusal{"not_text", fmt.Sprintf("line %d holds a zero byte: the payload is binary data, not the text that `go test` prints", l.line)}
		return
	}
	if !terminated && (bytes.HasPrefix(line, []byte("Benchmark")) || bytes.HasPrefix(line, []byte("Unit")) || lostResult.Match(line)) {
		l.truncated = true
		line = nil
	}
	if prose(line) {
		line = nil
	}
	l.note(line)
	l.out = append(append(l.out, line...), '\n')
}

// note counts what benchfmt would pass over.
func (l *lines) note(line []byte) {
	if len(line) == 0 {
		return
	}
	s := bytes.TrimLeft(line, " \t")
	switch {
	case bytes.HasPrefix(s, []byte("--- FAIL: Benchmark")):
		l.testing++
		l.failed.add(word(s[len("--- FAIL: "):]))
		return
	case bytes.HasPrefix(s, []byte("--- SKIP: Benchmark")):
		l.testing++
		l.skipped.add(word(s[len("--- SKIP: "):]))
		return
	}
	switch line[0] {
	case 'B':
		if bytes.HasPrefix(line, []byte("Benchmark")) {
			// The name and its tab are printed before the benchmark runs.
			if _, after, ok := bytes.Cut(line, []byte("\tpanic: ")); ok {
				l.panics.add("panic: " + string(after))
			}
			return
		}
	case 'P':
		if string(line) == "PASS" {
			l.testing++
			return
		}
	case 'o':
		if bytes.HasPrefix(line, []byte("ok  \t")) {
			l.testing++
			return
		}
	case '?':
		if bytes.HasPrefix(line, []byte("?   \t")) {
			l.testing++
			return
		}
	case 'g':
		if bytes.HasPrefix(line, []byte("goos: ")) || bytes.HasPrefix(line, []byte("goarch: ")) {
			l.testing++
			return
		}
	case 'p':
		if bytes.HasPrefix(line, []byte("pkg: ")) {
			l.testing++
			return
		}
		if bytes.HasPrefix(line, []byte("panic: ")) {
			l.panics.add(string(line))
			return
		}
	case 'f':
		if bytes.HasPrefix(line, []byte("fatal error: ")) {
			l.panics.add(string(line))
			return
		}
	case 'F':
		if string(line) == "FAIL" {
			l.testing++
			return
		}
		if rest, ok := bytes.CutPrefix(line, []byte("FAIL\t")); ok {
			l.testing++
			name := word(rest)
			if bytes.HasSuffix(line, []byte("[build failed]")) || bytes.HasSuffix(line, []byte("[setup failed]")) {
				l.builds.add(name)
			} else {
				l.packages.add(name)
			}
			return
		}
	}
	if lostResult.Match(line) {
		l.lost++
	} else if m := otherResult.FindSubmatch(line); m != nil {
		l.misnamed.add(string(m[1]))
	}
}

// encodingOf refuses what is not the text of `go test` from its first bytes.
func encodingOf(head []byte) error {
	switch {
	case bytes.HasPrefix(head, []byte{0xFF, 0xFE}), bytes.HasPrefix(head, []byte{0xFE, 0xFF}), utf16Head(head):
		return &refusal{"text_is_utf16", "the payload is UTF-16 text, which the redirect of Windows PowerShell writes; benchmark lines in it would all be missed. Save it as UTF-8 (`go test … | Out-File -Encoding utf8 FILE`, or run it in cmd) and import that"}
	case bytes.HasPrefix(head, []byte{0x1F, 0x8B}):
		return &refusal{"not_text", "the payload is gzip data, not the text that `go test` prints; decompress it first"}
	}
	return nil
}

// utf16Head says whether ASCII text stands in every second byte.
func utf16Head(head []byte) bool {
	if len(head) < 8 {
		return false
	}
	even, odd := 0, 0
	for i, c := range head[:8] {
		if c == 0 && i%2 == 0 {
			even++
		} else if c == 0 {
			odd++
		}
	}
	return even == 4 && odd == 0 || odd == 4 && even == 0
}

// prose says whether a line begins with Benchmark as an ordinary word does, "Benchmarking 3 engines": the format
// wants no lower-case letter behind it, the reader does not insist and would call the line a broken result.
func prose(line []byte) bool {
	rest, ok := bytes.CutPrefix(line, []byte("Benchmark"))
	if !ok {
		return false
	}
	if r, _ := utf8.DecodeRune(rest); !unicode.IsLower(r) {
		return false
	}
	f := bytes.Fields(rest)
	if len(f) < 4 {
		return true
	}
	_, err := strconv.Atoi(string(f[1]))
	_, err2 := strconv.ParseFloat(string(f[2]), 64)
	return err != nil || err2 != nil
}

func word(b []byte) string {
	if i := bytes.IndexAny(b, " \t"); i >= 0 {
		b = b[:i]
	}
	return string(b)
}
