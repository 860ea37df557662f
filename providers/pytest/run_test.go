package pytest_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/providers/providertest"
	"github.com/flameox/flameox/providers/pytest"
)

// everyOutcome has one test or more of every outcome that pytest knows.
const everyOutcome = `
import os, time, warnings
import pytest

@pytest.fixture(scope="session")
def database():
    time.sleep(0.02)
    return 1

@pytest.fixture
def row(database):
    return database + 1

@pytest.fixture
def broken():
    raise RuntimeError("no database")

@pytest.fixture
def leaves():
    yield
    raise ValueError("not cleaned up")

@pytest.mark.parametrize("x", [0, "a[b]", "é", float("nan"), b"\xff"])
def test_passes(x, row):
    assert row == 2

def test_fails():
    print("SECRET")
    assert 1 == 2, "they differ"

def test_errors(broken):
    pass

@pytest.mark.skip(reason="not here")
def test_skips():
    pass

@pytest.mark.xfail(reason="known")
def test_xfails():
    assert 0

@pytest.mark.xfail(reason="known")
def test_xpasses():
    pass

@pytest.mark.xfail(strict=True, reason="strict")
def test_xpasses_strictly():
    pass

def test_warns():
    warnings.warn("x")

def test_records(record_property):
    record_property("number", float("nan"))

def test_errors_late(leaves):
    pass

tries = [0]

@pytest.mark.flaky(reruns=2)
def test_at_the_second_try():
    tries[0] += 1
    assert tries[0] == 2

@pytest.mark.flaky(reruns=1)
def test_never():
    assert False

def test_late_fixture(request):
    assert request.getfixturevalue("database") == 1

def test_parts(subtests):
    for i in range(3):
        with subtests.test(msg="part", i=i):
            assert i != 1
`

// expected is what becomes of them.
var expected = map[string]string{
	"test_passes[0]": "passed", "test_passes[a[b]]": "passed", `test_passes[\xe9]`: "passed", "test_passes[nan]": "passed", `test_passes[\xff]`: "passed",
	"test_fails": "failed", "test_errors": "errored", "test_skips": "skipped", "test_xfails": "xfailed", "test_xpasses": "xpassed",
	"test_xpasses_strictly": "failed", "test_warns": "passed", "test_records": "passed", "test_errors_late": "errored",
	"test_at_the_second_try": "passed", "test_never": "failed", "test_late_fixture": "passed", "test_parts": "failed",
}

func TestRealRuns(t *testing.T) {
	for name, packages := range map[string]string{"7": oldest, "8": middle, "9": newest} {
		for _, args := range [][]string{{"-q"}, {"-q", "-n2"}} {
			t.Run(name+strings.Join(args, " "), func(t *testing.T) {
				dir := project(t, map[string]string{"test_all.py": everyOutcome})
				py := python(t, packages)
				in, ran := capture(t, dir, append([]string{py, "-m", "pytest"}, args...)...)
				if ran.Exit != 1 {
					t.Fatalf("status %d: %s%s", ran.Exit, ran.Stdout, ran.Stderr)
				}
				r, err := p.Validate(t.Context(), in)
				if err != nil || !r.Valid || !providertest.HasCode(r.Limitations, "tests_failed") {
					t.Errorf("%+v %v", r, err)
				}
				out, tables := providertest.Extract(t, p, in, nil, evidence.DefaultBudget())
				if out.State != evidence.Complete {
					t.Errorf("%+v", out)
				}
				got := map[string]string{}
				for id, result := range results(tables) {
					got[strings.TrimPrefix(id, "test_all.py::")] = result
				}
				if !maps.Equal(got, expected) {
					t.Errorf("got %v\nwant %v", got, expected)
				}
				want(t, tables, "pytest.tests.collected", int64(len(expected)))
				want(t, tables, "pytest.tests.unexecuted", 0)
				want(t, tables, "pytest.tests.reruns", 2)
				agreesWithTerminal(t, string(ran.Stdout), tables)
				fixturesOf(t, tables)
				for _, m := range []string{"observed", "reported"} {
					if ns, ok := metric(t, tables, "pytest.time_to_first_failure."+m); !ok || ns < 2e7 || ns > 60e9 {
						t.Errorf("the first failure is %s %d ns into the run", m, ns)
					}
				}
				workers := map[any]bool{}
				for _, row := range tables["tests"] {
					workers[row["worker"]] = true
				}
				if xdist := len(args) > 1; xdist != (workers["gw0"] || workers["gw1"]) || xdist == workers["master"] {
					t.Errorf("workers %v", workers)
				}
				if strings.Contains(fmt.Sprint(tables), "SECRET") {
					t.Error("what a test printed is in the rows")
				}
			})
		}
	}
}

