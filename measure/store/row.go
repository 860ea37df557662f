package store

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"time"

	"github.com/flameox/flameox/evidence/shred"
	"github.com/flameox/flameox/internal/ijson"
	"github.com/flameox/flameox/measure/document"
	"github.com/flameox/flameox/measure/identity"
)

// row is a result with everything that is derived from it.
type row struct {
	doc       map[string]any
	project   string
	producer  string
	key       string // ingest key
	attempt   string
	signature string
	payload   string // SHA-256 of the document's canonical text, in hex
	quantity  string
	unit      string
	order     string // the work order's reference, "" where there is none
	columns   map[string]any
}

func text(v any, path ...string) string {
	s, _ := document.At(v, path...).(string)
	return s
}

// derive makes the row of a result that was validated. Its order is attached later.
func derive(doc map[string]any, now time.Time) (*row, error) {
	canonical, err := ijson.Canonical(doc)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(canonical)
	r := &row{doc: doc, project: identity.Project(doc), producer: text(doc, "producer", "name"), key: text(doc, "ingest_key"), attempt: text(doc, "attempt_key"),
		payload: hex.EncodeToString(sum[:]), quantity: text(doc, "coordinates", "quantity", "name"), unit: text(doc, "coordinates", "quantity", "unit"),
		order: text(doc, "provenance", "info", "workorder_ref")}
	if r.signature, err = signature(doc, r.project); err != nil {
		return nil, err
	}
	reported, err := identity.Reported(doc)
	if err != nil {
		return nil, err
	}
	c := maps.Clone(doc)
	r.columns = c
	c["store_project"], c["reported_coordinates_fingerprint"], c["payload_sha256"], c["attempt_signature"] = r.project, reported, r.payload, r.signature
	c["ingested_at"], c["document"] = now.UTC().Format(time.RFC3339Nano), shred.Raw(canonical)
	if r.order != "" {
		c["work_order_ref"] = r.order
	}
	for _, name := range []string{"round", "slot"} {
		if n := document.At(doc, "procedure", name); n != nil {
			c[name] = n
		}
	}
	comparison, unseriable, points, err := Points(identity.Default(), doc)
	if err != nil {
		return nil, err
	}
	if unseriable != "" {
		c["unseriable"] = unseriable
	} else {
		c["comparison_fingerprint"] = comparison
	}
	var list []any
	for _, p := range points {
		list = append(list, map[string]any{"series": p.Series, "estimator": p.Estimator, "value": p.Value})
	}
	if list != nil {
		c["points"] = list
	}
	return r, nil
}

// signature is the digest of the facts that all results of one attempt share.
func signature(doc map[string]any, project string) (string, error) {
	v := map[string]any{"project": project, "source": doc["source"], "revision": doc["revision"],
		"workload": document.At(doc, "coordinates", "workload"), "subject": document.At(doc, "coordinates", "subject"),
		"environment": map[string]any{"schema": document.At(doc, "coordinates", "environment", "schema"), "identity": document.At(doc, "coordinates", "environment", "identity")}}
	if b, ok := doc["benchmark"]; ok {
		v["benchmark"] = b
	}
	for _, name := range []string{"run_key", "subject_dirty", "subject_tree", "benchmark_dirty", "benchmark_tree"} {
		if x := document.At(doc, "provenance", name); x != nil {
			v[name] = x
		}
	}
	return ijson.Sum("", v)
}

// Point is one result's value in one series.
type Point struct {
	Series    string // fingerprint
	Estimator string // median, or a producer's name for it
	Value     float64
}

// Points are the series that a result is a point of under a policy, with the fingerprint of its comparison identity: one series of the median of the observations, and one of
// each estimate that the producer made. unseriable is the pointer of a matched fact that is null; the result has no series then. Only what succeeded, wholly or
// in part, has points.
func Points(p identity.Policy, doc map[string]any) (comparison, unseriable string, out []Point, err error) {
	comparison, unseriable, err = p.Comparison(doc)
	if err != nil || unseriable != "" {
		return "", unseriable, nil, err
	}
	if s := text(doc, "measurement", "status"); s != "success" && s != "partial" {
		return comparison, "", nil, nil
	}
	add := func(e identity.Estimator, value float64) error {
		sum, err := e.Fingerprint()
		if err != nil {
			return err
		}
		name, _ := e["name"].(string)
		out = append(out, Point{identity.Series(comparison, sum), name, value})
		return nil
	}
	if m, ok := document.Median(doc); ok {
		if err := add(identity.Median(), m); err != nil {
			return "", "", nil, err
		}
	}
	summaries, _ := document.At(doc, "measurement", "summaries").([]any)
	for _, s := range summaries {
		m, _ := s.(map[string]any)
		e, _ := m["estimator"].(map[string]any)
		value, ok := m["value"].(float64)
		if m["kind"] != "estimate" || e == nil || !ok {
			continue
		}
		if err := add(e, value); err != nil {
			return "", "", nil, err
		}
	}
	return comparison, "", out, nil
}

// Input is a document to take in: a text, or a file to read.
type Input struct {
	Name string // what a rejection calls it
	Text []byte // nil: Name is a file
}

// parsed is an input after everything that needs no store.
type parsed struct {
	name     string
	row      *row
	order    map[string]any
	ref      string // of the order
	rejected []document.Rejection
	err      error // it could not be read
}

func (in Input) parse(now time.Time) (p parsed) {
	p.name = in.Name
	b := in.Text
	if b == nil {
		if b, p.err = os.ReadFile(in.Name); p.err != nil {
			p.err = fmt.Errorf("read the document: %w", p.err)
			return p
		}
	}
	if v, err := ijson.Object(b); err == nil && v["schema_version"] == "benchx/work-order/0.1.0" {
		if err := document.Validate(document.OrderKind, v); err != nil {
			p.rejected = malformed(err)
			return p
		}
		p.order = document.WithoutBlankText(v)
		if p.ref, p.err = document.OrderHash(v); p.err != nil {
			p.rejected = malformed(p.err)
			p.err = nil
		}
		return p
	}
	doc, rejected := document.ReadResult(b)
	if rejected != nil {
		p.rejected = rejected
		return p
	}
	if p.row, p.err = derive(doc, now); p.err != nil {
		p.rejected, p.err = malformed(p.err), nil
	}
	return p
}

func malformed(err error) []document.Rejection {
	var invalid *document.Invalid
	if errors.As(err, &invalid) {
		out := make([]document.Rejection, len(invalid.Problems))
		for i, p := range invalid.Problems {
			out[i] = document.Rejection{Code: document.Malformed, Problem: p}
		}
		return out
	}
	return []document.Rejection{{Code: document.Malformed, Problem: document.Problem{Text: err.Error()}}}
}
