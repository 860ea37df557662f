package pprof

import (
	"strconv"
	"strings"

	pb "github.com/google/pprof/profile"

	"github.com/flameox/flameox/formats/profile"
	"github.com/flameox/flameox/internal/pattern"
	"github.com/flameox/flameox/providers"
)

// grain is what one frame is.
type grain int

const (
	byFunction grain = iota
	byLine
	byAddress
)

// Go's runtime charges samples that belong to no function to functions that are never called: see
// the end of the list of pseudo-functions in runtime/proc.go.
var goSynthetic = pattern.Lazy{Expr: `^runtime\._(System|ExternalCode|LostExternalCode|GC|LostSIGPROFDuringAtomic64|LostContendedRuntimeLock|VDSO)$`}

// framer makes frames of locations.
type framer struct {
	grain grain
	paths providers.Paths
	b     *profile.Builder
	known map[*pb.Location][]profile.Ref // root to leaf
}

// stack appends a sample's frames, root to leaf; pprof writes them leaf to root, and within a location the
// innermost inlined call first.
func (f *framer) stack(s *pb.Sample, out []profile.Ref) ([]profile.Ref, error) {
	for i := len(s.Location) - 1; i >= 0; i-- {
		refs, err := f.location(s.Location[i])
		if err != nil {
			return out, err
		}
		// Few bytes may stand for any number of frames, so they are counted before they are held.
		if err := f.b.CheckDepth(len(out) + len(refs)); err != nil {
			return out, err
		}
		out = append(out, refs...)
	}
	return out, nil
}

func (f *framer) location(l *pb.Location) ([]profile.Ref, error) {
	if refs, ok := f.known[l]; ok {
		return refs, nil
	}
	if err := f.b.CheckDepth(len(l.Line)); err != nil {
		return nil, err
	}
	var base profile.Frame
	inlining := len(l.Line) > 1
	if m := l.Mapping; m != nil {
		base.Module, base.BuildID = f.paths.File(m.File), m.BuildID
		inlining = inlining || m.HasInlineFrames
	}
	var refs []profile.Ref
	for i := len(l.Line) - 1; i >= 0; i-- {
		fr := base
		line := l.Line[i]
		if line.Function != nil {
			fr.Function = line.Function.Name
			if fr.Function == "" {
				fr.Function = line.Function.SystemName
			}
			fr.File = f.paths.File(line.Function.Filename)
			fr.Synthetic = goSynthetic.MatchString(fr.Function)
		}
		if f.grain >= byLine {
			if line.Line > 0 {
				fr.Line = profile.Some(line.Line)
			}
			if line.Column > 0 {
				fr.Column = profile.Some(line.Column)
			}
			if inlining {
				fr.Inlined = profile.No
				if i < len(l.Line)-1 {
					fr.Inlined = profile.Yes
				}
			}
		}
		if (f.grain == byAddress || fr.Function == "") && l.Address != 0 {
			fr.Address, fr.HasAddress = l.Address, true
		}
		if err := f.add(&refs, fr); err != nil {
			return nil, err
		}
	}
	if len(l.Line) == 0 {
		base.Address, base.HasAddress = l.Address, l.Address != 0
		if err := f.add(&refs, base); err != nil {
			return nil, err
		}
	}
	f.known[l] = refs
	return refs, nil
}

func (f *framer) add(refs *[]profile.Ref, fr profile.Frame) error {
	if fr.Function == "" && !fr.HasAddress {
		fr.Function, fr.Synthetic = "[unknown]", true // neither a name nor a place
	}
	r, err := f.b.Frame(fr)
	*refs = append(*refs, r)
	return err
}

// labelsOf are a sample's labels as text, and how many of them had several values. A numeric label has its
// unit behind it where the profile gives one.
func labelsOf(s *pb.Sample, b *profile.Builder) (labels map[string]string, several int, err error) {
	if len(s.Label)+len(s.NumLabel) == 0 {
		return nil, 0, nil
	}
	// The values of one label may all be the same long text of the string table, so they are measured before they are joined.
	var size int64
	for k, v := range s.Label {
		for _, text := range v {
			size += int64(len(text)) + 1
		}
		size += int64(len(k))
	}
	for k, v := range s.NumLabel {
		for _, unit := range s.NumUnit[k] {
			size += int64(len(unit)) + 1
		}
		size += int64(len(k) + len(v))
	}
	if err := b.CheckLabels(size); err != nil {
		return nil, 0, err
	}
	values := make(map[string][]string, len(s.Label)+len(s.NumLabel))
	for k, v := range s.Label {
		values[k] = append(values[k], v...)
	}
	for k, v := range s.NumLabel {
		units := s.NumUnit[k]
		for i, n := range v {
			text := strconv.FormatInt(n, 10)
			if i < len(units) && units[i] != "" {
				text += " " + units[i]
			}
			values[k] = append(values[k], text)
		}
	}
	labels = make(map[string]string, len(values))
	for k, v := range values {
		if len(v) > 1 {
			several++
		}
		labels[k] = strings.Join(v, ",")
	}
	return labels, several, nil
}
