//go:build linux

package host

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// Class is the kind of machine, by the names in the package documentation.
func Class() map[string]string { return machine{}.class() }

// Covariates tells machines of one class apart.
func Covariates() map[string]string { return machine{}.covariates() }

// Volatile is the state of the moment.
func Volatile() map[string]string { return machine{}.volatile() }

func (m machine) class() map[string]string {
	f := facts{"arch": runtime.GOARCH, "os": runtime.GOOS}
	f.set("cpu.model", m.cpuModel(m.firstCPU()))
	if n := countList(m.text("/sys/devices/system/cpu/online")); n > 0 {
		f.set("cpu.logical", strconv.Itoa(n))
	} else {
		f.set("cpu.logical", strconv.Itoa(runtime.NumCPU()))
	}
	if kib, ok := m.memory("MemTotal"); ok && kib > 0 {
		// The kernel takes its share first: the figure is below a whole number and varies a little by release.
		f.set("memory.gib", strconv.FormatUint(max(1, (kib+1<<19)>>20), 10))
	}
	f.set("kernel", m.text("/proc/sys/kernel/osrelease"))
	gpus := m.gpus()
	f.set("gpu.models", gpus.models())
	major, _, _ := strings.Cut(gpus.driver, ".")
	f.set("gpu.driver_major", major)
	return f
}

func (m machine) covariates() map[string]string {
	f := facts{}
	id := m.text("/etc/machine-id")
	if id == "" {
		id = m.text("/var/lib/dbus/machine-id")
	}
	if id == "" {
		id = m.text("/sys/class/dmi/id/product_uuid")
	}
	f.set("host.id", hashID(id))

	cpu := m.firstCPU()
	f.set("cpu.microcode", field(cpu, "microcode"))
	f.set("cpu.cache", field(cpu, "cache size"))
	f.set("cpu.cores", field(cpu, "cpu cores"))
	f.set("cpu.packages", m.packages())
	f.set("cpu.governor", m.distinct("/sys/devices/system/cpu/cpufreq/policy*/scaling_governor"))
	f.set("cpu.scaling_driver", m.text("/sys/devices/system/cpu/cpufreq/policy0/scaling_driver"))
	f.set("cpu.max_khz", m.text("/sys/devices/system/cpu/cpufreq/policy0/cpuinfo_max_freq"))
	f.set("cpu.turbo", m.turbo())
	f.set("cpu.smt", m.text("/sys/devices/system/cpu/smt/control"))
	f.set("cpu.isolated", m.text("/sys/devices/system/cpu/isolated"))
	allowed := field(m.text("/proc/self/status"), "Cpus_allowed_list")
	if countList(allowed) < countList(m.text("/sys/devices/system/cpu/online")) {
		f.set("cpu.affinity", allowed)
	}
	m.limits(f)

	f.set("memory.thp", chosen(m.text("/sys/kernel/mm/transparent_hugepage/enabled")))
	if kib, ok := m.memory("SwapTotal"); ok { // a machine without swap says 0 itself
		f.set("memory.swap_mib", strconv.FormatUint(kib>>10, 10))
	}
	if n := countList(m.text("/sys/devices/system/node/online")); n > 0 {
		f.set("memory.numa_nodes", strconv.Itoa(n))
	}
	f.set("memory.numa_balancing", m.text("/proc/sys/kernel/numa_balancing"))

	f.set("kernel.version", m.text("/proc/sys/kernel/version"))
	f.set("kernel.parameters", parameters(m.text("/proc/cmdline")))
	f.set("kernel.aslr", m.text("/proc/sys/kernel/randomize_va_space"))
	f.set("kernel.perf_event_paranoid", m.text("/proc/sys/kernel/perf_event_paranoid"))
	f.set("libc", m.libc())
	f.set("clock.source", m.text("/sys/devices/system/clocksource/clocksource0/current_clocksource"))
	f.set("machine.vendor", m.text("/sys/class/dmi/id/sys_vendor"))
	f.set("machine.product", m.text("/sys/class/dmi/id/product_name"))
	f.set("hypervisor", m.hypervisor(cpu, f["machine.vendor"]+" "+f["machine.product"]))

	gpus := m.gpus()
	f.set("gpu.driver", gpus.driver)
	f.set("gpu.uuids", strings.Join(gpus.list("GPU UUID"), " "))
	f.set("gpu.vbios", strings.Join(slices.Compact(gpus.list("Video BIOS")), " "))
	return f
}

