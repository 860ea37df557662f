package jsonscan_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/flameox/flameox/formats/jsonscan"
)

func TestValuesAreRead(t *testing.T) {
	r := jsonscan.New([]byte("\xEF\xBB\xBF { \"i\" : -12 , \"f\":1.5e-3, \"s\":\"a\\u00e9\\n\",\"l\":[1,2.0,3e0 ],\"n\":null,\"o\":{\"x\":[[],{}]} } \n"))
	var sum int64
	r.Object(func(name []byte) {
		switch string(name) {
		case "i":
			if n := r.Int(); n != -12 {
				t.Errorf("i is %d", n)
			}
		case "f":
			if f := r.Float(); f != 1.5e-3 {
				t.Errorf("f is %v", f)
			}
		case "s":
			if s := r.Text(); s != "aé\n" {
				t.Errorf("s is %q", s)
			}
		case "l":
			r.Array(func() { sum += r.Int() })
		case "n":
			if !r.Null() {
				t.Error("n is not null")
			}
		default:
			value, at := r.Raw()
			if string(value) != `{"x":[[],{}]}` || at == 0 {
				t.Errorf("raw %q at %d", value, at)
			}
		}
	})
	r.End()
	if r.Err() != nil || sum != 6 {
		t.Errorf("%v, sum %d", r.Err(), sum)
	}
}

func TestWhatIsNoJSONIsRefusedWhereItStands(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":NaN}`:                 `"NaN}"`,
		`{"a":01}`:                  "number",
		`{"a":1,}`:                  "expected",
		`{"a" 1}`:                   "':' is expected",
		`[1 2]`:                     "expected",
		`{"a":1}x`:                  "behind the end",
		"\"a\nb\"":                  "control character",
		`"\x"`:                      "not JSON",
		`tru`:                       "true",
		`{"a":[1,{"b":"c`:           "breaks off in a string",
		`{"a":[1,{"b":"\`:           "breaks off in a string",
		``:                          "number",
		`{'a':1}`:                   "expected",
		`[1,-]`:                     "number",
		strings.Repeat(`[`, 100000): "number",
	} {
		r := jsonscan.New([]byte(in))
		r.Skip()
		r.End()
		var e *jsonscan.Error
		if !errors.As(r.Err(), &e) || !strings.Contains(e.Error(), want) {
			t.Errorf("%.30q: %v, want %q", in, r.Err(), want)
		}
	}
	for _, cut := range []string{`{"a":`, `{"a":[1,`, `{"a`, `{`, `{"a":nul`, `[1`} {
		r := jsonscan.New([]byte(cut))
		r.Skip()
		var e *jsonscan.Error
		if !errors.As(r.Err(), &e) || !e.Cut {
			t.Errorf("%q: %v is not said to be cut", cut, r.Err())
		}
	}
}

func TestANameThatStandsTwiceIsRefused(t *testing.T) {
	many := `{"a0":1`
	for _, n := range []string{"a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a8"} {
		many += `,"` + n + `":1`
	}
	for _, in := range []string{`{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, many + "}"} {
		r := jsonscan.New([]byte(in))
		r.Object(func([]byte) { r.Skip() })
		if r.Err() == nil || !strings.Contains(r.Err().Error(), "twice") {
			t.Errorf("%s: %v", in, r.Err())
		}
	}
}

func TestNumbersThatAreNotWholeAreNoInt(t *testing.T) {
	for _, in := range []string{"1.5", "1e300", "9223372036854775808", "true", `"1"`, "null", "1e-1"} {
		r := jsonscan.New([]byte(in))
		if n := r.Int(); r.Err() == nil {
			t.Errorf("%s is %d", in, n)
		}
	}
	r := jsonscan.New([]byte("[9223372036854775807,-9223372036854775808]"))
	var got []int64
	r.Array(func() { got = append(got, r.Int()) })
	if r.Err() != nil || len(got) != 2 || got[0] != 1<<63-1 || got[1] != -1<<63 {
		t.Errorf("%v %v", got, r.Err())
	}
	f := jsonscan.New([]byte("1e999"))
	if f.Float(); f.Err() == nil {
		t.Error("1e999 is a float")
	}
}

func TestDepthCostsNoStack(t *testing.T) {
	const n = 1 << 20
	r := jsonscan.New([]byte(strings.Repeat(`{"a":[`, n) + strings.Repeat(`]}`, n)))
	r.Skip()
	r.End()
	if r.Err() != nil {
		t.Error(r.Err())
	}
}

// FuzzSkip holds the grammar against the standard library's.
func FuzzSkip(f *testing.F) {
	for _, s := range []string{`{"a":[1,-0.5e+3,"x\\\"\u12aB",true,false,null,{}]}`, ` [ ] `, `"\ud800"`, `{"a":1,"a":2}`, "1.", "-", "[1,]", "nulll", "\"\x7f\xff\""} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if bytes.HasPrefix(data, []byte("\xEF\xBB\xBF")) || bytes.Count(data, []byte("["))+bytes.Count(data, []byte("{")) > 9000 {
			return
		}
		r := jsonscan.New(data)
		r.Skip()
		r.End()
		if got, want := r.Err() == nil, json.Valid(data); got != want {
			t.Errorf("%q: valid %v, the standard library says %v (%v)", data, got, want, r.Err())
		}
	})
}
