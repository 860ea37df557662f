package session

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flameox/flameox/internal/ijson"
	"github.com/flameox/flameox/measure/config"
	"github.com/flameox/flameox/measure/document"
	"github.com/flameox/flameox/measure/runner"
)

func project(t *testing.T, text string) *config.Config {
	t.Helper()
	dir := t.TempDir()
	if text != "" {
		if err := os.WriteFile(filepath.Join(dir, config.FileName), []byte(`{"schema_version":"benchx/config/0.1.0",`+text+`}`), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c, err := config.Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func n(i int) *int         { return &i }
func f(x float64) *float64 { return &x }

var noon = time.Date(2026, 9, 1, 12, 0, 0, 0, time.FixedZone("", 7200))

func TestPrecisionIsFlagsOverTheFileOverTheHarness(t *testing.T) {
	file := `"adapter":{"name":"pyperf","precision":{"repetitions":{"mode":"fixed","levels":[{"unit":"process","n":7}]},"warmup":{"mode":"count","n_warmup":2}}}`
	for _, c := range []struct {
		file  string
		flags Precision
		want  string
	}{
		{"", Precision{}, `{"calibration":{"minimum_sample_seconds":0.1,"mode":"adaptive"},"repetitions":{"levels":[{"n":20,"unit":"process"},{"n":3,"unit":"value"}],"mode":"fixed"},"warmup":{"mode":"count","n_warmup":1}}`},
		{file, Precision{Values: n(5)}, `{"calibration":{"minimum_sample_seconds":0.1,"mode":"adaptive"},"repetitions":{"levels":[{"n":7,"unit":"process"},{"n":5,"unit":"value"}],"mode":"fixed"},"warmup":{"mode":"count","n_warmup":2}}`},
		{file, Precision{Processes: n(1), Loops: n(10), Warmups: n(0)}, `{"calibration":{"mode":"fixed","n_iterations":10},"repetitions":{"levels":[{"n":1,"unit":"process"},{"n":3,"unit":"value"}],"mode":"fixed"},"warmup":{"mode":"none"}}`},
		{`"adapter":{"name":"pyperf","precision":{"calibration":{"mode":"fixed","n_iterations":9}}}`, Precision{MinTime: f(0.5)}, `{"calibration":{"minimum_sample_seconds":0.5,"mode":"adaptive"},"repetitions":{"levels":[{"n":20,"unit":"process"},{"n":3,"unit":"value"}],"mode":"fixed"},"warmup":{"mode":"count","n_warmup":1}}`},
		{`"adapter":{"name":"google-benchmark","precision":{"repetitions":4}}`, Precision{}, `{"calibration":{"minimum_sample_seconds":0.5,"mode":"adaptive"},"repetitions":{"levels":[{"n":4,"unit":"repetition"}],"mode":"fixed"},"warmup":{"mode":"none"}}`},
	} {
		s, err := Resolve(project(t, c.file), Flags{Suite: "x.py", Precision: c.flags}, Bench, "/w", noon)
		if err != nil {
			t.Errorf("%s %+v: %v", c.file, c.flags, err)
			continue
		}
		got, err := ijson.Canonical(s.Precision.Document)
		if err != nil || string(got) != c.want {
			t.Errorf("%s %+v:\n got %s, %v\nwant %s", c.file, c.flags, got, err, c.want)
		}
	}
}

func TestWhatAHarnessDoesNotTakeIsRefused(t *testing.T) {
	for _, c := range []struct {
		adapter string
		flags   Precision
		want    string
	}{
		{"google-benchmark", Precision{Processes: n(2)}, "--processes"}, {"google-benchmark", Precision{Values: n(2)}, "--values"}, {"google-benchmark", Precision{Warmups: n(2)}, "--warmups"},
		{"pyperf", Precision{Repetitions: n(2)}, "--repetitions"}, {"pyperf", Precision{MinTime: f(1), Loops: n(2)}, "--min-time and --loops"},
		{"pyperf", Precision{Processes: n(0)}, "--processes 0"}, {"pyperf", Precision{Loops: n(-1)}, "--loops -1"}, {"pyperf", Precision{Warmups: n(-1)}, "--warmups -1"}, {"pyperf", Precision{MinTime: f(0)}, "--min-time 0"},
	} {
		if _, err := Resolve(project(t, ""), Flags{Adapter: c.adapter, Suite: "x", Precision: c.flags}, Bench, "/w", noon); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %+v: %v, want an error with %q", c.adapter, c.flags, err, c.want)
		}
	}
	_, err := Resolve(project(t, `"adapter":{"name":"pyperf","suite":"x.py","precision":{"repetitions":3}}`), Flags{}, Bench, "/w", noon)
	if err == nil || !strings.Contains(err.Error(), "benchx.conf.json: adapter.precision.repetitions") {
		t.Errorf("of the file: %v", err)
	}
}

func TestSettingsAreRefusedBeforeAnythingRuns(t *testing.T) {
	for _, c := range []struct {
		file  string
		flags Flags
		want  []string
	}{
		{"", Flags{}, []string{"--suite", "adapter.suite"}},
		{"", Flags{Adapter: "criterion", Suite: "x"}, []string{"criterion", "google-benchmark"}},
		{`"adapter":{"name":"pyperf"}`, Flags{Adapter: "asv", Suite: "x"}, []string{"--adapter asv", "adapter.name", "pyperf"}},
		{"", Flags{Suite: "x", Filter: "a", Cases: []string{"b"}}, []string{"--filter a", "b"}},
		{"", Flags{Suite: "x", Quantities: "wall-time,,cpu-time"}, []string{"--quantity"}},
		{"", Flags{Suite: "x", Quantities: "wall-time,wall-time"}, []string{"--quantity"}},
		{"", Flags{Suite: "x", Variables: []string{"A"}}, []string{"-e A"}},
		{"", Flags{Suite: "x", Variables: []string{"1A=b"}}, []string{"-e 1A=b"}},
		{"", Flags{Suite: "x", Variables: []string{"A=b", "A=c"}}, []string{"A twice"}},
		{"", Flags{Suite: "x", Project: "p", NoProject: true}, []string{"--no-project"}},
		{"", Flags{Suite: "x", Project: "a b"}, []string{"--project"}},
		{"", Flags{Suite: "x", RunKey: "a b"}, []string{"--run-key"}},
		{"", Flags{Suite: "x", RunKey: ".."}, []string{"--run-key"}},
		{"", Flags{Suite: "x", CaseTimeout: f(0)}, []string{"--case-timeout"}},
	} {
		_, err := Resolve(project(t, c.file), c.flags, Bench, "/w", noon)
		if err == nil {
			t.Errorf("%s %+v: no error", c.file, c.flags)
			continue
		}
		for _, w := range c.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%+v: %q lacks %q", c.flags, err, w)
			}
		}
	}
}

