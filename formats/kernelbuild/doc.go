// Package kernelbuild is the list of what a compiler of GPU kernels left in one run: kernel-build.json, which flameox writes for Triton and for CuTe and keeps
// beside the files, and the rows of compiler_artifacts.
//
// The document is a pipeline: at most 99 stages, each a file with its SHA-256, in the native folder that its compiler dumped it to. A stage has a
// predecessor only where its compiler makes it from exactly one file of the same name beside it, as a cubin is assembled from PTX, and stands behind it. Between
// folders, and between kernels, ordinals are positions in the list by name and nothing more: what was compiled first is not in the files.
//
// It says what was run by the digests of its key's facets, and holds no time, no run and no path of a staging folder: the same build leaves the same bytes.
//
// Of the files themselves only what their formats document is read: .version and .target of PTX, .amdgcn_target of AMDGPU assembly, the version in
// LLVM's ident, and Triton's metadata where there is any. Files say what was built. That it compiled says nothing about whether it computes what it should.
package kernelbuild
