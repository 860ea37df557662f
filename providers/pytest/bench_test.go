package pytest_test

import (
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/providers/providertest"
)

// manyTests is a file of tests as a suite has them: parameters, a fixture, a few failures.
const manyTests = `
import pytest
@pytest.fixture
def one(): return 1
@pytest.mark.parametrize("x", range(3990))
def test_many(x, one): assert x >= 0
@pytest.mark.parametrize("x", range(10))
def test_bad(x): assert x < 0
`

// cpu is the CPU time of this process, which says more than the clock where other processes run.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkLog reads the log of 4,000 tests, once as the validator does and once with all rows written: the bound is 20 ms in process. The log is
// what pytest left, with flameox's plugin and without it.
func BenchmarkLog(b *testing.B) {
	for _, plugin := range []bool{true, false} {
		log := manyLog(b, plugin)
		in := providers.Input{Artifacts: []providers.Artifact{artifact(b, log)}, ExpectExit: []int{0, 1}}
		for _, c := range []struct {
			name string
			do   func(b *testing.B)
		}{
			{"read", func(b *testing.B) {
				if r, err := p.Validate(b.Context(), in); err != nil || !r.Valid {
					b.Fatalf("%+v %v", r, err)
				}
			}},
			{"extract", func(b *testing.B) {
				sink := evidence.NewSink(b.TempDir(), evidence.FileMeta{Provider: "pytest", ProviderVersion: 1}, evidence.DefaultBudget())
				if out, err := p.Extract(b.Context(), in, nil, evidence.DefaultBudget(), sink); err != nil || out.State != evidence.Complete {
					b.Fatalf("%+v %v", out, err)
				}
				if _, err := sink.Close(); err != nil {
					b.Fatal(err)
				}
			}},
		} {
			b.Run(fmt.Sprintf("%s/plugin=%v", c.name, plugin), func(b *testing.B) {
				b.SetBytes(int64(len(log)))
				runtime.GC()
				at := cpu(b)
				for b.Loop() {
					c.do(b)
				}
				b.ReportMetric(float64((cpu(b)-at).Microseconds())/1e3/float64(b.N), "cpu-ms/op")
			})
		}
	}
}

// manyLog runs the tests, and takes the plugin's fields out again where they are not wanted.
func manyLog(b *testing.B, plugin bool) []byte {
	b.Helper()
	dir := project(b, map[string]string{"test_many.py": manyTests})
	argv := []string{python(b, newest), "-m", "pytest", "-q"}
	if plugin {
		in, _ := capture(b, dir, argv...)
		return payload(b, in)
	}
	ran := providertest.Start(b, providers.Invocation{Argv: append(argv, "--report-log="+dir+"/log.jsonl")}, dir)
	if !strings.Contains(string(ran.Stdout), "3990 passed") {
		b.Fatalf("%s%s", ran.Stdout, ran.Stderr)
	}
	return readFile(b, dir+"/log.jsonl")
}
