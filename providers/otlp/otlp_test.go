package otlp_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/flameox/flameox/evidence"
	format "github.com/flameox/flameox/formats/otlp"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/providers/otlp"
	"github.com/flameox/flameox/providers/providertest"
)

var p otlp.Provider

// The encoding of protobuf, as far as tests write it.

type message []byte

func (m message) bytes(num int, b []byte) message {
	m = binary.AppendUvarint(m, uint64(num<<3|2))
	m = binary.AppendUvarint(m, uint64(len(b)))
	return append(m, b...)
}
func (m message) text(num int, s string) message { return m.bytes(num, []byte(s)) }
func (m message) varint(num int, v uint64) message {
	return binary.AppendUvarint(binary.AppendUvarint(m, uint64(num<<3)), v)
}
func (m message) fixed64(num int, v uint64) message {
	return binary.LittleEndian.AppendUint64(binary.AppendUvarint(m, uint64(num<<3|1)), v)
}

func attribute(key string, value message) message {
	return message{}.text(1, key).bytes(2, value)
}

func str(s string) message { return message{}.text(1, s) }

func spanOf(id byte, name string, start, end uint64) message {
	return message{}.bytes(1, bytes.Repeat([]byte{7}, 16)).bytes(2, []byte{0, 0, 0, 0, 0, 0, 0, id}).text(5, name).fixed64(7, start).fixed64(8, end)
}

// payload has one resource and one scope.
func payload(spans ...message) message {
	scope := message{}.bytes(1, message{}.text(1, "lib"))
	for _, s := range spans {
		scope = scope.bytes(2, s)
	}
	return message{}.bytes(1, message{}.bytes(1, message{}.bytes(1, attribute("service.name", str("svc")))).bytes(2, scope))
}

// document is two resources, the first with two scopes; the span of the second is the parent's twin.
const document = `{"resourceSpans":[
{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"svc"}}]},"schemaUrl":"https://x/1",
 "scopeSpans":[
 {"scope":{"name":"lib","version":"1.0","attributes":[{"key":"a","value":{"boolValue":true}}]},"spans":[
  {"traceId":"5B8EFFF798038103D269B633813FC60C","spanId":"EEE19B7EC3C1B174","name":"root","kind":2,"startTimeUnixNano":"1544712660000000000","endTimeUnixNano":"1544712661000000000",
   "traceState":"k=v","flags":257,"droppedAttributesCount":1,"droppedEventsCount":2,"droppedLinksCount":3,"status":{"code":2,"message":"no"},
   "attributes":[{"key":"s","value":{"stringValue":"a\"b\\\n\u0001"}},{"key":"i","value":{"intValue":"9223372036854775807"}},{"key":"d","value":{"doubleValue":1}},{"key":"z","value":{"doubleValue":-0.0}},
    {"key":"nan","value":{"doubleValue":"NaN"}},{"key":"inf","value":{"doubleValue":"-Infinity"}},{"key":"b","value":{"bytesValue":"AAH/"}},
    {"key":"l","value":{"arrayValue":{"values":[{"intValue":1},{"stringValue":"x"},{}]}}},{"key":"m","value":{"kvlistValue":{"values":[{"key":"n","value":{"kvlistValue":{"values":[]}}}]}}}],
   "events":[{"timeUnixNano":"1544712659000000000","name":"before the begin","attributes":[{"key":"k","value":{"intValue":-1}}]},{"name":"untimed"}],
   "links":[{"traceId":"00000000000000000000000000000001","spanId":"0000000000000002","flags":1,"attributes":[]}]},
  {"traceId":"5b8efff798038103d269b633813fc60c","spanId":"0000000000000002","parentSpanId":"eee19b7ec3c1b174","name":"child","startTimeUnixNano":0,"endTimeUnixNano":5}]},
 {"scope":{},"spans":[]}]},
{"scopeSpans":[{"spans":[
  {"traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b174","name":"twin","startTimeUnixNano":"9","endTimeUnixNano":"8"}]}]}]}`

func extract(t *testing.T, role string, data []byte, change ...func(*evidence.Budget)) (evidence.Outcome, map[string][]providertest.Row) {
	t.Helper()
	b := evidence.DefaultBudget()
	for _, f := range change {
		f(&b)
	}
	return providertest.Extract(t, p, providertest.Input(t, role, data), nil, b)
}

