package pyperf

import (
	"bytes"
	"compress/gzip"
	"io"

	"github.com/flameox/flameox/internal/pattern"
	"github.com/flameox/flameox/providers"
)

// Formats is pyperf's JSON under the provider's name.
func (Provider) Formats() []providers.Format {
	return []providers.Format{{Name: "pyperf", MediaType: MediaType, Role: Role, Detect: detect}}
}

// What pyperf's documents begin with, those before 1.0 too, so that an import can say what is wrong with them.
var shape = pattern.Lazy{Expr: `^\s*\{\s*("benchmarks"\s*:\s*\[\s*\{\s*("runs"\s*:\s*\[|"common_metadata"\s*:|"metadata"\s*:\s*\{[^{}]*\}\s*,\s*"runs"\s*:)|("version"\s*:\s*("1\.0"|[0-9]+)\s*,\s*)?"metadata"\s*:\s*\{[^{}]*"(perf_version|calibrate_loops|inner_loops|loops)"\s*:|"version"\s*:\s*"1\.0"\s*,\s*"benchmarks"\s*:)`}

// detect claims a document by how it begins, also when it is compressed.
func detect(head []byte) bool {
	if isGzip(head) {
		z, err := gzip.NewReader(bytes.NewReader(head))
		if err != nil {
			return false
		}
		// The head is cut, so reading it ends in an error; what came before is enough.
		head, _ = io.ReadAll(io.LimitReader(z, 64<<10))
	}
	return shape.Match(bytes.TrimPrefix(head, []byte("\xEF\xBB\xBF")))
}

func isGzip(data []byte) bool { return len(data) >= 2 && data[0] == 0x1F && data[1] == 0x8B }