// agreesWithTerminal compares counts with the last line that pytest printed. Its "failed" has subtests, and its "passed" a test whose
// teardown failed.
func agreesWithTerminal(t *testing.T, stdout string, tables map[string][]providertest.Row) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	said := map[string]int64{}
	for _, m := range regexp.MustCompile(`(\d+) (\w+)`).FindAllStringSubmatch(lines[len(lines)-1], -1) {
		var n int64
		fmt.Sscan(m[1], &n)
		said[m[2]] = n
	}
	for name, metric := range map[string]string{"skipped": "skipped", "xfailed": "xfailed", "xpassed": "xpassed", "errors": "errored", "rerun": "reruns"} {
		n := said[name]
		if name == "skipped" {
			n += said["xfailed"]
		}
		want(t, tables, "pytest.tests."+metric, n)
	}
	failed, _ := metric(t, tables, "pytest.tests.failed")
	if said["failed"] != failed && said["failed"] != failed+1 { // a subtest counts beside its test since pytest 9
		t.Errorf("%d failed, and pytest says %s", failed, lines[len(lines)-1])
	}
}

func fixturesOf(t *testing.T, tables map[string][]providertest.Row) {
	t.Helper()
	seen := map[string]string{}
	total := int64(0)
	for _, r := range tables["measurements"] {
		if r["name"] != "pytest.fixture_setup" {
			continue
		}
		d := r["dimensions"].(map[string]string)
		seen[d["fixture"]] = d["scope"] + " " + d["outcome"]
		total += r["value_int"].(int64)
		if d["fixture"] == "database" && r["value_int"].(int64) < 2e7 {
			t.Errorf("the database was set up in %v ns", r["value_int"])
		}
		if d["fixture"] == "row" && r["value_int"].(int64) > 15e6 {
			t.Error("a fixture's time has that of one that it needs")
		}
	}
	for name, is := range map[string]string{"database": "session passed", "row": "function passed", "broken": "function failed", "leaves": "function passed"} {
		if seen[name] != is {
			t.Errorf("fixture %s is %q, want %q", name, seen[name], is)
		}
	}
	if seen["x"] != "" {
		t.Error("a parameter is called a fixture")
	}
	want(t, tables, "pytest.fixture_setup.total", total)
}

func TestAKilledWorkerLeavesWhatItHadReported(t *testing.T) {
	for name, packages := range map[string]string{"7": oldest, "9": newest} {
		t.Run(name, func(t *testing.T) {
			dir := project(t, map[string]string{"test_die.py": `
import os, signal, pytest
@pytest.mark.parametrize("x", range(12))
def test_lives(x): pass
def test_dies(): os.kill(os.getpid(), signal.SIGKILL)
`})
			in, ran := capture(t, dir, python(t, packages), "-m", "pytest", "-q", "-n2")
			out, tables := providertest.Extract(t, p, in, nil, evidence.DefaultBudget())
			if out.State != evidence.Partial || !providertest.HasCode(out.Limitations, pytest.Crashed) || ran.Exit != 1 {
				t.Errorf("status %d, %+v", ran.Exit, out)
			}
			want(t, tables, "pytest.tests.collected", 13)
			want(t, tables, "pytest.tests.unexecuted", 0)
			want(t, tables, "pytest.tests.passed", 12)
			want(t, tables, "pytest.tests.crashed", 1)
			if got := results(tables)["test_die.py::test_dies"]; got != "crashed" {
				t.Errorf("the test that died is %s", got)
			}
		})
	}
}

func TestAKilledRunIsPartialAndNotValid(t *testing.T) {
	dir := project(t, map[string]string{"test_die.py": "import os, signal\ndef test_lives(): pass\ndef test_dies(): os.kill(os.getpid(), signal.SIGKILL)\ndef test_never(): pass\n"})
	in, _ := capture(t, dir, python(t, newest), "-m", "pytest", "-q")
	out, tables := providertest.Extract(t, p, in, nil, evidence.DefaultBudget())
	want(t, tables, "pytest.tests.unexecuted", 1)
	if got := results(tables); out.State != evidence.Partial || got["test_die.py::test_never"] != "unexecuted" || got["test_die.py::test_lives"] != "passed" {
		t.Errorf("%+v %v", out, got)
	}
	if r, err := p.Validate(t.Context(), in); err != nil || r.Valid || !providertest.HasCode(r.Reasons, pytest.NotFinished) {
		t.Errorf("%+v %v", r, err)
	}
}

