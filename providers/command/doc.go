// Package command is the provider for any program at all: it runs the workload as it is and keeps what it prints
// and what it writes below out.dir.
//
// It exists so that wall time, resources and native outputs of a program that no provider knows are evidence too. The
// engine fills the tables runs and resources for every capture; there is nothing else that could be said of bytes of
// unknown meaning, so this provider validates and extracts nothing, and accepts a run by its exit status alone.
package command
