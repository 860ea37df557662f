package googlebenchmark

import (
	"bytes"

	"github.com/flameox/flameox/internal/pattern"
	"github.com/flameox/flameox/providers"
)

// Formats is the library's JSON under the provider's name.
func (Provider) Formats() []providers.Format {
	return []providers.Format{{Name: "googlebenchmark", MediaType: MediaType, Role: Role, Detect: detect}}
}

// The library writes its context first, and in it what no other producer does.
var (
	shape  = pattern.Lazy{Expr: `^\s*\{\s*"context"\s*:\s*\{`}
	member = pattern.Lazy{Expr: `"(library_build_type|mhz_per_cpu|cpu_scaling_enabled)"\s*:`}
)

func detect(head []byte) bool {
	head = bytes.TrimPrefix(head, []byte("\xEF\xBB\xBF"))
	return shape.Match(head) && member.Match(head)
}
