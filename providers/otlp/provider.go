package otlp

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"slices"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/formats/otlp"
	"github.com/flameox/flameox/providers"
)

// The media types of the two encodings.
const (
	JSONMediaType     = "application/json"
	ProtobufMediaType = "application/x-protobuf"
)

// The formats, which are the roles of their artifacts too: an artifact says how it is read.
const (
	JSON     = "otlp-json"
	Protobuf = "otlp-protobuf"
)

// Provider reads OTLP traces. The zero value is ready.
type Provider struct{}

// Name is the protocol's.
func (Provider) Name() string { return "otlp" }

// Version is that of the rows.
func (Provider) Version() int { return 1 }

// Doc is one sentence.
func (Provider) Doc() string {
	return "OpenTelemetry traces: files of OTLP in JSON or protobuf, one row per resource, scope, span, event and link"
}

// Formats are the two encodings. Neither is ever detected.
func (Provider) Formats() []providers.Format {
	return []providers.Format{
		{Name: JSON, MediaType: JSONMediaType, Role: JSON},
		{Name: Protobuf, MediaType: ProtobufMediaType, Role: Protobuf},
	}
}

// FormatOf is the format of a media type, whose parameters and case say nothing. An error lists those that are known.
func FormatOf(mediaType string) (string, error) {
	t, _, err := mime.ParseMediaType(mediaType)
	if err == nil {
		switch t {
		case JSONMediaType:
			return JSON, nil
		case ProtobufMediaType, "application/protobuf":
			return Protobuf, nil
		}
	}
	return "", fmt.Errorf("%q is no media type of OTLP; it is application/json, application/x-protobuf or application/protobuf", mediaType)
}

// ExtractOptions is nil: there is nothing to choose.
func (Provider) ExtractOptions() any { return nil }

// The codes of this provider's own refusals.
const (
	EmptyFile  = "payload_empty"
	Compressed = "otlp_compressed"
	RowLimit   = "otlp_row_limit_exceeded"
	NoSpans    = "otlp_no_spans"
	Duplicates = "otlp_duplicate_identity"
)

// read hands the payload to h, in the encoding that its role names.
func read(ctx context.Context, in providers.Input, budget evidence.Budget, h otlp.Handler) (*otlp.Summary, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	a, err := find(in)
	if err != nil {
		return nil, err
	}
	switch {
	case budget.InputBytes > 0 && a.Size > budget.InputBytes:
		return nil, providers.Refuse(providers.InputBudget, "the payload has %d bytes and the extraction's budget is %d; raise it", a.Size, budget.InputBytes)
	case a.Size == 0:
		return nil, providers.Refuse(EmptyFile, "the payload has no bytes, so nothing was exported into it")
	}
	f, err := a.Open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	memory := budget.Memory
	if memory <= 0 {
		memory = evidence.DefaultBudget().Memory
	}
	largest := memory / 16 // one record: its text, what becomes of it, and the rows that wait to be written
	r, hint, err := begins(f, a.Role)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", a.Name, err)
	}
	var sum *otlp.Summary
	if a.Role == JSON {
		sum, err = otlp.JSON(r, largest, h)
	} else {
		sum, err = otlp.Protobuf(r, a.Size, largest, h)
	}
	var bad *otlp.Error
	if errors.As(err, &bad) {
		err = providers.Refuse(bad.Code, "%s%s", bad.Text, hint)
	}
	return sum, err
}

// find is the only artifact that is OTLP.
func find(in providers.Input) (providers.Artifact, error) {
	both := slices.Concat(in.FindAll(JSON), in.FindAll(Protobuf))
	if len(both) == 1 {
		return both[0], nil
	}
	if len(both) == 0 {
		return in.Find(JSON) // whose error says what there is
	}
	return providers.Artifact{}, fmt.Errorf("looking for the artifact that is OTLP: there are %d, and exactly one is needed", len(both))
}

// Validate accepts a payload that can be read to its end.
func (Provider) Validate(ctx context.Context, in providers.Input) (r providers.Receipt, err error) {
	h := &counter{ctx: ctx}
	sum, err := read(ctx, in, evidence.DefaultBudget(), h)
	var bad *providers.Refusal
	switch {
	case errors.As(err, &bad):
		r.Reasons = append(r.Reasons, bad.Limitation)
	case err != nil:
		return r, err
	case sum.Spans == 0 && sum.Lost > 0:
		r.Reasons = append(r.Reasons, unreadable(sum))
	case sum.Cut:
		r.Reasons = append(r.Reasons, evidence.Limitation{Code: otlp.LastCut, Text: "the last of several documents breaks off; an extraction keeps what is whole, and a file without it imports cleanly"})
	default:
		r.Limitations = limitations(sum)
	}
	if !in.ExitExpected() {
		r.Reasons = append(r.Reasons, evidence.Limitation{Code: "unexpected_exit", Text: fmt.Sprintf("the command ended with status %d", in.Exit)})
	}
	r.Valid = len(r.Reasons) == 0
	return r, nil
}

// counter only looks whether it should go on.
type counter struct {
	ctx context.Context
	n   int
}

func (c *counter) Span(*otlp.Span) error {
	if c.n++; c.n%1024 == 0 {
		return c.ctx.Err()
	}
	return nil
}
func (c *counter) Scope(*otlp.Scope) error       { return nil }
func (c *counter) Resource(*otlp.Resource) error { return nil }
