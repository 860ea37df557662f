package query

import (
	"errors"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strings"
)

// Format is how an answer is written.
type Format string

// The formats.
const (
	Table   Format = "table"   // aligned, for people; long values are cut
	CSV     Format = "csv"     // RFC 4180 with the line ends of Unix; a missing value is an empty field, an empty text is ""
	JSON    Format = "json"    // an array of objects; integers exact
	Arrow   Format = "arrow"   // an Arrow IPC stream
	Parquet Format = "parquet" // one Parquet file
)

// Formats lists all formats.
func Formats() []Format { return []Format{Table, CSV, JSON, Arrow, Parquet} }

// ParseFormat reads the name of a format.
func ParseFormat(s string) (Format, error) {
	if f := Format(s); slices.Contains(Formats(), f) {
		return f, nil
	}
	return "", fmt.Errorf("%q is no format of an answer; use table, csv, json, arrow or parquet", s)
}

// Options bound what a query may take.
type Options struct {
	Threads int    // 0: one per CPU. 1 while something is measured on the machine.
	Memory  int64  // bytes; 0: 1 GiB. Beyond it DuckDB spills to Temp.
	Temp    string // directory for a private directory that Close removes; "": the system's
	// Sensitive includes the rows of runs that are sensitive.
	Sensitive bool
}

// ErrNoDuckDB says that this build cannot answer SQL.
var ErrNoDuckDB = errors.New("this build of flameox has no DuckDB, because it was built without cgo; install a build with it, or read the Parquet files below .flameox/evidence with any tool that reads Parquet: duckdb, pyarrow, polars. `flameox show -rows` works in every build")

// Kind is the kind of a value in an answer. Value says which Go type stands for it.
type Kind uint8

// The kinds of values.
const (
	KindNull        Kind = iota
	KindBool             // bool
	KindInt              // int64
	KindUint             // uint64
	KindFloat            // float64; NaN and infinity can come out of a query
	KindBig              // *big.Int: HUGEINT, which sums of integers are
	KindDecimal          // *big.Int, times 10 to the -Scale
	KindText             // string
	KindBlob             // []byte
	KindTimestamp        // time.Time without a zone, microseconds
	KindTimestampTZ      // time.Time UTC, microseconds
	KindDate             // time.Time
	KindTime             // time.Time of the day
	KindInterval         // Interval
	KindList             // []any
	KindStruct           // []any, in the order of Fields
	KindMap              // []Entry, in the order of the answer
)

// Type is the type of a column of an answer.
type Type struct {
	Kind      Kind
	SQL       string // as DuckDB calls it
	Bits      int    // of integers and floats
	Precision int    // of decimals
	Scale     int
	Key       *Type // of maps
	Elem      *Type // of lists, of maps' values
	Fields    []Column
}

// Column is one column of an answer.
type Column struct {
	Name string
	Type Type
}

// Entry is one entry of a map.
type Entry struct{ Key, Value any }

// Interval is a span of time whose parts do not convert into each other.
type Interval struct {
	Months, Days int32
	Micros       int64
}

// Decimal is the value of a decimal: n times 10 to the -scale, in full.
func decimalText(n *big.Int, scale int) string {
	s := new(big.Int).Abs(n).String()
	if scale > 0 {
		if len(s) <= scale {
			s = strings.Repeat("0", scale-len(s)+1) + s
		}
		s = s[:len(s)-scale] + "." + s[len(s)-scale:]
	}
	if n.Sign() < 0 {
		s = "-" + s
	}
	return s
}

// encoder writes an answer in one format.
type encoder interface {
	row(values []any) error
	close() error
}

func newEncoder(f Format, w io.Writer, cols []Column) (encoder, error) {
	switch f {
	case Table:
		return newTable(w, cols), nil
	case CSV:
		return newCSV(w, cols)
	case JSON:
		return newJSON(w, cols), nil
	case Arrow:
		return newArrow(w, cols)
	}
	return nil, fmt.Errorf("%q is no format of an answer", f)
}

// statement checks that sql is one statement and returns it without what follows it. DuckDB's driver would
// run every statement but the last as soon as the text is prepared.
func statement(sql string) (string, error) {
	end, rest := scanStatement(sql)
	for rest < len(sql) {
		e, next := scanStatement(sql[rest:])
		if strings.TrimSpace(stripComments(sql[rest:rest+e])) != "" {
			return "", errors.New("there is more than one statement; `flameox query` answers one at a time")
		}
		rest += next
	}
	one := sql[:end]
	if strings.TrimSpace(stripComments(one)) == "" {
		return "", errors.New("the query is empty; try `flameox query \"SELECT * FROM runs\"`")
	}
	return one, nil
}

// scanStatement returns where the first statement of sql ends and where the next begins.
func scanStatement(sql string) (end, next int) {
	for i := 0; i < len(sql); {
		if n := token(sql[i:]); n > 0 {
			i += n
			continue
		}
		if sql[i] == ';' {
			return i, i + 1
		}
		i++
	}
	return len(sql), len(sql)
}

// stripComments removes comments and keeps everything else.
func stripComments(sql string) string {
	var b strings.Builder
	for i := 0; i < len(sql); {
		n := token(sql[i:])
		if n == 0 {
			b.WriteByte(sql[i])
			i++
			continue
		}
		if !strings.HasPrefix(sql[i:], "--") && !strings.HasPrefix(sql[i:], "/*") {
			b.WriteString(sql[i : i+n])
		}
		i += n
	}
	return b.String()
}

// token is the length of the quoted text or the comment that s starts with, or 0.
func token(s string) int {
	switch {
	case strings.HasPrefix(s, "--"):
		if i := strings.IndexByte(s, '\n'); i >= 0 {
			return i
		}
		return len(s)
	case strings.HasPrefix(s, "/*"):
		depth := 0
		for i := 0; i+1 < len(s); i++ {
			switch s[i : i+2] {
			case "/*":
				depth++
				i++
			case "*/":
				depth--
				i++
				if depth == 0 {
					return i + 1
				}
			}
		}
		return len(s)
	case s[0] == '\'' || s[0] == '"':
		return quoted(s, 0, false)
	case (s[0] == 'e' || s[0] == 'E') && len(s) > 1 && s[1] == '\'':
		return quoted(s, 1, true)
	case s[0] == '$':
		tag := 1
		for tag < len(s) && (s[tag] == '_' || s[tag]|0x20 >= 'a' && s[tag]|0x20 <= 'z' || tag > 1 && s[tag] >= '0' && s[tag] <= '9') {
			tag++
		}
		if tag == len(s) || s[tag] != '$' {
			return 0
		}
		open := s[:tag+1]
		if i := strings.Index(s[len(open):], open); i >= 0 {
			return len(open) + i + len(open)
		}
		return len(s)
	case word(s[0]):
		// A whole word at once, so that the e of a word is not taken for the start of E''.
		i := 1
		for i < len(s) && word(s[i]) {
			i++
		}
		return i
	}
	return 0
}

func word(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80
}

// quoted is the length of a text in quotes that starts at from. A doubled quote stands for itself.
func quoted(s string, from int, backslash bool) int {
	q := s[from]
	for i := from + 1; i < len(s); i++ {
		switch {
		case backslash && s[i] == '\\':
			i++
		case s[i] == q && i+1 < len(s) && s[i+1] == q:
			i++
		case s[i] == q:
			return i + 1
		}
	}
	return len(s)
}
