package evidence

// The rows of kernel validation: what a program that compares a kernel with a reference says of each of its outputs.

// KernelCase is one output of one case of a kernel validation document.
type KernelCase struct {
	Output           string            `col:"output_id" doc:"identity of the output within the artifact: digest of case and output name"`
	Case             string            `col:"case" doc:"the case, as the document names it" source:"cases[].case_id"`
	Name             string            `col:"output" doc:"the output, as the document names it" source:"cases[].outputs[].name"`
	Status           string            `col:"status" doc:"of the output: pass, fail, inconclusive or unsupported; computed from its metrics, and equal to what the document says" source:"cases[].outputs[].status"`
	CaseStatus       string            `col:"case_status" doc:"of the case, computed from its outputs" source:"cases[].status"`
	DocumentStatus   string            `col:"document_status" doc:"of the whole document, computed from its cases; without complete coverage a pass is inconclusive" source:"status"`
	CoverageComplete bool              `col:"coverage_complete" doc:"the document claims that every case that was meant to be checked is in it" source:"coverage_complete"`
	Producer         string            `col:"producer" doc:"who compared" source:"producer"`
	ProducerVersion  *string           `col:"producer_version,null" doc:"its version, where the document has one" source:"producer_version"`
	Reference        string            `col:"reference" doc:"what the kernel was compared with" source:"reference.name"`
	ReferenceVersion *string           `col:"reference_version,null" doc:"its version, where the document has one" source:"reference.version"`
	ReferenceID      string            `col:"reference_identity" doc:"what exactly the reference is, in its producer's words" source:"reference.identity"`
	Device           string            `col:"device" doc:"where the kernel ran, as the document names it" source:"cases[].device"`
	Seed             *int64            `col:"seed,null" doc:"of the inputs, where they were drawn" source:"cases[].seed"`
	Dimensions       map[string]string `col:"dimensions" doc:"the document's own coordinates of the case" source:"cases[].dimensions"`
	Inputs           string            `col:"inputs" doc:"dtype, shape and role of each input, as canonical JSON" source:"cases[].inputs"`
	DType            string            `col:"dtype" doc:"element type of the output" source:"cases[].outputs[].dtype"`
	Shape            []int64           `col:"shape" doc:"extents of the output; empty for a scalar" source:"cases[].outputs[].shape"`
	Failures         string            `col:"failures" doc:"witnesses of a failed output, as canonical JSON: coordinates, expected, actual, errors" source:"cases[].outputs[].representative_failures"`
	Limitations      []string          `col:"limitations" doc:"of the output, its case and the document, in that order" source:"limitations"`
}

// KernelMetric is one error metric of one output.
type KernelMetric struct {
	Output     string   `col:"output_id" doc:"kernel_cases.output_id"`
	Case       string   `col:"case" doc:"as in kernel_cases"`
	Name       string   `col:"output" doc:"as in kernel_cases"`
	Metric     string   `col:"metric" doc:"max_abs_error, max_rel_error, mse, rmse (lower is better), psnr or cosine_similarity (higher is better)" source:"metrics[].name"`
	MetricID   string   `col:"metric_identity" doc:"digest of what makes values of the metric comparable: name, unit and profile"`
	Status     string   `col:"status" doc:"pass or fail, computed from value and threshold; inconclusive or unsupported, which have neither" source:"metrics[].status"`
	Value      *float64 `col:"value,null" doc:"the value, in unit; missing where it was not evaluated or is positive infinity" source:"metrics[].value.value"`
	ValueKind  *string  `col:"value_kind,null" doc:"finite or positive_infinity; missing where the metric was not evaluated" source:"metrics[].value.kind"`
	Infinite   *string  `col:"infinity_reason,null" doc:"why the value is positive infinity" source:"metrics[].value.reason"`
	Comparator *string  `col:"comparator,null" doc:"how the value is held against the threshold: <= or >=" source:"metrics[].comparator"`
	Threshold  *float64 `col:"threshold,null" doc:"in unit; a value that equals it passes" source:"metrics[].threshold"`
	Unit       string   `col:"unit" doc:"unit of value and threshold" source:"metrics[].unit"`
	Profile    *string  `col:"profile,null" doc:"of psnr: how it is computed, as canonical JSON" source:"metrics[].profile"`
	Limitation *string  `col:"limitation,null" doc:"why the metric was not evaluated" source:"metrics[].limitation"`
}
