// Package pyperf is the provider for pyperf, Python's benchmark runner: it plans pyperf's own runs in three modes and reads the JSON that
// pyperf writes.
//
// That JSON is pyperf's export, documented in its manual and read back by every version since 1.0. Relied on are: version, "1.0"; metadata, which a
// benchmark has over the suite's and a run over its benchmark's; the metadata name, unit ("second" where it is missing, as pyperf says), loops,
// inner_loops, perf_version, calibrate_loops, recalibrate_loops, calibrate_warmups and recalibrate_warmups; benchmarks with runs; warmups, pairs of loops and a
// value; values. Values are of one iteration, pyperf has divided them. What pyperf's own loader refuses is refused, and so is what its Python lets pass
// although it is no JSON (NaN). Older forms ("version": 6 and below, before pyperf 1.0) are refused: they hold other figures under the same names.
//
// One value is one sample. Every process is a run, and its ordinal in the file is worker_run. A run without values is the calibration: its warm-ups are there,
// with the dimension run_kind = calibration, and are warm-ups like all others. Nothing is ever averaged.
//
// Seconds become nanoseconds: whole ones, or, below a microsecond, as they are, since a nanosecond is too coarse there. Bytes and integers stay what they are, and
// any other unit keeps its name. inner_loops is a dimension where it is not 1; loops are pyperf's own.
//
// Mode script hands pyperf's options to a script that uses pyperf itself, or to `python -m pyperf timeit`. Mode function runs functions of a file with an
// embedded driver, each in pyperf's processes, with the parameters that asv knows. Mode command times whole processes. A plan reads no file, so what
// the script imports is not looked at: the mode is said, unless the command is pyperf's own or the workload's execution_protocol is "pyperf".
//
// pyperf is the workload's package, of the interpreter that the workload names. Its workers get the whole environment of the run, which is constructed anyway: without
// --copy-env a benchmark would not see the variables that its workload declares.
//
// What it never does: tune the system, read what pyperf prints, call a result stable, or compare.
package pyperf
