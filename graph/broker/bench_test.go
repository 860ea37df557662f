package broker

import (
	"os/exec"
	"slices"
	"testing"
	"time"
)

// BenchmarkRun interleaves a run of /bin/true through the broker with a bare fork and exec of it, so that both see the same machine, and
// reports the median difference. The bound is 5 ms.
func BenchmarkRun(b *testing.B) {
	br := testBroker(b)
	dir := b.TempDir()
	c := Command{Argv: []string{"/bin/true"}, Dir: dir, Env: testEnv(), Stdout: dir + "/out", Stderr: dir + "/err", Staging: dir}
	must(b, br, c) // the supervisor is started once
	var ours, bare []time.Duration
	for b.Loop() {
		t := time.Now()
		must(b, br, c)
		ours = append(ours, time.Since(t))
		t = time.Now()
		cmd := exec.Command("/bin/true")
		cmd.Env, cmd.Dir = c.Env, dir
		if err := cmd.Run(); err != nil {
			b.Fatal(err)
		}
		bare = append(bare, time.Since(t))
	}
	slices.Sort(ours)
	slices.Sort(bare)
	b.ReportMetric(float64(ours[len(ours)/2].Microseconds()), "broker-µs")
	b.ReportMetric(float64(bare[len(bare)/2].Microseconds()), "bare-µs")
	b.ReportMetric(float64((ours[len(ours)/2] - bare[len(bare)/2]).Microseconds()), "more-µs")
}
