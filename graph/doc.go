// Package graph is the engine: it decides which stages of an experiment are stale and why, and runs
// those and no others.
//
// A Graph is made of Nodes, one an instance of a stage. A node with a Stage computes something; a node without one (a
// target, an environment, a workload) only says what others stand on. The planner walks the nodes in dependency
// order, asks each stage for its Actions (what its key is made of, given what is upstream) and looks their keys up in
// the store. Apply does the same again, node by node, at the moment the node's upstream is done, and runs what
// has no valid record. There is no other state: a plan is a question to the store, so a run that was killed
// is continued by asking again.
//
// The package knows no stage kind, no configuration language and no rendering; it never starts a process itself
// (package broker does) and never reads a project's files except through the stages.
package graph
