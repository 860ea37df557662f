//go:build linux

package host

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// tick is what /proc counts in: USER_HZ is 100 on every architecture that Go runs on.
const tick = 10 * time.Millisecond

// cpuTimes reads /proc/stat.
func (m machine) cpuTimes() (t cpuTimes, err error) {
	b, err := os.ReadFile(m.path("/proc/stat"))
	if err != nil {
		return t, err
	}
	return parseStat(string(b))
}

// parseStat reads "cpu user nice system idle iowait irq softirq steal guest guest_nice", in ticks. Guest time is also in user.
func parseStat(text string) (t cpuTimes, err error) {
	found := false
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "cpu") {
			break // the lines of CPUs come first; the line of interrupts after them is long
		}
		f := strings.Fields(line)
		if f[0] != "cpu" {
			t.cpus++
			continue
		}
		var v [8]time.Duration
		for i := range min(len(v), len(f)-1) {
			n, err := strconv.ParseUint(f[i+1], 10, 63)
			if err != nil {
				return t, fmt.Errorf("/proc/stat is not understood: %q", line)
			}
			v[i] = time.Duration(n) * tick
		}
		found = len(f) >= 5
		t.user, t.system, t.idle, t.interrupts, t.steal = v[0]+v[1], v[2], v[3]+v[4], v[5]+v[6], v[7]
	}
	if !found || t.cpus == 0 {
		return t, fmt.Errorf("/proc/stat does not begin with the counters of the CPUs")
	}
	return t, nil
}

// treeTime is the CPU time of the roots and all that descends from them, with what each has waited for. Processes that end meanwhile
// are missed here and counted by their parent.
func (m machine) treeTime(roots []int) time.Duration {
	var sum time.Duration
	children := m.childrenFromTasks
	if _, err := os.Stat(m.path("/proc/self/task/" + strconv.Itoa(os.Getpid()) + "/children")); err != nil {
		// A kernel without CONFIG_PROC_CHILDREN: one look at everybody's parent instead.
		byParent := m.parents()
		children = func(pid int) []int { return byParent[pid] }
	}
	seen := map[int]bool{}
	todo := append([]int{}, roots...)
	for len(todo) > 0 {
		pid := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[pid] {
			continue
		}
		seen[pid] = true
		b, err := os.ReadFile(m.path(fmt.Sprintf("/proc/%d/stat", pid)))
		if err != nil {
			continue
		}
		d, _ := parseProcess(b)
		sum += d
		todo = append(todo, children(pid)...)
	}
	return sum
}

func (m machine) childrenFromTasks(pid int) (children []int) {
	for _, p := range m.glob(fmt.Sprintf("/proc/%d/task/*/children", pid)) {
		for child := range strings.FieldsSeq(m.text(p)) {
			if n, err := strconv.Atoi(child); err == nil {
				children = append(children, n)
			}
		}
	}
	return children
}

// parents is everybody's children.
func (m machine) parents() map[int][]int {
	children := map[int][]int{}
	for _, p := range m.glob("/proc/[0-9]*/stat") {
		text := m.text(p)
		pid, err := strconv.Atoi(strings.Split(p, "/")[2])
		after := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
		if err != nil || len(after) < 2 {
			continue
		}
		if parent, err := strconv.Atoi(after[1]); err == nil {
			children[parent] = append(children[parent], pid)
		}
	}
	return children
}

// parseProcess is utime, stime, cutime and cstime of /proc/<pid>/stat together. The second field is the program's name in parentheses and
// may hold anything, also parentheses and spaces.
func parseProcess(stat []byte) (time.Duration, bool) {
	i := bytes.LastIndexByte(stat, ')')
	if i < 0 {
		return 0, false
	}
	f := strings.Fields(string(stat[i+1:]))
	if len(f) < 15 {
		return 0, false
	}
	var ticks int64
	for _, s := range f[11:15] {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return 0, false
		}
		ticks += n
	}
	return time.Duration(ticks) * tick, true
}
