package timeline

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/flameox/flameox/evidence"
)

// Text is a text that a Collector knows: names of events are few, and each is held once.
type Text uint32

// NoText is the empty text.
const NoText Text = 0

// MaxText is the number of bytes that are kept of one text; what is behind them is cut, and counted.
const MaxText = 16 << 10

// texts are the distinct texts of a trace.
type texts struct {
	list  []string
	at    map[string]Text
	bytes int64
	most  int64
	cut   int64
	bad   int64
}

// Text makes b known. The error is a *evidence.BudgetError where a trace has more distinct text than its memory budget holds.
func (c *Collector) Text(b []byte) (Text, error) {
	if len(b) == 0 {
		return NoText, nil
	}
	if t, ok := c.texts.at[string(b)]; ok {
		return t, nil
	}
	return c.texts.add(string(b))
}

func (t *texts) add(s string) (Text, error) {
	if len(s) > MaxText {
		t.cut++
		s = strings.ToValidUTF8(s[:MaxText], "")
	}
	if !utf8.ValidString(s) {
		t.bad++
		// The text as it stands finds it again without being repaired again.
		fixed, err := t.known(strings.ToValidUTF8(s, "\uFFFD"))
		if err == nil {
			t.at[s] = fixed
			t.bytes += int64(len(s)) + 64
		}
		return fixed, err
	}
	return t.known(s)
}

func (t *texts) known(s string) (Text, error) {
	if i, ok := t.at[s]; ok {
		return i, nil
	}
	if t.bytes += int64(len(s)) + 80; t.bytes > t.most && t.most > 0 {
		return 0, &evidence.BudgetError{What: "bytes of memory for distinct names and ids", Table: evidence.TraceEventsTable, Limit: t.most}
	}
	i := Text(len(t.list))
	t.list = append(t.list, s)
	t.at[s] = i
	return i, nil
}

// String is the text.
func (c *Collector) String(t Text) string { return c.texts.list[t] }

// Track is a line of time: a thread, or what has its own begin and end beside threads.
type Track uint32

// track is what is known of a Track.
type track struct {
	process, thread string // pid and tid as text; "" for none
	name            string // of the track or the thread
	async           bool
}

// Thread is the track of a thread, by the texts of its process and its own id.
func (c *Collector) Thread(process, thread []byte) Track {
	c.key = append(append(append(c.key[:0], process...), 0), thread...)
	if c.lastKey != "" && string(c.key) == c.lastKey {
		return c.lastTrack
	}
	t, ok := c.trackAt[string(c.key)]
	if !ok {
		t = c.newTrack(track{process: valid(process), thread: valid(thread)})
		c.trackAt[string(c.key)] = t
	}
	c.lastKey, c.lastTrack = string(c.key), t
	return t
}

// Async is the track of the asynchronous events of a process; those of one id are told apart by Event.Within.
func (c *Collector) Async(process, thread []byte) Track {
	c.key = append(append(append(append(c.key[:0], process...), 0), thread...), 1)
	t, ok := c.trackAt[string(c.key)]
	if !ok {
		t = c.newTrack(track{process: valid(process), thread: valid(thread), async: true})
		c.trackAt[string(c.key)] = t
	}
	return t
}

// Named is a track that a reader tells apart by a number of its own. process is the text of a process's id, "" for none.
func (c *Collector) Named(number uint64, process, thread, name string) Track {
	key := "\x00n" + strconv.FormatUint(number, 10)
	t, ok := c.trackAt[key]
	if !ok {
		t = c.newTrack(track{})
		c.trackAt[key] = t
	}
	c.tracks[t].process, c.tracks[t].thread, c.tracks[t].name = process, thread, name
	return t
}

func (c *Collector) newTrack(t track) Track {
	c.tracks = append(c.tracks, t)
	c.texts.bytes += int64(len(t.process)+len(t.thread)) + 160
	return Track(len(c.tracks) - 1)
}

// NameThread gives a thread its name; the last one stays.
func (c *Collector) NameThread(process, thread []byte, name string) {
	t := c.Thread(process, thread)
	c.tracks[t].name = strings.ToValidUTF8(name, "\uFFFD")
}

// NameProcess gives a process its name; the last one stays.
func (c *Collector) NameProcess(process []byte, name string) {
	c.processes[valid(process)] = strings.ToValidUTF8(name, "\uFFFD")
}

func valid(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }

// who is what rows say of a track.
type who struct {
	processID, threadID *int64
	process, thread     *string
	labels              map[string]string
}

func (c *Collector) who(t Track) *who {
	if w := c.whos[t]; w != nil {
		return w
	}
	k := c.tracks[t]
	w := &who{labels: map[string]string{}}
	name := func(n string, id *int64, text string) *string {
		switch {
		case n != "":
			return &n
		case id == nil && text != "":
			return &text
		}
		return nil
	}
	w.processID, w.threadID = whole(k.process), whole(k.thread)
	w.process, w.thread = name(c.processes[k.process], w.processID, k.process), name(c.threadName(k), w.threadID, k.thread)
	for _, l := range [...]struct {
		key, id string
		name    *string
	}{{"process", k.process, w.process}, {"thread", k.thread, w.thread}} {
		if l.id != "" {
			w.labels[l.key[:1]+"id"] = l.id
		}
		if l.name != nil && *l.name != l.id {
			w.labels[l.key] = *l.name
		}
	}
	c.whos[t] = w
	return w
}

// threadName is a track's own name, or that of the thread it belongs to.
func (c *Collector) threadName(k track) string {
	if k.name != "" {
		return k.name
	}
	if t, ok := c.trackAt[k.process+"\x00"+k.thread]; ok {
		return c.tracks[t].name
	}
	return ""
}

func whole(s string) *int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || s != strconv.FormatInt(n, 10) {
		return nil
	}
	return &n
}
