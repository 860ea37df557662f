// Command bench measures flameox against named baselines: `make bench`.
//
// Absolute times on a shared machine are noise, so each figure is a ratio (or a difference) between
// flameox and something that does the least possible for the same job: ninja on an equivalent graph, a bare
// parallel lstat of the same files, true, a bare fork and exec; or what people use instead, on an equivalent graph: DVC, Snakemake, OpenTofu. Both sides run in turn, round after
// round, in one run of this program, and medians are compared. What cannot be measured here is
// listed as skipped with the reason; it never counts as met.
//
// Everything is made in a temporary folder that is removed at the end; -keep FOLDER leaves it for the next time, which then need not prepare anything.
// Only DVC, where it is missing, is installed into a folder of the user's caches. It writes nothing into
// the repository; docs/benchmarks.md holds figures that somebody took and looked at.
package main
