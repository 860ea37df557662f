package query

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// text is a value as the table and CSV show it. Lists, structs and maps are shown as JSON.
func text(t *Type, v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case uint64:
		return strconv.FormatUint(v, 10)
	case float64:
		return floatText(v, t.Bits)
	case *big.Int:
		return decimalText(v, t.Scale)
	case []byte:
		return base64.StdEncoding.EncodeToString(v)
	case time.Time:
		return timeText(t.Kind, v)
	case Interval:
		return v.text()
	}
	return string(appendJSON(nil, t, v))
}

// floatText is the shortest text that reads back as the same number, without an exponent where a person
// would not write one.
func floatText(f float64, bits int) string {
	if bits == 0 {
		bits = 64
	}
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) || math.IsInf(f, 0) || math.IsNaN(f) {
		return strconv.FormatFloat(f, 'g', -1, bits)
	}
	return strconv.FormatFloat(f, 'f', -1, bits)
}

func timeText(k Kind, v time.Time) string {
	switch k {
	case KindDate:
		return v.Format("2006-01-02")
	case KindTime:
		return v.Format("15:04:05.999999")
	case KindTimestamp:
		return v.Format("2006-01-02T15:04:05.999999")
	}
	return v.UTC().Format("2006-01-02T15:04:05.999999Z")
}

// text is ISO 8601: P1M2DT3.5S.
func (i Interval) text() string {
	s := "P"
	if i.Months != 0 {
		s += fmt.Sprintf("%dM", i.Months)
	}
	if i.Days != 0 {
		s += fmt.Sprintf("%dD", i.Days)
	}
	if i.Micros != 0 || s == "P" {
		s += "T" + strings.TrimSuffix(strings.TrimRight(decimalText(big.NewInt(i.Micros), 6), "0"), ".") + "S"
	}
	return s
}

// appendJSON appends a value as JSON. Integers are written in full, whatever their size: what would lose
// digits is the reader's choice. A decimal that no float64 holds exactly is a string, and so are infinity and NaN.
func appendJSON(b []byte, t *Type, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...)
	case bool, int64, uint64:
		return append(b, text(t, v)...)
	case float64:
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return strconv.AppendQuote(b, floatText(v, 64))
		}
		return append(b, floatText(v, t.Bits)...)
	case *big.Int:
		s := decimalText(v, t.Scale)
		if t.Kind == KindDecimal && len(strings.Trim(s, "-.0")) > 15 {
			return strconv.AppendQuote(b, s)
		}
		return append(b, s...)
	case []any:
		if t.Kind == KindStruct {
			b = append(b, '{')
			for i := range v {
				if i > 0 {
					b = append(b, ',')
				}
				b = append(appendString(b, t.Fields[i].Name), ':')
				b = appendJSON(b, &t.Fields[i].Type, v[i])
			}
			return append(b, '}')
		}
		b = append(b, '[')
		for i := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendJSON(b, t.Elem, v[i])
		}
		return append(b, ']')
	case []Entry:
		b = append(b, '{')
		for i, e := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendString(b, text(t.Key, e.Key)), ':')
			b = appendJSON(b, t.Elem, e.Value)
		}
		return append(b, '}')
	}
	return appendString(b, text(t, v))
}

func appendString(b []byte, s string) []byte {
	q, err := json.Marshal(s)
	if err != nil {
		return strconv.AppendQuote(b, s) // no string makes Marshal fail
	}
	return append(b, q...)
}

type jsonEncoder struct {
	w    *bufio.Writer
	cols []Column
	keys [][]byte
	line []byte
	n    int
}

func newJSON(w io.Writer, cols []Column) *jsonEncoder {
	e := &jsonEncoder{w: bufio.NewWriterSize(w, 64<<10), cols: cols}
	for _, c := range cols {
		e.keys = append(e.keys, append(appendString(nil, c.Name), ':'))
	}
	return e
}

