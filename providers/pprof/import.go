package pprof

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"strings"

	"github.com/flameox/flameox/internal/pattern"
	"github.com/flameox/flameox/providers"
)

// Formats is pprof's format under the provider's name.
func (Provider) Formats() []providers.Format {
	return []providers.Format{{Name: "pprof", MediaType: MediaType, Role: Role, Detect: detect}}
}

// legacyText are the first lines of the text formats that the reader knows.
var legacyText = pattern.Lazy{Expr: `^(#.*\n|\s*\n)*(heap profile: +\d+: |--- (heapz?|heapz 1|growthz?|contentionz?|contentionz 1|mutex|threadz?)\b.*---|[a-z]+ profile: total +\d+\n)`}

// profileLine is the first line of those.
var profileLine = pattern.Lazy{Expr: `^(heap profile: +\d+: |--- (heapz?|heapz 1|growthz?|contentionz?|contentionz 1|mutex|threadz?)\b.*---|[a-z]+ profile: total +\d+)`}

// detect claims a profile by what the first bytes hold, also when they are compressed: a gzip file of
// anything else is not claimed.
func detect(head []byte) bool {
	if isGzip(head) {
		z, err := gzip.NewReader(bytes.NewReader(head))
		if err != nil {
			return false
		}
		// The head is cut, so reading it ends in an error; what came before is enough.
		head, _ = io.ReadAll(io.LimitReader(z, 64<<10))
	}
	return protoShaped(head) || legacyText.Match(head) || legacyCPU(head)
}

// legacyCPU says whether head is the header of gperftools' binary CPU profile: the words 0, 3, 0 (1 for
// Java), the sampling period in microseconds, and 0, of either size and order.
func legacyCPU(head []byte) bool {
	word := func(size int, order binary.ByteOrder, i int) uint64 {
		if size == 4 {
			return uint64(order.Uint32(head[i*4:]))
		}
		return order.Uint64(head[i*8:])
	}
	for _, size := range []int{4, 8} {
		if len(head) < 5*size {
			continue
		}
		for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
			period := word(size, order, 3)
			if word(size, order, 0) == 0 && word(size, order, 1) == 3 && word(size, order, 2) <= 1 &&
				period > 0 && period <= 10_000_000 && word(size, order, 4) == 0 {
				return true
			}
		}
	}
	return false
}

// unexpected names the first line of a text that begins like no profile, "" where data are no text. The old formats allow nothing in front of their
// first line; some allow comments, which is why a comment is blamed only where nothing else can be.
func unexpected(data []byte) string {
	head := data[:min(len(data), 64<<10)]
	if bytes.ContainsFunc(head, func(c rune) bool { return c < '\t' }) {
		return ""
	}
	at, number, text := 0, 0, ""
	for line := range bytes.Lines(head) {
		at++
		line = bytes.TrimSpace(line)
		if len(line) == 0 || number > 0 && !strings.HasPrefix(text, "#") {
			continue
		}
		if profileLine.Match(line) {
			break
		}
		if number == 0 || !bytes.HasPrefix(line, []byte("#")) {
			number, text = at, string(line[:min(len(line), 80)])
		}
	}
	if number == 0 {
		return ""
	}
	return fmt.Sprintf("; line %d, %q, is the first that is unexpected", number, strings.ToValidUTF8(text, "\uFFFD"))
}
