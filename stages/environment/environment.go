// Package environment is the stage kind that says where programs run: which variables they see and where programs are
// found. Programs never inherit the caller's environment; what they need is declared here. An environment of a language has packages
// besides, which are locked, and is built (the packages below this one say how).
package environment

import (
	"fmt"
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/facet"
	"github.com/flameox/flameox/lang"
	"github.com/flameox/flameox/stages/environment/managed"
	"github.com/flameox/flameox/stages/environment/node"
	"github.com/flameox/flameox/stages/environment/python"
	"github.com/flameox/flameox/stages/kind"
)

// Kind is the block `environment`.
type Kind struct{}

// Options of `environment "host"`.
type Options struct {
	Path      []string          `arg:"path,optional" doc:"folders that programs are searched in, in order, relative to the configuration; the caller's PATH where missing. The program that a stage names is keyed by its content; the list is keyed too, because programs start others." facet:"command"`
	Variables map[string]string `arg:"variables,optional" doc:"environment variables of every program" facet:"command"`
	Inherit   []string          `arg:"inherit,optional" doc:"names of the caller's variables to pass on; name and value are part of the key" facet:"command"`
	Untracked []string          `arg:"untracked,optional" doc:"names of the caller's variables to pass on that do not change what a program computes, such as where a cache lies; recorded, not part of the key" facet:"exempt: declared not to change results"`
}

// Host is a constructed environment.
type Host struct {
	Path      string            // value of PATH
	Declared  []string          // the folders of PATH as declared, which enter the key; nil where PATH is the caller's, which does not
	Tracked   map[string]string // variables that enter the key
	Untracked map[string]string // variables that are recorded only
	Runtime   managed.Runtime   // what has to stand first; nil where that is nothing
}

// BlockType describes the block.
func (Kind) BlockType() lang.BlockType {
	return lang.BlockType{
		Type: "environment", Labels: []string{"type", "name"},
		Doc: "Where programs run.",
		Schemas: map[string]*lang.Schema{
			"host": {
				Doc:     "The machine's own programs, with a constructed environment: PATH, a private HOME and TMPDIR, LANG=C.UTF-8, and what is declared here.",
				Options: &Options{},
				Stage:   true,
			},
			"python": {
				Doc: "A virtual environment with the packages of a hash-locked requirements file and no others, over a base interpreter. It is built when it is " +
					"first needed, and again where it was damaged. Commands start it as python; programs of packages as python -m name.",
				Options: &python.Options{},
				Stage:   true,
			},
			"node": {
				Doc: "A node_modules folder with the packages of a package-lock.json and no others, over a base interpreter. It is built when it is first needed, and " +
					"again where it was damaged. Commands start it as node, and programs of its packages by their names.",
				Options: &node.Options{},
				Stage:   true,
			},
		},
	}
}

// Compile makes an identity node of the host's environment, and a pure one of one that is built.
func (Kind) Compile(inst *lang.Instance, c *kind.Compiler) (*kind.Compiled, error) {
	if o, ok := inst.Options.(*python.Options); ok {
		return compilePython(inst, o, c)
	}
	if o, ok := inst.Options.(*node.Options); ok {
		return compileNode(inst, o, c)
	}
	host, err := New(inst.Options.(*Options), c.Project)
	if err != nil {
		return nil, err
	}
	return &kind.Compiled{Node: c.Node(inst, graph.Identity, nil), Value: host}, nil
}

func compilePython(inst *lang.Instance, o *python.Options, c *kind.Compiler) (*kind.Compiled, error) {
	host, err := New(&Options{Path: o.Path, Variables: o.Variables, Inherit: o.Inherit, Untracked: o.Untracked}, c.Project)
	if err != nil {
		return nil, err
	}
	var install []*graph.Node
	for _, b := range o.Install.Instances {
		install = append(install, c.Of(b).Node)
	}
	runtime, err := python.New(inst.Block.Address(), o, c.Project, host.Path, install)
	if err != nil {
		return nil, err
	}
	host.Runtime = runtime
	n := c.Node(inst, graph.Pure, runtime)
	n.Attempts = 1
	n.Command = "build " + o.Requirements
	return &kind.Compiled{Node: n, Value: host, Exact: true}, nil
}

