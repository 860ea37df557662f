package googlebenchmark_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/flameox/flameox/evidence"
)

// A refusal says where: google/benchmark#300, aikdna/kdna#24.
func TestWhatIsNoJSONIsRefusedWithItsPlace(t *testing.T) {
	for name, c := range map[string]struct{ data, at string }{
		"a percent sign": {strings.Replace(document, `"rms":0.5`, `"rms":12%`, 1), `"rms":12`},
		"a comma":        {strings.Replace(document, `"depth":3`, `"depth":3,`, 1), `"depth":3,`},
	} {
		out, rows := extract(t, []byte(c.data))
		want := fmt.Sprintf("byte %d ", strings.Index(c.data, c.at)+len(c.at))
		if out.State != evidence.Incompatible || len(rows) > 0 || !strings.Contains(out.Limitations[0].Text, want) {
			t.Errorf("%s: %v, want %q", name, out.Limitations, want)
		}
	}
}
