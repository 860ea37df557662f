package perfetto

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"github.com/flameox/flameox/formats/timeline"
)

// Limits bound what is read.
type Limits struct {
	Bytes int64 // of the trace, after every decompression; no bound where it is 0
}

// What a trace may hold.
const (
	maxPacket    = 64 << 20
	mostTracks   = 1 << 20
	mostInterned = 1 << 24
	mostFlows    = 1 << 20
	mostWriters  = 1 << 18
)

// Summary is what is known of a trace that was read.
type Summary struct {
	Packets     int64
	Events      int64            // track events
	Problems    map[string]int64 // packets and events that were passed over, by reason
	Others      map[string]int64 // packets of other kinds, by the name of their field
	Undescribed int64            // tracks with events that no descriptor describes
	Extra       int64            // values of counters that ride on slices
	Cut         string           // where the trace breaks off; "" where it does not
	Bytes       int64            // after decompression
}

// The reasons why packets are passed over.
const (
	Damaged     = "packet_damaged"
	Lost        = "state_lost"
	Clockless   = "clock_unknown"
	Timeless    = "time_missing"
	UnknownType = "type_unknown"
	Valueless   = "value_missing"
	Negative    = "duration_negative"
	NoID        = "id_missing"
)

// The codes of errors.
const (
	NotATrace = "not_a_trace"
	CutBefore = "cut_before_event"
	BadGzip   = "gzip_damaged"
	TooLarge  = "input_budget"
	TooMuch   = "trace_limits"
)

// Error says why a file is no trace that can be read.
type Error struct {
	Code   string
	Offset int64
	Text   string
}

func (e *Error) Error() string { return fmt.Sprintf("byte %d of the trace: %s", e.Offset, e.Text) }

func tooMuch(what string, most int) error {
	return &Error{Code: TooMuch, Text: fmt.Sprintf("the trace has more than %d %s", most, what)}
}

type reader struct {
	ctx       context.Context
	c         *timeline.Collector
	sum       Summary
	limits    Limits
	sequences map[uint64]*sequence
	tracks    map[uint64]*track
	clocks    *clocks
	open      map[uint64]bool
	interned  int
	flows     []uint64
	ends      []uint64
	out       timeline.Event
}

// Feed reads a trace into c. The error is an *Error where the trace is at fault, ctx's, or c's.
func Feed(ctx context.Context, src io.Reader, limits Limits, c *timeline.Collector) (Summary, error) {
	r := &reader{
		ctx: ctx, c: c, limits: limits, sequences: map[uint64]*sequence{}, tracks: map[uint64]*track{}, clocks: newClocks(), open: map[uint64]bool{},
		sum: Summary{Problems: map[string]int64{}, Others: map[string]int64{}},
	}
	b := bufio.NewReaderSize(src, 256<<10)
	if head, _ := b.Peek(2); bytes.Equal(head, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(b)
		if err != nil {
			return r.sum, &Error{Code: BadGzip, Text: "the gzip header is damaged: " + err.Error()}
		}
		b = bufio.NewReaderSize(z, 256<<10)
	}
	err := r.packets(b, 0)
	r.name()
	if err == nil && r.sum.Packets == 0 {
		err = &Error{Code: NotATrace, Text: "the file is empty"}
	}
	return r.sum, err
}

