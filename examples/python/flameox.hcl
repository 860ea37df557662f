# How fast do two ways to count words run in Python, and what do they allocate?
#
#   flameox apply    builds the environment, measures, and extracts
#
# The environment is made of the packages in requirements.lock.txt and of nothing
# else. `flameox lock` made that file from requirements.in.

environment "python" "bench" {
  requirements = "requirements.lock.txt"
  from         = ["requirements.in"]
}

# A pyperf script: it is given pyperf's options and starts its own processes.
workload "count" {
  environment = environment.python.bench
  command     = ["python", "bench_wordstat.py", "--impl", matrix.impl, "--words", matrix.words]
  sources     = ["*.py"]
  matrix      = { impl = ["regex", "split"], words = [1000, 20000] }
}

# Few and short processes, because this is an example; without these lines it is
# twenty processes of three values.
capture "pyperf" "count" {
  workload  = workload.count
  mode      = "script"
  processes = 4
  values    = 3
  min_time  = "20ms"
}

# One run of each under memray: what it allocates, and what it holds at its peak.
workload "once" {
  environment = environment.python.bench
  command     = ["python", "count_once.py", matrix.impl, "20000"]
  sources     = ["wordstat.py", "count_once.py"]
  matrix      = { impl = ["regex", "split"] }
}

capture "memray" "once" { workload = workload.once }

output "count_ns" {
  description = "median time of one count, by instance, in ns"
  value       = { for key, rows in extract.pyperf.count : key => one(values(rows.median)) }
}

check "split_is_not_slower_by_much" {
  assert {
    condition     = one(values(extract.pyperf.count["impl=split,words=20000"].median)) < 5 * one(values(extract.pyperf.count["impl=regex,words=20000"].median))
    error_message = "Splitting takes more than five times as long as the regular expression."
  }
}
