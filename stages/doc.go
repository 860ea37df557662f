// Package stages connects the language to the engine: it knows every stage kind, registers their blocks, compiles an
// expanded configuration into a graph, evaluates outputs and checks, and publishes evidence at the end of an apply.
//
// One package below it is one stage kind. They share kind (what a kind is) and program (running a declared command).
package stages
