package pythonstartup

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/flameox/flameox/providers"
)

// trace is what -X importtime printed.
type trace struct {
	imports []imported
	other   int64 // lines of the program's own
	broken  int64 // lines of the trace that say nothing that can be read
	open    int64 // imports whose parent never came: the trace breaks off
	header  bool
}

// imported is one line.
type imported struct {
	module     string
	parent     int // place among the imports; -1 where there is none
	depth      int64
	self       int64 // us
	cumulative int64
}

// mark begins a line of the trace.
var mark = []byte("import time:")

// maxLine is far above the length of a module's name. A longer line is the program's own.
const maxLine = 1 << 16

// parseTrace reads a trace of at most rows imports, 0 for any number. An error is a *providers.Refusal where the trace is at fault.
func parseTrace(r io.Reader, rows int64) (*trace, error) {
	t := &trace{}
	waiting := map[int64][]int{} // imports by depth whose parent is still to come
	in := bufio.NewReaderSize(r, maxLine)
	for {
		line, err := in.ReadSlice('\n')
		whole := err == nil
		for errors.Is(err, bufio.ErrBufferFull) {
			line = nil
			_, err = in.ReadSlice('\n')
		}
		if err != nil && err != io.EOF {
			return nil, err
		}
		if len(line) > 0 || whole {
			t.line(line, whole, waiting)
			if rows > 0 && int64(len(t.imports)) > rows {
				return nil, providers.Refuse(RowBudget, "the trace has more imports than the %d rows that the extraction may write, and none has a weight by which it could be left out", rows)
			}
		} else if err == nil {
			t.other++
		}
		if err == io.EOF {
			break
		}
	}
	for depth, list := range waiting {
		if depth > 0 {
			t.open += int64(len(list))
		}
	}
	if !t.header {
		return nil, providers.Refuse(NotATrace, "the trace has no line with \"import time: self [us]\", with which what -X importtime prints begins")
	}
	return t, nil
}

func (t *trace) line(line []byte, whole bool, waiting map[int64][]int) {
	at := bytes.LastIndex(line, mark) // the program may have printed something without ending its line
	if at < 0 {
		t.other++
		return
	}
	rest := line[at+len(mark):]
	if bytes.Contains(rest, []byte("self [us]")) {
		t.header = true
		return
	}
	x, ok := parseImport(rest)
	if !ok || !whole { // a number or a name may be cut
		t.broken++
		return
	}
	n := len(t.imports)
	for _, child := range waiting[x.depth+1] {
		t.imports[child].parent = n
	}
	delete(waiting, x.depth+1)
	waiting[x.depth] = append(waiting[x.depth], n)
	t.imports = append(t.imports, x)
}

// parseImport reads "  self | cumulative | name", where two spaces before the name are one import that is under way.
func parseImport(rest []byte) (x imported, ok bool) {
	self, rest, ok := bytes.Cut(rest, []byte("|"))
	if !ok {
		return x, false
	}
	cumulative, name, ok := bytes.Cut(rest, []byte("|"))
	if !ok {
		return x, false
	}
	var err1, err2 error
	x.self, err1 = strconv.ParseInt(string(bytes.TrimSpace(self)), 10, 64)
	x.cumulative, err2 = strconv.ParseInt(string(bytes.TrimSpace(cumulative)), 10, 64)
	text := strings.TrimRight(string(name), "\r\n")
	x.module = strings.TrimSpace(text)
	indent := len(text) - len(strings.TrimLeft(text, " ")) - 1 // one space stands behind the bar
	x.parent, x.depth = -1, int64(max(indent, 0)/2)
	return x, err1 == nil && err2 == nil && x.self >= 0 && x.cumulative >= 0 && x.module != ""
}

// outermost is the package that a module belongs to.
func outermost(module string) string {
	name, _, _ := strings.Cut(strings.TrimLeft(module, "."), ".")
	return name
}

// sums are what the imports of one package come to. A module that was imported twice is one.
type sums struct {
	name                   string
	modules, self, longest int64
}

// packages are the sums in the order in which packages are met.
func (t *trace) packages() (list []sums) {
	at, seen := map[string]int{}, map[string]bool{}
	for i := range t.imports {
		x := &t.imports[i]
		name := outermost(x.module)
		n, ok := at[name]
		if !ok {
			n = len(list)
			at[name], list = n, append(list, sums{name: name})
		}
		p := &list[n]
		if !seen[x.module] {
			seen[x.module] = true
			p.modules++
		}
		p.self += x.self
		p.longest = max(p.longest, x.cumulative)
	}
	return list
}