// packets goes through a stream of packets, each a field 1 with its length in front.
func (r *reader) packets(b *bufio.Reader, depth int) error {
	var buf []byte
	for n := 0; ; n++ {
		if n%1024 == 0 {
			if err := r.ctx.Err(); err != nil {
				return err
			}
		}
		tag, err := b.ReadByte()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return r.broken(err)
		}
		if tag != 0x0a {
			return r.broken(fmt.Errorf("%#x stands where a packet is expected", tag))
		}
		size, err := binary.ReadUvarint(b)
		if err != nil {
			return r.broken(err)
		}
		if size > maxPacket {
			return r.broken(fmt.Errorf("a packet of %d bytes is longer than any", size))
		}
		r.sum.Bytes += int64(size) + 2
		if r.limits.Bytes > 0 && r.sum.Bytes-2 > r.limits.Bytes {
			return &Error{Code: TooLarge, Offset: r.sum.Bytes, Text: "the trace has more bytes than may be read"}
		}
		if uint64(cap(buf)) < size {
			// No more is held than was read: a length may lie.
			var all bytes.Buffer
			if _, err := io.CopyN(&all, b, int64(size)); err != nil {
				return r.broken(err)
			}
			buf = all.Bytes()
		} else {
			buf = buf[:size]
			if _, err := io.ReadFull(b, buf); err != nil {
				return r.broken(err)
			}
		}
		if err := r.packet(buf, depth); err != nil {
			return err
		}
	}
}

// broken ends the reading where the trace breaks off. What was in front of it stands, unless its compression says that it may be another.
func (r *reader) broken(err error) error {
	var block flate.CorruptInputError
	if errors.Is(err, gzip.ErrChecksum) || errors.Is(err, gzip.ErrHeader) || errors.As(err, &block) {
		return &Error{Code: BadGzip, Offset: r.sum.Bytes, Text: "the compressed data are damaged: " + err.Error()}
	}
	if r.sum.Packets == 0 || r.sum.Events == 0 {
		return &Error{Code: NotATrace, Offset: r.sum.Bytes, Text: fmt.Sprintf("this is no trace of Perfetto, or it breaks off in front of its first event (%v)", err)}
	}
	if r.sum.Cut == "" {
		r.sum.Cut = fmt.Sprintf("the trace breaks off at about byte %d (%v)", r.sum.Bytes, err)
	}
	return nil
}

// others are the packets whose contents are not read, by field.
var others = map[int]string{
	5: "chrome_events", 37: "profile_packet", 38: "battery", 52: "gpu_counter_event", 53: "gpu_render_stage_event", 54: "streaming_profile_packet", 65: "vulkan_api_event", 66: "perf_sample",
}

// packet takes in one packet.
func (r *reader) packet(b []byte, depth int) error {
	m := message{rest: b}
	var at, clockID, writer, flags uint64
	var event, interned, snapshot, descriptor, defaults, processes, thread, compressed, zstds, kernel []byte
	hasTime, hasClock, dropped, known := false, false, false, false
	for m.next() {
		switch m.field {
		case 8:
			at, hasTime = m.n, true
		case 58:
			clockID, hasClock = m.n, true
		case 10:
			writer, known = m.n, true
		case 13:
			flags |= m.n
		case 41:
			if m.n != 0 {
				flags |= 1
			}
		case 42:
			dropped = m.n != 0
		case 11:
			event = m.bytes
		case 12:
			interned = m.bytes
		case 6:
			snapshot = m.bytes
		case 60:
			descriptor = m.bytes
		case 59:
			defaults = m.bytes
		case 2:
			processes = m.bytes
		case 44:
			thread = m.bytes
		case 50:
			compressed = m.bytes
		case 133:
			zstds = m.bytes
		case 1:
			kernel = m.bytes
		default:
			if name := others[m.field]; name != "" {
				r.sum.Others[name]++
			}
			if m.field >= 3 {
				known = true
			}
		}
	}
	if m.bad {
		if r.sum.Packets == 0 {
			return &Error{Code: NotATrace, Text: "the first packet is damaged, or this is no trace of Perfetto"}
		}
		r.sum.Problems[Damaged]++
		return nil
	}
	if r.sum.Packets == 0 && !known && snapshot == nil && descriptor == nil && event == nil && compressed == nil && zstds == nil && !hasTime {
		return &Error{Code: NotATrace, Text: "the first packet has nothing that a packet of Perfetto has: this is another kind of protobuf"}
	}
	r.sum.Packets++
	if compressed != nil || zstds != nil {
		return r.inflate(compressed, zstds, depth)
	}
	s := r.sequences[writer]
	if s == nil {
		if len(r.sequences) == mostWriters {
			return tooMuch("writers", mostWriters)
		}
		s = &sequence{}
		s.clear()
		s.valid = flags&2 == 0 || flags&1 != 0
		r.sequences[writer] = s
	}
	if flags&1 != 0 {
		s.clear()
	} else if dropped {
		s.valid = false
	}
	if snapshot != nil && !r.clocks.snapshot(writer, snapshot) {
		r.sum.Problems[Damaged]++
	}
	if flags&2 != 0 && !s.valid {
		r.sum.Problems[Lost]++
		return nil
	}
	if defaults != nil {
		s.defaults(defaults)
	}
	if interned != nil {
		if err := r.intern(s, interned); err != nil {
			return err
		}
	}
	if descriptor != nil {
		if err := r.descriptor(descriptor); err != nil {
			return err
		}
	}
	if thread != nil {
		s.pid, s.tid, _ = r.ids(thread, 5)
		s.thread = true
		e := message{rest: thread}
		for e.next() {
			switch e.field {
			case 5:
				r.c.NameThread(number(s.pid), signed(int64(s.tid)), string(e.bytes))
			case 6:
				s.time = int64(e.n)
			}
		}
	}
	if processes != nil {
		r.processes(processes)
	}
	if kernel != nil {
		if err := r.ftrace(kernel); err != nil {
			return err
		}
	}
	if event == nil {
		return nil
	}
	var ns int64
	if hasTime {
		if !hasClock {
			if clockID = s.clock; clockID == 0 {
				clockID = clockBoottime
			}
		}
		var ok bool
		if ns, ok = r.clocks.time(writer, clockID, at); !ok {
			r.sum.Events++
			r.sum.Problems[Clockless]++
			return nil
		}
	}
	return r.trackEvent(s, event, ns, hasTime)
}

