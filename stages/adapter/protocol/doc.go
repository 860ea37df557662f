// Package protocol is what flameox and an adapter say to each other, version 1 (docs/formats/adapters.md).
//
// An adapter is a program. It is started once for each phase, probe, plan, validate or extract, reads one JSON request from its standard
// input, writes one JSON response to its standard output, and exits 0. What it answers is read strictly: a member that nobody knows, a bound that is passed or a path that leaves
// the output folder is a refusal, never repaired. It plans by saying what goes in front of the workload's command. It cannot change that command, where it runs, or with
// what environment.
//
// What it never does: start anything, or know where the bytes come from.
package protocol
