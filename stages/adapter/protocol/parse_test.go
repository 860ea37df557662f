package protocol_test

import (
	"strings"
	"testing"

	"github.com/flameox/flameox/stages/adapter/protocol"
)

func TestPlansThatAreRefused(t *testing.T) {
	plan := func(members string) string {
		return `{"api_version": 1, "extractor_version": "1", ` + members + `}`
	}
	one := `"outputs": [{"path": "a.txt", "kind": "k"}]`
	if p, err := protocol.ParsePlan([]byte(plan(`"prefix": ["time", "${out.dir}/t"], ` + one))); err != nil || !p.Outputs[0].Required || len(p.Prefix) != 2 {
		t.Fatalf("%+v %v", p, err)
	}
	for name, c := range map[string]struct{ text, want string }{
		"another version of the protocol": {strings.Replace(plan(`"prefix": [], `+one), `"api_version": 1`, `"api_version": 2`, 1), "speaks 1"},
		"no version":                      {`{"prefix": [], ` + one + `, "extractor_version": "1"}`, `no member "api_version"`},
		"a member that nobody knows":      {plan(`"prefix": [], "cwd": "/", ` + one), `"cwd"`},
		"an environment":                  {plan(`"prefix": [], "env": {"A": "1"}, ` + one), `"env"`},
		"a command in place of a prefix":  {plan(`"argv": ["x"], ` + one), `"argv"`},
		"a path that leaves":              {plan(`"prefix": [], "outputs": [{"path": "../x", "kind": "k"}]`), "../x"},
		"a path that leaves later":        {plan(`"prefix": [], "outputs": [{"path": "a/../../x", "kind": "k"}]`), "plain path"},
		"an absolute path":                {plan(`"prefix": [], "outputs": [{"path": "/etc/passwd", "kind": "k"}]`), "plain path"},
		"the folder itself":               {plan(`"prefix": [], "outputs": [{"path": ".", "kind": "k"}]`), "plain path"},
		"a path twice":                    {plan(`"prefix": [], "outputs": [{"path": "a", "kind": "k"}, {"path": "a", "kind": "l"}]`), "twice"},
		"no outputs":                      {plan(`"prefix": [], "outputs": []`), "empty"},
		"a NUL":                           {plan(`"prefix": ["a\u0000b"], ` + one), "control characters"},
		"65 words":                        {plan(`"prefix": [` + strings.TrimSuffix(strings.Repeat(`"x",`, 65), ",") + `], ` + one), "more than 64"},
		"an empty program":                {plan(`"prefix": [""], ` + one), "empty string"},
		"text behind it":                  {plan(`"prefix": [], `+one) + "done", "behind the end"},
		"nothing":                         {"", "breaks off"},
		"a member twice":                  {plan(`"prefix": [], "prefix": [], ` + one), "twice"},
	} {
		if _, err := protocol.ParsePlan([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestAnswersThatAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"a name with a slash":      {parse(protocol.ParseProbe, `{"api_version": 1, "name": "../x", "version": "1"}`), "none"},
		"a version with a space":   {parse(protocol.ParseProbe, `{"api_version": 1, "name": "x", "version": "1 2"}`), "none"},
		"invalid without a reason": {parse(protocol.ParseValidated, `{"api_version": 1, "valid": false, "validator_version": "1"}`), "0 reasons"},
		"valid with a reason":      {parse(protocol.ParseValidated, `{"api_version": 1, "valid": true, "validator_version": "1", "reasons": [{"code": "c", "text": "t"}]}`), "1 reasons"},
		"valid as a number":        {parse(protocol.ParseValidated, `{"api_version": 1, "valid": 1, "validator_version": "1"}`), "true or false"},
		"a list for a summary":     {parse(protocol.ParseExtracted, `{"api_version": 1, "summary": [], "extractor_version": "1"}`), "no object"},
		"rows beside the summary":  {parse(protocol.ParseExtracted, `{"api_version": 1, "summary": {}, "rows": [], "extractor_version": "1"}`), `"rows"`},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, c.err, c.want)
		}
	}
	x, err := protocol.ParseExtracted([]byte(`{"api_version": 1, "summary": { "lines": 3 }, "extractor_version": "2"}`))
	if err != nil || string(x.Summary) != `{"lines":3}` {
		t.Errorf("%+v %v", x, err)
	}
}

func parse[T any](f func([]byte) (T, error), text string) error {
	_, err := f([]byte(text))
	return err
}

func FuzzPlansStayBelowTheOutputFolder(f *testing.F) {
	f.Add([]byte(`{"api_version": 1, "extractor_version": "1", "prefix": ["a"], "outputs": [{"path": "a/b", "kind": "k"}]}`))
	f.Add([]byte(`{"api_version": 1, "extractor_version": "1", "prefix": [], "outputs": [{"path": "../b", "kind": "k"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := protocol.ParsePlan(data)
		if err != nil {
			return
		}
		for _, o := range p.Outputs {
			if strings.HasPrefix(o.Path, "/") || strings.Contains("/"+o.Path+"/", "/../") {
				t.Errorf("the path %q leaves", o.Path)
			}
		}
	})
}
