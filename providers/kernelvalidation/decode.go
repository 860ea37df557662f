package kernelvalidation

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/flameox/flameox/formats/jsonscan"
	"github.com/flameox/flameox/internal/pattern"
	"github.com/flameox/flameox/providers"
)

// The bounds of a document.
const (
	maxBytes       = 64 << 20
	maxCases       = 1000
	maxOutputs     = 32
	maxMetrics     = 16
	maxInputs      = 32
	maxDimensions  = 32
	maxRank        = 16
	maxFailures    = 8
	maxLimitations = 20
	maxName        = 200
	maxText        = 500
)

var producerName = pattern.Lazy{Expr: `^[A-Za-z0-9][A-Za-z0-9._:/-]{0,199}$`}

// parse reads a document and checks it. An error is a *providers.Refusal.
func parse(data []byte) (*document, error) {
	if len(data) == 0 {
		return nil, providers.Refuse(EmptyFile, "the document has no bytes: its producer ended before it wrote it")
	}
	d := &decoder{r: jsonscan.New(data)}
	doc := d.document()
	d.r.End()
	if err := d.r.Err(); err != nil {
		return nil, d.refusal(err)
	}
	if err := doc.check(); err != nil {
		return nil, err
	}
	return doc, nil
}

// decoder reads one document. path is where it is, for messages.
type decoder struct {
	r       *jsonscan.Reader
	path    []string
	version string
}

// at says where in the document something stands.
func (d *decoder) at() string {
	if len(d.path) == 0 {
		return "the document"
	}
	return strings.TrimPrefix(strings.ReplaceAll(strings.Join(d.path, "."), ".[", "["), ".")
}

func (d *decoder) wrong(format string, args ...any) {
	if d.r.Err() == nil {
		d.r.Stop(providers.Refuse(Invalid, "%s %s", d.at(), fmt.Sprintf(format, args...)))
	}
}

// refusal is the reader's error as the document's fault.
func (d *decoder) refusal(err error) error {
	syntax, ok := err.(*jsonscan.Error)
	switch {
	case !ok:
		return err
	case syntax.Cut:
		return providers.Refuse(Truncated, "the document breaks off at byte %d: its producer ended while it wrote it, or the file was cut", syntax.Offset)
	case len(d.path) > 0:
		return providers.Refuse(Invalid, "%s cannot be read: %v", d.at(), syntax)
	}
	return providers.Refuse(NotJSON, "the document is no JSON: %v", syntax)
}

// within reads what stands below a name or an index.
func (d *decoder) within(name string, read func()) {
	d.path = append(d.path, name)
	read()
	if d.r.Err() == nil { // else the path is where it went wrong
		d.path = d.path[:len(d.path)-1]
	}
}

// object reads an object with these members and no others; those that are named as required must be there.
func (d *decoder) object(fields map[string]func(), required ...string) {
	if d.r.Kind() != '{' {
		d.unexpected("an object")
		return
	}
	seen := map[string]bool{}
	d.r.Object(func(name []byte) {
		read := fields[string(name)]
		if read == nil {
			d.wrong("has the member %q, which the schema %s does not have", cut(string(name)), d.version)
			return
		}
		seen[string(name)] = true
		d.within(string(name), read)
	})
	for _, name := range required {
		if !seen[name] {
			d.wrong("has no member %q, which it must have", name)
		}
	}
}

// unexpected says what stands where something else should.
func (d *decoder) unexpected(want string) {
	if d.r.Err() != nil {
		return
	}
	got, _ := d.r.Raw()
	if d.r.Err() == nil {
		d.wrong("is %s, want %s", cut(string(got)), want)
	}
}

// list reads a list of min to max elements.
func (d *decoder) list(min, max int, element func()) {
	if d.r.Kind() != '[' {
		d.unexpected("a list")
		return
	}
	n := 0
	d.r.Array(func() {
		if n++; n > max {
			d.wrong("has more than %d elements", max)
			return
		}
		d.within("["+strconv.Itoa(n-1)+"]", element)
	})
	if n < min {
		d.wrong("has %d elements, want %d or more", n, min)
	}
}

// text reads a string of min to max characters.
func (d *decoder) text(min, max int) string {
	if d.r.Kind() != '"' {
		d.unexpected("a string")
		return ""
	}
	s := d.r.Text()
	switch n := utf8.RuneCountInString(s); {
	case d.r.Err() != nil:
	case !utf8.ValidString(s):
		d.wrong("is not UTF-8")
	case n < min || n > max:
		d.wrong("has %d characters, want %d to %d", n, min, max)
	}
	return s
}

// optional is a value that may be null.
func optional[T any](d *decoder, read func() T) *T {
	if d.r.Null() {
		return nil
	}
	v := read()
	return &v
}

func (d *decoder) bool() bool {
	switch d.r.Kind() {
	case 't', 'f':
		b, _ := d.r.Raw()
		return string(b) == "true"
	}
	d.unexpected("true or false")
	return false
}

// integer reads a whole number of 64 bits that is written as one: 2.0 would have to be converted.
func (d *decoder) integer() int64 {
	if d.r.Kind() != 0 {
		d.unexpected("a whole number")
		return 0
	}
	raw, _ := d.r.Raw()
	if d.r.Err() != nil {
		return 0
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		d.wrong("is %s, want a whole number of 64 bits", cut(string(raw)))
	}
	return n
}

func (d *decoder) float() float64 {
	if d.r.Kind() != 0 {
		d.unexpected("a number")
		return 0
	}
	return d.r.Float()
}

func (d *decoder) status() Status {
	s := Status(d.text(1, maxName))
	if d.r.Err() == nil && !slices.Contains(statuses, s) {
		d.wrong("is %q, want pass, fail, inconclusive or unsupported", s)
	}
	return s
}

func (d *decoder) limitations() (out []string) {
	d.list(0, maxLimitations, func() { out = append(out, d.text(1, maxText)) })
	return out
}

func (d *decoder) shape() []int64 {
	out := []int64{}
	d.list(0, maxRank, func() {
		n := d.integer()
		if n < 0 {
			d.wrong("is %d, and no extent is below zero", n)
		}
		out = append(out, n)
	})
	return out
}

// scalar reads a string, a number or a boolean: its text, and as canonical JSON.
func (d *decoder) scalar() (text, canonical string) {
	switch d.r.Kind() {
	case '"':
		text = d.text(0, maxName)
		return text, quote(text)
	case 't', 'f':
		text = strconv.FormatBool(d.bool())
		return text, text
	case 0:
		raw, _ := d.r.Raw()
		if d.r.Err() != nil {
			return "", ""
		}
		if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
			text = strconv.FormatInt(n, 10)
			return text, text
		}
		f, err := strconv.ParseFloat(string(raw), 64)
		if err != nil {
			d.wrong("is %s, which no 64-bit float holds", cut(string(raw)))
		}
		text = number(f)
		return text, text
	}
	d.unexpected("a string, a number or a boolean")
	return "", ""
}
