// Package asv measures the benchmarks of an asv suite.
//
// The target is a working tree, and a suite its benchmark directory or the asv.conf.json that names one. asv itself measures commits of a repository, in environments that it builds; here the tree is measured as it is,
// with the interpreter that is on PATH, so the half of asv that runs inside such an environment (asv_runner) is driven: it finds the benchmarks, and runs one combination of parameters in a process of its own, as asv would. A level
// called process is asv's rounds, one called value its repeat.
package asv