func TestConformance(t *testing.T) {
	many := func(n int) (out []message) {
		for i := range n {
			out = append(out, spanOf(byte(i+1), "op", 5, 9))
		}
		return out
	}
	line := strings.ReplaceAll(document, "\n", " ") + "\n"
	frame := func(m message) []byte { return append(binary.BigEndian.AppendUint32(nil, uint32(len(m))), m...) }
	for name, c := range map[string]*providertest.Cases{
		"JSON":            {Valid: []byte(document), Empty: []byte(`{"resourceSpans":[{"resource":{}}]}`), EmptyValid: true, Role: otlp.JSON, Half: evidence.Incompatible},
		"lines of JSON":   {Valid: []byte(line + line + line), Role: otlp.JSON, Half: evidence.Partial},
		"protobuf":        {Valid: payload(many(20)...), Empty: payload(), EmptyValid: true, Role: otlp.Protobuf, Half: evidence.Incompatible},
		"framed protobuf": {Valid: slices.Concat(frame(payload(many(3)...)), frame(payload(many(9)...))), Role: otlp.Protobuf, Half: evidence.Partial},
	} {
		t.Run(name, func(t *testing.T) { providertest.Run(t, p, c, nil) })
	}
}

func TestRowsOfJSON(t *testing.T) {
	out, tables := extract(t, otlp.JSON, []byte(document))
	if out.State != evidence.Complete || !reflect.DeepEqual(out.Results, map[string]any{"spans": int64(3), "events": int64(2), "links": int64(1), "resources": int64(2)}) {
		t.Errorf("%+v", out)
	}
	if got, want := providertest.Codes(out.Limitations), []string{format.EndBeforeStart, format.MissingTimestamp, otlp.Duplicates}; !slices.Equal(got, want) {
		t.Errorf("limitations %v, want %v", out.Limitations, want)
	}
	if text := out.Limitations[2].Text; !strings.Contains(text, "1 spans") || !strings.Contains(text, "span:2") {
		t.Errorf("the duplicate is called %q", text)
	}
	row := func(table string, n int, want map[string]any) {
		t.Helper()
		if len(tables[table]) <= n {
			t.Fatalf("%s has %d rows", table, len(tables[table]))
		}
		for k, v := range want {
			if got := tables[table][n][k]; !reflect.DeepEqual(got, v) {
				t.Errorf("%s %d: %s is %#v, want %#v", table, n, k, got, v)
			}
		}
	}
	row("otel_resources", 0, map[string]any{"resource_ordinal": int64(0), "schema_url": "https://x/1", "attributes_json": `{"service.name":"svc"}`})
	row("otel_resources", 1, map[string]any{"resource_ordinal": int64(1), "schema_url": nil, "attributes_json": `{}`})
	row("otel_scopes", 0, map[string]any{"resource_ordinal": int64(0), "scope_ordinal": int64(0), "name": "lib", "version": "1.0", "attributes_json": `{"a":true}`})
	row("otel_scopes", 2, map[string]any{"resource_ordinal": int64(1), "scope_ordinal": int64(2), "name": "", "version": nil})
	row("otel_spans", 0, map[string]any{
		"trace_id": "5b8efff798038103d269b633813fc60c", "span_id": "eee19b7ec3c1b174", "parent_span_id": nil, "name": "root", "kind": int64(2), "source_ordinal": int64(0),
		"start_time_unix_nano": uint64(1544712660000000000), "end_time_unix_nano": uint64(1544712661000000000), "duration_ns": int64(1e9), "trace_state": "k=v", "flags": uint64(257),
		"status_code": int64(2), "status_message": "no", "dropped_attributes": uint64(1), "dropped_events": uint64(2), "dropped_links": uint64(3),
		"attributes_json": `{"s":"a\"b\\\n\u0001","i":9223372036854775807,"d":1.0,"z":-0.0,"nan":{"type":"double","value":"NaN"},"inf":{"type":"double","value":"-Infinity"},` +
			`"b":{"type":"bytes","base64":"AAH/"},"l":[1,"x",null],"m":{"n":{}}}`,
	})
	row("otel_spans", 1, map[string]any{"parent_span_id": "eee19b7ec3c1b174", "start_time_unix_nano": nil, "end_time_unix_nano": uint64(5), "duration_ns": nil})
	row("otel_spans", 2, map[string]any{"start_time_unix_nano": uint64(9), "end_time_unix_nano": uint64(8), "duration_ns": nil, "resource_ordinal": int64(1), "scope_ordinal": int64(2)})
	row("otel_events", 0, map[string]any{"source_ordinal": int64(0), "event_ordinal": int64(0), "time_unix_nano": uint64(1544712659000000000), "name": "before the begin", "attributes_json": `{"k":-1}`})
	row("otel_events", 1, map[string]any{"event_ordinal": int64(1), "time_unix_nano": nil})
	row("otel_links", 0, map[string]any{"linked_trace_id": "00000000000000000000000000000001", "linked_span_id": "0000000000000002", "flags": uint64(1), "span_id": "eee19b7ec3c1b174"})
}

