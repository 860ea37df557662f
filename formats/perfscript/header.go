package perfscript

import (
	"bytes"
	"math"
)

// header is the first line of a sample, or of another record.
type header struct {
	comm     []byte
	pid, tid int64 // -1 where there is none
	period   int64 // -1 where there is none
	event    []byte
	rest     []byte // behind the event: a place, fields of a tracepoint
	record   []byte // of another kind: PERF_RECORD_LOST lost 2
}

// maxComm is the longest name of a thread that Linux keeps.
const maxComm = 15

var recordPrefix = []byte("PERF_RECORD_")

// parseHeader takes a line apart. Fields are told by the time, which has a number of the process in front of it.
func parseHeader(line []byte) (h header, ok bool) {
	line = bytes.TrimLeft(line, " ")
	for at := 0; ; {
		// The next token that could be the time.
		i := bytes.IndexByte(line[at:], ':')
		if i < 0 {
			return h, ok
		}
		end := at + i
		at = end + 1
		start := bytes.LastIndexByte(line[:end], ' ') + 1
		if !isTime(line[start:end]) || at < len(line) && line[at] != ' ' {
			continue
		}
		one := header{pid: -1, tid: -1, period: -1}
		if !one.who(line[:start]) || ok && len(one.comm) > maxComm {
			if ok {
				return h, ok
			}
			continue
		}
		if !one.what(line[at:]) {
			continue
		}
		// A later one is meant, as long as the name in front of it can be one.
		h, ok = one, true
	}
}

// isTime knows seconds with decimals.
func isTime(text []byte) bool {
	point := bytes.IndexByte(text, '.')
	return point > 0 && digits(text[:point]) && digits(text[point+1:])
}

func digits(text []byte) bool {
	for _, c := range text {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(text) > 0
}

// who reads what is in front of the time: name, process, CPU.
func (h *header) who(text []byte) bool {
	text, token := last(text)
	if n := len(token); n > 2 && token[0] == '[' && token[n-1] == ']' && digits(token[1:n-1]) {
		text, token = last(text)
	}
	process, thread, both := bytes.Cut(token, []byte("/"))
	pid, ok := integer(process)
	if !ok {
		return false
	}
	h.pid = pid
	if both {
		if h.tid, ok = integer(thread); !ok {
			return false
		}
	}
	h.comm = bytes.TrimSpace(text)
	return true
}

// last is a line without its last token, and that.
func last(text []byte) (rest, token []byte) {
	text = bytes.TrimRight(text, " \t")
	i := bytes.LastIndexByte(text, ' ') + 1
	return text[:i], text[i:]
}

// what reads what is behind the time: period and event, or another record.
func (h *header) what(text []byte) bool {
	text = bytes.TrimLeft(text, " ")
	if bytes.HasPrefix(text, recordPrefix) {
		h.record = text
		return true
	}
	token, rest, _ := bytes.Cut(text, []byte(" "))
	if digits(token) {
		if n, ok := integer(token); ok {
			h.period = n
			text = bytes.TrimLeft(rest, " ")
		}
	}
	token, rest, _ = bytes.Cut(text, []byte(" "))
	name, ok := bytes.CutSuffix(token, []byte(":"))
	if !ok || len(name) == 0 {
		return false
	}
	h.event, h.rest = name, bytes.TrimSpace(rest)
	return true
}

// integer is a number of 63 bits; perf prints -1 for what is no process.
func integer(text []byte) (n int64, ok bool) {
	if string(text) == "-1" {
		return -1, true
	}
	if !digits(text) {
		return 0, false
	}
	for _, c := range text {
		if n > (math.MaxInt64-int64(c-'0'))/10 {
			return 0, false
		}
		n = 10*n + int64(c-'0')
	}
	return n, true
}

// Frame is one place of a stack.
type Frame struct {
	Address uint64
	Symbol  string // without its offset; empty where perf knows none
	Object  string // the mapped file, as perf names it; empty where perf knows none
	Inlined bool
}

var (
	unknown = []byte("[unknown]")
	inlined = []byte("(inlined)")
)

// parseFrame takes a line of a stack apart.
func parseFrame(line []byte) (f Frame, ok bool) {
	line = bytes.TrimSpace(line)
	address, rest, _ := bytes.Cut(line, []byte(" "))
	if f.Address, ok = hexadecimal(address); !ok {
		return f, false
	}
	rest = bytes.TrimSpace(rest)
	symbol := rest
	if bytes.HasSuffix(rest, inlined) {
		f.Inlined, symbol = true, rest[:len(rest)-len(inlined)]
	} else if open, ok := group(rest); ok {
		symbol = rest[:open]
		if object := rest[open+1 : len(rest)-1]; !bytes.Equal(object, unknown) {
			f.Object = string(object)
		}
	}
	symbol = bytes.TrimSpace(symbol)
	if i := bytes.LastIndex(symbol, []byte("+0x")); i > 0 {
		if _, ok := hexadecimal(symbol[i+3:]); ok {
			symbol = symbol[:i]
		}
	}
	if !bytes.Equal(symbol, unknown) {
		f.Symbol = string(symbol)
	}
	return f, true
}

// group is where the parenthesis opens that the last byte closes; a file may be called so that there is none, then it is the last that opens behind a space.
func group(text []byte) (open int, ok bool) {
	if !bytes.HasSuffix(text, []byte(")")) {
		return 0, false
	}
	depth := 0
	for i := len(text) - 1; i >= 0; i-- {
		switch text[i] {
		case ')':
			depth++
		case '(':
			if depth--; depth == 0 && (i == 0 || text[i-1] == ' ') {
				return i, true
			}
		}
	}
	i := bytes.LastIndex(text, []byte(" ("))
	return i + 1, i >= 0
}

func hexadecimal(text []byte) (n uint64, ok bool) {
	if len(text) == 0 || len(text) > 16 {
		return 0, false
	}
	for _, c := range text {
		switch {
		case c >= '0' && c <= '9':
			n = n<<4 | uint64(c-'0')
		case c >= 'a' && c <= 'f':
			n = n<<4 | uint64(c-'a'+10)
		default:
			return 0, false
		}
	}
	return n, true
}
