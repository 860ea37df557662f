package program

import (
	"fmt"
	"os"
	"time"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/internal/host"
)

const (
	// worthSaying is the share of one CPU from which on the use of others is put on the record.
	worthSaying = 0.05
	// roughTicks is how far off the kernel's counters may be: a tick of 10 ms for each CPU at either end.
	roughTicks = 2 * 10 * time.Millisecond
)

// watchContention watches what processes outside use of the machine until what it returns is called. Everything below this process is inside.
func watchContention() func() *host.Contended {
	c, err := host.StartContention(os.Getpid())
	if err != nil {
		return func() *host.Contended { return nil } // this machine does not say
	}
	return func() *host.Contended {
		d, err := c.Stop()
		if err != nil {
			return nil
		}
		return &d
	}
}

// noteContention puts what others used on the record, and makes an attempt invalid that had too much of it.
func noteContention(rec *cache.Record, n *graph.Node, c *host.Contended) {
	if c == nil {
		if n.MaxContention > 0 {
			rec.Limitations = append(rec.Limitations, cache.Note{Code: "contention_unknown", Text: "this machine does not say what other processes used, so max_contention could not be checked"})
		}
		return
	}
	used := c.Outside + c.Steal
	sure := used - time.Duration(c.CPUs)*roughTicks // what the counters cannot be wrong about
	text := fmt.Sprintf("other processes used %.0f %% of a CPU meanwhile (%.1f %% of the machine)", 100*float64(used)/float64(c.Wall), 100*(c.OutsideShare+c.StealShare))
	if c.Steal > roughTicks {
		text += fmt.Sprintf("; %s of it was taken by the hypervisor", c.Steal.Round(time.Millisecond))
	}
	if share := float64(sure) / (float64(c.Wall) * float64(max(1, c.CPUs))); n.MaxContention > 0 && share > n.MaxContention {
		rec.Fail(graph.Contended, fmt.Sprintf("%s, more than max_contention = %g%%", text, 100*n.MaxContention))
		return
	}
	if c.Throttled > 0 {
		rec.Limitations = append(rec.Limitations, cache.Note{Code: "throttled", Text: fmt.Sprintf("the CPU quota of the control group that flameox runs in held it back for %s", c.Throttled.Round(time.Microsecond))})
	}
	if c.Thermal > 0 {
		rec.Limitations = append(rec.Limitations, cache.Note{Code: "throttled", Text: fmt.Sprintf("a CPU was slowed down %d times because it was hot", c.Thermal)})
	}
	if float64(sure) > worthSaying*float64(c.Wall) {
		rec.Limitations = append(rec.Limitations, cache.Note{Code: graph.Contended, Text: text})
	}
}

// contentionRows are the same as evidence.
func contentionRows(c *host.Contended) (out []evidence.Resource) {
	if c == nil {
		return nil
	}
	add := func(metric string, d time.Duration) {
		v := d.Nanoseconds()
		out = append(out, evidence.Resource{Metric: metric, Kind: "summary", Unit: "ns", Backend: "proc_stat", ValueInt: &v})
	}
	add("contention.outside_cpu_time", c.Outside)
	add("contention.steal_time", c.Steal)
	add("contention.throttled_time", c.Throttled)
	return out
}
