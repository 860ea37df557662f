# How fast do two of this library's sorts run, and where do they spend their time?
#
#   flameox plan     says which stages would run, and why
#   flameox apply    runs those, and reuses everything else
#
# Every block below is a stage or something a stage stands on. Its address is its
# type and its labels: build.bench, capture.gobench.sort.

# What is measured: the files of this directory as they are now, committed or not.
target "working_tree" "here" {}

# Where programs run. A stage sees only the variables that its environment names.
# HOME is passed on and recorded, but a different HOME does not make a result stale:
# Go keeps its build cache below it and nothing else of it matters here.
environment "host" "go" {
  untracked = ["HOME"]
}

# The test binary with the benchmarks. It is built again when one of its sources
# changes. If the new binary has the same bytes (somebody fixed a comment), nothing
# that stands on it runs.
build "bench" {
  target      = target.working_tree.here
  environment = environment.host.go
  command     = ["go", "test", "-c", "-trimpath", "-o", "${out.dir}/sort.test", "."]
  sources     = ["go.mod", "**/*.go"]
  outputs     = ["sort.test"]
}

# What to run, for each implementation and each size: four instances. The binary
# reads no file of this directory while it runs, hence no sources.
workload "sort" {
  environment = environment.host.go
  command     = ["${build.bench.dir}/sort.test"]
  sources     = []
  matrix      = { impl = ["merge", "quick"], n = [1000, 100000] }
}

# A measurement. It runs alone on the machine, five samples for each instance.
# The axes of the workload are the axes of the capture.
capture "gobench" "sort" {
  workload  = workload.sort
  bench     = "^BenchmarkSort$/^impl=${matrix.impl}$/^n=${matrix.n}$"
  benchtime = "50ms"
  count     = 5
}

# The same benchmarks under the CPU profiler. Profiling costs time, so these runs say
# where time goes, and the ones above how much; profile_of ties the two together.
capture "pprof" "sort" {
  workload   = workload.sort
  profile_of = capture.gobench.sort
  profiles   = ["cpu"]
  bench      = "^BenchmarkSort$/^impl=${matrix.impl}$/^n=${matrix.n}$"
  benchtime  = "200ms"
}

# Shown when apply is done. Results are known only then, so only output and check may
# read them.
output "wall_ms" {
  description = "median wall time of one run of the benchmark binary, in ms, by instance"
  value       = { for key, run in capture.gobench.sort : key => floor(run.wall.median / 1000000) }
}

# Looked at when apply is done; where it does not hold, apply ends with exit code 4.
check "evidence_is_complete" {
  assert {
    condition     = alltrue([for rows in extract.gobench.sort : rows.state == "complete"])
    error_message = "A benchmark left incomplete samples. flameox show tells what is missing."
  }
}
