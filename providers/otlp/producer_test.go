package otlp_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/flameox/flameox/evidence"
	format "github.com/flameox/flameox/formats/otlp"
	"github.com/flameox/flameox/providers/otlp"
	"github.com/flameox/flameox/providers/providertest"
)

// The official Python package, installed once for all tests of the package, and removed by TestMain.
var packages string

var install = sync.OnceValue(func() string {
	dir, err := os.MkdirTemp("", "otlp-test-")
	if err != nil {
		return err.Error()
	}
	packages = dir
	out, err := exec.Command("python3", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input", "--retries", "1", "--timeout", "10", "--target", dir, "opentelemetry-proto>=1.30,<2").CombinedOutput()
	if err != nil {
		return "opentelemetry-proto cannot be installed (" + err.Error() + "): " + string(out)
	}
	return ""
})

func TestMain(m *testing.M) {
	code := m.Run()
	if packages != "" {
		os.RemoveAll(packages)
	}
	os.Exit(code)
}

// said is what the official package says of one payload.
type said struct {
	Protobuf []byte
	JSON     string
	Rows     map[string][]map[string]any
}

func oracle(t *testing.T, args ...string) (out []said) {
	t.Helper()
	if why := install(); why != "" {
		t.Skip(why)
	}
	cmd := exec.CommandContext(t.Context(), "python3", append([]string{"testdata/oracle.py"}, args...)...)
	cmd.Env = append(os.Environ(), "PYTHONPATH="+packages, "PYTHONDONTWRITEBYTECODE=1")
	cmd.Stderr = os.Stderr
	printed, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(printed))
	d.UseNumber()
	if err := d.Decode(&out); err != nil {
		t.Fatal(err)
	}
	return out
}

// typed is a value of attributes_json in the form in which the oracle says it.
func typed(t *testing.T, v any) any {
	t.Helper()
	switch v := v.(type) {
	case json.Number:
		if !strings.ContainsAny(string(v), ".e") {
			return []any{"int", string(v)}
		}
		f, err := strconv.ParseFloat(string(v), 64)
		if err != nil {
			t.Fatal(err)
		}
		return []any{"double", fmt.Sprintf("%016x", math.Float64bits(f))}
	case []any:
		list := []any{"list"}
		for _, x := range v {
			list = append(list, typed(t, x))
		}
		return list
	case map[string]any:
		switch {
		case v["type"] == "bytes" && len(v) == 2:
			return []any{"bytes", v["base64"]}
		case v["type"] == "double" && len(v) == 2:
			return []any{"double", map[string]string{"NaN": "nan", "Infinity": "7ff0000000000000", "-Infinity": "fff0000000000000"}[v["value"].(string)]}
		}
		m := map[string]any{}
		for k, x := range v {
			m[k] = typed(t, x)
		}
		return m
	}
	return v
}

// agree holds tables against what the oracle says.
func agree(t *testing.T, tables map[string][]providertest.Row, want map[string][]map[string]any) {
	t.Helper()
	for table, rows := range want {
		if len(tables[table]) != len(rows) {
			t.Errorf("%s has %d rows, want %d", table, len(tables[table]), len(rows))
			continue
		}
		for i, row := range rows {
			for name, w := range row {
				got := tables[table][i][name]
				if name == "attributes_json" {
					d := json.NewDecoder(strings.NewReader(got.(string)))
					d.UseNumber()
					var v any
					if err := d.Decode(&v); err != nil {
						t.Fatalf("%s: %v", got, err)
					}
					got = typed(t, v)
				} else if n, ok := w.(json.Number); ok {
					w, got = string(n), fmt.Sprint(got)
				}
				if got == "invalid-" && w == "" { // an id of no bytes has another length than it must
					continue
				}
				if !reflect.DeepEqual(got, w) {
					t.Errorf("%s %d: %s is %#v, want %#v", table, i, name, got, w)
				}
			}
		}
	}
}

func TestRowsAgreeWithTheOfficialReader(t *testing.T) {
	for i, s := range oracle(t, "make", "60") {
		for role, data := range map[string][]byte{otlp.Protobuf: s.Protobuf, otlp.JSON: []byte(s.JSON)} {
			t.Run(fmt.Sprintf("%d %s", i, role), func(t *testing.T) {
				if len(s.Rows["otel_spans"]) == 0 {
					if out, _ := extract(t, role, data); out.State != evidence.Empty {
						t.Errorf("%+v", out)
					}
					return
				}
				_, tables := extract(t, role, data)
				agree(t, tables, s.Rows)
			})
		}
	}
}

// sdkSpan is one span as the SDK of testdata/gosdk has it.
type sdkSpan struct {
	TraceID, SpanID, Parent, Name, Scope, StatusText string
	Kind, Status                                     int64
	Start, End                                       uint64
	Events, Links                                    []string
	Attributes                                       map[string]any
}