func (m machine) volatile() map[string]string {
	f := facts{}
	if load := strings.Fields(m.text("/proc/loadavg")); len(load) >= 3 {
		f.set("load.1", load[0])
		f.set("load.5", load[1])
		f.set("load.15", load[2])
	}
	up, _, _ := strings.Cut(m.text("/proc/uptime"), ".")
	f.set("uptime.s", up)
	f.set("boot.id", m.text("/proc/sys/kernel/random/boot_id"))
	f.set("cpu.mhz", field(m.firstCPU(), "cpu MHz"))
	if t, err := m.cpuTimes(); err == nil && t.total() > 0 {
		f.set("cpu.steal_share", strconv.FormatFloat(float64(t.steal)/float64(t.total()), 'f', 4, 64))
	}
	if kib, ok := m.memory("MemAvailable"); ok {
		f.set("memory.available_mib", strconv.FormatUint(kib>>10, 10))
	}
	// Firmware answers some zones slowly; eight are more than a machine's CPU packages have.
	zones := m.glob("/sys/class/thermal/thermal_zone*")
	for _, z := range zones[:min(len(zones), 8)] {
		name := m.text(z + "/type")
		milli, err := strconv.Atoi(m.text(z + "/temp"))
		if name != "" && err == nil {
			f.set("temperature."+name+"_c", strconv.FormatFloat(float64(milli)/1000, 'f', 1, 64))
		}
	}
	return f
}

// firstCPU is the first block of /proc/cpuinfo. The rest is not even produced by the kernel as long as it is not read.
func (m machine) firstCPU() string {
	file, err := os.Open(m.path("/proc/cpuinfo"))
	if err != nil {
		return ""
	}
	defer file.Close()
	var all []byte
	buf := make([]byte, 4096)
	for len(all) < 1<<16 {
		n, err := file.Read(buf)
		all = append(all, buf[:n]...)
		if i := bytes.Index(all, []byte("\n\n")); i >= 0 {
			return string(all[:i])
		}
		if err != nil {
			break
		}
	}
	return string(all)
}