func TestWhatIsLeftOutIsCounted(t *testing.T) {
	files := map[string]string{
		"test_a.py": "def test_1(): pass\ndef test_2(): assert 0\ndef test_3(): pass\ndef test_4(): pass\n",
		"b/test.py": "", "test_broken.py": "import nothing_of_this_name\ndef test_x(): pass\n",
	}
	for _, c := range []struct {
		args                                                   []string
		collected, deselected, executed, unexecuted, exitInLog int64
		completion                                             string
	}{
		{[]string{"test_a.py"}, 4, 0, 4, 0, 1, "complete"},
		{[]string{"test_a.py", "-x"}, 4, 0, 2, 2, 1, "complete"},
		{[]string{"test_a.py", "-k", "1 or 3"}, 4, 2, 2, 0, 0, "complete"},
		{[]string{"test_a.py", "--deselect", "test_a.py::test_2"}, 4, 1, 3, 0, 0, "complete"},
		{[]string{"test_a.py", "--collect-only"}, 4, 0, 0, 4, 0, "complete"},
		{[]string{"."}, 4, 0, 0, 4, 2, "interrupted"},
		{[]string{".", "--continue-on-collection-errors"}, 4, 0, 4, 0, 1, "complete"},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			in, ran := capture(t, project(t, files), append([]string{python(t, newest), "-m", "pytest", "-q"}, c.args...)...)
			if int64(ran.Exit) != c.exitInLog {
				t.Fatalf("status %d: %s%s", ran.Exit, ran.Stdout, ran.Stderr)
			}
			out, tables := providertest.Extract(t, p, in, nil, evidence.DefaultBudget())
			want(t, tables, "pytest.tests.collected", c.collected)
			if c.executed > 0 { // else no record of a test says what was deselected
				want(t, tables, "pytest.tests.deselected", c.deselected)
			}
			want(t, tables, "pytest.tests.executed", c.executed)
			want(t, tables, "pytest.tests.unexecuted", c.unexecuted)
			if out.Results["completion"] != c.completion || out.Results["exit_status"] != c.exitInLog {
				t.Error(out.Results)
			}
			if broken := results(tables)["test_broken.py"]; (c.args[0] == ".") != (broken == "errored") {
				t.Errorf("the file that cannot be read is %q", broken)
			}
		})
	}
}

func TestTheLauncherChangesNothingThatTestsSee(t *testing.T) {
	// What is importable differs between `python -m pytest` and `pytest`, and is as without flameox. So is what JUnit's plugin writes.
	files := map[string]string{
		"helper.py":       "",
		"tests/test_a.py": "import sys\ndef test_path(record_property):\n    record_property('a', 1)\n    open('path', 'w').write(repr(sys.path))\n",
	}
	py := python(t, newest)
	for style, argv := range map[string][]string{"module": {py, "-m", "pytest", "-q"}, "script": {filepath.Join(filepath.Dir(py), "pytest"), "-q"}} {
		dir := project(t, files)
		_, ran := capture(t, dir, append(argv, "--junitxml=ours.xml")...)
		if ran.Exit != 0 {
			t.Fatalf("%s: %s%s", style, ran.Stdout, ran.Stderr)
		}
		ours := readFile(t, dir+"/path")
		cmd := exec.Command(argv[0], append(argv[1:], "--junitxml=theirs.xml")...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v %s", err, out)
		}
		theirs := readFile(t, dir+"/path")
		if string(ours) != string(theirs) {
			t.Errorf("%s: with flameox %s, without %s", style, ours, theirs)
		}
		clean := regexp.MustCompile(`(time|timestamp)="[^"]*"`)
		if a, b := clean.ReplaceAll(readFile(t, dir+"/ours.xml"), nil), clean.ReplaceAll(readFile(t, dir+"/theirs.xml"), nil); string(a) != string(b) {
			t.Errorf("%s: with flameox %s\nwithout %s", style, a, b)
		}
	}
}

func TestAnEnvironmentWithoutReportlogIsSaidBeforeTestsRun(t *testing.T) {
	dir := project(t, map[string]string{"test_a.py": "open('ran', 'w')\n"})
	in, ran := capture(t, dir, python(t, bare), "-m", "pytest")
	if ran.Exit != 4 || len(in.Artifacts) != 0 || !strings.Contains(string(ran.Stderr), "has no pytest-reportlog") || !strings.Contains(string(ran.Stderr), "pip install") {
		t.Errorf("status %d: %s", ran.Exit, ran.Stderr)
	}
	if _, err := os.Stat(dir + "/ran"); err == nil {
		t.Error("tests ran all the same")
	}
	probe, version := p.Probe([]string{python(t, bare)})
	out, _ := exec.Command(probe[0], probe[1:]...).Output()
	if v, err := version(out, []byte("x")); err == nil {
		t.Errorf("version %s", v)
	}
	probe, version = p.Probe([]string{python(t, newest)})
	out, _ = exec.Command(probe[0], probe[1:]...).Output()
	if v, err := version(out, nil); err != nil || v != "1.0.0" {
		t.Errorf("version %s %v", v, err)
	}
}

