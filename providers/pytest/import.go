package pytest

import (
	"bytes"

	"github.com/flameox/flameox/providers"
)

// Formats is the log under the provider's name.
func (Provider) Formats() []providers.Format {
	return []providers.Format{{Name: "pytest", MediaType: MediaType, Role: Role, Detect: detect}}
}

// detect looks at the first line.
func detect(head []byte) bool {
	line, _, _ := bytes.Cut(head, []byte("\n"))
	var r record
	var sc scanner
	r.read(&sc, line)
	return !sc.bad && r.kind == "SessionStart" && versionText.MatchString(r.version)
}
