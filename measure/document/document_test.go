package document

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/flameox/flameox/internal/ijson"
)

const goldenOrder = `{"plan":[{"case":"*","id":"p0","quantity":"wall-time"}],"precision":{"repetitions":5},"quantities":["wall-time"],"requester":{"kind":"workbench","name":"bx"},"round":0,"run_key":"r1","schema_version":"benchx/work-order/0.1.0","slot":1,"state":"resolved","suites":[{"adapter":"google-benchmark","suite":"demo-bench"}],"target":{"kind":"build","path":"/tmp/b","source":{"type":"git","uri":"https://example.org/demo"}},"timeouts":{"case_s":60,"order_s":600},"work_order_id":"urn:uuid:6f1c2b7e-3d4a-4e8b-9a51-0c2d7e9f4b13"}`

// edit changes a document by members named a/b/0/c; a nil value removes.
func edit(t *testing.T, text string, changes map[string]any) []byte {
	t.Helper()
	var doc any
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	for path, value := range changes {
		at := doc
		parts := strings.Split(path, "/")
		for _, p := range parts[:len(parts)-1] {
			if list, ok := at.([]any); ok {
				at = list[int(p[0]-'0')]
				continue
			}
			m := at.(map[string]any)
			if m[p] == nil {
				m[p] = map[string]any{}
			}
			at = m[p]
		}
		last := parts[len(parts)-1]
		if list, ok := at.([]any); ok {
			list[int(last[0]-'0')] = value
		} else if value == nil {
			delete(at.(map[string]any), last)
		} else {
			at.(map[string]any)[last] = value
		}
	}
	b, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestAnOrderHasOneHashHoweverItIsSpelled(t *testing.T) {
	const want = "sha256:261364560a50b863776d82d5d6cd8220ebf965ef1c6787b75e9d0625c32d8b2c"
	for _, c := range []map[string]any{{}, {"target/how_built": ""}, {"target/how_built": "  \n", "target/shell": "", "target/activation": " "}} {
		order, err := Read(OrderKind, edit(t, goldenOrder, c))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := OrderHash(order); err != nil || got != want {
			t.Errorf("%v: %s, %v; want %s", c, got, err, want)
		}
	}
	built, err := Read(OrderKind, edit(t, goldenOrder, map[string]any{"target/how_built": map[string]any{"blas": "openblas"}}))
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := OrderHash(built); got == want {
		t.Error("what is declared of the build is not in the hash")
	}
	if _, there := At(built, "target", "how_built").(map[string]any); !there {
		t.Error("hashing changed the order")
	}
}

func TestOrdersThatMeanNothingAreRefused(t *testing.T) {
	for _, c := range []struct {
		change map[string]any
		want   string
	}{
		{map[string]any{"surprise": 1}, `there is no member "surprise"`},
		{map[string]any{"state": "draft"}, "/plan: it must not be there"},
		{map[string]any{"plan": nil}, `it lacks "plan"`},
		{map[string]any{"schema_version": "benchx/work-order/9"}, "is not known"},
		{map[string]any{"schema_version": 5}, "that of a result"},
		{map[string]any{"schema_version": nil}, "it is missing"},
		{map[string]any{"target/path": "relative"}, "/target/path"},
		{map[string]any{"target/shell": "not a shell"}, "/target/shell"},
		{map[string]any{"target/kind": "surprise"}, "/target/kind"},
		{map[string]any{"suites/0/filter": "x", "suites/0/include": []string{"y"}}, "exclude each other"},
		{map[string]any{"precision/calibration": map[string]any{"mode": "fixed"}}, `"n_iterations"`},
		{map[string]any{"precision/calibration": map[string]any{"mode": "adaptive", "n_iterations": 3, "minimum_sample_seconds": 1}}, `"n_iterations"`},
		{map[string]any{"precision/warmup": map[string]any{"mode": "none", "seconds": 1}}, `"seconds"`},
		{map[string]any{"precision/repetitions": 0}, "/precision/repetitions"},
		{map[string]any{"timeouts/case_s": 0}, "/timeouts/case_s"},
		{map[string]any{"environment_variables": map[string]any{"1X": "a"}}, "/environment_variables"},
		{map[string]any{"run_key": "a b"}, "/run_key"},
	} {
		_, err := Read(OrderKind, edit(t, goldenOrder, c.change))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v; want %q in it", c.change, err, c.want)
		}
	}
	draft := edit(t, goldenOrder, map[string]any{"state": "draft", "plan": nil})
	if _, err := Read(OrderKind, draft); err != nil {
		t.Error(err)
	}
}