// cpuModel is the kernel's name of the CPU. ARM cores have numbers instead, and one machine may have several kinds.
func (m machine) cpuModel(cpu string) string {
	for _, name := range []string{"model name", "cpu", "Processor", "uarch", "machine"} {
		if v := field(cpu, name); v != "" {
			return strings.Join(strings.Fields(v), " ")
		}
	}
	var kinds []string
	for _, p := range m.glob("/sys/devices/system/cpu/cpu[0-9]*/regs/identification/midr_el1") {
		midr, err := strconv.ParseUint(strings.TrimPrefix(m.text(p), "0x"), 16, 64)
		if err != nil {
			continue
		}
		kind := fmt.Sprintf("ARM 0x%02x:0x%03x r%dp%d", midr>>24&0xff, midr>>4&0xfff, midr>>20&0xf, midr&0xf)
		if !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	slices.Sort(kinds)
	if len(kinds) > 0 {
		return strings.Join(kinds, " + ")
	}
	if part := field(cpu, "CPU part"); part != "" {
		return "ARM " + field(cpu, "CPU implementer") + ":" + part
	}
	return ""
}

// packages counts CPU sockets: each has a list of the CPUs on it, the same for all of them.
func (m machine) packages() string {
	var seen []string
	for _, p := range m.glob("/sys/devices/system/cpu/cpu[0-9]*/topology/physical_package_id") {
		if v := m.text(p); v != "" && !slices.Contains(seen, v) {
			seen = append(seen, v)
		}
		if len(seen) == 0 {
			return ""
		}
	}
	if len(seen) == 0 {
		return ""
	}
	return strconv.Itoa(len(seen))
}

// memory is a line of /proc/meminfo in KiB.
func (m machine) memory(name string) (kib uint64, ok bool) {
	v, _, _ := strings.Cut(field(m.text("/proc/meminfo"), name), " ")
	n, err := strconv.ParseUint(v, 10, 64)
	return n, err == nil
}

func (m machine) turbo() string {
	switch m.text("/sys/devices/system/cpu/intel_pstate/no_turbo") {
	case "0":
		return "on"
	case "1":
		return "off"
	}
	switch m.text("/sys/devices/system/cpu/cpufreq/boost") {
	case "1":
		return "on"
	case "0":
		return "off"
	}
	return ""
}

// limits are what a container allows. Only version 2 of cgroups says it in one place.
func (m machine) limits(f facts) {
	for line := range strings.Lines(m.text("/proc/self/cgroup")) {
		own, ok := strings.CutPrefix(strings.TrimSpace(line), "0::")
		if !ok {
			continue
		}
		for name, file := range map[string]string{"cgroup.cpu_max": "cpu.max", "cgroup.memory_max": "memory.max"} {
			if v := m.text("/sys/fs/cgroup" + own + "/" + file); !strings.HasPrefix(v, "max") {
				f.set(name, v)
			}
		}
	}
	f.set("container", m.text("/run/systemd/container"))
	if f["container"] == "" {
		if _, err := os.Stat(m.path("/.dockerenv")); err == nil {
			f.set("container", "docker")
		} else if _, err := os.Stat(m.path("/run/.containerenv")); err == nil {
			f.set("container", "podman")
		}
	}
}

// performance are the kernel parameters that change how fast programs run. The others may name disks and secrets.
var performance = []string{
	"mitigations", "isolcpus", "nohz_full", "rcu_nocbs", "intel_pstate", "amd_pstate", "processor.max_cstate",
	"intel_idle.max_cstate", "idle", "transparent_hugepage", "hugepages", "hugepagesz", "numa_balancing", "nosmt", "preempt",
	"clocksource", "tsc", "nokaslr", "spectre_v2", "nopti", "pti", "maxcpus", "nr_cpus", "irqaffinity", "iommu", "cpufreq.default_governor",
}

func parameters(cmdline string) string {
	var keep []string
	for p := range strings.FieldsSeq(cmdline) {
		name, _, _ := strings.Cut(p, "=")
		if slices.Contains(performance, name) {
			keep = append(keep, p)
		}
	}
	return strings.Join(keep, " ")
}

func (m machine) hypervisor(cpu, product string) string {
	if t := m.text("/sys/hypervisor/type"); t != "" {
		return t
	}
	for name, is := range map[string]string{"KVM": "kvm", "QEMU": "kvm", "Google Compute Engine": "kvm", "Amazon EC2": "kvm", "VMware": "vmware", "VirtualBox": "virtualbox", "Microsoft Corporation Virtual Machine": "hyperv", "Xen": "xen"} {
		if strings.Contains(product, name) && virtual(cpu) != "none" {
			return is
		}
	}
	return virtual(cpu)
}

// virtual is what the CPU itself says: x86 has a flag, others say nothing.
func virtual(cpu string) string {
	flags := " " + field(cpu, "flags") + " "
	switch {
	case strings.TrimSpace(flags) == "":
		return ""
	case strings.Contains(flags, " hypervisor "):
		return "unnamed"
	}
	return "none"
}

// libc is the C library that dynamically linked programs get by default.
func (m machine) libc() string {
	for _, pattern := range []string{"/lib/*-linux-gnu*/libc.so.6", "/lib64/libc.so.6", "/usr/lib64/libc.so.6", "/usr/lib/libc.so.6", "/lib/libc.so.6"} {
		for _, p := range m.glob(pattern) {
			if v := glibcVersion(m.path(p)); v != "" {
				return "glibc " + v
			}
		}
	}
	if len(m.glob("/lib/ld-musl-*.so.1")) > 0 {
		return "musl"
	}
	return ""
}

// glibcVersion finds the sentence that the library prints when it is run: "GNU C Library (Debian GLIBC 2.36-9+deb12u7)
// stable release version 2.36."
func glibcVersion(path string) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	mark := []byte("GNU C Library ")
	const chunk, overlap = 256 << 10, 256
	buf := make([]byte, chunk+overlap)
	for off := int64(0); off < 16<<20; off += chunk {
		n, err := file.ReadAt(buf, off)
		if i := bytes.Index(buf[:n], mark); i >= 0 && (i+overlap <= n || err == io.EOF) {
			sentence, _, _ := bytes.Cut(buf[i:n], []byte("\n"))
			_, version, ok := strings.Cut(string(sentence), "release version ")
			if ok {
				return strings.TrimRight(strings.TrimSpace(version), ".")
			}
		}
		if err != nil {
			break
		}
	}
	return ""
}
