package chrometrace

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/formats/jsonscan"
	"github.com/flameox/flameox/internal/pattern"
)

// The codes of limitations.
const (
	TraceCut    = "trace_cut"
	ArrayOpen   = "array_unterminated"
	EventsBad   = "events_rejected"
	OtherEvents = "events_of_other_kinds"
	NoEvents    = "no_events"
	ArgsTwice   = "args_ambiguous"
)

var reasons = map[string]string{
	NoPhase:       "no ph, or one that is not one character",
	NoTime:        "no ts, or one that is no number of microseconds",
	NoDuration:    "ph X without dur, or with one that is no number of microseconds",
	Negative:      "a negative dur, so they end before they begin",
	Zeroed:        "ts 0 and dur 0, so their times were lost when they were written: nothing may be said of when they ran or for how long",
	NamedTwice:    "a member that stands twice",
	NotAnEvent:    "an element that is no object",
	UnknownPhase:  "a ph that the format does not have",
	BeyondInt64:   "an end later than 64 bits of nanoseconds hold",
	OddIdentifier: "no id, which asynchronous events and flows need",
}

// Limitations are what a trace does not say, and whether something in it could not be read.
func (s *Summary) Limitations() (list []evidence.Limitation, partial bool) {
	if s.Cut != "" {
		list = append(list, evidence.Limitation{Code: TraceCut, Text: fmt.Sprintf("%s: %d whole events stand in front of it, and what followed is lost", s.Cut, s.Events)})
	}
	if s.Open {
		list = append(list, evidence.Limitation{Code: ArrayOpen, Text: "the array of events has no end, as of a program that crashed or still ran: the format allows it, and events may be missing behind the last one"})
	}
	var codes []string
	for code := range s.Problems {
		codes = append(codes, code)
	}
	slices.Sort(codes)
	for _, code := range codes {
		list = append(list, evidence.Limitation{Code: EventsBad, Text: fmt.Sprintf("%d of %d events were passed over (%s): %s; the first one is at byte %d", s.Problems[code], s.Elements, code, reasons[code], s.First[code])})
	}
	partial = len(list) > 0
	if s.Twice > 0 {
		list = append(list, evidence.Limitation{Code: ArgsTwice, Text: fmt.Sprintf("%d events have arguments in which a name stands twice, and there is no telling which of the two is meant: nothing is taken from the arguments of these; the first one is at byte %d", s.Twice, s.First[ArgsTwice])})
	}
	samples, lost := s.Samples.limitations()
	list, partial = append(list, samples...), partial || lost
	if len(s.Others) > 0 {
		var phases []string
		for p, n := range s.Others {
			phases = append(phases, fmt.Sprintf("%c %d", p, n))
		}
		slices.Sort(phases)
		list = append(list, evidence.Limitation{Code: OtherEvents, Text: "events of these phases are objects, memory dumps, contexts or samples of a kind that is not known, and no rows: " + strings.Join(phases, ", ")})
	}
	return list, partial
}

var (
	array  = pattern.Lazy{Expr: `^\s*\[\s*\{[^\]]*"ph"\s*:\s*"[A-Za-z]"`}
	object = pattern.Lazy{Expr: `^\s*\{[\s\S]*"traceEvents"\s*:\s*\[`}
	kineto = pattern.Lazy{Expr: `^\s*\{\s*"schemaVersion"\s*:\s*[0-9]+\s*,`}
)

// Detect says whether a file that begins with head is a trace, and whether it is one that torch.profiler's Kineto wrote.
func Detect(head []byte) (trace, torch bool) {
	if bytes.HasPrefix(head, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(bytes.NewReader(head))
		if err != nil {
			return false, false
		}
		head, _ = io.ReadAll(io.LimitReader(z, 256<<10)) // a prefix ends with an error
	}
	head = bytes.TrimPrefix(head, []byte("\xEF\xBB\xBF"))
	if torch = kineto.Match(head); torch {
		return true, true
	}
	return beginsWithEvent(head) || object.Match(head), false
}

// beginsWithEvent says whether head, which may break off, is an array whose first event has a phase.
func beginsWithEvent(head []byte) bool {
	r := jsonscan.New(head)
	if r.Kind() != '[' {
		return false
	}
	for more := r.Begin('[', ']'); more && r.Kind() == '{'; more = r.More(']') {
		members := false
		for next := r.Begin('{', '}'); next; next = r.More('}') {
			members = true
			if !bytes.Equal(r.Name(), []byte("ph")) {
				r.Skip()
				continue
			}
			phase := text(r)
			return len(phase.Raw) == 1 && known[phase.Raw[0]]
		}
		if members {
			break
		}
	}
	// What its producer did not escape makes it no JSON, and a trace to its user: reading it says where.
	var bad *jsonscan.Error
	return errors.As(r.Err(), &bad) && !bad.Cut && array.Match(head)
}
