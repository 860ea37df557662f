package pytest_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/providers/providertest"
	"github.com/flameox/flameox/providers/pytest"
)

const begin = `{"pytest_version": "8.4.2", "$report_type": "SessionStart"}` + "\n"

func finish(status int) string {
	return fmt.Sprintf(`{"exitstatus": %d, "$report_type": "SessionFinish"}`+"\n", status)
}

func collected(ids ...string) string {
	return fmt.Sprintf(`{"nodeid": "a.py", "outcome": "passed", "longrepr": null, "result": null, "$report_type": "CollectReport", "flameox.collected_nodeids": ["%s"]}`+"\n", strings.Join(ids, `", "`))
}

// report is a record of a test; more are further fields, each with a comma behind it.
func report(id, when, outcome, more string) string {
	return fmt.Sprintf(`{%s"nodeid": %q, "location": ["a.py", 3, "x"], "keywords": {"x": 1}, "outcome": %q, "longrepr": null, "when": %q, "user_properties": [], "duration": 0.25, "$report_type": "TestReport"}`+"\n", more, id, outcome, when)
}

func passed(id string) string {
	return report(id, "setup", "passed", "") + report(id, "call", "passed", "") + report(id, "teardown", "passed", "")
}

func extract(t *testing.T, log string) (evidence.Outcome, map[string][]providertest.Row) {
	t.Helper()
	in := providertest.Input(t, pytest.Role, []byte(log))
	return providertest.Extract(t, p, in, nil, evidence.DefaultBudget())
}