// one is a document with one span, of which a part is replaced.
func one(t *testing.T, old, new string) []byte {
	t.Helper()
	const s = `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b174","name":"x","kind":1,"startTimeUnixNano":"1","endTimeUnixNano":"2","attributes":[{"key":"a","value":{"intValue":1}}],"links":[{"traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b174"}]}]}]}]}`
	if !strings.Contains(s, old) {
		t.Fatalf("the document has no %q", old)
	}
	return []byte(strings.Replace(s, old, new, 1))
}

func TestWhatIsRefusedAndWhatIsSaid(t *testing.T) {
	type want struct {
		state evidence.State
		codes []string
		spans int
	}
	ok := func(codes ...string) want { return want{evidence.Complete, codes, 1} }
	lost := want{evidence.Incompatible, []string{format.RecordLost}, 0}
	refused := func(code string) want { return want{evidence.Incompatible, []string{code}, 0} }
	id := `"traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b174","name"`
	deep := func(n int) string {
		return strings.Repeat(`{"arrayValue":{"values":[`, n) + `{"intValue":1}` + strings.Repeat(`]}}`, n)
	}
	for name, c := range map[string]struct {
		data []byte
		want want
	}{
		"an id of 15 bytes":                   {one(t, id, `"traceId":"5b8efff798038103d269b633813fc6","spanId":"eee19b7ec3c1b174","name"`), ok(format.InvalidTraceID)},
		"an id that is all zero":              {one(t, id, `"traceId":"00000000000000000000000000000000","spanId":"eee19b7ec3c1b174","name"`), ok(format.ZeroID)},
		"ids in base64":                       {one(t, `"links":[{"traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b174"}]`, `"traceId":"W47/95gDgQPSabYzgT/GDA==","spanId":"7uGbfsPBsXQ="`), refused(format.Malformed)}, // twice in the object
		"ids in base64 alone":                 {[]byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"W47/95gDgQPSabYzgT/GDA==","spanId":"7uGbfsPBsXQ=","startTimeUnixNano":1,"endTimeUnixNano":2}]}]}]}`), ok(format.Base64ID)},
		"base64 beside hexadecimal":           {one(t, id, `"traceId":"W47/95gDgQPSabYzgT/GDA==","spanId":"eee19b7ec3c1b174","name"`), refused(format.Ambiguous)},
		"an id that is no number":             {one(t, id, `"traceId":"not an id","spanId":"eee19b7ec3c1b174","name"`), lost},
		"a link whose ids are lists":          {one(t, `"links":[{"traceId":"5b8efff798038103d269b633813fc60c"`, `"links":[{"traceId":[91,142]`), want{evidence.Partial, []string{format.RecordLost}, 1}},
		"a kind by name":                      {one(t, `"kind":1`, `"kind":"SPAN_KIND_SERVER"`), ok(format.EnumName)},
		"a kind of no name":                   {one(t, `"kind":1`, `"kind":"SERVERS"`), lost},
		"a field that is not known":           {one(t, `"kind":1`, `"fooBar":{"x":[1]}`), ok(format.UnknownField)},
		"fields that are null":                {one(t, `"kind":1`, `"kind":null,"status":null,"events":null`), ok()},
		"an attribute twice":                  {one(t, `{"key":"a","value":{"intValue":1}}`, `{"key":"a","value":{"intValue":1}},{"key":"b"},{"key":"a","value":{"intValue":2}}`), ok(format.NullAttribute, format.DuplicateKey)},
		"a number of JavaScript that is null": {one(t, `{"intValue":1}`, `{"doubleValue":null}`), ok(format.NullAttribute)},
		"a lone surrogate":                    {one(t, `"name":"x"`, `"name":"\ud83d\ude00 \ud800"`), ok(format.LoneSurrogate)},
		"a whole pair":                        {one(t, `"name":"x"`, `"name":"\ud83d\ude00 \\ud800"`), ok()},
		"a number of 70 digits":               {one(t, `"startTimeUnixNano":"1"`, `"startTimeUnixNano":"1234567890123456789012345678901234567890"`), lost},
		"a negative time":                     {one(t, `"startTimeUnixNano":"1"`, `"startTimeUnixNano":-1`), lost},
		"the largest time":                    {one(t, `"endTimeUnixNano":"2"`, `"endTimeUnixNano":18446744073709551615`), ok(format.TooLong)},
		"its own parent":                      {one(t, `"kind":1`, `"parentSpanId":"eee19b7ec3c1b174"`), ok(format.OwnParent)},
		"a parent that is all zero":           {one(t, `"kind":1`, `"parentSpanId":"0000000000000000"`), ok(format.ZeroID)},
		"values a hundred deep":               {one(t, `{"intValue":1}`, deep(100)), ok()},
		"values deeper than that":             {one(t, `{"intValue":1}`, deep(101)), lost},
		"a span that is a number":             {[]byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[1]}]}]}`), lost},
		"a name twice":                        {one(t, `"kind":1`, `"kind":1,"kind":1`), refused(format.Malformed)},
		"resource spans twice":                {[]byte(`{"resourceSpans":[],"resourceSpans":[]}`), refused(format.Ambiguous)},
		"resource spans that are no list":     {[]byte(`{"resourceSpans":{}}`), refused(format.Malformed)},
		"metrics":                             {[]byte(`{"resourceMetrics":[]}`), refused(format.NotTraces)},
		"nothing":                             {[]byte(`{}`), refused(format.NotTraces)},
		"white space":                         {[]byte(" \n"), refused(format.NotTraces)},
		"noise in front":                      {append([]byte("exporting...\n"), one(t, `"kind":1`, `"kind":1`)...), refused(format.Malformed)},
		"noise behind":                        {append(one(t, `"kind":1`, `"kind":1`), "done"...), refused(format.Malformed)},
		"NaN":                                 {one(t, `"endTimeUnixNano":"2"`, `"endTimeUnixNano":NaN`), refused(format.Malformed)},
		"the protocol before 0.15":            {[]byte(`{"resourceSpans":[{"instrumentationLibrarySpans":[]}]}`), refused(format.Deprecated)},
		"gzip":                                {[]byte("\x1F\x8B\x08\x00"), refused(otlp.Compressed)},
		"metrics in another line":             {append([]byte("{\"resourceMetrics\":[{\"x\":1}]}\n"), one(t, `"kind":1`, `"kind":2`)...), ok(format.OtherSignals)},
	} {
		t.Run(name, func(t *testing.T) {
			out, tables := extract(t, otlp.JSON, c.data)
			if out.State != c.want.state || !slices.Equal(providertest.Codes(out.Limitations), sorted(c.want.codes)) || len(tables["otel_spans"]) != c.want.spans {
				t.Errorf("%s, %d spans, %v\nwant %+v", out.State, len(tables["otel_spans"]), out.Limitations, c.want)
			}
		})
	}
}

