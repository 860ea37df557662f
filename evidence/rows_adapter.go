package evidence

// AdapterExtraction is what an adapter of a third party says of one artifact. flameox knows the artifact and the adapter; the summary
// is the adapter's, and nothing in it has a unit that flameox would vouch for.
type AdapterExtraction struct {
	Extraction       string   `col:"extraction" doc:"identity: digest of input, adapter, its version and program, and the extractor's version"`
	Input            string   `col:"input" doc:"SHA-256 of the artifact that was read"`
	Name             string   `col:"name" doc:"name of the artifact in the run"`
	Kind             string   `col:"kind" doc:"what the artifact is to the adapter"`
	Adapter          string   `col:"adapter" doc:"name of the adapter"`
	AdapterVersion   string   `col:"adapter_version" doc:"its version, as it was approved"`
	Package          string   `col:"package" doc:"SHA-256 of its program, as it was approved"`
	ExtractorVersion string   `col:"extractor_version" doc:"version of what read the artifact, as the adapter says"`
	Summary          string   `col:"summary" doc:"what the adapter found, as a JSON object"`
	Limitations      []string `col:"limitations" doc:"what it did not find, as code: text"`
}
