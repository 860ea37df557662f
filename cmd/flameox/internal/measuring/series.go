package measuring

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/cmd/flameox/internal/cmdline"
	"github.com/flameox/flameox/internal/ijson"
	"github.com/flameox/flameox/internal/view"
	"github.com/flameox/flameox/measure/document"
	"github.com/flameox/flameox/measure/identity"
	"github.com/flameox/flameox/measure/render"
	"github.com/flameox/flameox/measure/store"
)

var policyFlag = &cli.StringFlag{Name: "policy", Usage: "the identity policy of `FILE` instead of the default one, benchx/benchx-identity/v1"}

// policy is the one that the flag names.
func policy(c *cli.Context) (identity.Policy, error) {
	path := c.String(policyFlag.Name)
	if path == "" {
		return identity.Default(), nil
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return identity.Policy{}, fmt.Errorf("read the identity policy: %w", err)
	}
	v, err := document.Read(document.PolicyKind, b)
	if err != nil {
		return identity.Policy{}, fmt.Errorf("read the identity policy %s: %w", path, err)
	}
	p := identity.FromDocument(v)
	if p.Name == identity.Default().Name {
		return p, fmt.Errorf("read the identity policy %s: %s is the name of the built-in policy; a policy of your own has a name of its own", path, p.Name)
	}
	return p, nil
}

// Series is the command series.
func Series() *cli.Command {
	return &cli.Command{
		Name: "series", Usage: "list the histories of the store",
		Description: "Results belong to one series where everything agrees that the identity policy matches; a series is that, and how one number is made of an attempt. `series diff` says why two are two.\n\n" +
			"Examples:\n  flameox series -workload Sum\n  flameox series diff 3021551f 9bb8",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "workload", Usage: "only those whose benchmark's name contains `TEXT`"},
			&cli.StringFlag{Name: "quantity", Usage: "only those of the quantity `NAME`"},
			policyFlag, &cli.BoolFlag{Name: "json", Usage: "print JSON"},
		},
		Subcommands: []*cli.Command{seriesDiff()},
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return misused(c, "series takes no arguments; `flameox series diff A B` compares two, and `flameox history A` shows one")
			}
			p, err := policy(c)
			if err != nil {
				return refused(err)
			}
			snap, _, err := read(c)
			if err != nil {
				return refused(err)
			}
			defer snap.Close()
			l, err := snap.Series(c.Context, p, c.String("workload"), c.String("quantity"))
			if err != nil {
				return refused(err)
			}
			if c.Bool("json") {
				return refused(cmdline.JSON(c, listing(p, l)))
			}
			t := &view.Table{Empty: "no series", Columns: []view.Column{{Title: "SERIES", Keep: true}, {Title: "WORKLOAD"}, {Title: "QUANTITY"}, {Title: "ESTIMATOR"}, {Title: "POINTS", Right: true}, {Title: "LATEST"}, {Title: "PROJECT"}}}
			n := unique(l.Series)
			for _, s := range l.Series {
				t.Rows = append(t.Rows, []string{s.Fingerprint[:n], render.Named(s.Workload, seriesParameters(s)), s.Quantity + " (" + s.Unit + ")", s.Estimator, view.Count(s.Points),
					time.UnixMicro(s.Last).UTC().Format("2006-01-02 15:04:05Z"), s.Project})
			}
			if err := t.Write(c.App.Writer, cmdline.View(c)); err != nil {
				return refused(err)
			}
			for _, at := range slices.Sorted(maps.Keys(l.Unseriable)) {
				fmt.Fprintf(c.App.ErrWriter, "%s in no series: %s is null, and null agrees with nothing\n", view.Plural(l.Unseriable[at], "result is", "results are"), at)
			}
			return nil
		},
	}
}

func seriesParameters(s store.Series) map[string]any {
	if s.Parameters == "" {
		return nil
	}
	m, err := ijson.Object([]byte(s.Parameters))
	if err != nil {
		return map[string]any{"parameters": s.Parameters}
	}
	return m
}