func sorted(list []string) []string {
	slices.Sort(list)
	return list
}

func TestProtobufThatIsNoTracesIsRefused(t *testing.T) {
	gauge := message{}.text(1, "process.memory").text(2, "bytes in use").bytes(5, message{}.bytes(1, message{}.fixed64(3, 1)))
	for name, c := range map[string]struct {
		data message
		code string
	}{
		"a gauge":                                {payload(gauge), format.NotTraces},
		"a log":                                  {payload(message{}.fixed64(1, 9)), format.Malformed},
		"a length beyond the file":               {message{}.bytes(1, nil)[:1:1].appended(0xFF, 0xFF, 0xFF, 0xFF, 0x07), format.Truncated},
		"a length beyond its message":            {message{}.bytes(1, message{0x12, 0x7F, 1}).bytes(1, payload()), format.Malformed},
		"a group":                                {message{0x0B}, format.Malformed},
		"a number without end":                   {message{0x0A, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01}, format.Malformed},
		"another message":                        {message{}.text(2, "hello"), format.NotTraces},
		"spans of before 0.15":                   {message{}.bytes(1, message{}.bytes(1000, message{})), format.Deprecated},
		"a frame of nothing":                     {make(message, 8), format.NotTraces},
		"a frame that is longer than the file":   {message{0, 0xFF, 0xFF, 0xFF, 1, 2}, format.Truncated},
		"values more than a hundred deep":        {payload(spanOf(1, "x", 1, 2).bytes(9, attribute("a", nested(102)))), format.Malformed},
		"a span with the end of another message": {payload(spanOf(1, "x", 1, 2).fixed64(5, 1)), format.Malformed},
	} {
		t.Run(name, func(t *testing.T) {
			out, _ := extract(t, otlp.Protobuf, c.data)
			if out.State != evidence.Incompatible || !slices.Equal(providertest.Codes(out.Limitations), []string{c.code}) {
				t.Errorf("%s %v, want %s", out.State, out.Limitations, c.code)
			}
		})
	}
}