func compileNode(inst *lang.Instance, o *node.Options, c *kind.Compiler) (*kind.Compiled, error) {
	host, err := New(&Options{Path: o.Path, Variables: o.Variables, Inherit: o.Inherit, Untracked: o.Untracked}, c.Project)
	if err != nil {
		return nil, err
	}
	runtime, err := node.New(inst.Block.Address(), o, c.Project, host.Path)
	if err != nil {
		return nil, err
	}
	host.Runtime = runtime
	n := c.Node(inst, graph.Pure, runtime)
	n.Attempts = 1
	n.Command = "build " + o.Lock
	return &kind.Compiled{Node: n, Value: host, Exact: true}, nil
}

// New constructs the environment that options declare; a nil options is the one of a stage that names no environment.
func New(o *Options, p *kind.Project) (*Host, error) {
	p.Reads.Env("PATH")
	h := &Host{Path: p.Environ["PATH"], Tracked: map[string]string{}, Untracked: map[string]string{}}
	if o == nil {
		return h, nil
	}
	if len(o.Path) > 0 {
		dirs := make([]string, len(o.Path))
		for i, d := range o.Path {
			if !filepath.IsAbs(d) {
				d = filepath.Join(p.Root, p.Dir, d)
			}
			dirs[i] = d
		}
		h.Declared = o.Path
		h.Path = strings.Join(dirs, string(filepath.ListSeparator))
	}
	for _, name := range o.Inherit {
		if err := inheritable(name); err != nil {
			return nil, err
		}
		p.Reads.Env(name)
		if v, ok := p.Environ[name]; ok {
			h.Tracked[name] = v
		}
	}
	for name, v := range o.Variables {
		if err := valid(name); err != nil {
			return nil, err
		}
		h.Tracked[name] = v
	}
	for _, name := range o.Untracked {
		if err := inheritable(name); err != nil {
			return nil, err
		}
		if _, twice := h.Tracked[name]; twice {
			return nil, fmt.Errorf("%s is both untracked and part of the key; name it once", name)
		}
		p.Reads.Env(name)
		if v, ok := p.Environ[name]; ok {
			h.Untracked[name] = v
		}
	}
	return h, nil
}

func valid(name string) error {
	if name == "" || strings.ContainsAny(name, "=\x00") {
		return fmt.Errorf("%q is not a name of an environment variable", name)
	}
	if name == "PATH" {
		return fmt.Errorf("PATH is set with the argument path, so that the programs found are keyed by content")
	}
	return nil
}

// inheritable refuses what would change a program behind the reader's back or carry a secret into a record.
func inheritable(name string) error {
	if err := valid(name); err != nil {
		return err
	}
	switch {
	case name == "LD_PRELOAD", name == "LD_LIBRARY_PATH", name == "PYTHONPATH", strings.HasPrefix(name, "DYLD_"):
		return fmt.Errorf("%s is never taken from the caller, because it changes what really runs; set it with variables where it is meant", name)
	}
	upper := strings.ToUpper(name)
	for _, s := range []string{"SECRET", "TOKEN", "PASSWORD", "PASSWD", "CREDENTIAL", "PRIVATE_KEY", "API_KEY"} {
		if strings.Contains(upper, s) {
			return fmt.Errorf("%s looks like a secret, and what is inherited is recorded beside every result", name)
		}
	}
	return nil
}

// Facts adds to the command facet what is part of the key: the declared folders of PATH, and the variables together with more, which win.
func (h *Host) Facts(f *facet.Facet, more map[string]string) {
	for i, d := range h.Declared {
		f.Add("path["+strconv.Itoa(i)+"]", d)
	}
	all := map[string]string{}
	for k, v := range h.Tracked {
		all[k] = v
	}
	for k, v := range more {
		all[k] = v
	}
	names := make([]string, 0, len(all))
	for k := range all {
		names = append(names, k)
	}
	sort.Strings(names)
	for _, k := range names {
		f.Add("env."+k, all[k])
	}
}