func (e *jsonEncoder) row(values []any) error {
	b := append(e.line[:0], ",\n{"...)
	if e.n == 0 {
		b = append(e.line[:0], "[\n{"...)
	}
	for i := range values {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, e.keys[i]...)
		b = appendJSON(b, &e.cols[i].Type, values[i])
	}
	e.line = append(b, '}')
	e.n++
	_, err := e.w.Write(e.line)
	return err
}

func (e *jsonEncoder) close() error {
	end := "\n]\n"
	if e.n == 0 {
		end = "[]\n"
	}
	if _, err := e.w.WriteString(end); err != nil {
		return err
	}
	return e.w.Flush()
}

type csvEncoder struct {
	w    *bufio.Writer
	cols []Column
}

func newCSV(w io.Writer, cols []Column) (*csvEncoder, error) {
	e := &csvEncoder{w: bufio.NewWriterSize(w, 64<<10), cols: cols}
	for i, c := range cols {
		e.field(i, c.Name)
	}
	_, err := e.w.WriteString("\n")
	return e, err
}

func (e *csvEncoder) field(i int, s string) {
	if i > 0 {
		e.w.WriteByte(',')
	}
	// A text that is empty is quoted, so that it is not a missing value.
	if s == "" || strings.ContainsAny(s, "\",\r\n") || s[0] == ' ' || s[len(s)-1] == ' ' {
		e.w.WriteByte('"')
		e.w.WriteString(strings.ReplaceAll(s, `"`, `""`))
		e.w.WriteByte('"')
		return
	}
	e.w.WriteString(s)
}

func (e *csvEncoder) row(values []any) error {
	for i, v := range values {
		switch {
		case v != nil:
			e.field(i, text(&e.cols[i].Type, v))
		case i > 0:
			e.w.WriteByte(',')
		}
	}
	_, err := e.w.WriteString("\n") // a failed write sticks to the writer
	return err
}

func (e *csvEncoder) close() error { return e.w.Flush() }

// widest is how many characters of a value the table shows.
const widest = 80

type tableEncoder struct {
	w     io.Writer
	cols  []Column
	cells [][]string
}

func newTable(w io.Writer, cols []Column) *tableEncoder { return &tableEncoder{w: w, cols: cols} }

func (e *tableEncoder) row(values []any) error {
	cells := make([]string, len(values))
	for i, v := range values {
		if v == nil {
			cells[i] = "NULL"
			continue
		}
		cells[i] = cell(text(&e.cols[i].Type, v))
	}
	e.cells = append(e.cells, cells)
	return nil
}

// cell is one line of printable characters: what comes out of a profile must not move the cursor.
func cell(s string) string {
	var b strings.Builder
	n := 0
	for _, r := range s {
		if n == widest {
			b.WriteRune('…')
			break
		}
		if !unicode.IsPrint(r) {
			q := strconv.QuoteRune(r)
			b.WriteString(q[1 : len(q)-1])
		} else {
			b.WriteRune(r)
		}
		n++
	}
	return b.String()
}

func (e *tableEncoder) close() error {
	width := make([]int, len(e.cols))
	for i, c := range e.cols {
		width[i] = utf8.RuneCountInString(cell(c.Name))
		for _, row := range e.cells {
			width[i] = max(width[i], utf8.RuneCountInString(row[i]))
		}
	}
	w := bufio.NewWriterSize(e.w, 64<<10)
	line := func(get func(int) string) {
		var b strings.Builder
		for i := range e.cols {
			s := get(i)
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(s))
			if i > 0 {
				b.WriteString("  ")
			}
			switch e.cols[i].Type.Kind {
			case KindInt, KindUint, KindFloat, KindBig, KindDecimal:
				b.WriteString(pad + s)
			default:
				b.WriteString(s + pad)
			}
		}
		w.WriteString(strings.TrimRight(b.String(), " ") + "\n")
	}
	line(func(i int) string { return cell(e.cols[i].Name) })
	for _, row := range e.cells {
		line(func(i int) string { return row[i] })
	}
	if n := len(e.cells); n == 1 {
		w.WriteString("1 row\n")
	} else {
		fmt.Fprintf(w, "%d rows\n", n)
	}
	return w.Flush()
}
