//go:build !linux

package host

import (
	"runtime"
	"strconv"

	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/host"
	"github.com/shirou/gopsutil/v4/load"
	"github.com/shirou/gopsutil/v4/mem"
)

// Class is the kind of machine, by the names in the package documentation.
func Class() map[string]string {
	f := facts{"arch": runtime.GOARCH, "os": runtime.GOOS}
	if info, err := cpu.Info(); err == nil && len(info) > 0 {
		f.set("cpu.model", info[0].ModelName)
	}
	if n, err := cpu.Counts(true); err == nil && n > 0 {
		f.set("cpu.logical", strconv.Itoa(n))
	}
	if v, err := mem.VirtualMemory(); err == nil && v.Total > 0 {
		f.set("memory.gib", strconv.FormatUint(max(1, (v.Total+1<<29)>>30), 10))
	}
	if k, err := host.KernelVersion(); err == nil {
		f.set("kernel", k)
	}
	return f
}

// Covariates tells machines of one class apart.
func Covariates() map[string]string {
	f := facts{}
	if id, err := host.HostID(); err == nil {
		f.set("host.id", hashID(id))
	}
	if n, err := cpu.Counts(false); err == nil && n > 0 {
		f.set("cpu.cores", strconv.Itoa(n))
	}
	if system, role, err := host.Virtualization(); err == nil && role == "guest" {
		f.set("hypervisor", system)
	}
	if platform, _, version, err := host.PlatformInformation(); err == nil {
		f.set("kernel.version", platform+" "+version)
	}
	return f
}

// Volatile is the state of the moment.
func Volatile() map[string]string {
	f := facts{}
	if l, err := load.Avg(); err == nil {
		f.set("load.1", strconv.FormatFloat(l.Load1, 'f', 2, 64))
		f.set("load.5", strconv.FormatFloat(l.Load5, 'f', 2, 64))
		f.set("load.15", strconv.FormatFloat(l.Load15, 'f', 2, 64))
	}
	if up, err := host.Uptime(); err == nil {
		f.set("uptime.s", strconv.FormatUint(up, 10))
	}
	if v, err := mem.VirtualMemory(); err == nil {
		f.set("memory.available_mib", strconv.FormatUint(v.Available>>20, 10))
	}
	return f
}
