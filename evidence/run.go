package evidence

import "time"

// Run is one executed or imported stage: the row of the table runs. It is the only table whose rows carry
// times and addresses, and the one that all others join on run.
type Run struct {
	Run            string            `col:"run" doc:"identity of the run; sorts in the order of commits on one machine"`
	Revision       int64             `col:"revision" doc:"revision of the record, from 1; a registration raises it"`
	Experiment     string            `col:"experiment" doc:"folder of the configuration below the project root; empty for the root"`
	Address        string            `col:"address" doc:"address of the instance at the time of the run"`
	Block          string            `col:"block" doc:"address of its block"`
	Axes           map[string]string `col:"axes" doc:"coordinates of the instance in its matrix"`
	Kind           string            `col:"kind" doc:"stage kind: capture.pyperf"`
	Provider       *string           `col:"provider,null" doc:"provider of the stage, where it has one"`
	Nature         string            `col:"nature" doc:"pure, measurement or observation"`
	Key            string            `col:"key" doc:"set key of the stage: attempts of one measurement share it"`
	Generation     int64             `col:"generation" doc:"raised by -replace"`
	Attempt        int64             `col:"attempt" doc:"ordinal of the attempt, from 1"`
	Execution      string            `col:"execution" doc:"not_applicable, succeeded, failed, timed_out or cancelled"`
	Capture        string            `col:"capture" doc:"registered, partial, failed or quarantined"`
	Validation     string            `col:"validation" doc:"passed, failed or error"`
	Valid          bool              `col:"valid" doc:"the run may be reused and built upon: validation is passed"`
	Invalid        []string          `col:"invalid" doc:"why validation is not passed, as code: text"`
	Exit           *int64            `col:"exit,null" doc:"exit status, where a process exited"`
	Signal         *string           `col:"signal,null" doc:"signal that ended it"`
	Cause          *string           `col:"cause,null" doc:"of a termination that flameox began: timeout, cancelled, output_limit, memory_limit, storage_reserve"`
	Started        time.Time         `col:"started" doc:"wall clock at the start; never used for order"`
	WallNS         int64             `col:"wall_ns" unit:"ns" doc:"monotonic duration"`
	HostName       *string           `col:"host_name,null" doc:"name of the host"`
	HostClass      map[string]string `col:"host_class" doc:"what is in the key of measurements: arch, CPU model, GPU model"`
	Covariates     map[string]string `col:"covariates" doc:"what was seen of the host and is compared, never keyed: microcode, governor, libc"`
	SourceRevision *string           `col:"source_revision,null" doc:"commit that was checked out; the files that a run read are in its key, committed or not"`
	SourceBranch   *string           `col:"source_branch,null" doc:"branch that was checked out"`
	Labels         map[string]string `col:"labels" doc:"labels of the stage"`
	Semantics      *string           `col:"semantics,null" doc:"effective options, scope, bounds and filters, as canonical JSON"`
	State          *string           `col:"state,null" doc:"of its evidence: complete, partial, empty, incompatible or unavailable"`
	Limitations    []string          `col:"limitations" doc:"what the evidence does not say, as code: text"`
	Producer       *string           `col:"producer,null" doc:"version of the producer, as the artifact states it"`
	Sensitivity    *string           `col:"sensitivity,null" doc:"sensitive where any artifact of the run is; what derives from it is then left out of queries and exports unless asked for"`
	Flameox        string            `col:"flameox" doc:"version of flameox"`
}

// Notes are limitations in the form of the runs table.
func Notes(list []Limitation) []string {
	var out []string
	for _, l := range list {
		out = append(out, l.String())
	}
	return out
}
