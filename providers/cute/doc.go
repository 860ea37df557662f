// Package cute is the provider for what the compiler of NVIDIA's CuTe DSL makes: a capture runs the workload unchanged with the DSL's own variables
// (CUTE_DSL_KEEP, CUTE_DSL_DUMP_DIR), keeps the files byte for byte, and lists them in kernel-build.json, which formats/kernelbuild reads into
// compiler_artifacts.
//
// The DSL dumps all functions to one folder. It writes a name for the IR that is made otherwise than that for PTX and what follows, so the IR has no
// successor here: PTX, cubin and SASS of one name are one kernel's, and nothing more is known.
//
// A version of the DSL passes over what it does not know in CUTE_DSL_KEEP. What was asked for and is not there is said for each of them.
//
// What it never does: read MLIR or machine code, order kernels, or take a kernel that compiled for one that is right.
package cute
