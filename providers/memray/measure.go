package memray

import (
	"maps"
	"path"
	"strconv"
	"strings"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/formats/profile"
)

// frame is a frame of the tables. Names of files that are relative are so to where the capture ran. A file that is outside the project
// or none at all, such as <frozen runpy>, is no source that the project's state has.
func (c *collector) frame(f frame) profile.Frame {
	out := profile.Frame{Function: f.function, File: f.file}
	if f.python {
		out.Language = "python"
	}
	if f.line > 0 {
		out.Line = profile.Some(f.line)
	}
	name := f.file
	if name == "" || strings.HasPrefix(name, "<") {
		out.Synthetic = true
		return out
	}
	if !path.IsAbs(name) && c.paths.Dir != "" {
		name = path.Join(c.paths.Dir, name)
	}
	if file := c.paths.File(name); file != name {
		out.File = file
	} else {
		out.Synthetic = true
	}
	return out
}

// limitations are what the captures do not hold.
func (c *collector) limitations() (list []evidence.Limitation) {
	for _, m := range c.missing {
		list = append(list, limitation(NoHistory, "%s has no %s: %s", c.artifacts[m.Capture].Name, metrics[m.View].Name, m.Text))
	}
	if len(c.captures) > 1 {
		list = append(list, limitation(SeveralProcesses, "the rows are of %d processes, which had their peaks at different times: memory.high_watermark summed over them is not what they held together at any moment; each process has its own measurements", len(c.captures)))
	}
	return list
}

// disagreements are where a view does not add up to the total that memray states.
func (c *collector) disagreements(i int) (list []evidence.Limitation) {
	s := &c.sums[i]
	if got, want := s.bytes[highWaterMark], c.captures[i].Peak; got != want {
		list = append(list, limitation(TotalsDisagree, "%s: the stacks at the peak hold %d bytes, and memray states a peak of %d", c.artifacts[i].Name, got, want))
	}
	if c.allocated && s.total != nil && s.bytes[allocated] != s.total.Bytes {
		list = append(list, limitation(TotalsDisagree, "%s: the stacks of all allocations have %d bytes, and memray's statistics %d", c.artifacts[i].Name, s.bytes[allocated], s.total.Bytes))
	}
	return list
}

// results are the figures of the workload's own process.
func (c *collector) results() map[string]any {
	x, s := c.captures[0], c.sums[0]
	r := map[string]any{"peak_bytes": x.Peak, "retained_bytes": s.bytes[retained], "capture_records": x.Records, "python_allocator": x.Allocator, "native": x.Native, "aggregated": x.Aggregated, "processes": len(c.captures)}
	if !s.lacks[temporary] {
		r["temporary_bytes"] = s.bytes[temporary]
	}
	if s.total != nil {
		r["allocated_bytes"], r["allocation_operations"] = s.total.Bytes, s.total.Operations
	}
	return r
}

// measurements are what each process's run came to. Whether a frame was dropped is not known before they are counted: see complete.
func (c *collector) measurements() (list []evidence.Measurement) {
	lower := "lower"
	for i, x := range c.captures {
		dimensions := map[string]string{}
		if c.process[i] != "" {
			dimensions["process"] = c.process[i]
		}
		put := func(name, unit string, value int64) *evidence.Measurement {
			m := evidence.Measurement{Name: name, ValueInt: &value, Unit: unit, Aggregation: evidence.Sample, Scope: "process", Dimensions: dimensions}
			if unit == "bytes" {
				m.BetterIs = &lower
			}
			list = append(list, m)
			return &list[len(list)-1]
		}
		s := &c.sums[i]
		put("memory.peak", "bytes", x.Peak)
		put("memory.retained_end", "bytes", s.bytes[retained])
		put("memory.capture_records", "count", x.Records)
		if !s.lacks[temporary] {
			m := put("memory.temporary", "bytes", s.bytes[temporary])
			m.Dimensions = maps.Clone(dimensions)
			m.Dimensions["threshold"] = strconv.Itoa(c.threshold)
		}
		if s.total != nil {
			put("memory.allocation_operations", "count", s.total.Operations)
			put("memory.allocated_bytes", "bytes", s.total.Bytes)
		}
		for v := highWaterMark; v < views; v++ {
			if !s.lacks[v] && (v != allocated || c.allocated) {
				put(coverage+v.String()+".complete", "boolean", 0)
			}
		}
	}
	return list
}

// coverage begins the names of the measurements that say whether a view's frames are all there.
const coverage = "memory.frame_coverage."

// write writes measurements. complete says that no frame was dropped.
func write(sink *evidence.Sink, list []evidence.Measurement, complete bool) error {
	for i := range list {
		if complete && strings.HasPrefix(list[i].Name, coverage) {
			*list[i].ValueInt = 1
		}
		if err := sink.Measurements.Put(&list[i]); err != nil {
			return err
		}
	}
	return nil
}
