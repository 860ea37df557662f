// Package facts reads what a result says about where it was measured: the machine, the variables of the environment that may be written down, how a build directory is configured, what its owner declares, and
// whether what was built is older than its sources.
//
// A fact that cannot be read is missing, never a placeholder: two machines must not be found equal in what neither told. What is read here is matched when results are compared, so nothing that moves by
// itself is among it: no load, no time, no temperature, no path.
package facts
