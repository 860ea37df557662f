package host

import (
	"fmt"
	"time"
)

// Contention measures how much of the machine others used while something was measured. It looks at the machine twice,
// at the start and at the stop, and does nothing in between.
//
// The kernel counts in ticks of 10 ms, so intervals below a second are rough.
type Contention struct {
	m       machine
	roots   []int
	started time.Time
	machine cpuTimes
	inside  time.Duration
	added   time.Duration
	slowed  throttle
}

// throttle is what kept processes of this machine from running, or from running fast, although a CPU was free: counted since boot.
type throttle struct {
	quota   time.Duration // time that control groups of this process spent over their CPU quota
	thermal int64         // times that a CPU was slowed down because it was hot; 0 where the machine does not say
}

// Contended is the answer. Times are CPU times; shares are of all logical CPUs over the wall time, from 0 to 1.
type Contended struct {
	Wall         time.Duration
	CPUs         int
	Inside       time.Duration // of the given processes and what they started
	Outside      time.Duration // of all other processes
	Steal        time.Duration // taken by the hypervisor
	Throttled    time.Duration // this process's control groups were over their CPU quota
	Thermal      int64         // times that a CPU was slowed down because it was hot
	OutsideShare float64
	StealShare   float64
}

// StartContention begins to watch. The processes roots, everything they started and everything they will start count as inside;
// os.Getpid() as the only root makes the whole tree below this process inside, also processes that have ended and were waited for.
func StartContention(roots ...int) (*Contention, error) { return machine{}.startContention(roots) }

func (m machine) startContention(roots []int) (*Contention, error) {
	c := &Contention{m: m, roots: roots, started: time.Now()}
	var err error
	if c.machine, err = m.cpuTimes(); err != nil {
		return nil, fmt.Errorf("watch for contention: %w", err)
	}
	c.inside, c.slowed = m.treeTime(roots), m.throttle()
	return c, nil
}

// Add counts CPU time as inside that the tree no longer shows: of a root that has ended, from its rusage.
func (c *Contention) Add(cpu time.Duration) { c.added += cpu }

// Stop ends the watch.
func (c *Contention) Stop() (Contended, error) {
	wall := time.Since(c.started)
	now, err := c.m.cpuTimes()
	if err != nil {
		return Contended{}, fmt.Errorf("watch for contention: %w", err)
	}
	d := c.contended(wall, now, c.m.treeTime(c.roots))
	slowed := c.m.throttle()
	d.Throttled, d.Thermal = max(0, slowed.quota-c.slowed.quota), max(0, slowed.thermal-c.slowed.thermal)
	return d, nil
}

func (c *Contention) contended(wall time.Duration, now cpuTimes, tree time.Duration) Contended {
	d := Contended{
		Wall: wall, CPUs: now.cpus,
		// A root that has ended takes its time out of the tree; Add brings it back.
		Inside: max(0, tree-c.inside) + c.added,
		Steal:  max(0, now.steal-c.machine.steal),
	}
	d.Outside = max(0, now.busy()-c.machine.busy()-d.Inside)
	if capacity := float64(wall) * float64(now.cpus); capacity > 0 {
		d.OutsideShare = min(1, float64(d.Outside)/capacity)
		d.StealShare = min(1, float64(d.Steal)/capacity)
	}
	return d
}

// cpuTimes are the machine's counters since boot.
type cpuTimes struct {
	user, system, idle, interrupts, steal time.Duration
	cpus                                  int
}

// busy is what processes used. Interrupts belong to nobody.
func (t cpuTimes) busy() time.Duration { return t.user + t.system }

func (t cpuTimes) total() time.Duration { return t.user + t.system + t.idle + t.interrupts + t.steal }
