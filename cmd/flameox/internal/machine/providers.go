package machine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/cmd/flameox/internal/cmdline"
	"github.com/flameox/flameox/internal/flags"
	"github.com/flameox/flameox/internal/view"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/stages/capability"
	"github.com/flameox/flameox/stages/environment"
)

// ProvidersDocument is what `providers -json` prints.
type ProvidersDocument struct {
	Format    int                  `json:"format_version"`
	Providers []*capability.Report `json:"providers"`
	Adapters  []AdapterReport      `json:"adapters"` // programs of third parties that the configuration declares; none where one provider was asked for
}

// Providers is the command providers.
func Providers() *cli.Command {
	return &cli.Command{
		Name: "providers", Usage: "say what each provider can do here, and what to do where it cannot", ArgsUsage: "[NAME]",
		Description: "Producers are looked for in the environments of the configuration and on PATH, and asked for their versions. Unqualified is a version, or a platform, that was " +
			"not tried out: it may work. With a name, what was tried out is printed too, and programs that lie in the project are asked, which a look at all of them never starts.\n\n" +
			"Examples:\n  flameox providers\n  flameox providers gobench",
		Flags:       append([]cli.Flag{cmdline.JSONFlag}, cmdline.VarFlags...),
		Subcommands: []*cli.Command{approve(), revoke()},
		Action: func(c *cli.Context) error {
			if c.NArg() > 1 {
				return flags.Usage(c, "providers takes one name, or none")
			}
			known := cmdline.Providers()
			list, named := known.All(), c.NArg() == 1
			if named {
				p, err := known.Lookup(c.Args().First())
				if err != nil {
					return err
				}
				list = []providers.Provider{p}
			}
			doc, err := ask(c, list, named)
			if err != nil {
				return err
			}
			switch {
			case c.Bool("json"):
				return cmdline.JSON(c, doc)
			case named:
				return printProvider(c, doc.Providers[0])
			}
			t := findings(doc.Providers)
			for _, a := range doc.Adapters {
				text := a.Version + " " + a.Program
				if a.Why != "" {
					text = a.Why
				}
				if a.Do != "" {
					text += ": " + a.Do
				}
				t.Rows = append(t.Rows, []string{"adapter." + a.Adapter, a.State, text})
			}
			return t.Write(c.App.Writer, cmdline.View(c))
		},
	}
}

// ask looks at providers in every place that there is.
func ask(c *cli.Context, list []providers.Provider, named bool) (*ProvidersDocument, error) {
	w, loaded, err := configuration(c)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	host, err := environment.New(nil, w.Project)
	if err != nil {
		return nil, err
	}
	var places []capability.Place
	if loaded != nil {
		for _, e := range loaded.Environments() {
			places = append(places, capability.Place{Name: e.Address, Type: e.Type, Interpreter: e.Interpreter, Host: e.Host})
		}
	}
	places = append(places, capability.Place{Host: host})
	doc := &ProvidersDocument{Format: 1, Providers: []*capability.Report{}, Adapters: []AdapterReport{}}
	if !named {
		doc.Adapters = adapters(loaded)
	}
	for _, p := range list {
		r, err := capability.Look(c.Context, w.Project, p, places, named)
		if err != nil {
			return nil, err
		}
		doc.Providers = append(doc.Providers, r)
	}
	w.Save()
	return doc, nil
}

// findings is one line for each provider and place.
func findings(reports []*capability.Report) *view.Table {
	t := &view.Table{Columns: []view.Column{{Keep: true}, {Keep: true}, {Wrap: true}}}
	for _, r := range reports {
		name := r.Provider
		for _, f := range distinct(r.Findings) {
			t.Rows = append(t.Rows, []string{name, string(f.State), sentence(r, f)})
			name = ""
		}
	}
	return t
}

// distinct leaves out environments in which nothing else was found than on PATH.
func distinct(list []capability.Finding) (out []capability.Finding) {
	path := slices.IndexFunc(list, func(f capability.Finding) bool { return f.Environment == "" })
	for _, f := range list {
		same := f
		same.Environment = ""
		if f.Environment == "" || path < 0 || same != list[path] || f.Executable == "" {
			out = append(out, f)
		}
	}
	return out
}

// sentence is what stands behind a state: the version and where, why, and the one thing to do.
func sentence(r *capability.Report, f capability.Finding) string {
	var parts []string
	where := ""
	switch {
	case f.Environment != "":
		where = "in " + f.Environment
	case f.Executable != "":
		where = f.Executable
	}
	if found := strings.TrimSpace(f.Version + " " + where); found != "" && (f.Version != "" || f.Why == "" || f.Environment != "") {
		parts = append(parts, found)
	}
	if f.Why != "" {
		parts = append(parts, f.Why)
	}
	text := strings.Join(parts, ": ")
	if f.Do != "" {
		text += ": " + f.Do
	}
	if len(r.Formats) > 0 && (f.State == capability.Absent || f.State == capability.Incompatible) {
		text += "; files can be imported"
	}
	return text
}

// printProvider prints one provider with its records.
func printProvider(c *cli.Context, r *capability.Report) error {
	o, out := cmdline.View(c), c.App.Writer
	if err := findings([]*capability.Report{r}).Write(out, o); err != nil {
		return err
	}
	about := &view.Table{Columns: []view.Column{{Keep: true}, {Wrap: true}}, Rows: [][]string{{"does", r.Doc}, {"modes", strings.Join(r.Modes, ", ")}}}
	if len(r.Formats) > 0 {
		about.Rows = append(about.Rows, []string{"imports", strings.Join(r.Formats, ", ")})
	}
	about.Rows = append(about.Rows, []string{"version", fmt.Sprintf("%d of the implementation", r.Version)})
	fmt.Fprintln(out)
	if err := about.Write(out, o); err != nil {
		return err
	}
	for _, q := range r.Qualifications {
		fmt.Fprintln(out)
		t := &view.Table{Columns: []view.Column{{Title: "tried out", Keep: true}, {Title: title(q), Wrap: true}}}
		row := func(name string, values ...string) {
			for _, v := range values {
				t.Rows = append(t.Rows, []string{name, v})
				name = ""
			}
		}
		row("  artifacts", q.Origin)
		row("  seen to work", q.Exercised...)
		row("  not looked at", q.Blind...)
		row("  test", q.Test)
		if err := t.Write(out, o); err != nil {
			return err
		}
	}
	return nil
}

// title is the version that a record is of, what it claims, and where.
func title(q providers.Qualification) string {
	text := q.Version
	if q.Version == "" {
		text = "any program"
	}
	if q.Series != "" {
		text += ", for " + q.Claim()
	}
	if len(q.Platforms) > 0 {
		return text + ", on " + strings.Join(q.Platforms, ", ")
	}
	return text + ", read only"
}