func TestAnOrderSaysEverythingThatApplies(t *testing.T) {
	p := project(t, `"project":"demo","adapter":{"name":"pyperf","suite":"b.py","quantities":["wall-time"]},"environment_variables":{"A":"1","B":"2"},"timeouts":{"case_s":5},
		"collectors":{"numpy":{"command":["python","{root}/c.py"],"verify":"how_built"}}`)
	s, err := Resolve(p, Flags{Variables: []string{"B=3,4", "C=x=y"}, RunKey: "k/1", Filter: "trunc"}, Compare, "/w", noon)
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(p.Root, "results", "k_1"); s.Out != want {
		t.Errorf("results go to %s, want %s", s.Out, want)
	}
	side := &Side{Name: "baseline", target: map[string]any{"kind": "working_tree", "path": "/w", "source": map[string]any{"uri": "file:///w", "type": "git"}, "how_built": " "}}
	side.label("build", "plain")
	o, err := s.order(side, s.filter(), 3, 7)
	if err != nil {
		t.Fatal(err)
	}
	id := o["work_order_id"].(string)
	if !strings.HasPrefix(id, "urn:uuid:") || len(id) != len("urn:uuid:")+36 || id[23] != '4' {
		t.Errorf("the id is %s", id)
	}
	o["work_order_id"] = "urn:x"
	got, err := ijson.Canonical(o)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"collectors":{"numpy":{"command":["python","{root}/c.py"],"verify":"how_built"}},"environment_variables":{"A":"1","B":"3,4","C":"x=y"},"labels":{"build":"plain"},` +
		`"plan":[{"case":"*","id":"p0","quantity":"wall-time"}],"precision":{"calibration":{"minimum_sample_seconds":0.1,"mode":"adaptive"},"repetitions":{"levels":[{"n":20,"unit":"process"},{"n":3,"unit":"value"}],"mode":"fixed"},"warmup":{"mode":"count","n_warmup":1}},` +
		`"project":"demo","quantities":["wall-time"],"requester":{"kind":"workbench","name":"flameox"},"round":3,"run_key":"k/1","schema_version":"benchx/work-order/0.1.0","slot":7,"state":"resolved",` +
		`"suites":[{"adapter":"pyperf","filter":"trunc","suite":"b.py"}],"target":{"kind":"working_tree","path":"/w","source":{"type":"git","uri":"file:///w"}},"timeouts":{"case_s":5,"order_s":600},"work_order_id":"urn:x"}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if _, err := document.Read(document.OrderKind, got); err != nil {
		t.Error(err)
	}
	// Without a slot, round, project and variables, none of them is there.
	s, err = Resolve(project(t, `"project":"demo"`), Flags{Suite: "b.py", NoProject: true}, Bench, "/w", noon)
	if err != nil {
		t.Fatal(err)
	}
	if o, err = s.order(&Side{target: side.target}, "", -1, -1); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"project", "round", "slot", "labels", "environment_variables", "collectors", "benchmark"} {
		if v, there := o[name]; there {
			t.Errorf("%s is %v and was not asked for", name, v)
		}
	}
	if !strings.HasPrefix(s.RunKey, "bench-20260901T100000Z-") {
		t.Errorf("the run key is %s", s.RunKey)
	}
}

