// Package completion completes command lines of flameox in bash, zsh and fish.
//
// The scripts are thin: they hand the line to a hidden command of the same binary and show what it answers, so that a new command or
// flag is completed without installing anything again. What there is follows from the declared commands: a placeholder in
// ArgsUsage or in a flag's usage (ADDRESS, RUN, TABLE, FILE) says what may stand there, and "`FORMAT`: dot, mermaid or json" says the
// only values there are.
//
// It never prints an error, never changes a workspace and waits for no lock: somebody is in the middle of a line. Where nothing can
// be said, nothing is. Reading a workspace it is in the list of the machine's readers like every command that reads.
package completion
