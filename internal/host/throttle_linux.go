//go:build linux

package host

import (
	"strconv"
	"strings"
	"time"
)

// throttle reads the counters of the control groups that this process is in, with those above, and of the CPUs.
func (m machine) throttle() (t throttle) {
	for line := range strings.Lines(m.text("/proc/self/cgroup")) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3) // number:controllers:path; no controllers in version 2
		if len(f) != 3 {
			continue
		}
		root := "/sys/fs/cgroup"
		if f[1] != "" {
			named := false
			for c := range strings.SplitSeq(f[1], ",") {
				named = named || c == "cpu"
			}
			if !named {
				continue
			}
			root += "/" + f[1]
		}
		for path := f[2]; ; path = path[:strings.LastIndexByte(path, '/')] {
			t.quota += throttled(m.text(root + strings.TrimSuffix(path, "/") + "/cpu.stat"))
			if path == "" || path == "/" || !strings.Contains(path, "/") {
				break
			}
		}
	}
	for _, p := range m.glob("/sys/devices/system/cpu/cpu[0-9]*/thermal_throttle/core_throttle_count") {
		n, err := strconv.ParseInt(strings.TrimSpace(m.text(p)), 10, 64)
		if err == nil {
			t.thermal += n
		}
	}
	return t
}

// throttled is the throttled time of one cpu.stat: throttled_usec in version 2, throttled_time in nanoseconds in version 1.
func throttled(text string) time.Duration {
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			continue
		}
		switch name {
		case "throttled_usec":
			return time.Duration(n) * time.Microsecond
		case "throttled_time":
			return time.Duration(n)
		}
	}
	return 0
}
