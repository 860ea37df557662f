package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// result is one line of the table. Times are medians.
type result struct {
	What     string        `json:"what"`
	Against  string        `json:"against"`
	Flameox  time.Duration `json:"flameox_ns,omitempty"`
	Baseline time.Duration `json:"baseline_ns,omitempty"`
	// CPU time is shown beside the wall time because another process on the machine lengthens the one and hardly the other.
	FlameoxCPU  time.Duration `json:"flameox_cpu_ns,omitempty"`
	BaselineCPU time.Duration `json:"baseline_cpu_ns,omitempty"`

	Ratio      float64       `json:"ratio,omitempty"`         // of wall time, flameox / baseline
	Difference time.Duration `json:"difference_ns,omitempty"` // of wall time, flameox − baseline
	// The largest peak of a side's runs; missing of work inside the bench.
	MaxRSS      int64 `json:"max_rss_bytes,omitempty"`
	BaselineRSS int64 `json:"baseline_max_rss_bytes,omitempty"`

	Instances int    `json:"instances,omitempty"` // of a row that is the same at several sizes
	Bound     string `json:"bound,omitempty"`
	Met       *bool  `json:"met,omitempty"` // missing where there is no bound or no figure
	Skipped   string `json:"skipped,omitempty"`
	Error     string `json:"error,omitempty"`
}

// report is the whole answer of one run.
type report struct {
	Go      string   `json:"go"`
	OS      string   `json:"os"`
	Arch    string   `json:"arch"`
	CPUs    int      `json:"cpus"`
	Rounds  int      `json:"rounds"`
	Load    string   `json:"load,omitempty"` // processes that wanted a CPU at the end, those of the bench included
	Results []result `json:"results"`
	Growth  []grown  `json:"growth,omitempty"`
}

func (r report) print(w io.Writer) error {
	fmt.Fprintf(w, "medians of %d interleaved rounds, %s %s/%s, %d CPUs, load %s at the end\n\n", r.Rounds, r.Go, r.OS, r.Arch, r.CPUs, r.Load)
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "what\tflameox\tbaseline\tratio\tbound\t\tCPU\tof baseline\tmemory\tof baseline")
	for _, x := range r.Results {
		switch {
		case x.Error != "":
			fmt.Fprintf(t, "%s\tfailed: %s\n", x.What, x.Error)
		case x.Skipped != "":
			fmt.Fprintf(t, "%s\tskipped: %s\n", x.What, x.Skipped)
		default:
			fmt.Fprintf(t, "%s\t%s\t%s  %s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", x.What, ms(x.Flameox), ms(x.Baseline), x.Against, ratio(x), x.Bound, verdict(x), ms(x.FlameoxCPU), ms(x.BaselineCPU), mb(x.MaxRSS), mb(x.BaselineRSS))
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, g := range r.Growth {
		g.print(w)
	}
	return nil
}

func mb(bytes int64) string {
	if bytes == 0 {
		return "–"
	}
	return fmt.Sprintf("%d MB", bytes/1e6)
}

// ms prints a time with three digits; everything here takes micro- to milliseconds.
func ms(d time.Duration) string {
	switch {
	case d == 0:
		return "–"
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.2f ms", float64(d)/1e6)
	case d < time.Second:
		return fmt.Sprintf("%.0f ms", float64(d)/1e6)
	}
	return fmt.Sprintf("%.2f s", d.Seconds())
}

func ratio(x result) string {
	var parts []string
	switch {
	case x.Ratio > 0 && x.Ratio < 0.1 && strings.HasSuffix(x.Bound, "faster"):
		parts = append(parts, fmt.Sprintf("%.0f× faster", 1/x.Ratio))
	case x.Ratio > 0 && x.Ratio < 0.1:
		parts = append(parts, fmt.Sprintf("%.2f %%", x.Ratio*100))
	case x.Ratio > 0:
		parts = append(parts, fmt.Sprintf("%.2f×", x.Ratio))
	}
	if x.Difference != 0 {
		sign := "+"
		d := x.Difference
		if d < 0 {
			sign, d = "−", -d
		}
		parts = append(parts, sign+ms(d))
	}
	return strings.Join(parts, ", ")
}

func verdict(x result) string {
	switch {
	case x.Met == nil:
		return ""
	case *x.Met:
		return "met"
	}
	return "missed"
}
