package pytest

import (
	"bytes"
	"strings"
)

// record is one line of a log: the fields that are used of it. What is bytes is part of the line and valid until the next one.
type record struct {
	kind     string
	version  string
	quotedID []byte
	hasID    bool
	outcome  string
	when     string
	file     []byte // quoted
	line     int64  // from 1
	duration int64
	start    int64
	stop     int64
	worker   string
	message  string
	crash    bool
	xfail    bool
	reason   string
	subtest  string
	exit     int64
	hasExit  bool

	listed     bool     // the collector says what it found
	collected  [][]byte // quoted
	workers    listed
	deselected listed
	origin     int64
	received   int64
	fixtures   []fixture
}

// listed is a part of a list.
type listed struct {
	there bool
	total int64
	ids   [][]byte // quoted
}

func (r *record) id() string { return plain(r.quotedID) }

// Fields that stand once in a record.
const (
	fieldKind = iota
	fieldID
	fieldOutcome
	fieldWhen
	fieldExit
	fields
)

// read reads a line. sc.bad says that it is no JSON object.
func (r *record) read(sc *scanner, line []byte) {
	*r = record{collected: r.collected[:0], fixtures: r.fixtures[:0], worker: r.worker, workers: listed{ids: r.workers.ids[:0]}, deselected: listed{ids: r.deselected.ids[:0]}}
	before := r.worker
	r.worker = ""
	*sc = scanner{b: line}
	var seen [fields]bool
	once := func(f int) { // a field on which all depends is no free choice of two
		if seen[f] {
			sc.fail()
		}
		seen[f] = true
	}
	sc.object(func(name []byte) {
		switch string(name) {
		case "$report_type", "_report_type":
			once(fieldKind)
			r.kind = intern(sc)
		case "nodeid":
			once(fieldID)
			r.quotedID, r.hasID = sc.text()
		case "outcome":
			once(fieldOutcome)
			r.outcome = intern(sc)
		case "when":
			once(fieldWhen)
			r.when = intern(sc)
		case "location":
			r.location(sc)
		case "duration":
			r.duration, _ = sc.seconds()
		case "start":
			r.start, _ = sc.seconds()
		case "stop":
			r.stop, _ = sc.seconds()
		case "longrepr":
			r.longrepr(sc)
		case "wasxfail":
			text, ok := sc.text()
			r.xfail = ok
			r.reason = bounded(text)
		case "user_properties":
			r.properties(sc)
		case "worker_id":
			if text, ok := sc.text(); ok {
				if r.worker = before; string(text) != before {
					r.worker = plain(text)
				}
			}
		case "pytest_version":
			text, _ := sc.text()
			r.version = plain(text)
		case "exitstatus":
			once(fieldExit)
			r.exit, r.hasExit = sc.whole()
		case "flameox.collected_nodeids":
			r.listed = sc.next() == '['
			r.collected = names(sc, r.collected)
		case "_subtest.context":
			r.context(sc)
		default:
			sc.skip(0)
		}
	})
	if sc.next() != 0 {
		sc.fail()
	}
	r.crash = r.crash && r.when == "???"
	if r.xfail {
		r.message = r.reason
	}
}

// intern is a string that is one of a few.
func intern(sc *scanner) string {
	text, _ := sc.text()
	switch string(text) {
	case "passed":
		return "passed"
	case "failed":
		return "failed"
	case "skipped":
		return "skipped"
	case "setup":
		return "setup"
	case "call":
		return "call"
	case "teardown":
		return "teardown"
	case "TestReport":
		return "TestReport"
	case "function":
		return "function"
	}
	return plain(text)
}

// location is [file, line from 0 or null, name].
func (r *record) location(sc *scanner) {
	if sc.next() != '[' {
		sc.skip(0)
		return
	}
	n := 0
	sc.array(func() {
		switch n++; n {
		case 1:
			r.file, _ = sc.text()
		case 2:
			if line, ok := sc.whole(); ok && line >= 0 {
				r.line = line + 1
			}
		default:
			sc.skip(0)
		}
	})
}

