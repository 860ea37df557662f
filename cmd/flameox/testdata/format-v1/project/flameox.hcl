flameox {
  store { keep = "1ms" }
}
variable "round" { default = 2 }

import "gobench" "old" { path = "bench.txt" }

extract "gobench" "old" { from = import.gobench.old }

build "tool" {
  command = ["sh", "build.sh", out.dir, var.round]
  sources = ["build.sh"]
  outputs = ["tool/run.sh", "tool/data/round.txt"]
}

workload "work" {
  command = ["sh", "${build.tool.dir}/tool/run.sh", matrix.n]
  sources = []
  matrix  = { n = [0, 1] }
}

capture "command" "work" { workload = workload.work }
