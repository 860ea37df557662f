package providers

import (
	"fmt"
	"path/filepath"

	"github.com/flameox/flameox/internal/pattern"
)

// GoToolchain is where the producers that are part of Go are looked for. What was built before needs none.
func GoToolchain() Location {
	return Location{Programs: []string{"go"}, Optional: true, Install: "install Go from https://go.dev/dl, or measure what was built before"}
}

var goVersion = pattern.Lazy{Expr: `^go version (go[0-9]\S*)`}

// ProbeGo is Prober.Probe of what is part of Go. A test binary, or any other program, does not say a version and gets no probe.
func ProbeGo(argv []string) ([]string, func(stdout, stderr []byte) (string, error)) {
	if len(argv) == 0 || filepath.Base(argv[0]) != "go" {
		return nil, nil
	}
	return []string{argv[0], "version"}, func(stdout, _ []byte) (string, error) {
		m := goVersion.FindSubmatch(stdout)
		if m == nil {
			return "", fmt.Errorf("asking %s for its version: it answered %.40q, which is no version of Go", argv[0], stdout)
		}
		return string(m[1]), nil
	}
}
