// Package paired decides what the paired rounds of two sides say: regressed, improved, no different, or not enough to tell.
//
// Round r gives one value of each side, taken close together in time, so that what the machine did meanwhile hits both. All methods work on the
// differences within rounds and never on the two sides apart. There are three, each with a name and a version that stand in every document,
// because a verdict can only be read by somebody who knows the rule that made it:
//
//   - Relative (benchx/paired-relative/v1): mean of contender/baseline − 1 against k standard errors. It is kept exactly as its users know it. Its false
//     alarms are 9.4, 4.1 and 1.8 % a unit at 3, 5 and 10 rounds with k = 3, since k is not a quantile of the t distribution.
//   - Log (paired-log/v2): mean of ln(contender/baseline) with an interval that has its nominal coverage at any number of rounds, against a band
//     within which a change does not matter.
//   - MedianLog (median_paired_log_ratio): median over the blocks of an experiment, with a BCa bootstrap interval.
//
// The package knows numbers and nothing of documents, units of time or files. It never drops a value: what cannot be used is refused with a reason.
package paired
