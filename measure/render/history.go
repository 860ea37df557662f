package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/flameox/flameox/internal/ijson"
	"github.com/flameox/flameox/internal/view"
	"github.com/flameox/flameox/measure/history"
)

// History is the table of a history's points, the oldest first.
func History(d *history.Document) *view.Table {
	t := &view.Table{Columns: []view.Column{{Title: "REVISION"}, {Title: "STARTED"}, {Title: "RUN"}, {Title: "VALUE", Right: true}, {Title: "TO BEFORE", Right: true}, {Title: "NOTES", Wrap: true}}}
	before := 0.0
	for i, p := range d.Points {
		step := ""
		if i > 0 && before > 0 && p.Judged {
			step = Percent(p.Value/before - 1)
		}
		if p.Judged {
			before = p.Value
		}
		var notes []string
		if len(p.Warnings) > 0 {
			notes = append(notes, "["+strings.Join(p.Warnings, ", ")+"]")
		}
		for _, f := range p.Changed {
			notes = append(notes, fact(f))
		}
		if p.Why != "" {
			notes = append(notes, "not judged: "+p.Why)
		}
		first := func(q history.Point) bool { return q.Revision == p.Revision }
		if slices.IndexFunc(d.Points, first) == i {
			for _, c := range d.Changes {
				if c.Revision == p.Revision {
					notes = append([]string{strings.ToUpper(c.Verdict) + " " + Shift(c, d.Unit)}, notes...)
				}
			}
			for _, b := range d.Boundaries {
				if b.At == p.Revision {
					notes = append([]string{strings.TrimSpace("accepted " + b.Note)}, notes...)
				}
			}
		}
		t.Rows = append(t.Rows, []string{Short(p.Revision), started(p.Started), p.RunKey, Value(p.Value, d.Unit), step, strings.Join(notes, "; ")})
	}
	return t
}

func started(s string) string {
	if len(s) < 19 {
		return s
	}
	return strings.Replace(s[:19], "T", " ", 1) + "Z"
}

func fact(f history.FactChange) string {
	return fmt.Sprintf("%s: %s -> %s", f.Pointer, spelled(f.Before), spelled(f.After))
}

func spelled(v any) string {
	switch v := v.(type) {
	case nil:
		return "nothing"
	case string:
		return Short(v)
	}
	b, err := ijson.Canonical(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

// Shift is how far a level moved.
func Shift(c history.Change, unit string) string {
	if c.Relative {
		return Percent(c.Effect)
	}
	return "by " + Value(c.Effect, unit)
}

// Changes are the changes of a history, a sentence each.
func Changes(d *history.Document) []string {
	var out []string
	for _, c := range d.Changes {
		where := "at " + Short(c.Revision)
		switch {
		case c.Commits > 1:
			where = fmt.Sprintf("in the %d commits after %s, up to %s", c.Commits, Short(c.After), Short(c.Revision))
		case c.Commits == 0:
			where = fmt.Sprintf("after %s, first seen at %s", Short(c.After), Short(c.Revision))
		}
		s := fmt.Sprintf("%s %s %s: median %s before, %s since; p %.3g", c.Verdict, Shift(c, d.Unit), where, Value(c.Before, d.Unit), Value(c.Now, d.Unit), c.P)
		var facts []string
		for _, f := range c.Facts {
			facts = append(facts, fact(f))
		}
		if len(facts) > 0 {
			s += "; at the same point " + strings.Join(facts, ", ")
		}
		out = append(out, s)
	}
	return out
}
