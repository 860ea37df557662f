// Package runner turns a work order into result documents.
//
// One order is one side of one round. It is applied exactly or refused: before the first case runs, everything that the order says has been held against what the harness can do, what is
// measured has been identified, and the cases have been listed; a refusal leaves nothing behind. From then on every case that was started ends as one valid result for each quantity, whatever becomes of its process.
//
// The runner knows no store and no configuration. What it writes is what a store ingests, unchanged: canonical files, each written elsewhere and renamed, beside the order and the artifacts that
// the results refer to.
package runner