const thin = `{"schema_version":5,"producer":{"name":"benchx/gbench-adapter","version":"1","mapping_version":"1"},"ingest_key":"r:w:wall-time","attempt_key":"urn:benchx:attempt:0011223344556677:0",
"source":{"uri":"https://example.org/demo","type":"git"},"revision":{"key":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"},
"coordinates":{"workload":{"name":"w"},"subject":{"name":"demo","components":[{"role":"primary","source":"https://example.org/demo"}]},"quantity":{"name":"wall-time","unit":"s","direction":"lower-is-better"},
"comparison_context":{},"environment":{"schema":"machine/v1","identity":{"runner":"host"}}},
"measurement":{"status":"success","observations":[1.5,{"value":2,"ordinal":1}]},
"procedure":{"attempted_repetitions":5,"completed_repetitions":5,"round":0},
"provenance":{"run_key":"r","started_at":"2026-01-02T03:04:05.678901Z","ended_at":"2026-01-02T03:04:06Z","subject_dirty":"unknown","benchmark_dirty":"unknown"}}`

const aTree = "0123456789abcdef0123456789abcdef01234567"

func TestResultsAreHeldAgainstSchemaAndRules(t *testing.T) {
	estimate := func(version string) map[string]any {
		return map[string]any{"kind": "estimate", "source": "producer", "value": 1, "estimator": map[string]any{"name": "median", "method_version": version, "input_level": "observations"}}
	}
	interval := func(low, high float64) map[string]any {
		return map[string]any{"kind": "confidence_interval", "source": "producer", "statistic": "mean", "level": 0.95, "lower": low, "upper": high}
	}
	bound := func(low, high float64, closed bool) map[string]any {
		return map[string]any{"measurement/status": "censored", "measurement/reason": "timeout", "measurement/observations": nil,
			"measurement/constraint": map[string]any{"kind": "interval", "lower": low, "upper": high, "lower_inclusive": closed, "upper_inclusive": closed, "cause": "timeout"}}
	}
	for _, c := range []struct {
		name   string
		change map[string]any
		codes  string // "" is accepted
		want   string
	}{
		{"thin", nil, "", ""},
		{"version as text", map[string]any{"schema_version": "5"}, "malformed", "/schema_version"},
		{"version true", map[string]any{"schema_version": true}, "malformed", "/schema_version"},
		{"version 4", map[string]any{"schema_version": 4}, "malformed", "4 is not known"},
		{"version of an order", map[string]any{"schema_version": "benchx/work-order/0.1.0"}, "malformed", "that of a work order"},
		{"no ingest key", map[string]any{"ingest_key": nil}, "malformed", `it lacks "ingest_key"`},
		{"no identity", map[string]any{"coordinates/environment/identity": nil}, "malformed", `/coordinates/environment: it lacks "identity"`},
		{"dirty without a tree", map[string]any{"provenance/subject_dirty": "dirty"}, "malformed", `"subject_tree"`},
		{"dirty with a tree", map[string]any{"provenance/subject_dirty": "dirty", "provenance/subject_tree": aTree}, "", ""},
		{"unknown with a tree", map[string]any{"provenance/benchmark_tree": aTree}, "malformed", "/provenance/benchmark_tree"},
		{"slow", map[string]any{"measurement/observations": []any{1, map[string]any{"value": "slow"}}}, "malformed", "/measurement/observations/1"},
		{"no observations", map[string]any{"measurement/observations": []any{}}, "malformed", "/measurement/observations"},
		{"error with observations", map[string]any{"measurement/status": "error", "measurement/reason": "timeout"}, "malformed", "/measurement/observations"},
		{"partial without reason", map[string]any{"measurement/status": "partial"}, "malformed", `"reason"`},
		{"success without anything", map[string]any{"measurement/observations": nil}, "malformed", `"observations"`},
		{"success with a statistic only", map[string]any{"measurement/observations": nil, "measurement/summaries": []any{map[string]any{"kind": "statistic", "source": "producer", "name": "cv", "value": 1}}}, "malformed", "/measurement"},
		{"success with an estimate", map[string]any{"measurement/observations": nil, "measurement/summaries": []any{estimate("1")}}, "", ""},
		{"two primaries", map[string]any{"coordinates/subject/components": []any{map[string]any{"role": "primary"}, map[string]any{"role": "primary"}}}, "malformed", "/coordinates/subject/components"},
		{"no primary", map[string]any{"coordinates/subject/components": []any{map[string]any{"role": "x", "source": "https://e.org", "revision": "1"}}}, "malformed", "/coordinates/subject/components"},
		{"primary with a revision", map[string]any{"coordinates/subject/components/0/revision": "1"}, "malformed", "/coordinates/subject/components/0"},
		{"second without a source", map[string]any{"coordinates/subject/components": []any{map[string]any{"role": "primary"}, map[string]any{"role": "numpy", "revision": "1"}}}, "malformed", `"source"`},
		{"no URI", map[string]any{"source/uri": "not a uri"}, "malformed", "/source/uri"},
		{"other zone", map[string]any{"provenance/started_at": "2026-01-02T03:04:05+02:00"}, "malformed", "/provenance/started_at"},
		{"negative round", map[string]any{"procedure/round": -1}, "malformed", "/procedure/round"},
		{"reason with an underscore", map[string]any{"measurement/reason": "policy_unsatisfied:x"}, "malformed", "/measurement/reason"},
		{"claims a series", map[string]any{"series_fingerprint": "x"}, "identity-violation", "/series_fingerprint"},
		{"unknown member", map[string]any{"foo": 1}, "malformed", `there is no member "foo"`},
		{"several at once", map[string]any{"measurement/status": "done", "procedure/round": -1}, "malformed", "/procedure/round"},
		{"censored", map[string]any{"measurement/status": "censored", "measurement/reason": "timeout", "measurement/observations": nil,
			"measurement/constraint": map[string]any{"kind": "lower_bound", "lower": 60, "lower_inclusive": false, "cause": "timeout"}}, "", ""},
		{"skipped", map[string]any{"measurement/status": "skipped", "measurement/reason": "not-applicable", "measurement/observations": nil}, "", ""},
		{"a fork", map[string]any{"coordinates/subject/components/0/source": "https://github.com/someone/fork"}, "identity-violation", "one source"},
		{"the same after normalizing", map[string]any{"coordinates/subject/components/0/source": "https://EXAMPLE.org/demo.git"}, "", ""},
		{"an estimate twice", map[string]any{"measurement/summaries": []any{estimate("1"), estimate("1")}}, "malformed", "/measurement/summaries/1"},
		{"two versions of an estimate", map[string]any{"measurement/summaries": []any{estimate("1"), estimate("2")}}, "", ""},
		{"empty interval", map[string]any{"measurement/summaries": []any{interval(0.04, 0.03)}}, "malformed", "/measurement/summaries/0"},
		{"interval of a point", map[string]any{"measurement/summaries": []any{interval(0.03, 0.03)}}, "", ""},
		{"1 to 2 open", bound(1, 2, false), "", ""}, {"2 to 2 closed", bound(2, 2, true), "", ""}, {"2 to 2 open", bound(2, 2, false), "malformed", "/measurement/constraint"}, {"3 to 2", bound(3, 2, true), "malformed", "/measurement/constraint"},
		{"ended before", map[string]any{"provenance/ended_at": "2026-01-02T03:04:05Z"}, "malformed", "/provenance/ended_at"},
		{"more than attempted", map[string]any{"procedure/completed_repetitions": 6}, "malformed", "/procedure/completed_repetitions"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, rejections := ReadResult(edit(t, thin, c.change))
			if got := Codes(rejections); got != c.codes {
				t.Fatalf("codes %q of %v, want %q", got, rejections, c.codes)
			}
			if c.codes == "" {
				if v == nil {
					t.Error("there is no document")
				}
				return
			}
			if !slices.ContainsFunc(rejections, func(r Rejection) bool { return strings.Contains(r.String(), c.want) }) {
				t.Errorf("%v; want %q in one", rejections, c.want)
			}
			_, again := ReadResult(edit(t, thin, c.change))
			if !slices.Equal(rejections, again) {
				t.Errorf("%v, and the second time %v", rejections, again)
			}
		})
	}
	if _, r := ReadResult([]byte(strings.TrimSuffix(thin, "}") + `,"ingest_key":"other"}`)); Codes(r) != "malformed" || !strings.Contains(r[0].Text, "second member") {
		t.Errorf("a second ingest key: %v", r)
	}
}

