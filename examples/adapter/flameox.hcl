# How often does sorting a large file wait, and how much memory does it touch?
#
#   flameox providers approve rusage    after you have read rusage.py
#   flameox apply
#
# The adapter is a program that flameox does not know. Declaring it here lets it do
# nothing: it runs once you, and not this file, have approved it.

adapter "rusage" {
  program = "rusage.py"
  version = "1.0.0"
}

workload "sort" {
  command = ["python3", "-c", "import random; r = random.Random(1); sorted(r.random() for _ in range(${matrix.n}))"]
  sources = []
  matrix  = { n = [10000, 1000000] }
}

capture "adapter" "sort" {
  workload = workload.sort
  adapter  = adapter.rusage
}

output "rows" { value = { for key, x in extract.adapter.sort : key => x.rows } }
