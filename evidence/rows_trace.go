package evidence

// TraceEventsTable is the name of the table of what happened when.
const TraceEventsTable = "trace_events"

// The kinds of trace events.
const (
	TraceSlice     = "slice"      // something that began and ended on a thread or another track of its own
	TraceAsync     = "async"      // something that began and ended under an id, beside others
	TraceInstant   = "instant"    // something without a duration
	TraceCounter   = "counter"    // a value that holds from then on
	TraceFlowStart = "flow_start" // an arrow from here
	TraceFlowStep  = "flow_step"  // on its way
	TraceFlowEnd   = "flow_end"   // to here
)

// TraceEvent is one thing that happened at a time, on a thread, an accelerator's stream or another track.
type TraceEvent struct {
	Event       int64    `col:"event" doc:"ordinal of the event within the trace, from 0, as the producer wrote it; of a slice, of its beginning"`
	Parent      *int64   `col:"parent,null" doc:"event of the slice directly around it on the same track; its row may have been cut"`
	Kind        string   `col:"kind" doc:"slice, async, instant, counter, flow_start, flow_step or flow_end"`
	Name        string   `col:"name" doc:"as the producer wrote it; <unnamed> where it wrote none"`
	Category    *string  `col:"category,null" doc:"the producer's categories, as one text" source:"Chrome cat; Perfetto categories"`
	Start       int64    `col:"start_ns" unit:"ns" doc:"when it began, on the trace's own clock" source:"Chrome ts; Perfetto timestamp"`
	Duration    *int64   `col:"duration_ns,null" unit:"ns" doc:"how long it took; missing for what has none, and for a slice whose end is not in the trace" source:"Chrome dur, or the time between B and E; Perfetto begin and end"`
	Self        *int64   `col:"self_ns,null" unit:"ns" doc:"its duration without the time of slices directly within it, those that overlap counted once"`
	Depth       *int64   `col:"depth,null" doc:"number of slices around it on the same track"`
	ProcessID   *int64   `col:"process_id,null" doc:"where it is a number" source:"Chrome pid; Perfetto pid"`
	Process     *string  `col:"process,null" doc:"name of the process, where the trace has one"`
	ThreadID    *int64   `col:"thread_id,null" doc:"where it is a number; of accelerators often the stream" source:"Chrome tid; Perfetto tid"`
	Thread      *string  `col:"thread,null" doc:"name of the thread or the track, where the trace has one"`
	Phase       *string  `col:"phase,null" doc:"of the event itself, else of the nearest slice around it called flameox.phase:<phase> or with a phase" source:"argument phase"`
	Correlation *string  `col:"correlation,null" doc:"what a launch and what it launched have in common; of async and flow events their id" source:"arguments correlation, correlationId, Correlation ID"`
	External    *string  `col:"external,null" doc:"operator that a launch belongs to" source:"argument External id"`
	Device      *int64   `col:"device,null" doc:"ordinal of the accelerator" source:"arguments device, deviceId, Device Id"`
	Stream      *int64   `col:"stream,null" doc:"stream or queue of the accelerator" source:"arguments stream, streamId"`
	Shapes      *string  `col:"shapes,null" doc:"shapes of an operator's inputs, as JSON" source:"arguments Input Dims, Input Shapes"`
	Bytes       *int64   `col:"bytes,null" unit:"bytes" doc:"memory that was allocated, negative where it was freed" source:"arguments Bytes, Allocation Bytes"`
	Series      *string  `col:"series,null" doc:"of a counter with several values: which" source:"name of the argument"`
	Value       *float64 `col:"value,null" doc:"of a counter; the unit is the producer's" source:"arguments of a counter; argument Total Allocated; Perfetto counter values"`
	File        *string  `col:"file,null" doc:"project-relative where it lies below the project root, else as the producer wrote it" source:"arguments filename, file; Perfetto source location"`
	Line        *int64   `col:"line,null" doc:"line, where the producer gives one" source:"argument line"`
}

// OperatorsTable is the name of the table of operators.
const OperatorsTable = "operators"

// Operator is what all calls of one operator with the same shapes in one phase took together, summed over the whole trace.
type Operator struct {
	Name      string  `col:"name" doc:"as the framework writes it: aten::mm" source:"PyTorch: name of events of the categories cpu_op and user_annotation"`
	Category  string  `col:"category" doc:"cpu_op, or user_annotation of what the program names itself"`
	Shapes    *string `col:"shapes,null" doc:"shapes of the inputs, as JSON; missing where they were not recorded" source:"argument Input Dims"`
	Phase     *string `col:"phase,null" doc:"as in trace_events"`
	Calls     int64   `col:"calls" doc:"number of calls"`
	Self      int64   `col:"self_ns" unit:"ns" doc:"time on the CPU without that of slices directly within it"`
	Total     int64   `col:"total_ns" unit:"ns" doc:"time on the CPU; a call within a call of the same operator counts no second time"`
	Max       int64   `col:"max_ns" unit:"ns" doc:"of the longest call"`
	Device    *int64  `col:"device_ns,null" unit:"ns" doc:"time of the kernels, copies and fills that it launched itself, by their External id; missing where the trace has none for any operator" source:"argument External id"`
	Launches  *int64  `col:"launches,null" doc:"number of these; missing likewise" source:"argument External id"`
	Allocated *int64  `col:"allocated_bytes,null" unit:"bytes" doc:"memory allocated directly within it; missing where the trace has no memory events" source:"[memory] events within"`
	Freed     *int64  `col:"freed_bytes,null" unit:"bytes" doc:"memory freed directly within it; missing likewise" source:"[memory] events within"`
}
