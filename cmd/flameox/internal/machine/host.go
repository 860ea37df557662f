package machine

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/cmd/flameox/internal/cmdline"
	"github.com/flameox/flameox/graph/facet"
	"github.com/flameox/flameox/internal/flags"
	facts "github.com/flameox/flameox/internal/host"
	"github.com/flameox/flameox/internal/view"
	"github.com/flameox/flameox/stages"
	"github.com/flameox/flameox/stages/host"
	"github.com/flameox/flameox/stages/workspace"
)

// HostDocument is what `host -json` prints.
type HostDocument struct {
	Format     int               `json:"format_version"`
	Name       string            `json:"name"`       // host name; in no key
	Class      map[string]string `json:"class"`      // in the key of every measurement
	Covariates map[string]string `json:"covariates"` // recorded and compared, in no key
	Volatile   map[string]string `json:"volatile"`   // recorded only
	Declared   []DeclaredHost    `json:"declared"`   // the host blocks of the configuration
}

// DeclaredHost is a host block and whether this machine is of its class.
type DeclaredHost struct {
	Host    string       `json:"host"`
	Is      bool         `json:"is"`
	Differs []FactDiffer `json:"differs"`
}

// FactDiffer is a fact in which this machine is not as declared.
type FactDiffer struct {
	Name     string `json:"name"`
	Declared string `json:"declared"`
	Observed string `json:"observed,omitempty"` // missing where the machine does not tell it
}

// Host is the command host.
func Host() *cli.Command {
	return &cli.Command{
		Name: "host", Usage: "say what this machine is, and what of it is in keys",
		Description: "The class is in the key of every measurement that names no host block: results of one class of machine do not stand for another. Covariates tell machines of " +
			"one class apart, and one machine on two days; diff compares them. The rest is recorded. Host blocks of the configuration are compared with the class.\n\n" +
			"Examples:\n  flameox host\n  flameox host -json",
		Flags: append([]cli.Flag{cmdline.JSONFlag}, cmdline.VarFlags...),
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return flags.Usage(c, "host takes no arguments")
			}
			now := facts.Observe()
			doc := &HostDocument{Format: 1, Name: now.Name, Class: now.Class, Covariates: now.Covariates, Volatile: now.Volatile, Declared: []DeclaredHost{}}
			_, loaded, err := configuration(c)
			if err != nil {
				return err
			}
			if loaded != nil {
				for _, f := range host.Fits(loaded.Hosts(), now.Class) {
					doc.Declared = append(doc.Declared, declared(f))
				}
			}
			if c.Bool("json") {
				return cmdline.JSON(c, doc)
			}
			return doc.write(c)
		},
	}
}

// configuration opens the workspace, and loads the configuration where there is one that can be read. One that cannot is said and left out: what this
// machine is does not depend on it.
func configuration(c *cli.Context) (*workspace.Workspace, *stages.Experiment, error) {
	w, err := cmdline.Open(c)
	if err != nil {
		return nil, nil, err
	}
	loaded, diags := w.Load()
	if diags.HasErrors() {
		if len(w.Config.Files) > 0 {
			fmt.Fprintln(c.App.ErrWriter, "Warning: the configuration has errors and is left out; `flameox validate` prints them")
		}
		return w, nil, nil
	}
	return w, loaded, nil
}

func declared(f host.Fit) DeclaredHost {
	d := DeclaredHost{Host: f.Host, Is: len(f.Differs) == 0, Differs: []FactDiffer{}}
	for _, ch := range f.Differs {
		d.Differs = append(d.Differs, FactDiffer{ch.Name, ch.Old, ch.New})
	}
	return d
}

// write prints the document for people.
func (doc *HostDocument) write(c *cli.Context) error {
	o := cmdline.View(c)
	title := strings.Join(slices.DeleteFunc([]string{doc.Name, facts.Describe(doc.Class, " · ")}, func(s string) bool { return s == "" }), "   ")
	sections := []*view.Table{{Rows: [][]string{{title}}, Columns: []view.Column{{Wrap: true}}}}
	for _, s := range []struct {
		title, says string
		facts       map[string]string
	}{
		{"class", "in the key of measurements", doc.Class},
		{"covariates", "recorded and compared, in no key", doc.Covariates},
		{"volatile", "recorded only", doc.Volatile},
	} {
		t := &view.Table{Columns: []view.Column{{Title: s.title, Keep: true}, {Title: s.says, Wrap: true}}}
		for _, name := range slices.Sorted(maps.Keys(s.facts)) {
			t.Rows = append(t.Rows, []string{"  " + name, s.facts[name]})
		}
		sections = append(sections, t)
	}
	if len(doc.Declared) > 0 {
		t := &view.Table{Columns: []view.Column{{Title: "declared", Keep: true}, {Title: "whether this machine is one", Wrap: true}}}
		for _, d := range doc.Declared {
			t.Rows = append(t.Rows, []string{"  " + d.Host, d.sentence()})
		}
		sections = append(sections, t)
	}
	for i, t := range sections {
		if i > 0 {
			fmt.Fprintln(c.App.Writer)
		}
		if err := t.Write(c.App.Writer, o); err != nil {
			return err
		}
	}
	return nil
}

func (d DeclaredHost) sentence() string {
	if d.Is {
		return "yes"
	}
	var differ []facet.Change
	for _, f := range d.Differs {
		differ = append(differ, facet.Change{Name: f.Name, Old: f.Declared, New: f.Observed})
	}
	return "no: " + host.Sentence(differ)
}

// AsFlag names the machine that a plan is made for.
var AsFlag = &cli.StringFlag{Name: "host", Usage: "plan as if on `NAME`: a host block, or a machine that runs were made on"}

// PlanAs makes what is planned in the workspace be planned as on the machine that the flag names; nil where it names none.
func PlanAs(c *cli.Context, w *workspace.Workspace, loaded *stages.Experiment) (*host.Machine, error) {
	if !c.IsSet(AsFlag.Name) {
		return nil, nil
	}
	seen, err := host.Seen(w.Store.Cache.All())
	if err != nil {
		return nil, err
	}
	m, err := host.Choose(c.String(AsFlag.Name), loaded.Hosts(), seen, &host.Machine{Name: facts.Name(), Class: w.Project.HostClass})
	if err != nil {
		return nil, err
	}
	w.As(m.Class)
	return m, nil
}