func (m message) appended(b ...byte) message { return append(m, b...) }

func nested(n int) message {
	v := message{}.varint(3, 1)
	for range n {
		v = message{}.bytes(5, message{}.bytes(1, v))
	}
	return v
}

func TestFieldsStandInAnyOrderAndInParts(t *testing.T) {
	a := payload(spanOf(1, "x", 1, 2))
	scope := message{}.bytes(2, spanOf(1, "x", 1, 2)).bytes(1, message{}.text(1, "lib"))
	b := message{}.bytes(1, message{}.bytes(2, scope).bytes(1, nil).bytes(1, message{}.bytes(1, attribute("service.name", str("svc")))))
	_, one := extract(t, otlp.Protobuf, a)
	_, two := extract(t, otlp.Protobuf, b)
	for _, tables := range []map[string][]providertest.Row{one, two} {
		for _, rows := range tables {
			for _, r := range rows {
				delete(r, "artifact")
			}
		}
	}
	if !reflect.DeepEqual(one, two) {
		t.Errorf("%v\n%v", one, two)
	}
	if name := two["otel_scopes"][0]["name"]; name != "lib" {
		t.Errorf("the scope is called %v", name)
	}
}

func TestABudgetIsExactAndItsRefusalSaysHowManyRowsThereAre(t *testing.T) {
	data := payload(spanOf(1, "a", 1, 2), spanOf(2, "b", 1, 2), spanOf(3, "c", 1, 2), spanOf(4, "d", 1, 2)) // 6 rows
	out, tables := extract(t, otlp.Protobuf, data, func(b *evidence.Budget) { b.Rows = 5 })
	if out.State != evidence.Incompatible || len(tables) != 0 || out.Limitations[0].Code != otlp.RowLimit || !strings.Contains(out.Limitations[0].Text, "has 6 rows (4 spans") {
		t.Errorf("%+v", out)
	}
	if out, _ = extract(t, otlp.Protobuf, data, func(b *evidence.Budget) { b.Rows = 6 }); out.State != evidence.Complete {
		t.Errorf("%+v", out)
	}
}

func TestASpanLargerThanTheWindowIsReadAndOneLargerThanMemoryIsNot(t *testing.T) {
	big := payload(spanOf(1, strings.Repeat("n", 3<<20), 1, 2))
	json := []byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b174","name":"` + strings.Repeat("n", 3<<20) + `","startTimeUnixNano":1,"endTimeUnixNano":2}]}]}]}`)
	for role, data := range map[string][]byte{otlp.Protobuf: big, otlp.JSON: json} {
		if out, tables := extract(t, role, data); out.State != evidence.Complete || len(tables["otel_spans"][0]["name"].(string)) != 3<<20 {
			t.Errorf("%s: %+v", role, out)
		}
		out, _ := extract(t, role, data, func(b *evidence.Budget) { b.Memory = 16 << 20 })
		if out.State != evidence.Incompatible || out.Limitations[0].Code != format.TooLarge {
			t.Errorf("%s: %+v", role, out)
		}
	}
}

func TestMediaTypes(t *testing.T) {
	for in, want := range map[string]string{
		"application/json": otlp.JSON, "Application/JSON; charset=utf-8": otlp.JSON, "application/x-protobuf": otlp.Protobuf, "APPLICATION/protobuf": otlp.Protobuf,
		"text/plain": "", "": "", "application/x-ndjson": "",
	} {
		got, err := otlp.FormatOf(in)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q %v", in, got, err)
		}
	}
	for _, f := range p.Formats() {
		if f.Detect != nil {
			t.Errorf("%s is detected, and OTLP is always declared", f.Name)
		}
	}
}

