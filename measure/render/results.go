package render

import (
	"fmt"
	"strings"
	"time"

	"github.com/flameox/flameox/internal/view"
	"github.com/flameox/flameox/measure/document"
	"github.com/flameox/flameox/measure/identity"
)

// status is a result's status with its reason and its warnings.
func status(d map[string]any) string {
	s := text(d, "measurement", "status")
	if s == "skipped" {
		s = "n/a"
	}
	if why := text(d, "measurement", "reason"); why != "" && s != "success" {
		s += " (" + why + ")"
	}
	return s + Warnings(d)
}

// Latest is a stored result with the number of its row.
type Latest struct {
	Row      int
	Document map[string]any
}

// Head is the table of the newest results of a store.
func Head(list []Latest) *view.Table {
	t := &view.Table{Empty: "no results", Columns: []view.Column{{Title: "#", Right: true}, {Title: "STARTED"}, {Title: "RUN"}, {Title: "WORKLOAD"}, {Title: "QUANTITY"}, {Title: "MEDIAN", Right: true},
		{Title: "REVISION"}, {Title: "PROJECT"}, {Title: "LABELS"}, {Title: "STATUS"}}}
	for _, l := range list {
		d := l.Document
		median := "-"
		if m, ok := document.Median(d); ok {
			median = Value(m, text(d, "coordinates", "quantity", "unit"))
		}
		t.Rows = append(t.Rows, []string{fmt.Sprint(l.Row), Started(d), text(d, "provenance", "run_key"), Workload(d), text(d, "coordinates", "quantity", "name"), median,
			Revision(d), identity.Project(d), Labels(d), status(d)})
	}
	return t
}

// Revision is the beginning of a result's revision.
func Revision(d map[string]any) string { return Short(text(d, "revision", "key")) }

// Started is when a result began to be measured, to the second, in UTC.
func Started(d map[string]any) string {
	at, err := time.Parse(time.RFC3339Nano, text(d, "provenance", "started_at"))
	if err != nil {
		return "-"
	}
	return at.UTC().Format("2006-01-02 15:04:05Z")
}

// Labels are a result's labels: "build=plain os=x".
func Labels(d map[string]any) string {
	m, _ := document.At(d, "provenance", "labels").(map[string]any)
	parts := make([]string, 0, len(m))
	for _, k := range document.Keys(m) {
		parts = append(parts, fmt.Sprintf("%s=%v", k, m[k]))
	}
	return strings.Join(parts, " ")
}
