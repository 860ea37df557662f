// Package googlebenchmark is the provider for Google Benchmark, the benchmark library of C++ (and its Python bindings): it adds the library's flags to a benchmark
// program, and reads the JSON that the program writes.
//
// Relied on are, of a document: context with library_version, library_build_type, json_schema_version and cpu_scaling_enabled; benchmarks. Of a benchmark: name, run_name,
// run_type, family_index, repetition_index, threads, iterations, real_time, cpu_time, time_unit, label, aggregate_name, aggregate_unit, big_o, real_coefficient,
// cpu_coefficient, rms, error_occurred, error_message, skipped, skip_message. Any other member that is a number is a counter of the program.
//
// One repetition is one sample of each quantity: googlebenchmark.<quantity>.<run name>. Times become nanoseconds and stay fractions, since they are means over the
// iterations, which are the sample's loops. What the library made of repetitions (mean, median, stddev, cv, a complexity) is labelled with its own name as the aggregation, and so
// never a sample. Counters have the unit "counter": the program does not say one. bytes_per_second and items_per_second, and the memory manager's, are the library's own and have theirs.
//
// The library prints NaN and Infinity as bare words, which is no JSON: they are read as such, make no row, and are counted. A benchmark that reported an error or was skipped
// has no value, whatever its members say. Documents of before 1.5 do not say what is an aggregate: where names leave it open, those rows are left out.
//
// min_time is handed over as a plain number, which every version takes. iterations needs the form that 1.8 brought (10x): an older library refuses the flag and ends before it measures.
//
// What it never does: read what the program prints, compute statistics, or take a benchmark's name apart.
package googlebenchmark
