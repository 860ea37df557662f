package providertest

import (
	"slices"
	"testing"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/providers"
)

// Row is one row of a table by column.
type Row map[string]any

// Extract runs an extraction and reads back its rows by table.
func Extract(t *testing.T, e providers.Extractor, in providers.Input, options any, b evidence.Budget) (evidence.Outcome, map[string][]Row) {
	t.Helper()
	sink := evidence.NewSink(t.TempDir(), evidence.FileMeta{Artifact: in.Artifacts[0].Digest, Provider: e.Name(), ProviderVersion: e.Version()}, b)
	defer sink.Discard()
	out, err := e.Extract(t.Context(), in, options, b, sink)
	if err != nil {
		t.Fatal(err)
	}
	parts, err := sink.Close()
	if err != nil {
		t.Fatal(err)
	}
	tables := map[string][]Row{}
	for _, p := range parts {
		err := evidence.Scan(p.Path, evidence.ScanOptions{}, func(cols []evidence.Column, row []any) error {
			r := Row{}
			for i, c := range cols {
				r[c.Name] = row[i]
			}
			tables[p.Table] = append(tables[p.Table], r)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out, tables
}

// Codes are the codes of limitations, in order.
func Codes(list []evidence.Limitation) (codes []string) {
	for _, l := range list {
		codes = append(codes, l.Code)
	}
	return codes
}

// HasCode says whether one of the limitations has the code.
func HasCode(list []evidence.Limitation, code string) bool {
	return slices.Contains(Codes(list), code)
}
