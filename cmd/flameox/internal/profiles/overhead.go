package profiles

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/internal/view"
	"github.com/flameox/flameox/stages/capture"
)

// OverheadText says what profiling cost a run: "1.31× wall (n = 5), 1.28× CPU (n = 5) of capture.command.plain", or why that is not known; "" for a
// run that is no profile of another.
func OverheadText(rec *cache.Record) string {
	var sem struct {
		ProfileOf string `json:"profile_of"`
	}
	if json.Unmarshal(rec.Semantics, &sem) != nil || sem.ProfileOf == "" {
		return ""
	}
	var o capture.Overhead
	if json.Unmarshal(rec.Results[capture.OverheadResult], &o) != nil {
		return "not on record, against " + sem.ProfileOf
	}
	if o.Wall.Unavailable != "" && o.Wall.Unavailable == o.CPU.Unavailable {
		return "unavailable, against " + o.Of + ": " + o.Wall.Unavailable
	}
	var parts []string
	for _, m := range []struct {
		name string
		of   capture.OverheadMetrics
	}{{"wall", o.Wall}, {"CPU", o.CPU}} {
		switch {
		case m.of.Unavailable != "":
			parts = append(parts, m.name+" unavailable: "+m.of.Unavailable)
		case m.of.N > 1:
			parts = append(parts, fmt.Sprintf("%.2f× %s (%.2f to %.2f, n = %d)", m.of.Ratio, m.name, m.of.Low, m.of.High, m.of.N))
		default:
			parts = append(parts, fmt.Sprintf("%.2f× %s (n = 1)", m.of.Ratio, m.name))
		}
	}
	return strings.Join(parts, ", ") + " of " + o.Of
}

// OverheadBrief is the same in a few words, for the line of a run that ended.
func OverheadBrief(rec *cache.Record) string {
	var o capture.Overhead
	if raw := rec.Results[capture.OverheadResult]; raw == nil || json.Unmarshal(raw, &o) != nil {
		return ""
	}
	if o.Wall.Unavailable != "" {
		return "overhead unavailable"
	}
	return fmt.Sprintf("%.2f× the wall time without the profiler, n = %s", o.Wall.Ratio, view.Count(o.Wall.N))
}
