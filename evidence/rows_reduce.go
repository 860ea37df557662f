package evidence

// The rows of what disturbs a way on purpose, and of what makes an input smaller.

// FaultsTable is the name of the table of faults that stood while something was measured.
const FaultsTable = "faults"

// ReductionsTable is the name of the table of candidates that a reduction tried.
const ReductionsTable = "reductions"

// Fault is one toxic of one fault in one run, or a fault without any: the baseline, which went through the same proxy.
type Fault struct {
	Fault      string   `col:"fault" doc:"address of the fault"`
	Scenario   *string  `col:"scenario,null" doc:"its scenario, where it has several; baseline has no toxic"`
	Type       *string  `col:"type,null" doc:"latency, timeout, reset_peer, bandwidth, slicer, limit_data, slow_close, or down, where nothing listened; missing where nothing was disturbed" source:"type of a toxic"`
	Stream     *string  `col:"stream,null" doc:"downstream, from the server to the client, or upstream" source:"stream of a toxic"`
	Toxicity   *float64 `col:"toxicity,null" unit:"ratio" doc:"share of the connections that it was drawn for" source:"toxicity of a toxic"`
	Attributes *string  `col:"attributes,null" doc:"what the proxy was told, in its own units, as canonical JSON: latency, jitter, timeout and the delay of slow_close in ms, the delay of slicer in us, rate in KB/s" source:"attributes of a toxic"`
	Listen     string   `col:"listen" doc:"where the proxy listened"`
	Upstream   string   `col:"upstream" doc:"where it forwarded to"`
	Version    string   `col:"version" doc:"what the proxy's program says of itself; git of one that was built from source" source:"GET /version"`
	Executable string   `col:"executable" doc:"SHA-256 of the proxy's program"`
	Cleanup    string   `col:"cleanup" doc:"removed, where nothing listened any more after the proxy was taken away; else failed, or ended, where its program had ended before"`
}

// Reduction is one candidate that a reduction tried, with what its predicate said of it.
type Reduction struct {
	Number         int64   `col:"number" doc:"from 1, in the order in which they were tried; the first is the original"`
	Phase          string  `col:"phase" doc:"search, where the reducer asked; recheck, where the final file was tried again by the same program; confirm, where the engine tried it itself"`
	Candidate      string  `col:"candidate" doc:"SHA-256 of the candidate"`
	Bytes          int64   `col:"bytes" unit:"bytes" doc:"its size"`
	Classification string  `col:"classification" doc:"interesting, not_interesting, or unresolved, where the repetitions do not agree or one did not come to an end"`
	Repetitions    int64   `col:"repetitions" doc:"how often the predicate was run over it"`
	Interesting    int64   `col:"interesting" doc:"of these"`
	NotInteresting int64   `col:"not_interesting" doc:"of these"`
	Failure        *string `col:"failure,null" doc:"of the repetition that decided that it is unresolved: timeout, signal, not_started, deadline or contradictory"`
	DurationNS     int64   `col:"duration_ns" unit:"ns" doc:"of all repetitions"`
}