// unique is how much of each fingerprint tells it from all others, at least as much as people compare.
func unique(list []store.Series) int {
	sorted := make([]string, len(list))
	for i, s := range list {
		sorted[i] = s.Fingerprint
	}
	slices.Sort(sorted)
	n := 10
	for i := 1; i < len(sorted); i++ {
		for n < len(sorted[i]) && sorted[i] != sorted[i-1] && sorted[i][:n] == sorted[i-1][:n] {
			n++
		}
	}
	return n
}

// seriesDocument is what series -json prints.
type seriesDocument struct {
	IdentitySchema string         `json:"identity_schema"`
	Series         []seriesEntry  `json:"series"`
	Unseriable     map[string]int `json:"unseriable"` // results without a series, by the pointer of the fact that is null
}

type seriesEntry struct {
	Series     string         `json:"series"`
	Estimator  string         `json:"estimator"`
	Project    string         `json:"project"`
	Workload   string         `json:"workload"`
	Parameters map[string]any `json:"parameters"`
	Quantity   string         `json:"quantity"`
	Unit       string         `json:"unit"`
	Points     int            `json:"points"`
	Latest     time.Time      `json:"latest"`
}

func listing(p identity.Policy, l *store.Listing) seriesDocument {
	out := seriesDocument{p.Name, []seriesEntry{}, l.Unseriable}
	for _, s := range l.Series {
		m := seriesParameters(s)
		if m == nil {
			m = map[string]any{}
		}
		out.Series = append(out.Series, seriesEntry{s.Fingerprint, s.Estimator, s.Project, s.Workload, m, s.Quantity, s.Unit, s.Points, time.UnixMicro(s.Last).UTC()})
	}
	return out
}

func seriesDiff() *cli.Command {
	return &cli.Command{
		Name: "diff", Usage: "say which facts make two series two", ArgsUsage: "SERIES SERIES",
		Description: "The latest results of both are compared by the facts that the identity policy matches.\n\n" +
			"Examples:\n  flameox series diff 3021551f 9bb8",
		Action: func(c *cli.Context) error {
			if c.NArg() != 2 {
				return misused(c, "series diff takes two series, each by the beginning of its fingerprint")
			}
			p, err := policy(c)
			if err != nil {
				return refused(err)
			}
			snap, _, err := read(c)
			if err != nil {
				return refused(err)
			}
			defer snap.Close()
			var last [2]store.Entry
			for i := range last {
				list, err := snap.History(c.Context, p, c.Args().Get(i))
				if err != nil {
					return refused(err)
				}
				last[i] = list[len(list)-1]
			}
			d := diffDocument{[2]string{last[0].Series, last[1].Series}, p.Name, differing(p, last)}
			if c.Bool("json") {
				return refused(cmdline.JSON(c, d))
			}
			t := &view.Table{Empty: "they are one series", Columns: []view.Column{{Title: "FACT", Keep: true}, {Title: last[0].Series[:10]}, {Title: last[1].Series[:10]}}}
			for _, f := range d.Facts {
				t.Rows = append(t.Rows, []string{f.Pointer, spelled(f.Values[0]), spelled(f.Values[1])})
			}
			return refused(t.Write(c.App.Writer, cmdline.View(c)))
		},
	}
}

// diffDocument is what series diff -json prints.
type diffDocument struct {
	Series         [2]string    `json:"series"`
	IdentitySchema string       `json:"identity_schema"`
	Facts          []differFact `json:"facts"`
}

type differFact struct {
	Pointer string `json:"pointer"`
	Values  [2]any `json:"values"` // null where a series has it not
}

func differing(p identity.Policy, last [2]store.Entry) []differFact {
	var values [2]map[string]any
	names := map[string]bool{}
	for i, e := range last {
		values[i] = map[string]any{"estimator": e.Estimator}
		for _, f := range p.Split(e.Document)[identity.Match] {
			values[i][f.Pointer] = f.Value
		}
		for k := range values[i] {
			names[k] = true
		}
	}
	out := []differFact{}
	for _, k := range document.Keys(names) {
		if !identity.Same(values[0][k], values[1][k]) {
			out = append(out, differFact{k, [2]any{values[0][k], values[1][k]}})
		}
	}
	return out
}

func spelled(v any) string {
	if v == nil {
		return "-"
	}
	if s, ok := v.(string); ok {
		return s
	}
	b, err := ijson.Canonical(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return strings.TrimSpace(string(b))
}