// longrepr is where and why a test failed: an object with reprcrash, [file, line, reason] where it was skipped, or prose. Of prose only a
// crashed worker's is looked at, for which xdist has no field.
func (r *record) longrepr(sc *scanner) {
	switch sc.next() {
	case '"':
		text, _ := sc.text()
		r.crash = bytes.Contains(text, []byte(" crashed while running "))
		r.message = bounded(text)
	case '[':
		n := 0
		sc.array(func() {
			if n++; n == 3 {
				text, _ := sc.text()
				r.message = bounded(text)
			} else {
				sc.skip(0)
			}
		})
	case '{':
		sc.object(func(name []byte) {
			if string(name) != "reprcrash" || sc.next() != '{' {
				sc.skip(0)
				return
			}
			sc.object(func(name []byte) {
				if string(name) != "message" {
					sc.skip(0)
					return
				}
				text, _ := sc.text()
				r.message = bounded(text)
			})
		})
	default:
		sc.skip(0)
	}
}

// maxMessage is how much is kept of why a test failed or was skipped: its first line, and not more than this.
const maxMessage = 400

func bounded(quoted []byte) string {
	if len(quoted) > 8*maxMessage { // an escape is six bytes at most
		quoted = quoted[:8*maxMessage]
	}
	text, _, _ := strings.Cut(plain(quoted), "\n")
	text = strings.ToValidUTF8(strings.TrimSpace(text), "\uFFFD")
	return shorten(text, maxMessage)
}

// shorten cuts a text at a character.
func shorten(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && text[n]&0xC0 == 0x80 {
		n--
	}
	return text[:n] + "…"
}

// names are the strings of an array.
func names(sc *scanner, to [][]byte) [][]byte {
	if sc.next() != '[' {
		sc.skip(0)
		return to
	}
	sc.array(func() {
		if text, ok := sc.text(); ok {
			to = append(to, text)
		}
	})
	return to
}

// properties are pairs of a name and a value. Those of tests are passed over.
func (r *record) properties(sc *scanner) {
	if sc.next() != '[' {
		sc.skip(0)
		return
	}
	sc.array(func() {
		if sc.next() != '[' {
			sc.skip(0)
			return
		}
		n, name := 0, ""
		sc.array(func() {
			n++
			if n == 1 {
				text, _ := sc.text()
				name = property(text)
				return
			}
			if n > 2 {
				sc.skip(0)
				return
			}
			switch name {
			case "run_started_ns":
				r.origin, _ = sc.whole()
			case "controller_received_ns":
				r.received, _ = sc.whole()
			case "fixture_setup":
				r.fixture(sc)
			case "collected_nodeids":
				r.workers.read(sc)
			case "deselected_nodeids":
				r.deselected.read(sc)
			default:
				sc.skip(0)
			}
		})
	})
}

func property(text []byte) string {
	name, ok := bytes.CutPrefix(text, []byte("flameox."))
	if !ok {
		return ""
	}
	switch string(name) {
	case "run_started_ns":
		return "run_started_ns"
	case "controller_received_ns":
		return "controller_received_ns"
	}
	return string(name)
}

func (l *listed) read(sc *scanner) {
	if sc.next() != '{' {
		sc.skip(0)
		return
	}
	l.there = true
	sc.object(func(name []byte) {
		switch string(name) {
		case "total":
			l.total, _ = sc.whole()
		case "nodeids":
			l.ids = names(sc, l.ids)
		default:
			sc.skip(0)
		}
	})
}

func (r *record) fixture(sc *scanner) {
	if sc.next() != '{' {
		sc.skip(0)
		return
	}
	var f fixture
	ok := false
	sc.object(func(name []byte) {
		switch string(name) {
		case "duration_ns":
			f.duration, ok = sc.whole()
		case "fixture":
			text, _ := sc.text()
			f.name = plain(text)
		case "scope":
			f.scope = intern(sc)
		case "outcome":
			f.outcome = intern(sc)
		default:
			sc.skip(0)
		}
	})
	if ok && f.duration >= 0 && f.name != "" {
		r.fixtures = append(r.fixtures, f)
	}
}

// context names a subtest: its message, and its arguments.
func (r *record) context(sc *scanner) {
	if sc.next() != '{' {
		sc.skip(0)
		return
	}
	var parts []string
	sc.object(func(name []byte) {
		switch {
		case string(name) == "msg" && sc.next() == '"':
			text, _ := sc.text()
			parts = append(parts, "["+bounded(text)+"]")
		case string(name) == "kwargs" && sc.next() == '{':
			sc.object(func(name []byte) {
				key := plain(name)
				var value string
				if sc.next() == '"' {
					text, _ := sc.text()
					value = bounded(text)
				} else {
					sc.next()
					from := sc.i
					sc.skip(0)
					value = string(sc.b[from:sc.i])
				}
				parts = append(parts, key+"="+value)
			})
		default:
			sc.skip(0)
		}
	})
	r.subtest = shorten(strings.Join(parts, " "), maxMessage)
}