func TestBothEncodingsInOneRunAreNoChoice(t *testing.T) {
	in := providertest.Input(t, otlp.JSON, []byte(document))
	in.Artifacts = append(in.Artifacts, providertest.Input(t, otlp.Protobuf, payload()).Artifacts...)
	if _, err := p.Validate(t.Context(), in); err == nil || !strings.Contains(err.Error(), "exactly one") {
		t.Error(err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(true, []byte(document))
	f.Add(false, []byte(payload(spanOf(1, "a", 1, 2).bytes(9, attribute("k", nested(3))))))
	f.Add(false, append([]byte{0, 0, 0, 4}, payload(spanOf(1, "a", 1, 2))...))
	f.Add(true, []byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"attributes":[{"key":"a","value":{"kvlistValue":{"values":[{"key":"x"},{"key":"x"}]},"intValue":1}}]}]}]}]}{"`))
	f.Fuzz(func(t *testing.T, json bool, data []byte) {
		role := otlp.Protobuf
		if json {
			role = otlp.JSON
		}
		out, tables := extract(t, role, data)
		r, err := p.Validate(t.Context(), providertest.Input(t, role, data))
		if cut := providertest.HasCode(out.Limitations, format.LastCut); err != nil || r.Valid != (out.State != evidence.Incompatible && !cut) {
			t.Fatalf("valid %v (%v), and the evidence is %s: %v", r.Valid, err, out.State, out.Limitations)
		}
		spans := map[any]bool{}
		for _, s := range tables["otel_spans"] {
			spans[s["source_ordinal"]] = true
		}
		for _, table := range []string{"otel_events", "otel_links"} {
			for _, row := range tables[table] {
				if !spans[row["source_ordinal"]] {
					t.Fatalf("%s has a row of a span that is not there: %v", table, row)
				}
			}
		}
		if len(spans) > 0 && fmt.Sprint(out.Results["spans"]) != fmt.Sprint(len(spans)) {
			t.Fatalf("%v spans are said and %d are there", out.Results["spans"], len(spans))
		}
	})
}

var _ providers.Importer = p

// webService is n spans as a web service has them, from one on.
func webService(from, n int) message {
	value := func(v uint64) message { return message{}.varint(3, v) }
	var spans []message
	for i := from; i < from+n; i++ {
		id := binary.LittleEndian.AppendUint64(nil, uint64(i)*0x9E3779B97F4A7C15)
		trace := append(binary.LittleEndian.AppendUint64(nil, uint64(i/8)*0xBF58476D1CE4E5B9), "tracetra"...)
		start := uint64(1_700_000_000_000_000_000 + i*1000)
		s := message{}.bytes(1, trace).bytes(2, id).bytes(4, binary.LittleEndian.AppendUint64(nil, uint64(i/8*8)*0x9E3779B97F4A7C15+1)).
			text(5, []string{"GET /orders/{id}", "SELECT orders", "GET cache", "render page"}[i%4]).varint(6, uint64(1+i%5)).fixed64(7, start).fixed64(8, start+uint64(500+i%1000))
		for _, a := range []message{
			attribute("http.request.method", str("GET")), attribute("url.full", str(fmt.Sprintf("https://shop.example.test/orders/%d?expand=lines,customer", i%5000))),
			attribute("server.address", str(fmt.Sprintf("backend-%d.internal.example.test", i%50))), attribute("http.response.status_code", value(uint64(200+i%5))),
			attribute("user_agent.original", str("Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0")), attribute("thread.id", value(uint64(i%64))),
			attribute("db.query.text", str("SELECT id, total, customer_id FROM orders WHERE id = $1 AND deleted_at IS NULL")), attribute("network.protocol.version", str("1.1")),
		} {
			s = s.bytes(9, a)
		}
		s = s.bytes(11, message{}.fixed64(1, start+10).text(2, "cache.miss").bytes(3, attribute("key", str(fmt.Sprintf("order:%d", i%5000)))))
		spans = append(spans, s.bytes(15, message{}.varint(3, 1)))
	}
	return payload(spans...)
}
