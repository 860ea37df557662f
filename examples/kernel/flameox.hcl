# Are the kernels right, and how fast are they?
#
#   flameox apply    compiles, measures, compares, and registers what came out
#
# The comparison is a program of its own, so that the time of the kernels is not the
# time of their checking. It writes a kernel validation, a JSON document, which the
# block register appends to the run that left it.

build "compare" {
  command = ["go", "build", "-o", "${out.dir}/compare", "."]
  sources = ["*.go", "go.mod"]
  outputs = ["compare"]
}

workload "compare" {
  command = ["${build.compare.dir}/compare", "-n", matrix.n, "-o", "${out.dir}/validation.json"]
  sources = []
  matrix  = { n = [1024, 65536] }
}

capture "command" "compare" {
  workload = workload.compare
  outputs  = ["validation.json"]
}

register "kernelvalidation" "compare" {
  run      = capture.command.compare
  artifact = "validation.json"
}

check "no_kernel_is_wrong" {
  assert {
    condition     = alltrue([for r in values(register.kernelvalidation.compare) : r.verdict != "fail"])
    error_message = "A kernel disagrees with its reference: SELECT * FROM kernel_cases WHERE status = 'fail'."
  }
}
