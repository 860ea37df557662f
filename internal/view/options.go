package view

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Options say what the output can show.
type Options struct {
	Color bool
	ASCII bool // no symbols beyond ASCII
	Width int  // columns of a line; 0 is no limit
	Live  bool // lines may be redrawn in place
}

// Detect is what the file out can show, going by whether it is a terminal and by the environment: NO_COLOR, TERM, COLUMNS,
// LC_ALL, LC_CTYPE, LANG. Without any locale UTF-8 is assumed, as containers and CI have none and show it.
func Detect(out *os.File, getenv func(string) string) Options {
	cols, tty := terminal(out)
	return detect(tty, cols, getenv)
}

func detect(tty bool, cols int, getenv func(string) string) Options {
	o := Options{ASCII: !utf8Locale(getenv)}
	dumb := getenv("TERM") == "dumb"
	o.Live = tty && !dumb
	o.Color = tty && !dumb && getenv("NO_COLOR") == ""
	if n, err := strconv.Atoi(getenv("COLUMNS")); err == nil && n > 0 {
		o.Width = n
	} else if tty {
		o.Width = cols
		if cols <= 0 {
			o.Width = 80
		}
	}
	if o.Width > 0 {
		o.Width = max(o.Width, minWidth)
	}
	return o
}

// minWidth is the narrowest output that is laid out; below it lines are left to the terminal.
const minWidth = 40

func utf8Locale(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := getenv(name); v != "" {
			v = strings.ToLower(v)
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return true
}

func terminal(f *os.File) (cols int, tty bool) {
	if f == nil {
		return 0, false
	}
	ws, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0, false
	}
	return int(ws.Col), true
}

// style is the meaning of a colour.
type style int

const (
	plain  style = iota
	strong       // what a block of lines is about
	faint        // what may be skipped
	good
	work // to do, running
	bad
)

var codes = map[style]string{strong: "\x1b[1m", faint: "\x1b[2m", good: "\x1b[32m", work: "\x1b[33m", bad: "\x1b[31m"}

func (o Options) paint(st style, s string) string {
	if !o.Color || st == plain || s == "" {
		return s
	}
	return codes[st] + s + "\x1b[0m"
}

// glyphs are the symbols. ok, fail and running have one width.
type glyphs struct {
	ok, fail, running, dot, arrow, minus, ellipsis, rule, micro string
}

func (o Options) glyphs() glyphs {
	if o.ASCII {
		return glyphs{"ok", "x ", "* ", "-", "->", "-", "...", "-", "u"}
	}
	return glyphs{"✓", "✗", "●", "·", "→", "−", "…", "─", "µ"}
}
