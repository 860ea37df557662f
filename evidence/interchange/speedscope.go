package interchange

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
)

type speedscopeFrame struct {
	Name string `json:"name"`
	File string `json:"file,omitempty"`
	Line int64  `json:"line,omitempty"`
	Col  int64  `json:"col,omitempty"`
}

// exact is the largest whole number up to which JavaScript, which reads the file, counts every one.
const exact = 1 << 53

// WriteSpeedscope writes a file of speedscope, with one of its profiles for each metric. Stacks are written one by one: there may be many millions of
// frames in them.
func WriteSpeedscope(w io.Writer, p *Profile) ([]Loss, error) {
	losses := p.labelled("speedscope")
	for m, metric := range p.Metrics {
		if err := p.positive("speedscope", m); err != nil {
			return nil, err
		}
		if total := p.Total(m); total > exact {
			losses = append(losses, Loss{fmt.Sprintf("the total of %s is above 2^53, where JavaScript rounds", metric.Name)})
		}
	}
	frames, at := p.met()
	out := &document{out: bufio.NewWriterSize(w, 64<<10)}
	out.text(`{"$schema":"https://www.speedscope.app/file-format-schema.json","exporter":"flameox","name":`)
	out.value(p.Name)
	out.text(`,"activeProfileIndex":`)
	out.value(p.Primary)
	out.text(`,"shared":{"frames":`)
	out.value(frames)
	out.text(`},"profiles":[`)
	for m, metric := range p.Metrics {
		if m > 0 {
			out.text(",")
		}
		unit := speedscopeUnit(metric.Unit)
		name := p.Name + " (" + metric.Name + ")"
		if unit == "none" && metric.Unit != "" && metric.Unit != "count" {
			name += " in " + metric.Unit
		}
		out.text(`{"type":"sampled","name":`)
		out.value(name)
		out.text(`,"unit":"` + unit + `","startValue":0,"endValue":`)
		out.value(p.Total(m))
		out.text(`,"samples":[`)
		out.list(p, m, func(s *Sample) {
			out.text("[")
			for i, f := range s.Path {
				out.number(int64(at[f]), i)
			}
			out.text("]")
		})
		out.text(`],"weights":[`)
		out.list(p, m, func(s *Sample) { out.number(s.Weights[m], 0) })
		out.text("]}")
	}
	out.text("]}\n")
	if err := out.out.Flush(); out.err == nil {
		out.err = err
	}
	if out.err != nil {
		return nil, fmt.Errorf("write a speedscope file: %w", out.err)
	}
	return losses, nil
}

// met are the frames of stacks that weigh anything, in the order in which they are met, and the place of each frame among them.
func (p *Profile) met() (list []speedscopeFrame, at []int) {
	list, at = []speedscopeFrame{}, make([]int, len(p.Frames))
	for i := range at {
		at[i] = -1
	}
	for m := range p.Metrics {
		for i := range p.Samples {
			if p.Samples[i].Weights[m] == 0 {
				continue
			}
			for _, j := range p.Samples[i].Path {
				if at[j] < 0 {
					f := p.Frames[j]
					at[j] = len(list)
					list = append(list, speedscopeFrame{Name: f.Name(), File: f.File, Line: f.Line, Col: f.Column})
				}
			}
		}
	}
	return list, at
}

// document is JSON that is being written.
type document struct {
	out     *bufio.Writer // keeps its first error, which Flush returns
	scratch []byte
	err     error // of a value that is no JSON
}

func (d *document) text(s string) { d.out.WriteString(s) }

func (d *document) value(v any) {
	b, err := json.Marshal(v)
	if d.err == nil {
		d.err = err
	}
	d.out.Write(b)
}

// number writes the i-th number of an array, with a comma in front where it is not the first.
func (d *document) number(n int64, i int) {
	d.scratch = d.scratch[:0]
	if i > 0 {
		d.scratch = append(d.scratch, ',')
	}
	d.scratch = strconv.AppendInt(d.scratch, n, 10)
	d.out.Write(d.scratch)
}

// list calls fn for the samples that weigh anything in metric m, with commas between them.
func (d *document) list(p *Profile, m int, fn func(*Sample)) {
	first := true
	for i := range p.Samples {
		if p.Samples[i].Weights[m] == 0 {
			continue
		}
		if !first {
			d.text(",")
		}
		first = false
		fn(&p.Samples[i])
	}
}

// speedscopeUnit is the unit as speedscope knows it.
func speedscopeUnit(unit string) string {
	switch unit {
	case "ns", "nanosecond", "nanoseconds":
		return "nanoseconds"
	case "us", "µs", "microsecond", "microseconds":
		return "microseconds"
	case "ms", "millisecond", "milliseconds":
		return "milliseconds"
	case "s", "second", "seconds":
		return "seconds"
	case "byte", "bytes":
		return "bytes"
	}
	return "none"
}
