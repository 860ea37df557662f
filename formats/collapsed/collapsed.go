package collapsed

import (
	"bytes"
	"fmt"
	"io"
	"iter"
	"math"
	"strings"

	"github.com/flameox/flameox/formats/textline"
)

// MediaType is what a file is registered as. None is registered; this is ours.
const MediaType = "text/x-collapsed-stacks"

// Stack is one line.
type Stack struct {
	Text  []byte // its frames with semicolons between them; empty where the line has a count only
	Count int64  // from 0
	Line  int64  // its number, from 1
}

// Frames goes through the names, root to leaf. One that is empty stands between two semicolons that nothing is between. They are parts of Text.
func (s Stack) Frames() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		if len(s.Text) > 0 {
			bytes.SplitSeq(s.Text, []byte(";"))(yield)
		}
	}
}

// Summary is what a file is made of.
type Summary struct {
	Lines      int64
	Stacks     int64
	Comments   int64
	Invalid    int64  // lines that are no stack and no comment
	First      string // the first of them, shortened, behind its number: line 7: "…"
	Fractions  int64  // of the invalid lines, those whose count has decimals
	TwoNumbers int64  // of the stacks, those that end in another number
	Unfinished bool   // the last line has no end, so its count may be cut
	Cut        bool   // it has no count either
	Wide       bool   // the text is in UTF-16
}

// Differential says whether the file compares two profiles: every line has two counts.
func (s *Summary) Differential() bool { return s.Stacks > 0 && s.TwoNumbers == s.Stacks }

// Foreign says whether the file is something else: most of it is no stacks. A text in which a line happens to end in a number is one.
func (s *Summary) Foreign() bool { return s.Invalid > s.Stacks }

// Read goes through a text and calls add for each stack, whose bytes are valid until it returns. An error is add's own, that of
// reading, or a *textline.LongError.
func Read(r io.Reader, add func(Stack) error) (Summary, error) {
	var sum Summary
	in := textline.New(r)
	for in.Next() {
		line := in.Line()
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		stack, kind := parse(line)
		switch kind {
		case aStack:
			sum.Stacks++
			if another(stack.Text) {
				sum.TwoNumbers++
			}
			stack.Line = in.Number()
			if err := add(stack); err != nil {
				return sum, err
			}
		case aComment:
			sum.Comments++
		case aFraction, invalid:
			sum.Invalid++
			if kind == aFraction {
				sum.Fractions++
			}
			if sum.First == "" {
				sum.First = fmt.Sprintf("line %d: %.60q", in.Number(), line)
			}
		}
		sum.Unfinished = in.Unfinished()
		sum.Cut = sum.Unfinished && kind != aStack && kind != aComment
	}
	sum.Lines, sum.Wide = in.Number(), in.Wide()
	return sum, in.Err()
}

type kind int

const (
	invalid kind = iota
	aStack
	aComment
	aFraction
)

// parse takes a line apart that is not blank.
func parse(line []byte) (s Stack, k kind) {
	line = bytes.TrimRight(line, " \t")
	name, count := line, line
	if i := bytes.LastIndexAny(line, " \t"); i >= 0 {
		name, count = bytes.TrimRight(line[:i], " \t"), line[i+1:]
	} else {
		name = nil
	}
	switch n, ok := number(count); {
	case bytes.IndexByte(line, 0) >= 0:
		return s, invalid
	case ok:
		return Stack{Text: name, Count: n}, aStack
	case bytes.HasPrefix(line, []byte("#")), bytes.HasPrefix(line, []byte("//")):
		return s, aComment
	case fraction(count):
		return s, aFraction
	}
	return s, invalid
}

func number(text []byte) (n int64, ok bool) {
	if len(text) == 0 {
		return 0, false
	}
	for _, c := range text {
		if c < '0' || c > '9' || n > (math.MaxInt64-int64(c-'0'))/10 {
			return 0, false
		}
		n = 10*n + int64(c-'0')
	}
	return n, true
}

func fraction(text []byte) bool {
	whole, rest, found := bytes.Cut(text, []byte("."))
	_, ok := number(whole)
	for _, c := range rest {
		ok = ok && c >= '0' && c <= '9'
	}
	return found && ok
}

// another says whether a stack ends in a number that could be a count: behind a space, as the real one is.
func another(stack []byte) bool {
	i := bytes.LastIndexAny(stack, " \t")
	_, ok := number(stack[i+1:])
	return ok && i >= 0
}

// Detect says whether a text begins with collapsed stacks: of its whole lines at most one for every four stacks is neither that nor a comment, and
// one has a caller and a callee. A file whose stacks are all one frame deep is not told from other text with numbers.
func Detect(head []byte) bool {
	calls := false
	sum, err := Read(bytes.NewReader(head), func(s Stack) error {
		calls = calls || bytes.IndexByte(s.Text, ';') > 0
		return nil
	})
	others := sum.Invalid
	if sum.Cut { // by who read the head
		others--
	}
	return err == nil && calls && 4*others <= sum.Stacks && !strings.Contains(sum.First, "\\x00")
}
