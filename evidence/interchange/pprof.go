package interchange

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/klauspost/compress/gzip"
)

// Field numbers of pprof's profile.proto.
const (
	pprofSampleType = 1
	pprofSample     = 2
	pprofMapping    = 3
	pprofLocation   = 4
	pprofFunction   = 5
	pprofString     = 6
	pprofTime       = 9
	pprofDuration   = 10
	pprofComment    = 13
	pprofDefault    = 14
)

// WritePprof writes a profile of pprof, compressed, with all metrics. It is written sample by sample: as the structures of a library, a profile of deep
// stacks would take gigabytes.
func WritePprof(w io.Writer, p *Profile) ([]Loss, error) {
	z := gzip.NewWriter(w)
	out := &pprof{out: bufio.NewWriterSize(z, 64<<10), at: map[string]uint64{"": 0}, texts: []string{""}, location: make([]uint64, len(p.Frames))}
	out.head(p)
	for i := range p.Samples {
		out.sample(&p.Samples[i])
	}
	out.tail(p)
	err := out.out.Flush()
	if cerr := z.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return nil, fmt.Errorf("write a pprof profile: %w", err)
	}
	return nil, nil
}

type pprof struct {
	out      *bufio.Writer // keeps its first error, which Flush returns
	at       map[string]uint64
	texts    []string
	location []uint64 // id of a frame's location, which is its function's, too; 0 where it has none yet
	met      []uint32 // frames in the order of their locations
	m, part  message  // scratch
}

// text is the index of s in the table of texts.
func (o *pprof) text(s string) uint64 {
	i, ok := o.at[s]
	if !ok {
		i = uint64(len(o.texts))
		o.at[s] = i
		o.texts = append(o.texts, s)
	}
	return i
}

// put writes a message as a field of the profile.
func (o *pprof) put(field int, m message) {
	var head message
	head.length(field, len(m))
	o.out.Write(head)
	o.out.Write(m)
}

// plain writes a number as a field of the profile.
func (o *pprof) plain(field int, n uint64) {
	var m message
	m.number(field, n)
	o.out.Write(m)
}

func (o *pprof) head(p *Profile) {
	for _, metric := range p.Metrics {
		var m message
		m.number(1, o.text(metric.Name))
		m.number(2, o.text(metric.Unit))
		o.put(pprofSampleType, m)
	}
	var m message
	m.number(1, 1)
	for _, has := range []int{7, 8, 9} { // functions, file names, line numbers
		m.number(has, 1)
	}
	o.put(pprofMapping, m)
	o.plain(pprofTime, uint64(p.Started.UnixNano()))
	o.plain(pprofDuration, uint64(int64(p.Duration/time.Nanosecond)))
	for _, c := range append([]string{p.Name}, p.Comments...) {
		o.plain(pprofComment, o.text(c))
	}
	o.plain(pprofDefault, o.text(p.Metrics[p.Primary].Name))
}

func (o *pprof) sample(s *Sample) {
	o.part = o.part[:0]
	for _, f := range slices.Backward(s.Path) { // leaf first
		if o.location[f] == 0 {
			o.met = append(o.met, f)
			o.location[f] = uint64(len(o.met))
		}
		o.part.varint(o.location[f])
	}
	o.m = o.m[:0]
	o.m.bytes(1, o.part)
	o.part = o.part[:0]
	for _, w := range s.Weights {
		o.part.varint(uint64(w))
	}
	o.m.bytes(2, o.part)
	for _, k := range slices.Sorted(maps.Keys(s.Labels)) {
		var label message
		label.number(1, o.text(k))
		label.number(2, o.text(s.Labels[k]))
		o.m.bytes(3, label)
	}
	o.put(pprofSample, o.m)
}

// tail writes the places that samples were in, and all texts.
func (o *pprof) tail(p *Profile) {
	for i, at := range o.met {
		f := p.Frames[at]
		var line, location, function message
		id := uint64(i + 1)
		line.number(1, id)
		line.number(2, uint64(f.Line))
		line.number(3, uint64(f.Column))
		location.number(1, id)
		location.number(2, 1)
		if f.Address != nil {
			location.number(3, *f.Address)
		}
		location.bytes(4, line)
		o.put(pprofLocation, location)
		name := o.text(f.Name())
		function.number(1, id)
		function.number(2, name)
		function.number(3, name)
		function.number(4, o.text(f.File))
		o.put(pprofFunction, function)
	}
	for _, s := range o.texts {
		o.put(pprofString, message(s))
	}
}
