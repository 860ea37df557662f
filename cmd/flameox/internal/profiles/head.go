package profiles

import (
	"time"

	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/cmd/flameox/internal/paging"
	"github.com/flameox/flameox/internal/view"
)

// head is what stands above an answer: whose it is, and how far it can be trusted.
func (o *Opened) head(now time.Time) view.ProfileHead {
	d := o.Of()
	h := view.ProfileHead{
		Address: d.Address, Run: view.RunRef{Run: d.Run, Age: now.Sub(d.Started), Host: d.Host},
		Metric: d.Metric.Name, Total: view.Quantity(d.Total, d.Metric.Unit), State: d.State, Overhead: OverheadText(o.Record),
	}
	for _, m := range o.Profile.Metrics() {
		if m != o.Metric {
			h.Others = append(h.Others, m.Name)
		}
	}
	for _, n := range d.Limitations {
		h.Limitations = append(h.Limitations, view.Note{Code: n.Code, Text: n.Text})
	}
	return h
}

// ask makes a question of the rows that are read and the words.
func (o *Opened) ask(words ...string) paging.Question {
	return paging.Ask(o.digests, append(words, o.Metric.Name, o.Metric.Unit)...)
}

// more is the command that shows the next page.
func (o *Opened) more(c *cli.Context, next string) string {
	return paging.More(c, next, MetricFlag.Name, ProviderFlag.Name, "sort", "depth")
}
