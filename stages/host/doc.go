// Package host is the stage kind that declares a class of machine by the facts that matter, and what follows from it: a measurement with
// `on = host.x` has the declared class in its key, not all that is known of the machine it ran on.
//
// So the owner of an experiment decides what makes two machines the same. Where a kernel is updated every week, or a pool has machines of
// two memory sizes, the results stand as long as what was declared holds; whoever reviews the file sees it. A machine that is
// none of the class measures nothing: the stage is blocked there, and results that were made elsewhere stand. After the run the machine is
// looked at again, because CPUs are taken away and machines are moved while they run; an attempt on what is no longer the class is not valid.
//
// It also finds the machine that `plan -host` plans for, among those that records were made on.
//
// What it never does: reach another machine, or take a class for one that it does not state.
package host
