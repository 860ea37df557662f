package completion

import (
	"context"
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/cmd/flameox/internal/cmdline"
	"github.com/flameox/flameox/cmd/flameox/internal/configure"
	"github.com/flameox/flameox/cmd/flameox/internal/manual"
	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/internal/address"
	"github.com/flameox/flameox/internal/vfs"
	"github.com/flameox/flameox/stages/workspace"
)

// mostRuns is how many runs are offered: more than that nobody looks through.
const mostRuns = 50

// experiment is the Source that reads the experiment of a folder, when it is first asked for something of it.
type experiment struct {
	ctx            context.Context
	app            *cli.App
	dir            string
	vars, varFiles []string

	opened bool
	w      *workspace.Workspace
}

// open is the workspace, or nil.
func (e *experiment) open() *workspace.Workspace {
	if e.opened {
		return e.w
	}
	e.opened = true
	w, err := workspace.Open(e.ctx, workspace.Options{
		Dir: e.dir, Environ: os.Environ(), Vars: e.vars, VarFiles: e.varFiles,
		Version: cmdline.Version(), Now: time.Now, FS: vfs.OS{}, Providers: cmdline.Providers(),
	})
	if err != nil {
		return nil
	}
	w.Store.StepBack("completion of a command line")
	e.w = w
	return w
}

// Named answers for the placeholders of flameox.
func (e *experiment) Named(placeholder, prefix string, before []string) ([]Candidate, bool) {
	switch placeholder {
	case "ADDRESS":
		return e.addresses(prefix), true
	case "RUN":
		return e.runs(prefix), true
	case "NAME=VALUE":
		return e.variables(), true
	case "NAME":
		return e.artifacts(before), true
	case "TABLE":
		return tables(), true
	case "BLOCK":
		return append(blocks(), Candidate{"tables", "the tables of the evidence"}), true
	case "LABEL":
		return labels(before), true
	case "COMMAND":
		return e.commands(before), true
	case "PROVIDER":
		return readers(), true
	case "FILEFORMAT":
		return formats(), true
	}
	return nil, false
}

// addresses are the stages of the configuration and those that have runs. Instances are offered once their block is typed, in the
// form that prefix has begun: a block may have thousands.
func (e *experiment) addresses(prefix string) (out []Candidate) {
	w := e.open()
	if w == nil {
		return nil
	}
	block := prefix
	form := byte(':')
	if i := strings.IndexAny(prefix, ":["); i >= 0 {
		block, form = prefix[:i], prefix[i]
	}
	seen := map[string]bool{}
	add := func(a address.Address) {
		if !seen[a.Block] {
			seen[a.Block] = true
			out = append(out, Candidate{Value: a.Block})
			if len(a.Axes) > 0 && a.Block == prefix {
				out = append(out, Candidate{a.Block + ":", "one instance"})
			}
		}
		if len(a.Axes) == 0 || a.Block != block || block == prefix {
			return
		}
		value := a.Block + ":" + a.Axes.Key()
		if form == '[' {
			value = a.String()
		}
		if !seen[value] {
			seen[value] = true
			out = append(out, Candidate{Value: value})
		}
	}
	if loaded, diags := w.Load(); !diags.HasErrors() {
		for _, n := range loaded.Graph.Nodes {
			if n.Stage != nil {
				add(n.Address)
			}
		}
	}
	for _, r := range w.Store.Cache.All() {
		if a, err := address.Parse(r.Address); err == nil && r.Experiment == w.Store.Experiment {
			add(a)
		}
	}
	return out
}

// runs are the newest ones, newest first.
func (e *experiment) runs(prefix string) (out []Candidate) {
	w := e.open()
	if w == nil {
		return nil
	}
	all := w.Store.Cache.All()
	for i := len(all) - 1; i >= 0 && len(out) < mostRuns; i-- {
		r := all[i]
		if r.Experiment == w.Store.Experiment && strings.HasPrefix(r.Run, prefix) {
			out = append(out, Candidate{r.Run, r.Address + ", " + string(r.Validation) + ", " + r.Started.Local().Format("2006-01-02 15:04")})
		}
	}
	return out
}

func (e *experiment) variables() (out []Candidate) {
	if w := e.open(); w != nil {
		for _, v := range w.Config.Variables {
			out = append(out, Candidate{v.Name + "=", v.Description})
		}
	}
	return out
}

// artifacts are what the newest run of the stage named before left, or that run.
func (e *experiment) artifacts(before []string) (out []Candidate) {
	w := e.open()
	if w == nil || len(before) == 0 {
		return nil
	}
	of, err := address.Parse(before[0])
	all := w.Store.Cache.All()
	for i := len(all) - 1; i >= 0; i-- {
		r := all[i]
		if r.Experiment != w.Store.Experiment || r.Run != before[0] && (err != nil || r.Address != of.String()) {
			continue
		}
		for _, o := range r.Outputs {
			out = append(out, Candidate{Value: o.Name})
		}
		return out
	}
	return nil
}

func tables() (out []Candidate) {
	for _, t := range evidence.Tables() {
		out = append(out, Candidate{t.Name, t.Doc})
	}
	return out
}

func readers() (out []Candidate) {
	for _, p := range cmdline.Providers().All() {
		out = append(out, Candidate{p.Name(), p.Doc()})
	}
	return out
}

// formats are those that a file may be imported as.
func formats() (out []Candidate) {
	for _, f := range cmdline.Providers().Formats() {
		out = append(out, Candidate{f.Name, f.MediaType})
	}
	return out
}

func blocks() (out []Candidate) {
	seen := map[string]bool{}
	for _, b := range configure.Language().Blocks {
		if !seen[b.Type] {
			seen[b.Type] = true
			out = append(out, Candidate{Value: b.Type})
		}
	}
	return out
}

func labels(before []string) (out []Candidate) {
	if len(before) == 0 {
		return nil
	}
	if before[0] == "tables" {
		return tables()
	}
	for _, b := range configure.Language().Blocks {
		if b.Type == before[0] && b.Kind != "" {
			out = append(out, Candidate{b.Kind, b.Doc})
		}
	}
	return out
}

// commands are those that may follow the ones named before.
func (e *experiment) commands(before []string) (out []Candidate) {
	for _, p := range manual.Pages(e.app) {
		if len(p.Path) != len(before)+2 || strings.Join(p.Path[1:len(p.Path)-1], " ") != strings.Join(before, " ") {
			continue
		}
		out = append(out, Candidate{p.Path[len(p.Path)-1], p.Usage})
	}
	return out
}