func TestAnExpectedStatusStays(t *testing.T) {
	dir := project(t, map[string]string{"test_a.py": "def test_a(): assert 0\n"})
	_, ran := captureWorkload(t, dir, providers.Workload{Argv: []string{python(t, newest), "-m", "pytest", "-q"}, ExpectExit: []int{0, 1}})
	if ran.Exit != 1 {
		t.Errorf("status %d", ran.Exit)
	}
	_, ran = captureWorkload(t, dir, providers.Workload{Argv: []string{python(t, newest), "-m", "pytest", "--no-such-option"}})
	if ran.Exit != 4 {
		t.Errorf("a wrong call has status %d", ran.Exit)
	}
}

// oracle reads a log as its manual says, and prints what became of each test.
const oracle = `
import json, sys
tests, lines = {}, open(sys.argv[1], encoding="utf-8").read().split("\n")
for line in lines:
    try:
        r = json.loads(line)
    except ValueError:
        continue
    if r["$report_type"] != "TestReport":
        continue
    t = tests.setdefault(r["nodeid"], {})
    outcome = r["outcome"]
    if "wasxfail" in r:
        outcome = {"skipped": "xfailed", "passed": "xpassed"}.get(outcome, outcome)
    t[r["when"]] = (outcome, round(r["duration"] * 1e9))
def became(t):
    if "???" in t: return "crashed"
    if any(t.get(w, ("",))[0] == "failed" for w in ("setup", "teardown")): return "errored"
    if t.get("call", ("",))[0] == "failed": return "failed"
    for o in ("skipped", "xfailed", "xpassed"):
        if any(v[0] == o for v in t.values()): return o
    return "passed" if t.get("call", ("",))[0] == "passed" else "errored"
print(json.dumps({"results": {k: became(t) for k, t in tests.items()}, "ns": sum(v[1] for t in tests.values() for k, v in t.items() if k != "???")}))
`

func TestFixturesAgreeWithPython(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("there is no python3 to compare with")
	}
	for name, c := range map[string]struct {
		state evidence.State
		codes []string
		valid bool
	}{
		"reportlog-pytest7.2-plain.jsonl":    {evidence.Complete, []string{pytest.NoTimes, pytest.Uncollected}, true},
		"reportlog-pytest7.2-xdist.jsonl":    {evidence.Partial, []string{pytest.SessionFailed, pytest.Uncollected, pytest.QueueUnknown}, false},
		"reportlog-xdist-worker-crash.jsonl": {evidence.Partial, []string{pytest.Crashed, pytest.Uncollected}, true},
		"reportlog-main-killed.jsonl":        {evidence.Partial, []string{pytest.NotFinished}, false},
	} {
		t.Run(name, func(t *testing.T) {
			data := providertest.Fixture(t, "pytest-reportlog/"+name)
			if !p.Formats()[0].Detect(data[:min(512, len(data))]) {
				t.Error("it is not recognized")
			}
			out, tables := extract(t, string(data))
			if out.State != c.state {
				t.Errorf("state %s, %v", out.State, out.Limitations)
			}
			for _, code := range c.codes {
				if !providertest.HasCode(out.Limitations, code) {
					t.Errorf("%s is not among %v", code, providertest.Codes(out.Limitations))
				}
			}
			if r := validate(t, string(data), 0); r.Valid != c.valid {
				t.Errorf("%+v", r)
			}
			text, err := exec.Command("python3", "-c", oracle, artifact(t, data).Path).Output()
			if err != nil {
				t.Fatal(err)
			}
			var theirs struct {
				Results map[string]string
				NS      int64
			}
			if err := json.Unmarshal(text, &theirs); err != nil {
				t.Fatal(err)
			}
			ours, ns := results(tables), int64(0)
			for _, r := range tables["measurements"] {
				if strings.HasPrefix(r["name"].(string), "pytest.phase.") {
					ns += r["value_int"].(int64)
				}
			}
			for id, result := range theirs.Results {
				if ours[id] != result && !strings.ContainsRune(id, '\uFFFD') {
					t.Errorf("%q is %q, and Python says %q", id, ours[id], result)
				}
			}
			if d := ns - theirs.NS; d < -5 || d > 5 || len(theirs.Results) == 0 {
				t.Errorf("the phases took %d ns, and Python says %d of %d tests", ns, theirs.NS, len(theirs.Results))
			}
		})
	}
}
