package exporting

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/cmd/flameox/internal/cmdline"
	"github.com/flameox/flameox/cmd/flameox/internal/profiles"
	"github.com/flameox/flameox/evidence/callgraph"
	"github.com/flameox/flameox/evidence/interchange"
	"github.com/flameox/flameox/internal/flags"
	"github.com/flameox/flameox/internal/view"
	"github.com/flameox/flameox/stages/workspace"
)

// The formats by their names.
var formats = map[string]func(io.Writer, *interchange.Profile) ([]interchange.Loss, error){
	"pprof":      interchange.WritePprof,
	"speedscope": interchange.WriteSpeedscope,
	"collapsed":  interchange.WriteCollapsed,
	"perfetto":   interchange.WritePerfetto,
}

// samplesFormat is the format of measurements, not of profiles.
const samplesFormat = "benchfmt"

// endings are the file names by which a format is told.
var endings = []struct{ ending, format string }{
	{".pb.gz", "pprof"}, {".pprof", "pprof"}, {".speedscope.json", "speedscope"}, {".collapsed", "collapsed"}, {".folded", "collapsed"},
	{".pftrace", "perfetto"}, {".perfetto-trace", "perfetto"}, {".bench", samplesFormat},
}

// Command is the command export.
func Command() *cli.Command {
	return &cli.Command{
		Name: "export", Usage: "write a profile or samples for another tool", ArgsUsage: "ADDRESS|RUN",
		Description: "pprof (go tool pprof), speedscope, collapsed (flame graph scripts), perfetto (ui.perfetto.dev) hold the profile of one run; benchfmt (benchstat) holds the samples of a run, " +
			"or of every instance that ADDRESS selects, all attempts of its newest result. Weights add up to those of `flameox hotspots`. What a format cannot hold is said on standard error. " +
			"`flameox evidence export` writes tables, and `flameox artifacts` what the producer itself left.\n\n" +
			"Examples:\n" +
			"  flameox export 'capture.pprof.sort:impl=merge,n=100000' -o merge.speedscope.json\n" +
			"  flameox export 'capture.pprof.sort:impl=merge,n=100000' -format collapsed > merge.txt\n" +
			"  flameox export capture.gobench.sort -format benchfmt -o new.bench",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "format", Usage: "`FORMAT`: pprof, speedscope, collapsed, perfetto or benchfmt; what -o ends in says it, too"},
			&cli.StringFlag{Name: "o", Usage: "write to `FILE`, not to standard output"},
			profiles.MetricFlag, profiles.ProviderFlag, cmdline.SensitiveFlag,
		},
		Action: export,
	}
}

func export(c *cli.Context) error {
	if c.NArg() != 1 {
		return flags.Usage(c, "export takes one run or address")
	}
	path, format := c.String("o"), c.String("format")
	if format == "" {
		for _, e := range endings {
			if strings.HasSuffix(path, e.ending) {
				format = e.format
				break
			}
		}
	}
	if _, known := formats[format]; !known && format != samplesFormat {
		if format == "" {
			return flags.Usage(c, "export needs -format: pprof, speedscope, collapsed, perfetto or benchfmt")
		}
		return flags.Usage(c, "-format is %q; give pprof, speedscope, collapsed, perfetto or benchfmt", format)
	}
	if path == "" && (format == "pprof" || format == "perfetto") && isTerminal(os.Stdout) {
		return flags.Usage(c, "%s is not for a terminal; give -o FILE, or send standard output somewhere", format)
	}
	w, err := cmdline.Open(c)
	if err != nil {
		return err
	}
	var done string
	var losses []interchange.Loss
	write := func(out io.Writer) (err error) {
		if format == samplesFormat {
			done, losses, err = exportSamples(c, w, out)
		} else {
			done, losses, err = exportProfile(c, w, format, out)
		}
		return err
	}
	if path == "" {
		err = write(c.App.Writer)
	} else {
		err = replace(path, write)
	}
	if err != nil {
		return err
	}
	for _, l := range losses {
		fmt.Fprintln(c.App.ErrWriter, "Note: "+view.Lines(l.Text)+".")
	}
	if path != "" {
		fmt.Fprintf(c.App.Writer, "%s: %s\n", path, done)
	}
	return nil
}

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && view.Detect(f, os.Getenv).Live
}

// replace writes a file as a whole or not at all.
func replace(path string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".export-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer os.Remove(f.Name())
	if err := write(f); err != nil {
		f.Close()
		return err
	}
	err = f.Close()
	if err == nil {
		err = os.Chmod(f.Name(), 0o644)
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

func exportProfile(c *cli.Context, w *workspace.Workspace, format string, out io.Writer) (string, []interchange.Loss, error) {
	o, err := profiles.Open(c, w, c.Args().First())
	if err != nil {
		return "", nil, err
	}
	d := o.Of()
	p := &interchange.Profile{Name: d.Address + ", run " + d.Run, Started: d.Started, Metrics: o.Profile.Metrics()}
	if format == "collapsed" || format == "perfetto" {
		p.Metrics = []callgraph.Metric{o.Metric}
	}
	p.Primary = slices.Index(p.Metrics, o.Metric)
	totals := make([]int64, len(p.Metrics))
	for i, m := range p.Metrics {
		if totals[i], err = o.TotalOf(m); err != nil {
			return "", nil, err
		}
	}
	var ns int64
	if json.Unmarshal(o.Extraction.Results["duration_ns"], &ns) == nil {
		p.Duration = time.Duration(ns)
	}
	p.Comments = append(p.Comments, "host "+d.Host, "extracted by "+d.Provider+", evidence "+d.State)
	for _, n := range d.Limitations {
		p.Comments = append(p.Comments, "limitation "+n.Code+": "+n.Text)
	}
	if err := p.Gather(o.Profile, totals); err != nil {
		return "", nil, err
	}
	losses, err := formats[format](out, p)
	if err != nil {
		return "", nil, err
	}
	if others := len(o.Profile.Metrics()) - len(p.Metrics); others > 0 {
		losses = append(losses, interchange.Loss{Text: fmt.Sprintf("only %s is written: the format holds one metric, and -metric chooses it", o.Metric.Name)})
	}
	return fmt.Sprintf("%s, %s in all, of run %s", o.Metric.Name, view.Quantity(o.Total, o.Metric.Unit), d.Run), losses, nil
}
