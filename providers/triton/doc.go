// Package triton is the provider for what the compiler of Triton makes: a capture runs the workload unchanged with Triton's own variables for dumping
// (TRITON_KERNEL_DUMP, TRITON_DUMP_DIR, and TRITON_REPRODUCER_PATH where it is asked for), keeps the files byte for byte, and lists them in kernel-build.json, which
// formats/kernelbuild reads into compiler_artifacts.
//
// Triton dumps a kernel to a folder that is named by its source, signature and constants, whatever it is compiled for: variants that differ in
// num_warps, num_stages or the target alone overwrite each other there, and the last one stays. A reproducer is one file for each group of
// passes, of the last kernel.
//
// A kernel that is in Triton's cache is not compiled, and so not dumped. Nothing of Triton says which were. A run has a home of its own, where the cache is
// empty; a workload that names another cache may find its kernels there. A run that left nothing is inconclusive, not valid and not reused; always_compile
// has Triton pass its cache by.
//
// What it never does: read MLIR, LLVM IR or machine code beyond what their formats document of target and version; order kernels; or take a kernel that
// compiled for one that is right.
package triton
