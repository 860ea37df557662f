// Package manual turns the command line, as it is declared, into what people read about it: help at 80 columns, manual pages in
// roff, and the list of examples that a test runs.
//
// There is one source, the cli.App: names, flags, and a Description whose indented lines are shown as they are and whose part
// below "Examples:" is a list of commands. A comment "# exits N" behind an example says which exit code it has; without one it is 0.
// Hand-written pages would be wrong after the first flag that is added.
//
// It never runs a command and never reads a workspace.
package manual
