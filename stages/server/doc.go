// Package server is the stage kind that declares a server: a program that answers while others measure it. It is never run for itself. A stage whose
// command holds one of its tokens gets a lease on it: it is started before the stage, asked until it is ready, sampled beside it, and ended after it.
//
// What a server is enters the identity facet of its users, piece by piece, so that a plan can say which of them moved. Where it listens does not:
// ports are found when it starts.
//
// An existing server is only asked whether it is there. What it is cannot be known, so what is measured against it is exploratory.
package server