func (s *sequence) defaults(b []byte) {
	s.clock, s.hasTrack = 0, false
	m := message{rest: b}
	for m.next() {
		switch {
		case m.field == 58:
			s.clock = m.n
		case m.field == 11 && m.wire == 2:
			e := message{rest: m.bytes}
			for e.next() {
				if e.field == 11 {
					s.track, s.hasTrack = e.n, true
				}
			}
		}
	}
}

// processes takes the names of processes and threads out of a process tree.
func (r *reader) processes(b []byte) {
	m := message{rest: b}
	for m.next() {
		if m.wire != 2 {
			continue
		}
		var id, group uint64
		var name []byte
		e := message{rest: m.bytes}
		for e.next() {
			switch {
			case e.field == 1:
				id = e.n
			case e.field == 3 && e.wire == 0:
				group = e.n
			case m.field == 1 && e.field == 3 && name == nil, m.field == 2 && e.field == 2:
				name = e.bytes
			}
		}
		switch {
		case len(name) == 0:
		case m.field == 1:
			r.c.NameProcess(number(id), string(name))
		case m.field == 2:
			r.c.NameThread(number(group), number(id), string(name))
		}
	}
}

// inflate goes through packets that were compressed together.
func (r *reader) inflate(deflated, zstds []byte, depth int) error {
	if depth > 0 {
		return &Error{Code: NotATrace, Offset: r.sum.Bytes, Text: "compressed packets lie in compressed packets"}
	}
	var src io.Reader
	if deflated != nil {
		z, err := zlib.NewReader(bytes.NewReader(deflated))
		if err != nil {
			r.sum.Problems[Damaged]++
			return nil
		}
		defer z.Close()
		src = z
	} else {
		z, err := zstd.NewReader(bytes.NewReader(zstds), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(256<<20))
		if err != nil {
			r.sum.Problems[Damaged]++
			return nil
		}
		defer z.Close()
		src = z
	}
	before := r.sum.Cut
	err := r.packets(bufio.NewReaderSize(src, 64<<10), depth+1)
	if r.sum.Cut != before { // what stands behind them is not cut
		r.sum.Cut = before
		r.sum.Problems[Damaged]++
	}
	return err
}
