package perfscript

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/flameox/flameox/formats/textline"
)

// MediaType is what a text is registered as. None is registered; this is ours.
const MediaType = "text/x-perf-script"

// Sample is one sample. Its slices are valid until the handler returns.
type Sample struct {
	Comm   []byte // name of the thread
	PID    int64  // -1 where there is none; a text with one number has it here, whichever it is
	TID    int64  // -1 where there is none
	Event  []byte // as perf names it: cpu-clock:ppp, sched:sched_switch
	Period int64  // -1 where there is none
	Stack  []int32
	Placed bool // the stack is the one place on the line of the sample: no call graph was printed
}

// Handler is told what a text holds, in its order.
type Handler interface {
	// Frame is asked for a number for a frame, mostly once for each.
	Frame(Frame) (int32, error)
	// Sample is told a sample, whose stack is of these numbers, from the leaf.
	Sample(*Sample) error
}

// Summary is what a text is made of.
type Summary struct {
	Samples    int64
	Lost       uint64 // records that perf says were lost; the larger of its two counts of the same loss
	Invalid    int64  // lines that are nothing that is known
	First      string // the first of them, shortened, behind its number
	Unfinished bool   // the last line has no end, so it may be cut
	Cut        bool   // it ends as no whole line of a stack does
	Lines      int64
	Bytes      int64
}

// Foreign says whether the text is something else.
func (s *Summary) Foreign() bool { return s.Invalid > s.Samples }

// The bounds of what is kept to be found again.
const (
	knownBytes = 128 << 20
	maxFrames  = 1 << 16 // of one stack; profile.MaxDepth is as much
)

// TooDeepError says that a stack has more frames than any profile can sum.
type TooDeepError struct{ Line int64 }

func (e *TooDeepError) Error() string {
	return fmt.Sprintf("line %d: a stack has more than %d frames", e.Line, maxFrames)
}

type reader struct {
	h      Handler
	in     *textline.Reader
	sum    Summary
	s      Sample
	open   bool
	keep   []byte // comm and event of the open sample
	frames map[string]int32
	size   int
	err    error

	lost, lostSamples uint64
}

var lostSamples = []byte("PERF_RECORD_LOST_SAMPLES")

// Read goes through a text. An error is the handler's, that of reading, a *textline.LongError, or a *TooDeepError.
func Read(text io.Reader, h Handler) (Summary, error) {
	r := reader{h: h, in: textline.New(text), frames: map[string]int32{}}
	for r.err == nil && r.in.Next() {
		r.line(r.in.Line())
		r.sum.Cut = r.in.Unfinished() && !bytes.HasSuffix(r.in.Line(), []byte(")"))
	}
	r.flush()
	r.sum.Lost = max(r.lost, r.lostSamples)
	r.sum.Lines, r.sum.Bytes, r.sum.Unfinished = r.in.Number(), r.in.Bytes(), r.in.Unfinished()
	return r.sum, errors.Join(r.err, r.in.Err())
}

func (r *reader) line(line []byte) {
	switch {
	case len(line) == 0:
		r.flush()
		return
	case line[0] == '\t' && r.open: // of a stack, as nearly all are
		if r.frame(line) {
			return
		}
	case line[0] != '\t':
		if h, ok := parseHeader(line); ok {
			r.flush()
			r.header(&h)
			return
		}
		if line[0] == '#' {
			return
		}
		if line[0] == ' ' && r.open && r.frame(line) {
			return
		}
	}
	if r.open && (line[0] == ' ' || line[0] == '\t') && isSourceLine(line) {
		return
	}
	if len(bytes.TrimSpace(line)) == 0 {
		r.flush()
		return
	}
	if r.sum.Invalid++; r.sum.First == "" {
		r.sum.First = fmt.Sprintf("line %d: %.60q", r.in.Number(), line)
	}
}

func (r *reader) header(h *header) {
	if h.record != nil {
		if bytes.HasPrefix(h.record, lostSamples) {
			r.lostSamples += lost(h.record)
		} else {
			r.lost += lost(h.record)
		}
		return
	}
	r.open = true
	r.keep = append(append(r.keep[:0], h.comm...), h.event...)
	r.s = Sample{Comm: r.keep[:len(h.comm)], Event: r.keep[len(h.comm):], PID: h.pid, TID: h.tid, Period: h.period, Stack: r.s.Stack[:0]}
	if bytes.HasSuffix(h.rest, []byte(")")) && r.frame(h.rest) { // fields of a tracepoint are no place
		r.s.Placed = true
	}
}

// frame adds a frame to the open sample.
func (r *reader) frame(line []byte) bool {
	n, ok := r.frames[string(line)]
	if !ok {
		f, parsed := parseFrame(line)
		if !parsed {
			return false
		}
		var err error
		if n, err = r.h.Frame(f); err != nil {
			r.err = err
			return true
		}
		if r.size += len(line) + 64; r.size > knownBytes {
			clear(r.frames)
			r.size = len(line) + 64
		}
		r.frames[string(line)] = n
	}
	if r.s.Placed { // the stack follows, and begins with the place that was printed before it
		r.s.Stack, r.s.Placed = r.s.Stack[:0], false
	}
	if len(r.s.Stack) == maxFrames {
		r.err = &TooDeepError{r.in.Number()}
		return true
	}
	r.s.Stack = append(r.s.Stack, n)
	return true
}

