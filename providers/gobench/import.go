package gobench

import (
	"bytes"

	"github.com/flameox/flameox/internal/pattern"
	"github.com/flameox/flameox/providers"
)

// Formats is the benchmark format under the provider's name.
func (Provider) Formats() []providers.Format {
	return []providers.Format{{Name: "gobench", MediaType: MediaType, Role: Role, Detect: detect}}
}

var (
	resultLine = pattern.Lazy{Expr: `(?m)^Benchmark[^\sa-z]\S*[ \t]+[1-9][0-9]*[ \t]+[0-9][0-9.eE+-]*[ \t]+\S`}
	prelude    = pattern.Lazy{Expr: `(?m)^goos: \S+\r?\ngoarch: \S+\r?$`}
	testEvent  = pattern.Lazy{Expr: `^\{"(Time|Action)":"[^"]*",.*"Package":"`}
)

// detect claims text with a result line or with the lines that testing prints before the first, and the events
// of go test -json. UTF-16 is claimed too, so that the import can say what is wrong with it.
func detect(head []byte) bool {
	if encodingOf(head) != nil && !bytes.HasPrefix(head, []byte{0x1F, 0x8B}) {
		head = bytes.ReplaceAll(head, []byte{0}, nil)
	}
	if bytes.IndexByte(head, 0) >= 0 {
		return false
	}
	first, _, _ := bytes.Cut(head, []byte("\n"))
	return resultLine.Match(head) || prelude.Match(head) || testEvent.Match(first)
}
