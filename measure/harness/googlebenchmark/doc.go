// Package googlebenchmark measures programs that were linked with Google Benchmark.
//
// The target is a build directory, and a suite an executable in it. Every case runs in a process of its own, so that a time limit holds for it alone and a crash costs no other. The library's names of cases are whole: an encoded
// argument is not taken out of them.
package googlebenchmark
