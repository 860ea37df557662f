package memray_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/providers/memray"
	"github.com/flameox/flameox/providers/providertest"
)

// TestFixturesHaveTheTotalsThatMemrayHadForThem reads captures that an older memray wrote, with that version.
func TestFixturesHaveTheTotalsThatMemrayHadForThem(t *testing.T) {
	for name, state := range map[string]evidence.State{"plain": evidence.Complete, "aggregated": evidence.Complete, "pymalloc": evidence.Complete, "killed": evidence.Partial} {
		type view struct {
			Bytes int64  `json:"bytes"`
			N     uint64 `json:"n_allocations"`
		}
		var want struct {
			Metadata struct {
				Peak    string `json:"peak_memory"`
				Records string `json:"total_allocations"`
			} `json:"metadata"`
			Peak     view `json:"get_high_watermark_allocation_records"`
			Retained view `json:"get_leaked_allocation_records"`
			// Text where the capture has none.
			Temporary json.RawMessage `json:"get_temporary_allocation_records"`
		}
		if err := json.Unmarshal(providertest.Fixture(t, "memray/local-memray"+old+"-"+name+".oracle.json"), &want); err != nil {
			t.Fatal(err)
		}
		var temporary view
		if name != "aggregated" {
			if err := json.Unmarshal(want.Temporary, &temporary); err != nil {
				t.Fatal(err)
			}
		}
		file := name
		if name == "killed" {
			file = "killed-uncompressed"
		}
		in := providertest.Input(t, memray.Role, providertest.Fixture(t, "memray/local-memray"+old+"-"+file+".bin"))
		in.Reading = providertest.Read(t, p, pythonWith(t, old), "extract", extraction(), in.Artifacts, t.TempDir())
		out, tables := providertest.Extract(t, p, in, extraction(), evidence.DefaultBudget())
		if out.State != state || out.Producer != old {
			t.Errorf("%s: outcome %+v", name, out)
			continue
		}
		for metric, v := range map[string]view{"memory.high_watermark": want.Peak, "memory.retained_end": want.Retained, "memory.temporary": temporary} {
			// An allocation of no bytes is in memray's number and in no row.
			if bytes, n := total(tables, metric, nil); bytes != v.Bytes || n > v.N || v.N-n > 5 {
				t.Errorf("%s: %s is %d bytes of %d allocations, memray had %d of %d", name, metric, bytes, n, v.Bytes, v.N)
			}
		}
		if got := fmt.Sprint(measured(t, tables, "memory.peak", "")); got != want.Metadata.Peak {
			t.Errorf("%s: peak %s, memray had %s", name, got, want.Metadata.Peak)
		}
		if got := fmt.Sprint(measured(t, tables, "memory.capture_records", "")); got != want.Metadata.Records {
			t.Errorf("%s: records %s, memray had %s", name, got, want.Metadata.Records)
		}
	}
}
