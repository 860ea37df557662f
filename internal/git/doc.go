// Package git reads the facts of a git working tree: where it is, what is checked out,
// whether it was changed, which files belong to it.
//
// What files on disk answer simply and correctly (the root, the shared directory, HEAD of loose and
// packed refs) is read without a process, because a plan must answer before the user looks away and
// starting git takes longer than everything else a small plan does. Everything else asks the git
// executable, which alone knows the index, ignore rules, attributes and reference formats: this is one
// of the few packages that may start a process. It starts nothing but git, in the tree's root, with
// a bounded output and time, without optional locks, file system monitor, prompts or lazy fetches, and
// without the variables by which an enclosing git command (a hook) would point it elsewhere.
//
// It never changes a repository, never touches the network, and never decides what a stage's inputs are.
package git
