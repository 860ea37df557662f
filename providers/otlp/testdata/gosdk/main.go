// Command gosdk makes spans with the Go SDK of OpenTelemetry and leaves in the folder it is given: traces.pb, the body that the OTLP exporter sends;
// traces.jsonl, the same in the encoding of the collector's file exporter, one resource a line; spans.json, what the SDK itself says of the spans.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
)

// said is one span as the SDK has it.
type said struct {
	TraceID, SpanID, Parent, Name, Scope, StatusText string
	Kind, Status                                     int
	Start, End                                       int64
	Events                                           []string
	Links                                            []string
	Attributes                                       map[string]any
}

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(dir string) error {
	ctx := context.Background()
	var body []byte
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err == nil {
			body = append(body, b...) // messages of one type behind each other are one message
		}
	}))
	defer server.Close()
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(server.URL+"/v1/traces"), otlptracehttp.WithCompression(otlptracehttp.NoCompression))
	if err != nil {
		return err
	}
	memory := tracetest.NewInMemoryExporter()
	res := resource.NewSchemaless(attribute.String("service.name", "shop"), attribute.Int("n", 3))
	provider := sdk.NewTracerProvider(sdk.WithResource(res), sdk.WithSyncer(memory), sdk.WithBatcher(exporter))
	spans(ctx, provider)
	stubs := memory.GetSpans() // closing forgets them
	if err := provider.Shutdown(ctx); err != nil {
		return err
	}
	traces, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(body)
	if err != nil {
		return err
	}
	var lines []byte
	for i := range traces.ResourceSpans().Len() {
		one := ptrace.NewTraces()
		traces.ResourceSpans().At(i).CopyTo(one.ResourceSpans().AppendEmpty())
		line, err := (&ptrace.JSONMarshaler{}).MarshalTraces(one)
		if err != nil {
			return err
		}
		lines = append(append(lines, line...), '\n')
	}
	text, err := json.Marshal(says(stubs))
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(dir, "traces.pb"), body, 0o644),
		os.WriteFile(filepath.Join(dir, "traces.jsonl"), lines, 0o644),
		os.WriteFile(filepath.Join(dir, "spans.json"), text, 0o644))
}

func spans(ctx context.Context, provider *sdk.TracerProvider) {
	tracer := provider.Tracer("shop/orders", trace.WithInstrumentationVersion("1.2.3"))
	at := time.Unix(1_700_000_000, 123_456_789)
	ctx, root := tracer.Start(ctx, "order \"1\" ☃", trace.WithSpanKind(trace.SpanKindServer), trace.WithTimestamp(at))
	for i := range 20 {
		_, child := tracer.Start(ctx, []string{"load", "price", "store"}[i%3], trace.WithTimestamp(at.Add(time.Duration(i)*time.Millisecond)), trace.WithSpanKind(trace.SpanKindClient))
		child.SetAttributes(
			attribute.String("s", "a\tb"), attribute.Bool("b", i%2 == 0), attribute.Int64("i", math.MaxInt64-int64(i)), attribute.Float64("f", float64(i)/3),
			attribute.StringSlice("ss", []string{"x", ""}), attribute.Int64Slice("is", []int64{-1, 1 << 60}), attribute.Float64Slice("fs", []float64{0.5, 1e300}), attribute.BoolSlice("bs", []bool{true}))
		child.AddEvent("retry", trace.WithTimestamp(at.Add(time.Duration(i)*time.Millisecond+time.Microsecond)), trace.WithAttributes(attribute.Int("n", i)))
		if i == 7 {
			child.SetStatus(codes.Error, "no stock")
		}
		child.End(trace.WithTimestamp(at.Add(time.Duration(i+1) * time.Millisecond)))
	}
	_, late := provider.Tracer("other").Start(context.Background(), "ends before it begins", trace.WithTimestamp(at), trace.WithLinks(trace.LinkFromContext(ctx, attribute.String("why", "follows"))))
	late.End(trace.WithTimestamp(at.Add(-time.Second)))
	root.SetStatus(codes.Ok, "")
	root.End(trace.WithTimestamp(at.Add(time.Second)))
}

func says(stubs tracetest.SpanStubs) (list []said) {
	for _, s := range stubs {
		one := said{
			TraceID: s.SpanContext.TraceID().String(), SpanID: s.SpanContext.SpanID().String(), Name: s.Name, Scope: s.InstrumentationScope.Name,
			// The protocol's numbers: the SDK numbers the kinds as it does, and the states the other way round.
			Kind: int(s.SpanKind), Status: map[codes.Code]int{codes.Unset: 0, codes.Ok: 1, codes.Error: 2}[s.Status.Code], StatusText: s.Status.Description,
			Start: s.StartTime.UnixNano(), End: s.EndTime.UnixNano(), Attributes: map[string]any{},
		}
		if s.Parent.SpanID().IsValid() {
			one.Parent = s.Parent.SpanID().String()
		}
		for _, e := range s.Events {
			one.Events = append(one.Events, fmt.Sprintf("%s %d %s", e.Name, e.Time.UnixNano(), e.Attributes[0].Value.Emit()))
		}
		for _, l := range s.Links {
			one.Links = append(one.Links, l.SpanContext.TraceID().String()+" "+l.SpanContext.SpanID().String())
		}
		for _, a := range s.Attributes {
			one.Attributes[string(a.Key)] = a.Value.AsInterface()
		}
		list = append(list, one)
	}
	return list
}
