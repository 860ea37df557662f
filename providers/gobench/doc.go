// Package gobench is the provider for Go's own benchmarks: it runs `go test -bench`, or a compiled test
// binary, and reads the benchmark format with golang.org/x/perf/benchfmt, its maintained reader.
//
// One result line is one sample of each of its units. A line is the mean over b.N iterations, as every
// sample of a benchmark with an inner loop is; the row says so in loops and has aggregation "sample". Means over
// several lines, medians and intervals are never taken here.
//
// Values keep the unit and the figure that the producer wrote (ns/op stays ns/op, MB/s stays MB/s): whole figures
// up to 2^53 are value_int, all others value_float. The metric is gobench.<name> with the name as printed, without the -N of
// GOMAXPROCS, which is the dimension gomaxprocs. The other dimensions are the configuration keys in force at the line
// (pkg, goos, goarch, cpu, and whatever the file sets, changing mid-file), the key=value parts of the sub-benchmark name (as "/key"
// where a configuration key has the same name), and unit:<key> for what a Unit line says of the unit.
//
// Lines that are not results are ignored, as the format says, and those that look like lost results are
// counted, because a benchmark that prints to standard output can tear its own result line apart. A last line without
// its newline may be cut in the middle of a number and is not used. UTF-16 (the redirect of older
// PowerShells), binary data and files without any sign of `go test` are refused, never an empty success.
//
// `go test -json` is read too, each package's output put together again; the capture refuses to add to a command with
// -json, because its output would not be what the declared media type says.
//
// The -N suffix cannot be told from a name that ends in digits when GOMAXPROCS is 1. The format's rule is
// followed, and a file in which it is doubtful says so.
package gobench