func TestKeysAreThoseOfTheContract(t *testing.T) {
	for _, c := range []struct {
		run, workload string
		parameters    map[string]any
		quantity      string
		slot          int
		want          string
	}{
		{"rev-1", "BM_Sum/1024/2", map[string]any{}, "wall-time", 3, "rev-1:BM_Sum%2F1024%2F2:wall-time:slot-3"},
		{"r", "bench_truncate", map[string]any{"impl": "'baseline'", "size": "1000"}, "wall-time", 0, "r:bench_truncate/%7B%22impl%22%3A%22%27baseline%27%22%2C%22size%22%3A%221000%22%7D:wall-time:slot-0"},
		{"r", "50% of x", nil, "cpu-time", -1, "r:50%25%20of%20x:cpu-time"},
	} {
		if got, err := IngestKey(c.run, c.workload, c.parameters, c.quantity, c.slot); err != nil || got != c.want {
			t.Errorf("%s, %v; want %s", got, err, c.want)
		}
	}
	if got := AttemptKey("sha256:261364560a50b863776d82d5", 2); got != "urn:benchx:attempt:261364560a50b863:2" {
		t.Error(got)
	}
	for in, want := range map[string]string{"sort a sorted list": "sort%20a%20sorted%20list", "50% of x": "50%25%20of%20x", "BM_Take/1024/2": "BM_Take/1024/2", "a\u00a0b": "a%C2%A0b"} {
		if got := Token(in); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
	names := map[string]bool{}
	for _, key := range []string{"r_x:w:q", "r:x_w:q", "r:x:w_q", "r:" + strings.Repeat("ï", 400) + ":q"} {
		name := FileName("benchx/pyperf-adapter", key)
		if names[name] || len(name) > 255 || strings.ContainsAny(name, "/:") {
			t.Errorf("%q is the file of %q", name, key)
		}
		names[name] = true
	}
}

func TestSourcesHaveOneSpelling(t *testing.T) {
	for in, want := range map[string]string{
		"git@h:/a/b": "ssh://git@h/a/b", "h:a/b": "ssh://h/~/a/b", "u@[2001:db8::1]:/r": "ssh://u@[2001:db8::1]/r", "[2001:db8::1]:r": "ssh://[2001:db8::1]/~/r",
		`C:\x\y`: "file:///C:/x/y", "C:/x": "file:///C:/x", "./r": "file:///home/me/r", "repo": "file:///home/me/repo", "a/b:c": "file:///home/me/a/b:c", "/srv/repo": "file:///srv/repo",
		"https://example.org/r": "https://example.org/r", "https://tok@github.com/a/b": "https://github.com/a/b", "https://u:p@github.com/a@b": "https://github.com/a@b", "ssh://git@h/a": "ssh://git@h/a",
	} {
		got := SourceURI(in, "/home/me")
		if got != want {
			t.Errorf("%s is %s, want %s", in, got, want)
		}
		if again := SourceURI(got, "/elsewhere"); again != got {
			t.Errorf("%s becomes %s", got, again)
		}
	}
	for a, b := range map[string]string{"https://GitHub.com/A/R.git/": "https://github.com/A/R", "HTTPS://h:443/r#x": "https://h/r", "ssh://Git@H/r": "ssh://Git@h/r", "https://h/r?x=1": "https://h/r"} {
		if IdentityURI(a) != IdentityURI(b) || IdentityURI(a) != b {
			t.Errorf("%s is %s, want %s", a, IdentityURI(a), b)
		}
	}
	if IdentityURI("https://h/R") == IdentityURI("https://h/r") {
		t.Error("the case of a path says nothing")
	}
}

func TestEverySchemaAcceptsItsOwnExample(t *testing.T) {
	for kind, text := range map[Kind]string{
		OrderKind: goldenOrder, ResultKind: thin,
		ConfigKind:      `{"schema_version":"benchx/config/0.1.0","project":"demo","source":{"uri":"https://e.org/x"},"provider":{"command":["./p"]},"adapter":{"name":"pyperf","suite":"b.py","quantities":["wall-time"],"precision":{"warmup":{"mode":"count","n_warmup":1}}},"environment_variables":{},"collectors":{"np":{"command":["python"],"verify":"how_built","on_fail":"warn"}},"timeouts":{"case_s":1},"paths":{"store":"s.parquet"},"compare":{"profile":"revisions","rounds":3}}`,
		PolicyKind:      `{"schema_version":"benchx/identity-policy/0.1.0","name":"p","version":"v1","rules":[{"path":"/revision/key","role":"axis"},{"path":"/source/uri","role":"match","normalize":"uri"}]}`,
		RequestKind:     `{"schema_version":"benchx/target-provider-request/0.1.0","operation":"prepare","source_ref":"WORKSPACE","configuration":null}`,
		DescriptionKind: `{"schema_version":"benchx/target-description/0.1.0","target":{"kind":"working_tree","path":"/x","source":{"uri":"file:///x","type":"git"}},"labels":{"a":"b"},"how_built":{"blas":{"name":"openblas"}}}`,
		ComparisonKind:  `{"schema_version":"benchx/comparison-document/0.1.0","mode":"run","run_key":"r","profile":"revisions","varying":"provenance.subject_tree","baseline":"a","contender":null,"method":{"name":"benchx/paired-relative","version":"v1","estimator":"median","k":3,"min_rounds":3},"identity_schema":"x","local_only":false,"units":[],"missing":[],"failed_invariants":[],"exclusions":[],"inputs":[]}`,
	} {
		if _, err := Read(kind, []byte(text)); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		for other := range versions {
			if _, err := Read(other, []byte(text)); other != kind && err == nil {
				t.Errorf("%s passes as %s", kind, other)
			}
		}
	}
	_, err := Read(ConfigKind, []byte(`{"schema_version":"benchx/config/0.1.0","surprise":1,"adapter":{"name":"criterion"}}`))
	var invalid *Invalid
	if !errors.As(err, &invalid) || len(invalid.Problems) != 2 {
		t.Errorf("%v", err)
	}
}

func FuzzReadingAResultNeverPanics(f *testing.F) {
	f.Add([]byte(thin))
	f.Add([]byte(goldenOrder))
	f.Add([]byte(`{"schema_version":5}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		v, r := ReadResult(text)
		if (v == nil) == (len(r) == 0) {
			t.Fatalf("%v and %v", v, r)
		}
		if v != nil {
			if b, err := ijson.Canonical(v); err != nil {
				t.Fatal(err)
			} else if _, r := ReadResult(b); len(r) > 0 {
				t.Fatalf("the canonical text is refused: %v", r)
			}
		}
	})
}
