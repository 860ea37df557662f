package speedscope

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/formats/profile"
)

// The codes of limitations.
const (
	ProfileLeftOut = "profile_left_out"
	Unclosed       = "events_unclosed"
	Unopened       = "events_unopened"
	OutOfOrder     = "events_out_of_order"
)

// Naming is how a provider names what is in a file.
type Naming struct {
	Metric string // in front of the quantity: speedscope gives speedscope.time
	// Frame is a frame as tables name it; nil where it stands for no code and is no part of any stack.
	Frame func(Frame) *profile.Frame
	// Labels are of all samples of a profile; may be nil.
	Labels func(p *Profile) map[string]string
}

// Metrics are those of the profiles, in the order of their first.
func (f *File) Metrics(naming Naming) (metrics []profile.Metric) {
	for _, p := range f.Profiles {
		if m := p.Unit.metric(naming.Metric); !slices.Contains(metrics, m) {
			metrics = append(metrics, m)
		}
	}
	return metrics
}

func (u Unit) metric(prefix string) profile.Metric {
	name := map[string]string{"ns": "time", "bytes": "bytes", "count": "count"}[u.Quantity]
	return profile.Metric{Name: prefix + "." + name, Unit: u.Quantity}
}

// Added is what of a file was added.
type Added struct {
	Samples     int64
	LeftOut     int // profiles that contradict themselves
	Partial     bool
	Limitations []evidence.Limitation
}

// AddTo adds every profile to an aggregation that was made with the file's Metrics. A profile whose events contradict each other is left out and
// named; where that is all of them its error is returned.
func (f *File) AddTo(ctx context.Context, b *profile.Builder, naming Naming) (out Added, err error) {
	metrics := f.Metrics(naming)
	refs := make([]profile.Ref, len(f.Frames))
	none := make([]bool, len(f.Frames))
	for i, fr := range f.Frames {
		named := naming.Frame(fr)
		if none[i] = named == nil; none[i] {
			continue
		}
		if refs[i], err = b.Frame(*named); err != nil {
			return out, err
		}
	}
	say := func(p *Profile, code, format string, args ...any) {
		out.Partial = true
		out.Limitations = append(out.Limitations, evidence.Limitation{Code: code, Text: p.label() + ": " + fmt.Sprintf(format, args...)})
	}
	weights := make([]int64, len(metrics))
	var last error
	for i := range f.Profiles {
		p := &f.Profiles[i]
		m := slices.Index(metrics, p.Unit.metric(naming.Metric))
		var labels map[string]string
		if naming.Labels != nil {
			labels = naming.Labels(p)
		}
		var path []profile.Ref
		faults, err := p.Walk(profile.MaxDepth, func(stack []int32, weight int64) error {
			if out.Samples++; out.Samples%4096 == 0 {
				if err := ctx.Err(); err != nil {
					return err
				}
			}
			path = path[:0]
			for _, fr := range stack {
				if !none[fr] {
					path = append(path, refs[fr])
				}
			}
			weights[m] = weight
			return b.Add(path, weights, labels)
		})
		weights[m] = 0
		var bad *Error
		if errors.As(err, &bad) && bad.Code == Unbalanced {
			out.LeftOut++
			last = bad
			say(p, ProfileLeftOut, "it is left out: %s", bad.Text)
			continue
		}
		if err != nil {
			return out, err
		}
		if faults.Unclosed > 0 {
			say(p, Unclosed, "%d frames are opened and not closed; their time is counted until the end that the profile states", faults.Unclosed)
		}
		if faults.Unopened > 0 {
			say(p, Unopened, "%d events close a frame that is not open, and close nothing", faults.Unopened)
		}
		if faults.Backward > 0 {
			say(p, OutOfOrder, "%d events are before the one in front of them, by up to %d %s; they are taken to be at its time", faults.Backward, faults.Furthest, p.Unit.Quantity)
		}
	}
	if out.LeftOut > 0 && out.LeftOut == len(f.Profiles) {
		return out, last
	}
	return out, nil
}
