package pyspy

import (
	"path"
	"strconv"
	"strings"

	"github.com/flameox/flameox/formats/profile"
	"github.com/flameox/flameox/formats/speedscope"
	"github.com/flameox/flameox/internal/pattern"
	"github.com/flameox/flameox/providers"
)

// place is a frame as py-spy says it, whatever the format. File is empty for what is no code, line 0 where there is none.
type place struct {
	name, file string
	line       int64
}

// naming is how frames are called in tables.
type naming struct {
	paths providers.Paths
	lines bool
}

var (
	// What py-spy puts below a stack: a process with its command line, a thread with its name.
	belowStack = pattern.Lazy{Expr: `(?s)^(process [0-9]+(:".*")?|thread \((0[xX])?[0-9A-Fa-f]+\)(: .*)?)$`}
	threadName = pattern.Lazy{Expr: `(?s)^(?:Process ([0-9]+) )?Thread (?:0[xX])?[0-9A-Fa-f]+ "(.*)"$`}
	rawAddress = pattern.Lazy{Expr: `^0x[0-9a-f]{1,16}$`}
	library    = pattern.Lazy{Expr: `\.(so(\.[0-9]+)*|dylib|dll|pyd|exe)$`}
)

// frame is nil for what stands for no code and no time.
func (n naming) frame(p place) *profile.Frame {
	if p.file == "" && belowStack.MatchString(p.name) {
		return nil
	}
	f := &profile.Frame{Function: p.name}
	if rawAddress.MatchString(p.name) {
		if address, err := strconv.ParseUint(p.name[2:], 16, 64); err == nil {
			f.Function, f.Address, f.HasAddress = "", address, true
		}
	}
	switch {
	case p.file == "":
		f.Synthetic = true
	case library.MatchString(p.file):
		f.Module = n.paths.File(p.file)
	default:
		f.File = n.paths.File(p.file)
		if ext := path.Ext(p.file); ext == ".py" || ext == ".pyw" || strings.HasPrefix(p.file, "<") && strings.HasSuffix(p.file, ">") {
			f.Language = "Python"
		}
		if n.lines && p.line > 0 {
			f.Line = profile.Some(p.line)
		}
	}
	return f
}

// labels are a sample's, by the name that py-spy gives to the samples of one thread.
func labels(p *speedscope.Profile) map[string]string {
	m := threadName.FindStringSubmatch(p.Name)
	if m == nil {
		return nil
	}
	out := map[string]string{}
	if m[1] != "" {
		out["process"] = m[1]
	}
	if m[2] != "" {
		out["thread"] = m[2]
	}
	return out
}

// rawPlace takes a name of the raw format apart: name (file:line), name (file), or name. The last group in parentheses is meant; it may hold some itself.
func rawPlace(text string) place {
	open, ok := group(text)
	if !ok || open < 2 || text[open-1] != ' ' {
		return place{name: text}
	}
	p := place{name: text[:open-1], file: text[open+1 : len(text)-1]}
	if i := strings.LastIndexByte(p.file, ':'); i > 0 {
		if n, err := strconv.ParseInt(p.file[i+1:], 10, 64); err == nil && n >= 0 {
			p.file, p.line = p.file[:i], n
		}
	}
	return p
}

// group is where the parenthesis opens that the last byte of text closes.
func group(text string) (open int, ok bool) {
	depth := 0
	for i := len(text) - 1; i >= 0 && strings.HasSuffix(text, ")"); i-- {
		switch text[i] {
		case ')':
			depth++
		case '(':
			if depth--; depth == 0 {
				return i, true
			}
		}
	}
	return 0, false
}
