package hyperfine

import (
	"bytes"

	"github.com/flameox/flameox/internal/pattern"
	"github.com/flameox/flameox/providers"
)

// Formats is hyperfine's export under the provider's name.
func (Provider) Formats() []providers.Format {
	return []providers.Format{{Name: "hyperfine", MediaType: MediaType, Role: Role, Detect: detect}}
}

var shape = pattern.Lazy{Expr: `^\s*\{\s*"results"\s*:\s*\[\s*\{\s*"command"\s*:\s*"([^"\\]|\\.)*"\s*,\s*"mean"\s*:\s*[0-9.eE+-]+\s*,\s*"(stddev|median)"\s*:`}

// detect claims a document by the members that its first result begins with.
func detect(head []byte) bool {
	return shape.Match(bytes.TrimPrefix(head, []byte("\xEF\xBB\xBF")))
}
