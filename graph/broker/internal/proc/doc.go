// Package proc reads what the kernel says about processes under /proc, and signals a process without ever
// hitting another one that was given the same number.
//
// A process is identified by its number and its start time together, because numbers are reused. A
// Reader owns its buffers: the sampler calls it several times a second beside a measurement, so reading the
// state of a process allocates nothing. It is not safe for concurrent use; every run has its own.
//
// The package never reads arguments, working directories, executables or open files of a process, and of an
// environment only the one variable it is asked for.
package proc