func TestTwoCallsInOneSecondHaveTwoRunKeys(t *testing.T) {
	seen := map[string]bool{}
	for range 8 {
		seen[NewRunKey(Bench, noon)] = true
	}
	if len(seen) < 7 { // 8 of 65,536 are alike once in 2,300 times
		t.Errorf("8 calls have %d run keys", len(seen))
	}
}

func TestLabelsAreReadExactly(t *testing.T) {
	name, a, b, err := TwoValues("build=plain,hard ened")
	if err != nil || name != "build" || a != "plain" || b != "hard ened" {
		t.Errorf("got %s, %s, %s, %v", name, a, b, err)
	}
	for _, bad := range []string{"", "build", "build=a", "=a,b", "x=a,b,c", "x=a,", "x=,b", "x=a,a", "x= ,a"} {
		if _, _, _, err := TwoValues(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	labels, err := Labels([]string{"env=a,b", "os=x=y"})
	if err != nil || fmt.Sprint(labels) != "map[env:a,b os:x=y]" {
		t.Errorf("got %v, %v", labels, err)
	}
	for _, bad := range [][]string{{"env"}, {"=a"}, {"env="}, {"env=a", "env=b"}} {
		if _, err := Labels(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func TestACallThatJoinsARunSaysWhere(t *testing.T) {
	for _, c := range []struct {
		j    Joining
		want string
	}{
		{Joining{Labels: []string{"a=b"}}, "--run-key"}, {Joining{Round: n(0)}, "--run-key"}, {Joining{Slot: n(0)}, "--run-key"},
		{Joining{Labels: []string{"a=b"}, Shared: true}, "--slot"}, {Joining{Round: n(0), Shared: true}, "--slot"},
		{Joining{Round: n(-1), Slot: n(0), Shared: true}, "--round -1"}, {Joining{Slot: n(-1), Shared: true}, "--slot -1"},
	} {
		if _, err := c.j.check(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want an error with %s", c.j, err, c.want)
		}
	}
	for _, j := range []Joining{{}, {Shared: true}, {Slot: n(0), Shared: true}, {Labels: []string{"a=b"}, Round: n(0), Slot: n(1), Shared: true}} {
		if _, err := j.check(); err != nil {
			t.Errorf("%+v: %v", j, err)
		}
	}
}

func TestShowNamesWhereEveryValueComesFrom(t *testing.T) {
	c := project(t, `"project":"demo","adapter":{"name":"pyperf","precision":{"repetitions":{"mode":"fixed","levels":[{"unit":"value","n":9}]}}},"compare":{"k":2.5}`)
	list, err := Show(c, func(name string) string { return map[string]string{config.HomeVariable: "/h"}[name] })
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, s := range list {
		got[s.Key] = s.Text() + " <- " + s.From
	}
	for key, want := range map[string]string{
		"project": "demo <- benchx.conf.json", "adapter.name": "pyperf <- benchx.conf.json", "adapter.suite": "not set <- ", "adapter.quantities": "wall-time <- default",
		"adapter.precision.repetitions.process": "20 <- default of the harness", "adapter.precision.repetitions.value": "9 <- benchx.conf.json",
		"timeouts.case_s": "60 <- default", "paths.store": "/h/store.parquet <- $BENCHX_HOME", "compare.k": "2.5 <- benchx.conf.json", "compare.min_rounds": "3 <- default", "compare.rounds": "not set <- ",
	} {
		if got[key] != want {
			t.Errorf("%s: got %q, want %q", key, got[key], want)
		}
	}
}

func cases(parts ...string) (out []runner.Case) {
	for _, p := range parts {
		name, rest, _ := strings.Cut(p, " ")
		c := runner.Case{Name: name}
		for kv := range strings.FieldsSeq(rest) {
			k, v, _ := strings.Cut(kv, "=")
			c.Parameters = append(c.Parameters, struct{ Name, Value string }{k, v})
		}
		out = append(out, c)
	}
	return out
}

func TestTheParameterThatVariesIsFoundOrAskedFor(t *testing.T) {
	s := &Settings{}
	both := cases("f impl='a' size=1", "f impl='b' size=1", "g size=1", "h")
	for _, c := range []struct {
		cases []runner.Case
		vary  string
		vars  map[string]any
		want  string // the parameter, or a part of the error after !
	}{
		{cases("f impl='a'", "f impl='b'"), "", nil, "impl"},
		{both, "impl", nil, "impl"},
		{both, "", nil, "!impl (f); size (f, g)"},
		{cases("f impl='a'"), "", map[string]any{"OMP": "1"}, "!OMP (-e); impl (f)"},
		{both, "zoo", nil, "!--vary zoo"},
		{cases("h"), "", nil, "!has a parameter"},
		{cases("f impl='a'"), "OMP", map[string]any{"OMP": "1"}, "!OMP is a variable"},
	} {
		s.Variables = c.vars
		got, err := s.parameter(c.cases, c.vary)
		if part, wrong := strings.CutPrefix(c.want, "!"); wrong && (err == nil || !strings.Contains(err.Error(), part)) || !wrong && got != c.want {
			t.Errorf("%v %s: got %q, %v; want %s", c.cases, c.vary, got, err, c.want)
		}
	}
	comparing := &Comparing{Vary: "impl"}
	for _, c := range []struct {
		cases []runner.Case
		want  string
	}{
		{both, "['a' 'b']"},
		{cases("f impl='b'", "f impl='a'"), "['b' 'a']"},
		{cases("f impl='a'", "f impl='b'", "f impl='c'"), `!3 values of impl, and a comparison has two sides; select two values with --filter: "'a'", "'b'", "'c'"`},
		{cases("f impl='a'"), "!1 values"},
		{cases("f impl='a' n=1", "f impl='b' n=1", "g impl='a' n=2"), "!g [n=2] takes only the value 'a' of impl"},
	} {
		got, err := comparing.values(c.cases)
		if part, wrong := strings.CutPrefix(c.want, "!"); wrong && (err == nil || !strings.Contains(err.Error(), part)) || !wrong && fmt.Sprint(got) != c.want {
			t.Errorf("%v: got %v, %v; want %s", c.cases, got, err, c.want)
		}
	}
}

func TestExactNamesSelectExactlyThemselves(t *testing.T) {
	s := &Settings{}
	s.Harness.Parameters = true
	for _, c := range []struct {
		names []string
		want  string
	}{
		{[]string{"f"}, `^f(\(.*\))?$`},
		{[]string{"f(10,'a')"}, `^f\(10, 'a'\)$`},
		{[]string{"f(10,   'a, (b)')", "g"}, `^(f\(10, 'a, \(b\)'\)|g(\(.*\))?)$`},
		{[]string{`f('it\'s,x', (1,))`}, `^f\('it\\'s,x', \(1,\)\)$`},
	} {
		s.Cases = c.names
		if got := s.filter(); got != c.want {
			t.Errorf("%q: got %s, want %s", c.names, got, c.want)
		}
	}
	s.Cases = []string{"f", "g(1)"}
	side := &Side{target: map[string]any{"path": "/w"}}
	if err := s.named(cases("f a=1", "f a=2", "g a=1"), side); err != nil {
		t.Error(err)
	}
	if err := s.named(cases("f a=1", "g a=2"), side); err == nil || !strings.Contains(err.Error(), "g(1)") {
		t.Errorf("a name that no case has: %v", err)
	}
	s.Harness.Parameters, s.Cases = false, []string{"BM_T<int>/8", "a b (x+y)"}
	if got, want := s.filter(), `^(BM_T<int>/8|a b \(x\+y\))$`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
