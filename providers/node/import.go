package node

import (
	"bytes"

	"github.com/flameox/flameox/internal/pattern"
	"github.com/flameox/flameox/providers"
)

// Formats are the two kinds of profile, by the names of their files.
func (Provider) Formats() []providers.Format {
	return []providers.Format{
		{Name: "cpuprofile", MediaType: CPUMediaType, Role: Role, Detect: func(head []byte) bool { return match(head, &cpuHead) }},
		{Name: "heapprofile", MediaType: HeapMediaType, Role: Role, Detect: func(head []byte) bool { return match(head, &heapHead) }},
	}
}

var (
	cpuHead  = pattern.Lazy{Expr: `^\s*\{(\s*"(startTime|endTime)"\s*:\s*[0-9.]+\s*,)*\s*"nodes"\s*:\s*\[\s*\{[^{}]*("callFrame"|$)`}
	heapHead = pattern.Lazy{Expr: `^\s*\{\s*"head"\s*:\s*\{[^{}]*"callFrame"`}
)

func match(head []byte, shape *pattern.Lazy) bool {
	return shape.Match(bytes.TrimPrefix(head, []byte("\xEF\xBB\xBF")))
}
