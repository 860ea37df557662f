// Package pyperf measures functions of a Python module with pyperf.
//
// The target is a working tree, a suite the path of a module in it, and a case a function: bench_* and benchmark_* that the module defines itself, or any that is named. A function with params and
// param_names, as asv's benchmarks have them, is one case for each combination. The functions run in pyperf's own worker processes, driven by a program that is kept beside the results. What the workers really had in their
// environment is recorded by them; of everything but a few named variables only a digest leaves the process.
package pyperf
