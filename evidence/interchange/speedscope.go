package interchange

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/flameox/flameox/evidence/callgraph"
)

// The document of speedscope's own format.
type speedscope struct {
	Schema   string              `json:"$schema"`
	Exporter string              `json:"exporter"`
	Name     string              `json:"name"`
	Active   int                 `json:"activeProfileIndex"`
	Shared   speedscopeShared    `json:"shared"`
	Profiles []speedscopeProfile `json:"profiles"`
}

type speedscopeShared struct {
	Frames []speedscopeFrame `json:"frames"`
}

type speedscopeFrame struct {
	Name string `json:"name"`
	File string `json:"file,omitempty"`
	Line int64  `json:"line,omitempty"`
	Col  int64  `json:"col,omitempty"`
}

type speedscopeProfile struct {
	Type    string  `json:"type"`
	Name    string  `json:"name"`
	Unit    string  `json:"unit"`
	Start   int64   `json:"startValue"`
	End     int64   `json:"endValue"`
	Samples [][]int `json:"samples"`
	Weights []int64 `json:"weights"`
}

// exact is the largest whole number up to which JavaScript, which reads the file, counts every one.
const exact = 1 << 53

// WriteSpeedscope writes a file of speedscope, with one of its profiles for each metric.
func WriteSpeedscope(w io.Writer, p *Profile) ([]Loss, error) {
	d := speedscope{
		Schema: "https://www.speedscope.app/file-format-schema.json", Exporter: "flameox", Name: p.Name, Active: p.Primary,
		Shared: speedscopeShared{Frames: []speedscopeFrame{}}, Profiles: []speedscopeProfile{},
	}
	losses := p.labelled("speedscope")
	at := map[*callgraph.Frame]int{}
	for m, metric := range p.Metrics {
		if err := p.positive("speedscope", m); err != nil {
			return nil, err
		}
		if total := p.Total(m); total > exact {
			losses = append(losses, Loss{fmt.Sprintf("the total of %s is above 2^53, where JavaScript rounds", metric.Name)})
		}
		out := speedscopeProfile{Type: "sampled", Name: p.Name + " (" + metric.Name + ")", Unit: speedscopeUnit(metric.Unit), Samples: [][]int{}, Weights: []int64{}}
		if out.Unit == "none" && metric.Unit != "" && metric.Unit != "count" {
			out.Name += " in " + metric.Unit
		}
		for _, s := range p.Samples {
			if s.Weights[m] == 0 {
				continue
			}
			stack := make([]int, len(s.Frames))
			for i, f := range s.Frames {
				j, ok := at[f]
				if !ok {
					j = len(d.Shared.Frames)
					at[f] = j
					d.Shared.Frames = append(d.Shared.Frames, speedscopeFrame{Name: f.Name(), File: f.File, Line: f.Line, Col: f.Column})
				}
				stack[i] = j
			}
			out.Samples, out.Weights = append(out.Samples, stack), append(out.Weights, s.Weights[m])
			out.End = callgraph.Add(out.End, s.Weights[m])
		}
		d.Profiles = append(d.Profiles, out)
	}
	if err := json.NewEncoder(w).Encode(&d); err != nil {
		return nil, fmt.Errorf("write a speedscope file: %w", err)
	}
	return losses, nil
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
