//go:build linux

package host

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// fake is a machine made of files.
func fake(t *testing.T, files map[string]string) machine {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return machine{root}
}

const xeon = `processor	: 0
vendor_id	: GenuineIntel
model name	: Intel(R) Xeon(R) Platinum  8480+
microcode	: 0x2b000590
cpu MHz		: 2000.123
cache size	: 107520 KB
cpu cores	: 56
flags		: fpu vme hypervisor lahf_lm
power management:

processor	: 1
model name	: another
`

func TestClassOfAMachineWithGPUs(t *testing.T) {
	m := fake(t, map[string]string{
		"/proc/cpuinfo":                                     xeon,
		"/proc/meminfo":                                     "MemTotal:       263841184 kB\nMemFree:  1 kB\n",
		"/proc/sys/kernel/osrelease":                        "6.8.0-45-generic\n",
		"/sys/devices/system/cpu/online":                    "0-111\n",
		"/proc/driver/nvidia/version":                       "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.54.15  Release Build  (x@y)\nGCC version:  gcc version 12.3.0\n",
		"/proc/driver/nvidia/gpus/0000:18:00.0/information": "Model: \t\t NVIDIA H100 80GB HBM3\nIRQ:   \t\t 18\nGPU UUID: \t GPU-aa\nVideo BIOS: \t 96.00.74\n",
		"/proc/driver/nvidia/gpus/0000:2a:00.0/information": "Model: \t\t NVIDIA H100 80GB HBM3\nGPU UUID: \t GPU-bb\nVideo BIOS: \t 96.00.74\n",
		"/proc/driver/nvidia/gpus/0000:3a:00.0/information": "Model: \t\t NVIDIA A2\nGPU UUID: \t GPU-cc\nVideo BIOS: \t 94.00\n",
	})
	class := m.class()
	delete(class, "arch")
	want := map[string]string{
		"os": "linux", "cpu.model": "Intel(R) Xeon(R) Platinum 8480+", "cpu.logical": "112", "memory.gib": "252", "kernel": "6.8.0-45-generic",
		"gpu.models": "1 x NVIDIA A2 + 2 x NVIDIA H100 80GB HBM3", "gpu.driver_major": "550",
	}
	if d := cmp.Diff(want, class); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	c := m.covariates()
	for name, want := range map[string]string{"gpu.driver": "550.54.15", "gpu.uuids": "GPU-aa GPU-bb GPU-cc", "gpu.vbios": "96.00.74 94.00", "hypervisor": "unnamed", "cpu.microcode": "0x2b000590"} {
		if c[name] != want {
			t.Errorf("%s = %q, want %q", name, c[name], want)
		}
	}
	if got := Describe(class, " · "); got != "Intel(R) Xeon(R) Platinum 8480+ · 112 CPUs · 252 GiB · 1 x NVIDIA A2 + 2 x NVIDIA H100 80GB HBM3" {
		t.Errorf("Describe = %q", got)
	}
}

func TestClassOfAnARMMachineNamesEveryKindOfCore(t *testing.T) {
	m := fake(t, map[string]string{
		"/proc/cpuinfo": "processor\t: 0\nBogoMIPS\t: 50.00\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n\n",
		"/sys/devices/system/cpu/cpu0/regs/identification/midr_el1": "0x00000000413fd0c1\n",
		"/sys/devices/system/cpu/cpu1/regs/identification/midr_el1": "0x00000000413fd0c1\n",
		"/sys/devices/system/cpu/cpu2/regs/identification/midr_el1": "0x00000000411fd460\n",
	})
	if got := m.class()["cpu.model"]; got != "ARM 0x41:0xd0c r3p1 + ARM 0x41:0xd46 r1p0" {
		t.Errorf("cpu.model = %q", got)
	}
}

