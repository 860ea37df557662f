package query

import (
	"fmt"
	"slices"
	"strings"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/internal/pattern"
	"github.com/flameox/flameox/internal/suggest"
)

// Error is a query that could not be answered, as a person should read it.
type Error struct {
	Message string // one line
	Excerpt string // the line of the query and a caret below it; "" where the position is unknown
	Line    int    // from 1; 0 where the position is unknown
	Column  int    // from 1, in characters; 0 where the position is unknown
	Hint    string // what to do; "" where nothing is known
}

// Error is the message, the excerpt and the hint, each on its own lines.
func (e *Error) Error() string {
	s := "query: " + e.Message
	if e.Excerpt != "" {
		s += "\n\n" + e.Excerpt
	}
	if e.Hint != "" {
		s += "\n\n" + e.Hint
	}
	return s
}

var (
	lineMark      = pattern.Lazy{Expr: `(?s)\n+LINE (\d+): (.*)\n( *)\^\s*$`}
	unknownTable  = pattern.Lazy{Expr: `Table with name (.+?) does not exist`}
	unknownColumn = pattern.Lazy{Expr: `(?:Referenced column|Column with name|does not have a column named|Values list "[^"]*" does not have a column named) "([^"]+)"`}
	prefix        = pattern.Lazy{Expr: `^[A-Z][A-Za-z ]+ Error: `}
)

// explain turns DuckDB's message about sql into an Error.
func explain(msg, sql string) *Error {
	e := &Error{}
	if m := lineMark.FindStringSubmatchIndex(msg); m != nil {
		fmt.Sscan(msg[m[2]:m[3]], &e.Line)
		shown := msg[m[4]:m[5]]
		label := len("LINE : ") + m[3] - m[2]
		at := m[7] - m[6] - label // in the shown text, which may be cut out of the line
		e.Column, e.Excerpt = position(sql, e.Line, shown, at)
		msg = msg[:m[0]]
	}
	first, rest, _ := strings.Cut(msg, "\n")
	e.Message = strings.TrimSpace(prefix.ReplaceAllString(first, ""))
	switch table, column := unknownTable.FindStringSubmatch(first), unknownColumn.FindStringSubmatch(first); {
	case table != nil:
		e.Message = fmt.Sprintf("there is no table or view %q", table[1])
		if near := nearest(table[1], names()); near != "" {
			e.Hint = fmt.Sprintf("Did you mean %s? ", near)
		}
		e.Hint += "There are " + strings.Join(names(), ", ") + "."
	case column != nil:
		e.Message = fmt.Sprintf("there is no column %q here", column[1])
		e.Hint = columnHint(column[1], rest)
	case strings.Contains(first, "disabled by configuration"):
		e.Hint = "`flameox query` reads the published evidence only. For other files run duckdb itself; the evidence is in .flameox/evidence/<table>/*.parquet."
	case strings.Contains(msg, "Out of Memory"):
		e.Hint = "Select fewer columns or rows, or allow more memory."
	default:
		e.Hint = strings.TrimSpace(rest)
	}
	return e
}

// position finds the column that DuckDB points at in a line of the query. DuckDB shows a cut-out of a long line.
func position(sql string, line int, shown string, at int) (column int, excerpt string) {
	lines := strings.Split(sql, "\n")
	if line < 1 || line > len(lines) || at < 0 {
		return 0, ""
	}
	full := lines[line-1]
	text := strings.TrimSuffix(strings.TrimPrefix(shown, "..."), "...")
	if strings.HasPrefix(shown, "...") && shown != full {
		at -= 3
	}
	start := strings.Index(full, text)
	if start < 0 || at < 0 {
		return 0, ""
	}
	head := []rune(full)
	column = len([]rune(full[:start]))
	// DuckDB counts what a terminal shows; a control character takes no place there.
	for shown := 0; column < len(head) && (shown < at || head[column] < ' '); column++ {
		if head[column] >= ' ' {
			shown++
		}
	}
	pad := make([]rune, column)
	for i := range pad {
		pad[i] = ' '
		if i < len(head) && head[i] == '\t' {
			pad[i] = '\t' // so that the caret stays below its character
		}
	}
	return column + 1, "  " + full + "\n  " + string(pad) + "^"
}

func columnHint(name, rest string) string {
	var owners []string
	var all []string
	for _, t := range evidence.Tables() {
		for _, c := range t.Columns {
			if strings.EqualFold(c.Name, name) {
				owners = append(owners, t.Name)
			}
			if !slices.Contains(all, c.Name) {
				all = append(all, c.Name)
			}
		}
	}
	// DuckDB knows what is in scope; the registry knows everything else.
	var candidates []string
	if _, list, ok := strings.Cut(rest, "Candidate bindings:"); ok {
		for _, c := range strings.Split(list, ",") {
			candidates = append(candidates, strings.Trim(strings.TrimSpace(c), `"`))
		}
	}
	var hint string
	if near := nearest(name, candidates); near != "" {
		hint = fmt.Sprintf("Did you mean %s? ", near)
	} else if len(candidates) > 0 {
		hint = "Near it there are " + strings.Join(candidates, ", ") + ". "
	} else if near := nearest(name, all); near != "" && len(owners) == 0 {
		hint = fmt.Sprintf("Did you mean %s? ", near)
	}
	if len(owners) > 0 {
		hint += fmt.Sprintf("%s is a column of %s. ", name, strings.Join(owners, ", "))
	}
	return hint + "`flameox tables NAME` lists the columns of a table."
}

// nearest is the candidate that differs from name by a few letters, or "".
func nearest(name string, candidates []string) string {
	best, least := "", len(name)/3+2
	for _, c := range candidates {
		short := c
		if i := strings.LastIndexByte(c, '.'); i >= 0 {
			short = c[i+1:]
		}
		if d := suggest.Distance(strings.ToLower(name), strings.ToLower(short)); d < least {
			best, least = c, d
		}
	}
	return best
}