func validate(t *testing.T, log string, exit int, expect ...int) providers.Receipt {
	t.Helper()
	in := providertest.Input(t, pytest.Role, []byte(log))
	in.Exit, in.ExpectExit = exit, expect
	r, err := p.Validate(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// metric is the value of a measurement that there is once; ok is false where there is none.
func metric(t *testing.T, tables map[string][]providertest.Row, name string) (value int64, ok bool) {
	t.Helper()
	for _, r := range tables["measurements"] {
		if r["name"] != name {
			continue
		}
		if ok {
			t.Errorf("%s is there twice", name)
		}
		value, ok = r["value_int"].(int64), true
	}
	return value, ok
}

func want(t *testing.T, tables map[string][]providertest.Row, name string, value int64) {
	t.Helper()
	if got, ok := metric(t, tables, name); !ok || got != value {
		t.Errorf("%s is %d (there: %v), want %d", name, got, ok, value)
	}
}

func absent(t *testing.T, tables map[string][]providertest.Row, name string) {
	t.Helper()
	if got, ok := metric(t, tables, name); ok {
		t.Errorf("%s is %d and should be missing", name, got)
	}
}

// results are the tests with what became of them.
func results(tables map[string][]providertest.Row) map[string]string {
	out := map[string]string{}
	for _, r := range tables["tests"] {
		out[r["test"].(string)] = r["result"].(string)
	}
	return out
}

func TestTheSuiteOfProviders(t *testing.T) {
	log := begin + collected("a.py::one", "a.py::two[x[1]]") + passed("a.py::one") + passed("a.py::two[x[1]]") + finish(0)
	providertest.Run(t, p, &providertest.Cases{
		Valid: []byte(log), Empty: []byte(begin + finish(5)), Role: pytest.Role, Half: evidence.Partial,
	}, &providertest.Plan{Workload: providers.Workload{Argv: []string{"python", "-m", "pytest", "-q"}}})
}

func TestWhatWasCollectedAndNotReportedIsUnexecuted(t *testing.T) {
	out, tables := extract(t, begin+collected("a.py::one", "a.py::two", "a.py::three")+passed("a.py::one")+passed("a.py::two")+finish(1))
	want(t, tables, "pytest.tests.collected", 3)
	want(t, tables, "pytest.tests.executed", 2)
	want(t, tables, "pytest.tests.unexecuted", 1)
	if got := results(tables)["a.py::three"]; got != "unexecuted" || out.State != evidence.Complete {
		t.Errorf("three is %s, the state %s", got, out.State)
	}
}

func TestDeselectedTestsAreNotUnexecuted(t *testing.T) {
	log := func(total int) string {
		return begin + collected("a::1", "a::2", "a::3") +
			strings.Replace(report("a::1", "call", "passed", ""), `"user_properties": []`, fmt.Sprintf(`"user_properties": [["flameox.deselected_nodeids", {"total": %d, "nodeids": ["a::2"]}]]`, total), 1) + finish(0)
	}
	_, tables := extract(t, log(1))
	want(t, tables, "pytest.tests.unexecuted", 1)
	want(t, tables, "pytest.tests.deselected", 1)
	out, tables := extract(t, log(2)) // the other name never came
	absent(t, tables, "pytest.tests.unexecuted")
	if !providertest.HasCode(out.Limitations, pytest.Deselected) {
		t.Error(out.Limitations)
	}
	_, tables = extract(t, begin+collected("a::1", "a::2")+finish(5))
	want(t, tables, "pytest.tests.deselected", 2)
	want(t, tables, "pytest.tests.unexecuted", 0)
}

func TestLatenciesAreFromTheBeginningOfTheRun(t *testing.T) {
	failed := strings.Replace(report("a::1", "setup", "failed", `"start": 2e-6, "stop": 2.4e-6, `), `"user_properties": []`,
		`"user_properties": [["flameox.run_started_ns", 1000], ["flameox.controller_received_ns", 2800]]`, 1)
	out, tables := extract(t, begin+failed+finish(1))
	want(t, tables, "pytest.time_to_first_failure.observed", 1400)
	want(t, tables, "pytest.time_to_first_failure.reported", 1800)
	if got := results(tables)["a::1"]; got != "errored" {
		t.Errorf("a failed setup is %s", got)
	}
	if start := tables["tests"][0]["start_ns"]; start != int64(1000) {
		t.Errorf("the phase starts %v ns into the run", start)
	}
	if out.State != evidence.Complete {
		t.Error(out.State, out.Limitations)
	}
	// Without times they are missing, not zero.
	out, tables = extract(t, begin+report("a::1", "call", "failed", "")+finish(1))
	absent(t, tables, "pytest.time_to_first_failure.observed")
	absent(t, tables, "pytest.time_to_first_failure.reported")
	absent(t, tables, "pytest.fixture_setup.total")
	if !providertest.HasCode(out.Limitations, pytest.NoTimes) {
		t.Error(out.Limitations)
	}
}

func TestTimesOfDayKeepTheirNanoseconds(t *testing.T) {
	log := begin + strings.Replace(report("a::1", "call", "failed", `"start": 1796033074.0778971, "stop": 1796033074.0788971, `), `"user_properties": []`,
		`"user_properties": [["flameox.run_started_ns", 1796033074077897000]]`, 1) + finish(1)
	_, tables := extract(t, log)
	want(t, tables, "pytest.time_to_first_failure.observed", 1000100)
}

func TestFixturesAreSamples(t *testing.T) {
	log := begin + strings.Replace(report("a::1", "setup", "passed", ""), `"user_properties": []`,
		`"user_properties": [["a", 1], ["flameox.run_started_ns", 5], ["flameox.fixture_setup", {"duration_ns": 500, "fixture": "db", "scope": "session", "started_at_ns": 7, "outcome": "passed"}], `+
			`["flameox.fixture_setup", {"duration_ns": 20, "fixture": "row", "scope": "function", "started_at_ns": 8, "outcome": "failed"}], ["a", 2]]`, 1) + finish(0)
	_, tables := extract(t, log)
	want(t, tables, "pytest.fixture_setup.total", 520)
	var got []string
	for _, r := range tables["measurements"] {
		if r["name"] == "pytest.fixture_setup" {
			d := r["dimensions"].(map[string]string)
			got = append(got, fmt.Sprint(r["value_int"], d["fixture"], d["scope"], d["outcome"], d["nodeid"]))
		}
	}
	if fmt.Sprint(got) != "[500dbsessionpasseda::1 20rowfunctionfaileda::1]" {
		t.Error(got)
	}
}

func TestKindsOfRecordsThatAreNotKnownArePassedOver(t *testing.T) {
	out, tables := extract(t, begin+`{"$report_type": "FutureReport", "x": [NaN, -Infinity, {"y": "é\ud83d\ude00"}]}`+"\n"+passed("a::1")+finish(0))
	want(t, tables, "pytest.tests.passed", 1)
	if !providertest.HasCode(out.Limitations, pytest.UnknownRecords) {
		t.Error(out.Limitations)
	}
}

func TestWhatIsNoLogIsRefused(t *testing.T) {
	for name, c := range map[string]struct{ log, code string }{
		"nothing":                   {"", pytest.EmptyFile},
		"an object":                 {"{}\n", pytest.NotALog},
		"a broken first line":       {"{broken\n", pytest.NotALog},
		"another record first":      {finish(0), pytest.NotALog},
		"a broken line":             {begin + "{broken\n" + finish(0), pytest.BrokenLine},
		"a line that is no object":  {begin + "[1]\n", pytest.BrokenLine},
		"an empty line":             {begin + "\n" + finish(0), pytest.BrokenLine},
		"an object without a kind":  {begin + `{"a": 1}` + "\n", pytest.BrokenLine},
		"something behind a record": {begin + `{"exitstatus": 0, "$report_type": "SessionFinish"} x` + "\n", pytest.BrokenLine},
		"a report without an id":    {begin + `{"outcome": "passed", "when": "call", "$report_type": "TestReport"}` + "\n", pytest.BrokenLine},
		"two outcomes":              {begin + report("a::1", "call", "passed", `"outcome": "failed", `), pytest.BrokenLine},
		"an end without status":     {begin + `{"$report_type": "SessionFinish"}` + "\n", pytest.BrokenLine},
		"two sessions":              {begin + finish(0) + begin + finish(0), pytest.TwoSessions},
		"UTF-16":                    {"\xff\xfe{\x00\"\x00", pytest.NotALog},
	} {
		t.Run(name, func(t *testing.T) {
			out, _ := extract(t, c.log)
			if out.State != evidence.Incompatible || !providertest.HasCode(out.Limitations, c.code) {
				t.Errorf("state %s, %v", out.State, out.Limitations)
			}
			if r := validate(t, c.log, 0); r.Valid {
				t.Error("it is a valid run")
			}
		})
	}
}

func TestALastRecordThatBreaksOffIsLeftOutAndSaid(t *testing.T) {
	log := begin + passed("a::1") + report("a::2", "setup", "passed", "")
	out, tables := extract(t, log[:len(log)-20])
	if out.State != evidence.Partial || !providertest.HasCode(out.Limitations, pytest.Truncated) || !providertest.HasCode(out.Limitations, pytest.NotFinished) {
		t.Errorf("%+v", out)
	}
	want(t, tables, "pytest.tests.executed", 1)
	if out.Results["completion"] != "incomplete" {
		t.Error(out.Results)
	}
}

func TestARunIsValidWhereItsSessionEndedWhateverBecameOfTheTests(t *testing.T) {
	for _, c := range []struct {
		log    string
		exit   int
		expect []int
		valid  bool
		code   string // of the reason
	}{
		{begin + passed("a::1") + finish(0), 0, nil, true, ""},
		{begin + report("a::1", "call", "failed", "") + finish(1), 0, nil, true, ""},
		{begin + report("a::1", "call", "failed", "") + finish(1), 1, nil, true, ""},
		{begin + passed("a::1") + finish(2), 0, nil, true, ""},
		{begin + passed("a::1") + finish(3), 3, nil, false, pytest.SessionFailed},
		{begin + finish(5), 5, nil, false, pytest.NoTests},
		{begin + finish(5), 5, []int{0, 5}, true, ""},
		{begin + passed("a::1"), 0, nil, false, pytest.NotFinished},
		{begin + passed("a::1") + finish(0), 139, nil, false, pytest.UnexpectedExit},
	} {
		r := validate(t, c.log, c.exit, c.expect...)
		if r.Valid != c.valid || c.code != "" && !providertest.HasCode(r.Reasons, c.code) {
			t.Errorf("status %d: valid %v, %v", c.exit, r.Valid, r.Reasons)
		}
		if r.Producer != "8.4.2" {
			t.Errorf("the producer is %q", r.Producer)
		}
	}
}

func TestAnInterruptedSessionIsPartial(t *testing.T) {
	out, _ := extract(t, begin+passed("a::1")+finish(2))
	if out.State != evidence.Partial || !providertest.HasCode(out.Limitations, pytest.Interrupted) || out.Results["completion"] != "interrupted" {
		t.Errorf("%+v", out)
	}
}

func TestADeadWorkerIsACrashOfItsTest(t *testing.T) {
	worker := `"worker_id": "gw1", `
	crash := `{"nodeid": "a::2", "location": ["a.py", null, "a.py"], "keywords": [], "outcome": "failed", "longrepr": "worker 'gw1' crashed while running 'a::2'", "when": "???", "user_properties": [], "duration": 0, "node": "<WorkerController gw1>", "$report_type": "TestReport"}` + "\n"
	out, tables := extract(t, begin+report("a::1", "call", "passed", `"worker_id": "gw0", `)+report("a::2", "setup", "passed", worker)+crash+finish(1))
	if got := results(tables); got["a::2"] != "crashed" || got["a::1"] != "passed" {
		t.Error(got)
	}
	want(t, tables, "pytest.tests.executed", 2)
	want(t, tables, "pytest.tests.errored", 1)
	want(t, tables, "pytest.tests.crashed", 1)
	absent(t, tables, "pytest.tests.unexecuted")
	if out.State != evidence.Partial || !providertest.HasCode(out.Limitations, pytest.Crashed) || !providertest.HasCode(out.Limitations, pytest.Uncollected) {
		t.Errorf("%+v", out)
	}
}

func TestALineThatIsTooLongIsPassedOverAndSaid(t *testing.T) {
	long := report("a::2", "call", "passed", `"sections": [["out", "`+strings.Repeat("x", 17<<20)+`"]], `)
	out, tables := extract(t, begin+collected("a::1", "a::2")+passed("a::1")+long+finish(0))
	want(t, tables, "pytest.tests.executed", 1)
	absent(t, tables, "pytest.tests.unexecuted")
	if out.State != evidence.Partial || !providertest.HasCode(out.Limitations, pytest.LongLine) {
		t.Errorf("%+v", out)
	}
}

func TestNamesThatDifferInHalfCharactersStayDifferent(t *testing.T) {
	raw := func(id string) string {
		return strings.Replace(report("X", "call", "passed", ""), `"X"`, `"`+id+`"`, 1)
	}
	_, tables := extract(t, begin+raw(`a::\udcff`)+raw(`a::\udcfe`)+raw(`a::\ud83d\ude00 \u00e9\n\"`)+raw(`a::\\`)+finish(0))
	got := results(tables)
	for _, id := range []string{`a::\udcff`, `a::\udcfe`, "a::😀 é\n\"", `a::\`} {
		if got[id] != "passed" {
			t.Errorf("%q is %q in %v", id, got[id], got)
		}
	}
}

func TestOnlyAllowedFieldsAreInTheRows(t *testing.T) {
	log := begin + strings.Replace(report("a::1", "call", "failed", `"sections": [["Captured stdout call", "SECRET"]], "extra": "SECRET", `), `"longrepr": null`,
		`"longrepr": {"reprcrash": {"path": "/home/SECRET/a.py", "lineno": 3, "message": "boom\nSECRET"}, "reprtraceback": {"x": "SECRET"}}`, 1)
	log = strings.Replace(log, `"user_properties": []`, `"user_properties": [["token", "SECRET"]]`, 1)
	_, tables := extract(t, log+finish(1))
	if text := fmt.Sprint(tables); strings.Contains(text, "SECRET") || !strings.Contains(text, "boom") {
		t.Error(text)
	}
}

func TestALogIsRecognizedByItsFirstLine(t *testing.T) {
	format := p.Formats()[0]
	for text, is := range map[string]bool{
		begin + finish(0): true, `{"$report_type": "SessionStart", "pytest_version": "7.0"}` + "\n{": true, finish(0): false, "{}": false, "": false,
		`{"version": "1.0"}`: false,
	} {
		if format.Detect([]byte(text)) != is {
			t.Errorf("%q: %v", text, !is)
		}
	}
}

func TestACommandThatIsNotPytestIsRefused(t *testing.T) {
	for _, argv := range [][]string{
		{"make", "test"}, {"python", "run_tests.py"}, {"python", "-m", "unittest"}, {"python", "-c", "import pytest"}, {"python", "-m", "pytest", "--report-log=x"},
		{"pytest", "--report-log", "x"}, {"python", "-i", "-m", "pytest"}, {"tox"},
	} {
		if inv, err := p.Plan(providers.Workload{Argv: argv}, options()); err == nil {
			t.Errorf("%q: %q", argv, inv.Argv)
		}
	}
	for want, argv := range map[string][]string{
		"/opt/v/bin/python": {"/opt/v/bin/pytest", "tests"}, "python": {"pytest"}, "python3.12": {"python3.12", "-X", "dev", "-m", "pytest", "--", "--report-log"},
	} {
		inv, err := p.Plan(providers.Workload{Argv: argv}, options())
		if err != nil || inv.Argv[0] != want {
			t.Errorf("%q: %v %v", argv, inv.Argv, err)
		}
	}
}

func FuzzLog(f *testing.F) {
	for _, s := range []string{
		begin + collected("a::1") + passed("a::1") + finish(0), begin + report("a::1", "call", "failed", `"longrepr": "x", "worker_id": "gw0", `),
		begin + `{"$report_type":"SubTestReport","nodeid":"a","when":"call","outcome":"failed","_subtest.context":{"msg":"m","kwargs":{"i":1}}}`, "{", "",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		in := providertest.Input(t, pytest.Role, data)
		sink := evidence.NewSink(t.TempDir(), evidence.FileMeta{Provider: "pytest", ProviderVersion: 1}, evidence.DefaultBudget())
		defer sink.Discard()
		out, err := p.Extract(t.Context(), in, nil, evidence.DefaultBudget(), sink)
		if err != nil {
			t.Fatal(err)
		}
		if out.State == evidence.Incompatible && (sink.Rows() > 0 || len(out.Limitations) == 0) {
			t.Fatalf("refused with %d rows and %v", sink.Rows(), out.Limitations)
		}
		if out.State == evidence.Complete && !bytes.Contains(data, []byte("SessionFinish")) {
			t.Fatal("complete without an end")
		}
	})
}