func TestCovariatesReadGovernorsLimitsAndParameters(t *testing.T) {
	libc := make([]byte, 300<<10)
	copy(libc[256<<10-5:], "GNU C Library (Debian GLIBC 2.36-9) stable release version 2.36.\nCopyright")
	m := fake(t, map[string]string{
		"/etc/machine-id":                                           "0123\n",
		"/sys/devices/system/cpu/online":                            "0-3",
		"/sys/devices/system/cpu/cpufreq/policy0/scaling_governor":  "performance\n",
		"/sys/devices/system/cpu/cpufreq/policy1/scaling_governor":  "performance\n",
		"/sys/devices/system/cpu/cpufreq/policy2/scaling_governor":  "powersave\n",
		"/sys/devices/system/cpu/intel_pstate/no_turbo":             "1\n",
		"/sys/devices/system/cpu/cpu0/topology/physical_package_id": "0\n",
		"/sys/devices/system/cpu/cpu1/topology/physical_package_id": "1\n",
		"/sys/kernel/mm/transparent_hugepage/enabled":               "always [madvise] never\n",
		"/proc/self/status":                                         "Name:\tx\nCpus_allowed_list:\t0,2\n",
		"/proc/self/cgroup":                                         "9:name=systemd:/x\n0::/job\n",
		"/sys/fs/cgroup/job/cpu.max":                                "200000 100000\n",
		"/sys/fs/cgroup/job/memory.max":                             "max\n",
		"/proc/cmdline":                                             "root=/dev/sda1 password=x mitigations=off nosmt quiet\n",
		"/lib/x86_64-linux-gnu/libc.so.6":                           string(libc),
		"/sys/class/dmi/id/sys_vendor":                              "QEMU\n",
		"/proc/cpuinfo":                                             xeon,
	})
	c := m.covariates()
	for name, want := range map[string]string{
		"cpu.governor": "performance powersave", "cpu.turbo": "off", "cpu.packages": "2", "memory.thp": "madvise", "cpu.affinity": "0,2",
		"cgroup.cpu_max": "200000 100000", "cgroup.memory_max": "", "kernel.parameters": "mitigations=off nosmt", "libc": "glibc 2.36", "hypervisor": "kvm",
	} {
		if c[name] != want {
			t.Errorf("%s = %q, want %q", name, c[name], want)
		}
	}
	if id := c["host.id"]; len(id) != 16 || strings.Contains(id, "0123") {
		t.Errorf("host.id = %q, want a hash", id)
	}
}

func TestAnEmptyMachineHasNoInventedFacts(t *testing.T) {
	m := fake(t, nil)
	for _, f := range []map[string]string{m.class(), m.covariates(), m.volatile()} {
		for name, v := range f {
			if v == "" {
				t.Errorf("%s is empty instead of missing", name)
			}
			switch name {
			case "arch", "os", "cpu.logical": // known without any file
			default:
				t.Errorf("%s = %q comes from nowhere", name, v)
			}
		}
	}
}

var documented = regexp.MustCompile(`[a-z]+(\.[a-z0-9_<>]+)?`)

func TestEveryNameIsDocumented(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, n := range documented.FindAllString(string(doc), -1) {
		names[n] = true
	}
	f := Observe()
	for _, m := range []map[string]string{f.Class, f.Covariates, f.Volatile} {
		for n := range m {
			if !names[n] && !strings.HasPrefix(n, "temperature.") {
				t.Errorf("%s is not in the package documentation", n)
			}
		}
	}
	for _, n := range []string{"arch", "os", "cpu.logical", "memory.gib", "kernel"} {
		if f.Class[n] == "" {
			t.Errorf("this machine's class has no %s: %v", n, f.Class)
		}
	}
	if f.Volatile["uptime.s"] == "" || f.Volatile["load.1"] == "" {
		t.Errorf("volatile = %v", f.Volatile)
	}
	t.Logf("%+v", f)
}

func TestTheClassIsTheSameEachTime(t *testing.T) {
	if d := cmp.Diff(Class(), Class()); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(Covariates(), Covariates()); d != "" {
		t.Error(d)
	}
}

func TestObservingIsFast(t *testing.T) {
	class, all := time.Hour, time.Hour
	for range 50 { // others may use the machine meanwhile
		start := time.Now()
		Class()
		class = min(class, time.Since(start))
		start = time.Now()
		Observe()
		all = min(all, time.Since(start))
	}
	t.Logf("class %v, everything %v", class, all)
	if class > 2*time.Millisecond || all > 5*time.Millisecond {
		t.Errorf("class took %v (bound 2 ms), everything %v (bound 5 ms)", class, all)
	}
}

func TestGlibcVersionIsThatOfTheLibraryItself(t *testing.T) {
	out, err := exec.Command("getconf", "GNU_LIBC_VERSION").Output()
	if err != nil {
		t.Skip("getconf does not tell: ", err)
	}
	if got := Covariates()["libc"]; got != strings.TrimSpace(string(out)) {
		t.Errorf("libc = %q, getconf says %q", got, out)
	}
}

// burn uses d of CPU time, however long the machine takes to give it.
func burn(t *testing.T, d time.Duration) {
	used := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			t.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	for end := used() + d; used() < end; {
	}
}

