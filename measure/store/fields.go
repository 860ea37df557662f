package store

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"sync"

	"github.com/flameox/flameox/evidence/shred"
	"github.com/flameox/flameox/internal/ijson"
	"github.com/flameox/flameox/measure/identity"
	"github.com/flameox/flameox/schemas"
)

const (
	resultSchema = "urn:flameox:schema:measurement:measurement-result"

	metaSchema    = "benchx.schema_uri"
	metaSchemaSum = "benchx.message_schema_sha256"
	metaPolicy    = "benchx.identity_policy" // of the columns comparison_fingerprint and points
	metaFolded    = "flameox.folded"         // the last segment that the file holds
)

// layout is the columns of a store and what its metadata says of them.
type layout struct {
	fields []shred.Field
	meta   map[string]string
}

// columns are made when the first store is opened.
var columns = sync.OnceValues(func() (*layout, error) {
	documents := map[string]map[string]any{}
	names, err := fs.Glob(schemas.Measurement, "measurement/*.schema.json")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		b, err := schemas.Measurement.ReadFile(name)
		if err != nil {
			return nil, err
		}
		var doc map[string]any
		if err := json.Unmarshal(b, &doc); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		id, _ := doc["$id"].(string)
		documents[id] = doc
	}
	doc := documents[resultSchema]
	first := []string{"schema_version", "producer", "ingest_key", "attempt_key", "project", "source", "revision", "benchmark", "coordinates", "measurement", "procedure", "provenance", "quality"}
	fields, err := shred.FromSchema(shred.Schema{Node: doc, Document: doc, Documents: documents}, first)
	if err != nil {
		return nil, fmt.Errorf("the columns of the store: %w", err)
	}
	text := func(name string, required bool) shred.Field {
		return shred.Field{Name: name, Kind: shred.Text, Required: required}
	}
	fields = append(fields, text("store_project", true), text("reported_coordinates_fingerprint", true), text("payload_sha256", true), text("attempt_signature", true),
		text("comparison_fingerprint", false), text("unseriable", false),
		shred.Field{Name: "points", Kind: shred.List, Fields: []shred.Field{{Kind: shred.Group, Required: true, Fields: []shred.Field{
			text("series", true), text("estimator", true), {Name: "value", Kind: shred.Float, Required: true}}}}},
		shred.Field{Name: "round", Kind: shred.Int}, shred.Field{Name: "slot", Kind: shred.Int}, shred.Field{Name: "ingested_at", Kind: shred.Time, Required: true},
		text("work_order_ref", false), shred.Field{Name: "work_order", Kind: shred.JSON}, shred.Field{Name: "document", Kind: shred.JSON, Required: true})
	shred.Mark(fields, "ingest_key", "payload_sha256", "document")
	canonical, err := ijson.Canonical(doc)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(canonical)
	return &layout{fields, map[string]string{metaSchema: "urn:benchx:schema:measurement-result:0.1.0", metaSchemaSum: hex.EncodeToString(sum[:]), metaPolicy: identity.Default().Name}}, nil
})
