//go:build !linux

package host

import (
	"errors"
	"time"

	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/process"
)

func (m machine) cpuTimes() (t cpuTimes, err error) {
	times, err := cpu.Times(false)
	if err != nil {
		return t, err
	}
	if len(times) == 0 {
		return t, errors.New("the system does not tell its CPU times")
	}
	if t.cpus, err = cpu.Counts(true); err != nil {
		return t, err
	}
	x := times[0]
	t.user, t.system, t.idle = seconds(x.User+x.Nice), seconds(x.System), seconds(x.Idle+x.Iowait)
	t.interrupts, t.steal = seconds(x.Irq+x.Softirq), seconds(x.Steal)
	return t, nil
}

func (m machine) treeTime(roots []int) (sum time.Duration) {
	for _, pid := range roots {
		p, err := process.NewProcess(int32(pid))
		if err != nil {
			continue
		}
		if t, err := p.Times(); err == nil {
			sum += seconds(t.User + t.System)
		}
		children, _ := p.Children()
		for _, c := range children {
			sum += m.treeTime([]int{int(c.Pid)})
		}
	}
	return sum
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// throttle is unknown here.
func (m machine) throttle() throttle { return throttle{} }
