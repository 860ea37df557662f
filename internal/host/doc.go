// Package host says what machine this is, in three parts that are used differently:
//
//   - Class is in the key of every measurement that does not declare its own (stages/host). It holds only what makes two machines a different kind of machine.
//   - Covariates are recorded and compared, never keyed: they tell two machines of one class, or one machine
//     on two days, apart.
//   - Volatile is recorded only.
//
// Every part is a map from a stable name to a text. A name is missing where the machine does not say; a missing fact is
// never a zero or an "unknown", so that two machines are not found equal in what neither told. The names are:
//
//	class
//	  arch              amd64, arm64
//	  os                linux, darwin
//	  cpu.model         as the kernel names it; on ARM the distinct implementer:part numbers
//	  cpu.logical       online logical CPUs of the machine, whatever this process may use
//	  memory.gib        installed memory, rounded to whole GiB
//	  kernel            release: 6.8.0-45-generic
//	  gpu.models        "8 x NVIDIA H200"
//	  gpu.driver_major  550
//	covariates
//	  host.id           hash of the machine id; the id itself never leaves the machine
//	  cpu.microcode cpu.cache cpu.cores cpu.packages cpu.governor cpu.scaling_driver cpu.max_khz cpu.turbo cpu.smt cpu.isolated
//	  cpu.affinity      CPUs this process may use, where they are not all
//	  cgroup.cpu_max cgroup.memory_max container
//	  memory.thp memory.swap_mib memory.numa_nodes memory.numa_balancing
//	  kernel.version kernel.parameters kernel.aslr kernel.perf_event_paranoid
//	  libc clock.source hypervisor machine.vendor machine.product
//	  gpu.driver gpu.uuids gpu.vbios
//	volatile
//	  load.1 load.5 load.15 uptime.s boot.id cpu.mhz cpu.steal_share memory.available_mib temperature.<zone>_c
//
// A plan asks for the class, so it must answer in 2 ms, and everything in 5 ms: on Linux the package reads a few files of /proc and
// /sys itself, /proc/cpuinfo only up to the first blank line, because the kernel interrupts every CPU to print
// all of it. Elsewhere it asks gopsutil. It starts no process, and MIG profiles, which only NVML knows, are not here.
package host