// flush tells the open sample: its stack ends with a line that is blank, another sample, or the text.
func (r *reader) flush() {
	if !r.open || r.err != nil {
		return
	}
	r.open = false
	r.sum.Samples++
	r.err = r.h.Sample(&r.s)
}

// lost is how many a record of lost ones says: PERF_RECORD_LOST lost 2.
func lost(record []byte) uint64 {
	fields := bytes.Fields(record)
	if len(fields) < 3 || !bytes.HasPrefix(fields[0], []byte("PERF_RECORD_LOST")) {
		return 0
	}
	n, ok := integer(fields[len(fields)-1])
	if !ok || n < 0 {
		return 0
	}
	return uint64(n)
}

// isSourceLine knows what perf prints between frames where source lines were asked for: file:line.
func isSourceLine(line []byte) bool {
	text := bytes.TrimSpace(line)
	i := bytes.LastIndexByte(text, ':')
	return i > 0 && digits(text[i+1:]) && !bytes.ContainsAny(text[:i], "\t()")
}

// Event is one kind of sample in a text.
type Event struct {
	Name     string
	Samples  int64
	Unsized  int64 // samples without a period
	OneFrame int64 // samples that are one place, no call graph
}

// Survey is what a first look at a text finds: everything but stacks.
type Survey struct {
	Events    []Event          // in the order of their first sample
	Processes map[int64]string // the name of each process, which is that of its first thread, by number
}

// Look goes through a text and passes over stacks, which is many times faster than reading them.
func Look(text io.Reader) (*Survey, error) {
	in := textline.New(text)
	out := &Survey{Processes: map[int64]string{}}
	at := map[string]int{}
	for in.Next() {
		line := in.Line()
		if len(line) == 0 || line[0] == '\t' {
			continue
		}
		h, ok := parseHeader(line)
		if !ok || h.record != nil {
			continue
		}
		i, known := at[string(h.event)]
		if !known {
			if len(out.Events) == maxEvents {
				return out, &TooManyEventsError{}
			}
			i = len(out.Events)
			out.Events = append(out.Events, Event{Name: string(h.event)})
			at[out.Events[i].Name] = i
		}
		e := &out.Events[i]
		e.Samples++
		if h.period < 0 {
			e.Unsized++
		}
		if h.pid >= 0 && h.pid == h.tid && out.Processes[h.pid] != string(h.comm) && len(out.Processes) < maxProcesses {
			out.Processes[h.pid] = string(h.comm)
		}
	}
	return out, in.Err()
}

// The bounds of what a text may be made of: beyond them it is damaged, or was never one.
const (
	maxEvents    = 256
	maxProcesses = 1 << 20
)

// TooManyEventsError says that a text has samples of more kinds than perf records at once.
type TooManyEventsError struct{}

func (*TooManyEventsError) Error() string {
	return fmt.Sprintf("the text has samples of more than %d kinds of events", maxEvents)
}

// Detect says whether a text begins as perf script prints: with a sample and a frame, behind comments. A text without stacks is not told from a log.
func Detect(head []byte) bool {
	var d detector
	if i := bytes.LastIndexByte(head, '\n'); i >= 0 {
		head = head[:i+1]
	}
	sum, err := Read(bytes.NewReader(head), &d)
	return err == nil && sum.Samples > 0 && d.frames > 0 && sum.Invalid == 0
}

type detector struct{ frames int }

func (d *detector) Frame(Frame) (int32, error) { d.frames++; return 0, nil }
func (d *detector) Sample(*Sample) error       { return nil }

// Metric is what the periods of an event are: its name without how precise perf made it, and the unit of one.
func Metric(event string) (name, unit string) {
	name = event
	if i := strings.LastIndexAny(name, ":/"); i >= 0 && modifiers(name[i+1:]) {
		kept := strings.NewReplacer("p", "", "P", "").Replace(name[i+1:])
		if kept == "" && name[i] == ':' {
			name = name[:i]
		} else {
			name = name[:i+1] + kept
		}
	}
	base, _, _ := strings.Cut(name, ":")
	if base == "cpu-clock" || base == "task-clock" {
		return name, "ns"
	}
	return name, "count"
}

// modifiers says whether text is letters that perf puts behind an event.
func modifiers(text string) bool {
	return strings.Trim(text, "ukhGHpPDIeWSb") == ""
}

// UserOnly says whether an event was counted outside of the kernel only.
func UserOnly(event string) bool {
	i := strings.LastIndexAny(event, ":/")
	return i >= 0 && modifiers(event[i+1:]) && strings.Contains(event[i+1:], "u") && !strings.Contains(event[i+1:], "k")
}
