package measuring

import (
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/flameox/flameox/internal/stats"
	"github.com/flameox/flameox/internal/view"
	"github.com/flameox/flameox/measure/document"
	"github.com/flameox/flameox/measure/render"
)

// summary is what a table says of a result.
type summary struct {
	doc    map[string]any
	values []float64
	unit   string
}

func newSummary(doc map[string]any) summary {
	s := summary{doc: doc}
	s.unit, _ = document.At(doc, "coordinates", "quantity", "unit").(string)
	list, _ := document.At(doc, "measurement", "observations").([]any)
	for _, o := range list {
		switch v := o.(type) {
		case float64:
			s.values = append(s.values, v)
		case map[string]any:
			if f, ok := v["value"].(float64); ok && v["included"] != false {
				s.values = append(s.values, f)
			}
		}
	}
	return s
}

// estimate is what the producer says where there are no observations.
func (s summary) estimate(name string) (float64, bool) {
	list, _ := document.At(s.doc, "measurement", "summaries").([]any)
	for _, x := range list {
		m, _ := x.(map[string]any)
		if got, _ := document.At(m, "estimator", "name").(string); got == name && m["kind"] == "estimate" {
			v, ok := m["value"].(float64)
			return v, ok
		}
	}
	return 0, false
}

// Median is the typical value in a readable unit; false where there is none.
func (s summary) Median() (string, bool) {
	if len(s.values) > 0 {
		return render.Value(stats.Median(slices.Clone(s.values)), s.unit), true
	}
	if v, ok := s.estimate("median"); ok {
		return render.Value(v, s.unit), true
	}
	return "", false
}

// cells are median, mean ± sd, range and n. A single observation has no spread.
func (s summary) cells() []string {
	median, ok := s.Median()
	if !ok {
		return []string{"-", "-", "-", "0"}
	}
	n := len(s.values)
	if n == 0 {
		mean := "-"
		if v, ok := s.estimate("mean"); ok {
			mean = render.Value(v, s.unit)
		}
		return []string{median, mean, "-", "0"}
	}
	mean := stats.Mean(s.values)
	text := render.Value(mean, s.unit)
	if n > 1 {
		text += " ± " + render.Value(stats.StandardError(s.values)*math.Sqrt(float64(n)), s.unit)
	}
	spread := "-"
	if n > 1 {
		spread = render.Value(slices.Min(s.values), s.unit) + " .. " + render.Value(slices.Max(s.values), s.unit)
	}
	return []string{median, text, spread, strconv.Itoa(n)}
}

// Status is the outcome with the result's warnings in brackets.
func (s summary) Status() string {
	status, _ := document.At(s.doc, "measurement", "status").(string)
	if why, _ := document.At(s.doc, "measurement", "reason").(string); why != "" && status != "success" {
		status += " (" + why + ")"
	}
	if status == "skipped (harness.not-applicable)" {
		status = "n/a"
	}
	return status + render.Warnings(s.doc)
}

// condition says that a result is of the machine and not of the workload.
func condition(doc map[string]any) bool {
	return document.At(doc, "measurement", "kind") == "condition"
}

// benchTable writes the results that are no conditions, one a line. leads are columns that stand first, with the cell of each.
func benchTable(w io.Writer, o view.Options, docs []map[string]any, leads []view.Column, lead func(doc map[string]any) []string) error {
	quantities := map[string]bool{}
	for _, d := range docs {
		if q, _ := document.At(d, "coordinates", "quantity", "name").(string); !condition(d) {
			quantities[q] = true
		}
	}
	t := &view.Table{Columns: append(slices.Clone(leads), view.Column{Title: "BENCHMARK", Path: true}), Empty: "no results"}
	if len(quantities) > 1 {
		t.Columns = append(t.Columns, view.Column{Title: "QUANTITY", Keep: true})
	}
	t.Columns = append(t.Columns, view.Column{Title: "MEDIAN", Right: true, Keep: true}, view.Column{Title: "MEAN ± SD", Right: true, Keep: true}, view.Column{Title: "RANGE", Right: true, Keep: true},
		view.Column{Title: "N", Right: true, Keep: true}, view.Column{Title: "STATUS", Wrap: true})
	for _, d := range docs {
		if condition(d) {
			continue
		}
		s := newSummary(d)
		var row []string
		if lead != nil {
			row = lead(d)
		}
		row = append(row, render.Workload(d))
		if len(quantities) > 1 {
			q, _ := document.At(d, "coordinates", "quantity", "name").(string)
			row = append(row, q)
		}
		t.Rows = append(t.Rows, append(append(row, s.cells()...), s.Status()))
	}
	return t.Write(w, o)
}