func TestContentionTellsInsideFromOutside(t *testing.T) {
	sleeper := exec.Command("sleep", "30")
	if err := sleeper.Start(); err != nil {
		t.Skip("no sleep: ", err)
	}
	defer func() { sleeper.Process.Kill(); sleeper.Wait() }()
	inside, err := StartContention(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	outside, err := StartContention(sleeper.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	// In a child, so that its time arrives by way of cutime once it has ended.
	child := exec.Command("sh", "-c", "i=0; while [ $i -lt 150000 ]; do i=$((i+1)); done")
	if err := child.Run(); err != nil {
		t.Fatal(err)
	}
	burn(t, 300*time.Millisecond)
	in, err := inside.Stop()
	if err != nil {
		t.Fatal(err)
	}
	out, err := outside.Stop()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("inside %+v\noutside %+v", in, out)
	if used := child.ProcessState.UserTime() + 300*time.Millisecond; in.Inside < used-50*time.Millisecond {
		t.Errorf("inside = %v, want at least %v", in.Inside, used)
	}
	if out.Inside > 20*time.Millisecond {
		t.Errorf("a sleeping process used %v", out.Inside)
	}
	if out.Outside < in.Outside+in.Inside/2 || out.OutsideShare <= in.OutsideShare {
		t.Errorf("seen from a sleeping process, outside is %v; seen from here %v", out.Outside, in.Outside)
	}
}

func TestContentionArithmetic(t *testing.T) {
	c := &Contention{machine: cpuTimes{user: time.Second, steal: time.Second, cpus: 4}, inside: 500 * time.Millisecond}
	c.Add(200 * time.Millisecond)
	got := c.contended(time.Second, cpuTimes{user: 2 * time.Second, system: time.Second, steal: 1400 * time.Millisecond, interrupts: time.Hour, cpus: 4}, 900*time.Millisecond)
	want := Contended{Wall: time.Second, CPUs: 4, Inside: 600 * time.Millisecond, Outside: 1400 * time.Millisecond, Steal: 400 * time.Millisecond, OutsideShare: 0.35, StealShare: 0.1}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

func TestBothWaysToFindChildrenAgree(t *testing.T) {
	child := exec.Command("sh", "-c", "sleep 30; true")
	if err := child.Start(); err != nil {
		t.Skip("no sh: ", err)
	}
	defer func() {
		for _, p := range (machine{}).childrenFromTasks(child.Process.Pid) {
			if proc, err := os.FindProcess(p); err == nil {
				proc.Kill()
			}
		}
		child.Wait()
	}()
	var a []int
	for end := time.Now().Add(5 * time.Second); len(a) == 0 && time.Now().Before(end); {
		a = machine{}.childrenFromTasks(child.Process.Pid)
	}
	if b := (machine{}).parents()[child.Process.Pid]; len(a) != 1 || !cmp.Equal(a, b) {
		t.Errorf("by tasks %v, by parents %v", a, b)
	}
}

func TestKernelLists(t *testing.T) {
	for list, want := range map[string]int{"0": 1, "0-3": 4, "0-3,8,10-11": 7, "": 0, "x": 0, "3-1": 0} {
		if got := countList(list); got != want {
			t.Errorf("countList(%q) = %d, want %d", list, got, want)
		}
	}
}

func FuzzProcFiles(f *testing.F) {
	f.Add("cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 2 3 4\nintr 5\n")
	f.Add("1 (a) b) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16")
	f.Add("cpu\ncpu0")
	f.Fuzz(func(t *testing.T, s string) {
		if got, err := parseStat(s); err == nil && (got.cpus == 0 || got.total() < 0 && len(s) < 100) {
			t.Errorf("parseStat(%q) = %+v", s, got)
		}
		parseProcess([]byte(s))
		field(s, "x")
		countList(s)
	})
}

func TestThrottlingIsThatOfEveryGroupAbove(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"proc/self/cgroup":                                                  "4:cpu,cpuacct:/a/b\n3:memory:/m\n0::/x/y\n",
		"sys/fs/cgroup/cpu,cpuacct/a/b/cpu.stat":                            "nr_periods 5\nnr_throttled 2\nthrottled_time 3000\n",
		"sys/fs/cgroup/cpu,cpuacct/a/cpu.stat":                              "throttled_time 500\n",
		"sys/fs/cgroup/memory/m/cpu.stat":                                   "throttled_time 7\n",
		"sys/fs/cgroup/x/y/cpu.stat":                                        "usage_usec 9\nthrottled_usec 40\n",
		"sys/fs/cgroup/cpu.stat":                                            "throttled_usec 2\nnonsense\n",
		"sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count":  "3\n",
		"sys/devices/system/cpu/cpu11/thermal_throttle/core_throttle_count": "4\n",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := (machine{root}).throttle(), (throttle{quota: 3500*time.Nanosecond + 42*time.Microsecond, thermal: 7}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := (machine{t.TempDir()}).throttle(); got != (throttle{}) {
		t.Errorf("a machine that says nothing has %+v", got)
	}
}
