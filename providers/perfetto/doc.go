// Package perfetto is the provider for Perfetto's traces: those of the tracing service on Android and Linux, of Chrome, of programs with Perfetto's SDK,
// and of ROCprofiler. They are imported; formats/perfetto reads their track events and formats/timeline makes rows of them, with the same metrics, frames
// and labels as of traces in Chrome's JSON.
//
// Nothing has to be installed: the packets are read here. Perfetto's own Trace Processor answers more questions than these tables do, above all of
// scheduling; `flameox artifacts` hands it the file as it was.
package perfetto
