package evidence

// OverheadsTable is the name of the table of what profiling cost.
const OverheadsTable = "overheads"

// Overhead is how much longer a run took because it was profiled, against the runs without the profiler that profile_of names. A ratio of 1 is no
// overhead. It is the engine's own evidence, and belongs to the run that was profiled.
type Overhead struct {
	Metric      string   `col:"metric" doc:"wall, the time from start to end, or cpu, the time on CPUs of the process and the children that it waited for"`
	Of          string   `col:"of" doc:"address of the stage without the profiler"`
	Runs        []string `col:"runs" doc:"its runs that the profiled one was set against: all valid attempts of its newest result"`
	ProfiledNS  *int64   `col:"profiled_ns,null" unit:"ns" doc:"of the run that was profiled"`
	BaseNS      *int64   `col:"base_ns,null" unit:"ns" doc:"median of the runs without the profiler"`
	Ratio       *float64 `col:"ratio,null" unit:"ratio" doc:"profiled_ns over base_ns; missing where the two did not do the same work, or one was not observed"`
	Low         *float64 `col:"low,null" unit:"ratio" doc:"against the slowest of the runs without the profiler"`
	High        *float64 `col:"high,null" unit:"ratio" doc:"against the fastest of them"`
	N           int64    `col:"n" doc:"runs without the profiler behind base_ns"`
	Unavailable *string  `col:"unavailable,null" doc:"why there is no ratio"`
}
