// Package pytest is the provider for runs of pytest: it lets pytest-reportlog write what happened, and reads that log.
//
// The log is pytest-reportlog's, unchanged: a JSON object a line, of $report_type SessionStart (always the first), CollectReport, TestReport,
// WarningMessage, SessionFinish. Kinds that are not known are passed over, as reportlog's manual asks. What is missing in it a small plugin adds to its records
// under names that begin with "flameox.": how long each fixture was set up, when the run began, when a report reached the process that
// writes, and which tests were collected. Under xdist the plugin's source is handed to each worker before pytest starts there; no file is
// written for it, and no report travels another way than it does without it.
//
// A run in which tests fail is evidence like any other. What makes a run valid is that its log is whole and that pytest's own status is 0, 1 or 2: 3 and 4 are
// failures of pytest and of how it was called, and a run of no test (5) is a mistake more often than not, which expect_exit = [5] denies. The
// launcher ends with an expected status where the session came to its end; pytest's status is in the log and among the results.
//
// The table tests has every phase of every test. A test's result is that of its last attempt: errored where setup or teardown failed, failed where the call or a
// subtest did, skipped, xfailed, xpassed, passed; crashed where xdist says that the worker died, which it says in prose only. Measurements
// are the time of every phase and fixture, each a sample, and the counts. Of those xfailed is part of skipped, xpassed of passed, crashed of errored, as pytest's exit status has it.
//
// The run begins when the launcher does; the start of its interpreter is in no latency. Latencies to the first failure need the times of pytest 7.3 and later, and counts of what was not run need the collected names. Where a log has
// neither, as one that was written without the plugin, they are missing and said, never zero. Nothing is concluded from what tests print.
//
// What it never does: run a test again, decide which tests run or in what order, or publish what a test printed or the properties that it recorded.
package pytest