func TestTheGoSDKsSpansAreReadAsItHadThem(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "go", "run", ".", dir)
	cmd.Dir = "testdata/gosdk"
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
	if out, err := cmd.CombinedOutput(); err != nil {
		if strings.Contains(string(out), "dial tcp") || strings.Contains(string(out), "module lookup disabled") {
			t.Skipf("the modules of the SDK are not here and no proxy is reached: %s", out)
		}
		t.Fatalf("%v\n%s", err, out)
	}
	file := func(name string) []byte {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	var spans []sdkSpan
	if err := json.Unmarshal(file("spans.json"), &spans); err != nil {
		t.Fatal(err)
	}
	if len(spans) != 22 {
		t.Fatalf("the SDK has %d spans", len(spans))
	}
	for role, name := range map[string]string{otlp.Protobuf: "traces.pb", otlp.JSON: "traces.jsonl"} {
		t.Run(name, func(t *testing.T) {
			out, tables := extract(t, role, file(name))
			if out.State != evidence.Complete || !slices.Equal(providertest.Codes(out.Limitations), []string{format.EndBeforeStart}) {
				t.Errorf("%+v", out)
			}
			scopes := map[any]any{}
			for _, s := range tables["otel_scopes"] {
				scopes[s["scope_ordinal"]] = s["name"]
			}
			found := map[string]providertest.Row{}
			for _, r := range tables["otel_spans"] {
				found[r["span_id"].(string)] = r
			}
			for _, s := range spans {
				r := found[s.SpanID]
				if r == nil {
					t.Fatalf("span %s %q is not there", s.SpanID, s.Name)
				}
				parent, _ := r["parent_span_id"].(string)
				got := sdkSpan{
					TraceID: r["trace_id"].(string), SpanID: s.SpanID, Parent: parent, Name: r["name"].(string), Scope: scopes[r["scope_ordinal"]].(string), StatusText: r["status_message"].(string),
					Kind: r["kind"].(int64), Status: r["status_code"].(int64), Start: r["start_time_unix_nano"].(uint64), End: r["end_time_unix_nano"].(uint64),
				}
				if err := json.Unmarshal([]byte(r["attributes_json"].(string)), &got.Attributes); err != nil {
					t.Fatal(err)
				}
				for _, e := range tables["otel_events"] {
					if e["source_ordinal"] == r["source_ordinal"] {
						var n struct{ N int }
						json.Unmarshal([]byte(e["attributes_json"].(string)), &n)
						got.Events = append(got.Events, fmt.Sprintf("%s %d %d", e["name"], e["time_unix_nano"], n.N))
					}
				}
				for _, l := range tables["otel_links"] {
					if l["source_ordinal"] == r["source_ordinal"] {
						got.Links = append(got.Links, fmt.Sprintf("%s %s", l["linked_trace_id"], l["linked_span_id"]))
					}
				}
				if !reflect.DeepEqual(got, s) {
					t.Errorf("%+v\nwant %+v", got, s)
				}
			}
		})
	}
}

func TestFixtures(t *testing.T) {
	for name, c := range map[string]struct {
		role  string
		state evidence.State
		spans int
		codes []string
	}{
		"trace.json":                                   {otlp.JSON, evidence.Complete, 1, nil},
		"local-otel-js-0.223.1-traces.json":            {otlp.JSON, evidence.Complete, 5, []string{format.NullAttribute, format.LoneSurrogate}},
		"logs.json":                                    {otlp.JSON, evidence.Incompatible, 0, []string{format.NotTraces}},
		"metrics.json":                                 {otlp.JSON, evidence.Incompatible, 0, []string{format.NotTraces}},
		"otel-arrow-metrics.jsonl":                     {otlp.JSON, evidence.Incompatible, 0, []string{format.NotTraces}},
		"events.json":                                  {otlp.JSON, evidence.Incompatible, 0, []string{format.NotTraces}},
		"ctraces-sample_trace.bin":                     {otlp.Protobuf, evidence.Complete, 2, nil},
		"local-otel-go-1.47.0-traces.pb":               {otlp.Protobuf, evidence.Complete, 8, nil},
		"export_metrics_service_request_realistic.bin": {otlp.Protobuf, evidence.Incompatible, 0, []string{format.Malformed}},
		"otel-arrow-metrics-framed.pb":                 {otlp.Protobuf, evidence.Incompatible, 0, []string{format.Malformed}},
	} {
		t.Run(name, func(t *testing.T) {
			data := providertest.Fixture(t, "otlp/"+name)
			out, tables := extract(t, c.role, data)
			t.Logf("%d spans, %v", len(tables["otel_spans"]), out.Limitations)
			if out.State != c.state || len(tables["otel_spans"]) != c.spans || c.codes != nil && !slices.Equal(providertest.Codes(out.Limitations), sorted(c.codes)) {
				t.Errorf("%s, %d spans, %v", out.State, len(tables["otel_spans"]), out.Limitations)
			}
			if c.role == otlp.Protobuf && c.spans > 0 {
				path := filepath.Join(t.TempDir(), "payload")
				if err := os.WriteFile(path, data, 0o644); err != nil {
					t.Fatal(err)
				}
				agree(t, tables, oracle(t, "read", path)[0].Rows)
			}
		})
	}
}

// The corpus has payloads beside the errors that another reader has for them. Here a record that cannot be read is left out, and what stands beside it is kept.
func TestACorpusOfInvalidPayloads(t *testing.T) {
	var cases map[string]struct {
		Input json.RawMessage `json:"input"`
	}
	if err := json.Unmarshal(providertest.Fixture(t, "otlp/fluentbit-traces-testcases.json"), &cases); err != nil {
		t.Fatal(err)
	}
	states := map[evidence.State][]string{}
	for name, c := range cases {
		out, _ := extract(t, otlp.JSON, c.Input)
		states[out.State] = append(states[out.State], name)
		if len(out.Limitations) == 0 && out.State != evidence.Complete {
			t.Errorf("%s: %s without a reason", name, out.State)
		}
	}
	for _, name := range []string{"resourceSpans_missing", "resourceSpans_wrong_type", "root_wrong_type", "scopeSpans_wrong_type", "spans_wrong_type", "span_entry_wrong_type"} {
		if !slices.Contains(states[evidence.Incompatible], name) {
			t.Errorf("%s is not refused", name)
		}
	}
	for _, name := range []string{"valid_minimal", "valid_with_parent_span_id", "valid_with_event_and_link"} {
		if !slices.Contains(states[evidence.Complete], name) {
			t.Errorf("%s is not complete", name)
		}
	}
}
