// Package hyperfine is the provider for hyperfine, which times whole commands: it lets hyperfine run a workload, and reads the JSON that hyperfine exports.
//
// Relied on are, of an export: results; of a result: command, times, exit_codes, parameters, user, system, mean, stddev, median, min, max and memory_usage_byte.
// An export does not say which hyperfine wrote it, nor how.
//
// One run is one sample: hyperfine.wall_time.<command>, in whole nanoseconds from a microsecond on. What hyperfine computed of the runs is labelled mean, stddev, median, min or max,
// and so never a sample; user and system are means, and nothing else is there of them. A run's exit status is a dimension of its samples.
//
// Where hyperfine starts a command through a shell, it measures the shell alone first, takes that off every time, and makes 0 of what would be negative. A capture starts none unless it is told to; of an
// import it is not known, and every time of 0 is counted. A run that failed is in hyperfine's own means; its sample is kept with its status, and the evidence is partial.
//
// What it never does: read what hyperfine prints, leave a run out, or compare commands.
package hyperfine
