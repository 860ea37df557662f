package coverage

import (
	"errors"
	"strings"
	"testing"

	"github.com/flameox/flameox/providers"
)

const start = `{"reader":{"protocol":1,"library":"coverage","version":"7.15.0","runtime":"CPython 3.11"}}` + "\n"

func parseText(text string, reading providers.Reading) (*content, error) {
	return parse(strings.NewReader(text), &reading, 1, func(int) string { return ".coverage" }, 0)
}

func TestAStreamThatBreaksOffOrContradictsItselfIsRefused(t *testing.T) {
	data := `{"data":{"data":0,"version":"7.15.0","arcs":true}}` + "\n"
	file := `{"file":["/p/a.py",null]}` + "\n"
	for name, text := range map[string]string{
		"nothing":               "",
		"no reader first":       data,
		"another protocol":      strings.Replace(start, `"protocol":1`, `"protocol":2`, 1) + `{"end":1}` + "\n",
		"another library":       strings.Replace(start, `"coverage"`, `"memray"`, 1),
		"no end":                start + data,
		"a wrong end":           start + data + `{"end":1}` + "\n",
		"no data":               start + `{"end":1}` + "\n",
		"a file before data":    start + file,
		"a block without file":  start + data + `{"lines":[0,-1,[1]]}` + "\n",
		"half an arc":           start + data + file + `{"arcs":[0,-1,[1]]}` + "\n",
		"no such context":       start + data + file + `{"lines":[0,0,[1]]}` + "\n",
		"a short block":         start + data + file + `{"lines":[0,-1]}` + "\n",
		"a nameless file":       start + data + `{"file":[null,null]}` + "\n",
		"a line that is no key": start + data + `{"x":1}` + "\n",
		"no JSON":               start + "{\n",
	} {
		_, err := parseText(text, providers.Reading{})
		var bad *providers.Refusal
		if !errors.As(err, &bad) || bad.Code != ReaderBroke {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := parseText(start+data, providers.Reading{Failure: "exit status 1, MemoryError"}); err == nil || !strings.Contains(err.Error(), "MemoryError") {
		t.Error(err)
	}
	var bad *providers.Refusal
	if _, err := parseText(strings.Replace(start, "7.15.0", "", 1), providers.Reading{}); !errors.As(err, &bad) || !bad.Missing || bad.Code != NoReader {
		t.Error(err)
	}
}

func FuzzStream(f *testing.F) {
	f.Add(start + `{"data":{"data":0,"version":null,"arcs":null}}` + "\n" + `{"file":["a","p"]}` + "\n" + `{"context":"c"}` + "\n" + `{"lines":[0,0,[1,2]]}` + "\n" + `{"arcs":[0,-1,[1,-2]]}` + "\n" + `{"end":6}` + "\n")
	f.Add(start + `{"refused":{"data":0,"code":"x","text":"y"}}` + "\n")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := parseText(text, providers.Reading{})
		var bad *providers.Refusal
		if err != nil {
			if !errors.As(err, &bad) || bad.Code == "" {
				t.Errorf("the error is a %T: %v", err, err)
			}
			return
		}
		for _, b := range c.blocks {
			if b.file >= len(c.files) || b.context >= len(c.contexts) {
				t.Error("a block of nothing")
			}
		}
	})
}
