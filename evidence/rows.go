package evidence

// The rows of the tables. A struct is one row, a field one column. The tags are the documentation
// that `flameox tables NAME` prints:
//
//	col     the column's name; ",null" where the value may be missing (the field is then a pointer)
//	unit    of a number; "" for counts and names
//	doc     what the value is
//	source  the producers' fields it comes from
//	values  "distinct" of a text that most rows have to themselves
//
// Every published row starts with run, artifact, provider, provider_version. A row struct leaves them
// out: an extraction's rows hold only what follows from its input, so the writer adds artifact,
// provider and provider_version once per file, and publishing adds run.

// Sample is the aggregation of a value that is one sample, not what a producer made of several.
const Sample = "sample"

// Measurement is one sample of one metric, never a mean of samples.
type Measurement struct {
	Name        string            `col:"name" doc:"metric, prefixed by its producer: gobench.<benchmark>"`
	ValueInt    *int64            `col:"value_int,null" doc:"the value where it is a whole number of its unit; exactly one of value_int and value_float is set"`
	ValueFloat  *float64          `col:"value_float,null" doc:"the value where it is not a whole number of its unit"`
	Unit        string            `col:"unit" doc:"unit of the value"`
	Aggregation string            `col:"aggregation" doc:"sample, or what the producer made of samples before it wrote them: mean, p99, sum; never mixed"`
	Scope       string            `col:"scope" doc:"what the value is about: workload, test, kernel"`
	Worker      *string           `col:"worker,null" doc:"the process or repetition group the sample was taken in"`
	WorkerRun   *int64            `col:"worker_run,null" doc:"ordinal of that process"`
	ValueIndex  int64             `col:"value_index" doc:"ordinal of the sample within its worker run, from 0"`
	Loops       *uint64           `col:"loops,null" doc:"inner iterations the sample is the mean of, as the producer states it"`
	Warmup      bool              `col:"warmup" doc:"the producer marked the sample as warm-up"`
	Phase       *string           `col:"phase,null" doc:"warmup, steady_state, startup, import"`
	BetterIs    *string           `col:"better,null" doc:"higher or lower, where the producer says so"`
	Dimensions  map[string]string `col:"dimensions" doc:"the producer's own coordinates of the sample"`
}

// Frame is one place in a program, as the producer names it.
type Frame struct {
	Frame         string  `col:"frame" doc:"identity of the frame within the artifact: digest of the columns below"`
	Language      *string `col:"language,null" doc:"where the producer says so"`
	Function      *string `col:"function,null" doc:"function name as the producer writes it"`
	Module        *string `col:"module,null" doc:"module, package or mapped object"`
	File          *string `col:"file,null" doc:"project-relative where it lies below the project root, else as the producer wrote it"`
	Line          *int64  `col:"line,null" doc:"line of the sample, where the producer gives one"`
	Column        *int64  `col:"column,null" doc:"column, where the producer gives one"`
	Address       *uint64 `col:"address,null" doc:"address in the process"`
	BuildID       *string `col:"build_id,null" doc:"build id of the mapped object"`
	Inlined       *bool   `col:"inlined,null" doc:"the frame was inlined into its caller, where the producer says so"`
	Symbolization string  `col:"symbolization" doc:"complete, partial or absent"`
}

// FrameValue is the weight of one frame in one metric. Recursion is counted once in Inclusive.
type FrameValue struct {
	Frame     string            `col:"frame" doc:"frames.frame"`
	Metric    string            `col:"metric" doc:"what was sampled: cpu, samples, alloc_space"`
	Self      int64             `col:"self" doc:"weight of samples whose leaf is the frame"`
	Inclusive int64             `col:"inclusive" doc:"weight of samples that have the frame anywhere, each sample once"`
	Unit      string            `col:"unit" doc:"unit of self and inclusive"`
	Samples   *uint64           `col:"samples,null" doc:"number of sample records behind the inclusive weight"`
	Labels    map[string]string `col:"labels" doc:"thread, process, phase or the producer's own labels, where the row is restricted to them"`
}

// CallEdge is the weight of one direct call.
type CallEdge struct {
	Parent  string  `col:"parent" doc:"frames.frame of the caller"`
	Child   string  `col:"child" doc:"frames.frame of the callee"`
	Metric  string  `col:"metric" doc:"as in frame_values"`
	Weight  int64   `col:"weight" doc:"weight of samples that contain the edge, each sample once"`
	Unit    string  `col:"unit" doc:"unit of weight"`
	Samples *uint64 `col:"samples,null" doc:"number of sample records"`
}

// Stack is one call stack with its weight.
type Stack struct {
	Stack   string            `col:"stack" doc:"identity: digest of frames and labels"`
	Frames  []string          `col:"frames" doc:"frames.frame, root to leaf; recursive frames are repeated"`
	Leaf    string            `col:"leaf" doc:"the last of frames"`
	Metric  string            `col:"metric" doc:"as in frame_values"`
	Weight  int64             `col:"weight" doc:"total of the samples with exactly this stack and these labels"`
	Unit    string            `col:"unit" doc:"unit of weight"`
	Samples *uint64           `col:"samples,null" doc:"number of sample records"`
	Labels  map[string]string `col:"labels" doc:"the producer's labels of the samples"`
}

// Resource is one sampled point or summary of a process tree or a file system while a stage ran.
type Resource struct {
	Metric      string   `col:"metric" doc:"a metric of the runtime-resource registry, or a recorded point that no comparison may use"`
	Subject     *string  `col:"subject,null" doc:"the server that was sampled beside the command; missing for the command itself"`
	Kind        string   `col:"kind" doc:"point (one observation) or summary (one per run)"`
	AtNS        *int64   `col:"at_ns,null" unit:"ns" doc:"monotonic time since the process started, of a point"`
	ValueInt    *int64   `col:"value_int,null" doc:"the value; missing where it could not be observed, never zero instead"`
	ValueFloat  *float64 `col:"value_float,null" doc:"the value where it is not whole"`
	Unit        string   `col:"unit" doc:"unit of the value"`
	Backend     string   `col:"backend" doc:"how it was observed; other backends are other metrics"`
	IntervalNS  *int64   `col:"interval_ns,null" unit:"ns" doc:"sampling interval, part of the compatibility identity"`
	Unavailable *string  `col:"unavailable,null" doc:"why there is no value"`
}
