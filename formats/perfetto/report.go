package perfetto

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"

	"github.com/flameox/flameox/evidence"
)

// The codes of limitations.
const (
	TraceCut     = "trace_cut"
	PacketsBad   = "packets_rejected"
	OtherPackets = "packets_of_other_kinds"
	Undescribed  = "tracks_undescribed"
	ExtraValues  = "extra_counters"
	NoEvents     = "no_events"
)

var reasons = map[string]string{
	Damaged:     "their bytes are no message",
	Lost:        "what they refer to was lost when the trace was recorded, as their writers say: its buffer was too small",
	Clockless:   "their time is on a clock that no clock snapshot brings to the trace's",
	Timeless:    "they have no time",
	UnknownType: "their type or phase is none of those that are read",
	Valueless:   "they are of a counter and have no value",
	Negative:    "a duration that is negative or does not fit",
	NoID:        "they are asynchronous and have no id, or no thread",
}

// Limitations are what a trace does not say, and whether something in it could not be read.
func (s *Summary) Limitations() (list []evidence.Limitation, partial bool) {
	say := func(code, format string, args ...any) {
		list = append(list, evidence.Limitation{Code: code, Text: fmt.Sprintf(format, args...)})
	}
	if s.Cut != "" {
		say(TraceCut, "%s: the %d packets in front of it are read, and what followed is lost", s.Cut, s.Packets)
	}
	for _, code := range sorted(s.Problems) {
		say(PacketsBad, "%d packets or events were passed over (%s): %s", s.Problems[code], code, reasons[code])
	}
	partial = len(list) > 0
	if s.Undescribed > 0 {
		say(Undescribed, "%d tracks with events have no descriptor in the trace, so nothing says which thread or process they are of; their events are kept", s.Undescribed)
	}
	if s.Extra > 0 {
		say(ExtraValues, "%d values of counters that ride on slices are no rows", s.Extra)
	}
	if len(s.Others) > 0 {
		var names []string
		for _, name := range sorted(s.Others) {
			names = append(names, fmt.Sprintf("%s %d", name, s.Others[name]))
		}
		say(OtherPackets, "packets of these kinds are no track events, and no rows: %s", strings.Join(names, ", "))
	}
	return list, partial
}

func sorted(m map[string]int64) (keys []string) {
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// Detect says whether a file that begins with head is a trace.
func Detect(head []byte) bool {
	if bytes.HasPrefix(head, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(bytes.NewReader(head))
		if err != nil {
			return false
		}
		head, _ = io.ReadAll(io.LimitReader(z, 64<<10)) // a prefix ends with an error
	}
	m := message{rest: head}
	for n := 0; n < 4; n++ {
		if len(m.rest) < 2 || m.rest[0] != 0x0a {
			return false
		}
		m.rest = m.rest[1:]
		size, ok := m.varint()
		if !ok {
			return false
		}
		whole := size <= uint64(len(m.rest))
		p := message{rest: m.rest[:min(size, uint64(len(m.rest)))]}
		written := false
		for p.next() {
			switch p.field {
			case 10, 6, 11, 13, 33, 36, 50, 58, 60, 89, 133: // who wrote it, and what no other format has there
				written = true
			}
		}
		if !written || p.bad && whole {
			return false
		}
		if !whole || size == uint64(len(m.rest)) {
			return true
		}
		m.rest = m.rest[size:]
	}
	return true
}
