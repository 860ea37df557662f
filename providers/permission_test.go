package providers_test

import (
	"errors"
	"testing"

	"github.com/flameox/flameox/providers"
)

type restricted struct{ providers.Provider }

func (restricted) Settings() []string { return []string{"/a", "/gone"} }

func (restricted) Forbidden(settings map[string]string, has func(int) bool) *providers.Denial {
	n, ok := providers.Number(settings, "/a")
	if _, gone := providers.Number(settings, "/gone"); gone || !ok || n < 3 || has(19) {
		return nil
	}
	return &providers.Denial{Why: "a is " + settings["/a"]}
}

func TestForbiddenReadsTheKernelsSettingsAndThisProcessesCapabilities(t *testing.T) {
	const caps = "Name:\tx\nCapPrm:\tffff\nCapEff:\t0000000000080000\nCapBnd:\tffff\n"
	for _, c := range []struct {
		name  string
		files map[string]string
		want  bool
	}{
		{"a high setting", map[string]string{"/a": " 3\n", "/proc/self/status": "Name:\tx\nCapEff:\t0000000000000000\n"}, true},
		{"a low setting", map[string]string{"/a": "2\n"}, false},
		{"a negative setting", map[string]string{"/a": "-1\n"}, false},
		{"a setting that is no number", map[string]string{"/a": "all\n"}, false},
		{"no setting", nil, false},
		{"a capability", map[string]string{"/a": "4", "/proc/self/status": caps}, false},
	} {
		d := providers.Forbidden(restricted{}, func(file string) ([]byte, error) {
			if text, ok := c.files[file]; ok {
				return []byte(text), nil
			}
			return nil, errors.New("none")
		})
		if (d != nil) != c.want {
			t.Errorf("%s: %v", c.name, d)
		}
	}
}
