package extract

import (
	"testing"

	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/providers"
)

func TestRowsNameThePayloadAndNotWhatWasPrintedBesideIt(t *testing.T) {
	a := func(name, role string) providers.Artifact {
		return providers.Artifact{Name: name, Role: role, Digest: digest.SumString(name)}
	}
	stdout, cpu, mem := a("stdout", "log"), a("cpu.pprof", "profile"), a("mem.pprof", "profile")
	for _, of := range [][]providers.Artifact{{cpu}, {stdout, cpu}, {cpu, stdout}, {cpu, cpu}} {
		if got := payload(of); got != cpu.Digest {
			t.Errorf("%v: %s, want the profile's %s", of, got, cpu.Digest)
		}
	}
	if got := payload([]providers.Artifact{stdout}); got != stdout.Digest {
		t.Errorf("a log alone: %s", got)
	}
	both := payload([]providers.Artifact{stdout, cpu, mem})
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
