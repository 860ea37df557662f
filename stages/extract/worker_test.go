package extract

import (
	"testing"

	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/providers"
)

func TestRowsNameTheirPayloads(t *testing.T) {
	a := func(name string) providers.Artifact {
		return providers.Artifact{Name: name, Role: "profile", Digest: digest.SumString(name)}
	}
	cpu, mem := a("cpu.pprof"), a("mem.pprof")
	for _, of := range [][]providers.Artifact{{cpu}, {cpu, cpu}} {
		if got := payload(of); got != cpu.Digest {
			t.Errorf("%v: %s, want the profile's %s", of, got, cpu.Digest)
		}
	}
	both := payload([]providers.Artifact{cpu, mem})
	if both == cpu.Digest || both == mem.Digest || both.IsZero() {
		t.Errorf("two payloads: %s", both)
	}
	if again := payload([]providers.Artifact{mem, cpu}); again != both {
		t.Errorf("the order shows: %s and %s", both, again)
	}
	if got := payload(nil); !got.IsZero() {
		t.Errorf("no artifact: %s", got)
	}
}
