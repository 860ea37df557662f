package perfetto

import "github.com/flameox/flameox/formats/timeline"

// sequence is what one writer said so far.
type sequence struct {
	valid bool // its state may be referred to
	names, categories, arguments,
	values, correlations map[uint64]timeline.Text
	places   map[uint64]place
	clock    uint64 // of packets that name none; 0 for the trace's
	track    uint64 // of events that name none
	hasTrack bool
	pid, tid uint64 // of the thread that it writes for
	thread   bool
	time     int64            // of the last event that gave its own as a difference, microseconds
	counters map[uint64]int64 // of counters that are given as differences
}

type place struct {
	file timeline.Text
	line timeline.Number
}

func (s *sequence) clear() {
	counters := map[uint64]int64{}
	*s = sequence{
		valid: true, names: map[uint64]timeline.Text{}, categories: map[uint64]timeline.Text{}, arguments: map[uint64]timeline.Text{},
		values: map[uint64]timeline.Text{}, correlations: map[uint64]timeline.Text{}, places: map[uint64]place{},
		pid: s.pid, tid: s.tid, thread: s.thread, time: s.time, counters: counters,
	}
}

// intern takes in texts that later events refer to.
func (r *reader) intern(s *sequence, b []byte) error {
	m := message{rest: b}
	for m.next() {
		if m.wire != 2 {
			continue
		}
		var into map[uint64]timeline.Text
		switch m.field {
		case 1:
			into = s.categories
		case 2:
			into = s.names
		case 3:
			into = s.arguments
		case 29:
			into = s.values
		case 43:
			into = s.correlations
		case 4:
			if err := r.internPlace(s, m.bytes); err != nil {
				return err
			}
			continue
		default:
			continue
		}
		e := message{rest: m.bytes}
		var id uint64
		var text []byte
		for e.next() {
			switch {
			case e.field == 1 && e.wire == 0:
				id = e.n
			case e.field == 2 && e.wire == 2:
				text = e.bytes
			}
		}
		t, err := r.c.Text(text)
		if err != nil {
			return err
		}
		if r.interned++; r.interned > mostInterned {
			return tooMuch("interned texts", mostInterned)
		}
		into[id] = t
	}
	if m.bad {
		r.sum.Problems[Damaged]++
	}
	return nil
}

func (r *reader) internPlace(s *sequence, b []byte) error {
	id, p, err := r.place(b)
	if err == nil {
		s.places[id] = p
	}
	return err
}

func (r *reader) place(b []byte) (id uint64, p place, err error) {
	e := message{rest: b}
	for e.next() {
		switch e.field {
		case 1:
			id = e.n
		case 2:
			if p.file, err = r.c.Text(e.bytes); err != nil {
				return id, p, err
			}
		case 4:
			p.line = timeline.Number{N: int64(e.n), OK: e.n > 0 && e.n < 1<<31}
		}
	}
	return id, p, nil
}

// track is what a descriptor says of a track.
type track struct {
	parent      uint64
	name        string
	pid, tid    uint64
	process     bool
	thread      bool
	counter     bool
	multiplier  int64
	incremental bool
	described   bool
	used        bool
	known       timeline.Track
	made        bool
	processName string
}

func (r *reader) trackOf(uuid uint64) (*track, error) {
	t := r.tracks[uuid]
	if t == nil {
		if len(r.tracks) == mostTracks {
			return nil, tooMuch("tracks", mostTracks)
		}
		t = &track{multiplier: 1}
		r.tracks[uuid] = t
	}
	return t, nil
}

func (r *reader) descriptor(b []byte) error {
	m := message{rest: b}
	var uuid uint64
	d := track{multiplier: 1, described: true}
	for m.next() {
		switch m.field {
		case 1:
			uuid = m.n
		case 5:
			d.parent = m.n
		case 2, 10, 13:
			d.name = string(m.bytes)
		case 3:
			d.pid, _, d.processName = r.ids(m.bytes, 6)
			d.process = true
		case 4:
			var name string
			d.pid, d.tid, name = r.ids(m.bytes, 5)
			d.thread = true
			if name != "" {
				d.name = name
			}
		case 8:
			d.counter = true
			e := message{rest: m.bytes}
			for e.next() {
				switch {
				case e.field == 4 && e.n > 0 && e.n < 1<<40:
					d.multiplier = int64(e.n)
				case e.field == 5:
					d.incremental = e.n != 0
				}
			}
		}
	}
	if m.bad {
		r.sum.Problems[Damaged]++
		return nil
	}
	t, err := r.trackOf(uuid)
	if err != nil {
		return err
	}
	// A descriptor that comes again says everything again, but names may be missing in it.
	if d.name == "" {
		d.name = t.name
	}
	if d.processName == "" {
		d.processName = t.processName
	}
	d.known, d.made, d.used = t.known, t.made, t.used
	*t = d
	if d.process && d.processName != "" {
		r.c.NameProcess(number(d.pid), d.processName)
	}
	return nil
}

// ids are the process, the thread and the name in a descriptor of either; named is the name's field.
func (r *reader) ids(b []byte, named int) (pid, tid uint64, name string) {
	e := message{rest: b}
	for e.next() {
		switch {
		case e.field == 1 && e.wire == 0:
			pid = uint64(uint32(e.n))
		case e.field == 2 && e.wire == 0:
			tid = e.n
		case e.field == named && e.wire == 2:
			name = string(e.bytes)
		}
	}
	return pid, tid, name
}

// on is the timeline's track of a track of the trace, by now; name says the rest at the end.
func (r *reader) on(uuid uint64) (timeline.Track, error) {
	t, err := r.trackOf(uuid)
	if err != nil {
		return 0, err
	}
	t.used = true
	if !t.made {
		t.known, t.made = r.c.Named(uuid, "", "", ""), true
	}
	return t.known, nil
}

// name says of every track that has events what it is, since descriptors may come late.
func (r *reader) name() {
	for uuid, t := range r.tracks {
		if !t.used {
			continue
		}
		if !t.described {
			r.sum.Undescribed++
		}
		pid, tid, process := t.pid, t.tid, t.process || t.thread
		name := t.name
		for at, steps := t, 0; !process && at.parent != 0 && steps < 64; steps++ {
			above := r.tracks[at.parent]
			if above == nil {
				break
			}
			at = above
			pid, process = at.pid, at.process || at.thread
			if at.thread && tid == 0 {
				tid = at.tid
			}
		}
		if name == "" && t.process {
			name = t.processName
		}
		if name == "" && !t.thread {
			name = "track " + string(number(uuid))
		}
		var p, th string
		if process {
			p = string(number(pid))
		}
		if tid != 0 || t.thread {
			th = string(signed(int64(tid)))
		}
		r.c.Named(uuid, p, th, name)
	}
}
