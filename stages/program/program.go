package program

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/flameox/flameox/graph/facet"
	"github.com/flameox/flameox/internal/token"
	"github.com/flameox/flameox/lang"
	"github.com/flameox/flameox/stages/environment"
	"github.com/flameox/flameox/stages/kind"
	"github.com/flameox/flameox/stages/target"
)

// OutToken is the token that every command may use: the private folder for what it writes.
var OutToken = []lang.Attr{{Name: "out.dir", Type: cty.String, Doc: "the private folder for what the command writes; outputs are taken from it"}}

// outDir is the name of that token.
const outDir = "out.dir"

// upstreamPrefix begins the names under which upstream outputs stand in keys.
const upstreamPrefix = "upstream#"

// Declared is a command as a block declares it. Strings may hold tokens.
type Declared struct {
	Command     []string
	Cwd         string // relative to the configuration
	Env         map[string]string
	Sources     []string // nil: the default list; empty: none
	Environment lang.Ref
	Target      lang.Ref
	Timeout     time.Duration
	Grace       time.Duration
	ExpectExit  []int
	OutputLimit int64
	MemoryLimit int64
}

// Program is a declared command with what its tokens stand for. It is immutable.
type Program struct {
	Declared
	Dir     string // working directory relative to the project root, "" for the root
	Host    *environment.Host
	target  *target.Target // nil where none is declared
	project *kind.Project
	tokens  map[string]kind.Token
	starts  []string      // further programs that it starts
	session *kind.Session // what runs beside it; nil where nothing may
}

// New checks a declaration. Errors name the argument.
func New(d Declared, c *kind.Compiler) (*Program, error) {
	if len(d.Command) == 0 || d.Command[0] == "" {
		return nil, fmt.Errorf("command is empty: give the program and its arguments as a list")
	}
	if d.Grace < 0 || d.Grace > time.Minute {
		return nil, fmt.Errorf("grace is %s: give at most 60s", d.Grace)
	}
	if d.Timeout <= 0 || d.Timeout > 24*time.Hour {
		return nil, fmt.Errorf("timeout is %s: give more than 0 and at most 24h", d.Timeout)
	}
	if path.IsAbs(d.Cwd) {
		return nil, fmt.Errorf("cwd is %q: give a folder relative to the configuration", d.Cwd)
	}
	dir := path.Join(c.Project.Dir, d.Cwd)
	if dir == ".." || strings.HasPrefix(dir, "../") {
		return nil, fmt.Errorf("cwd is %q, which leaves the project", d.Cwd)
	}
	if dir == "." {
		dir = ""
	}
	for name := range d.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return nil, fmt.Errorf("env has the name %q, which no variable can have", name)
		}
		if name == "PATH" {
			return nil, fmt.Errorf("env sets PATH: set path in an environment block instead, so that the programs found are keyed by content")
		}
	}
	p := &Program{Declared: d, Dir: dir, project: c.Project}
	var err error
	if p.Host, err = kind.Value[*environment.Host](c, d.Environment); err == nil && p.Host == nil {
		p.Host, err = environment.New(nil, c.Project)
	}
	if err != nil {
		return nil, err
	}
	if p.target, err = kind.Value[*target.Target](c, d.Target); err != nil {
		return nil, err
	}
	return p.with(c), nil
}

// Starting is the program where it starts others itself, whose content is part of the key as its own is.
func (p *Program) Starting(programs []string) *Program {
	q := *p
	q.starts = programs
	return &q
}

// With is the program with other arguments, more variables and no other change: what a provider makes of a workload.
func (p *Program) With(argv []string, env map[string]string, c *kind.Compiler) *Program {
	q := *p
	q.Command, q.session = argv, nil
	if len(env) > 0 {
		q.Env = map[string]string{}
		for k, v := range p.Env {
			q.Env[k] = v
		}
		for k, v := range env {
			q.Env[k] = v
		}
	}
	return q.with(c)
}

// Behind is the program with something in front of its command, and no other change: also its session is the same.
func (p *Program) Behind(prefix []string, c *kind.Compiler) *Program {
	q := *p
	q.Command = slices.Concat(prefix, p.Command)
	return q.with(c)
}

// Session is the program's, for others to join: what runs of it is a session of its own.
func (p *Program) Session() *kind.Session {
	if p.session == nil {
		c := &canonical{p: p, index: map[string]int{}}
		p.commandFacet(c)
		p.session = &kind.Session{Leases: c.leases}
	}
	return p.session
}

func (p *Program) with(c *kind.Compiler) *Program {
	texts := append([]string{}, p.Command...)
	for _, v := range p.trackedEnv() {
		texts = append(texts, v)
	}
	p.tokens = c.Tokens(texts...)
	return p
}

// Display is the command as a person would write it, tokens named.
func (p *Program) Display() string {
	args := make([]string, len(p.Command))
	for i, a := range p.Command {
		args[i] = quoteShell(Brief(token.Display(a)))
	}
	return strings.Join(args, " ")
}

// Brief is an argument as it is shown to a person: of a program text, such as that of `python -c`, only how it begins. The whole
// is in the record.
func Brief(arg string) string {
	const most = 60
	first, _, more := strings.Cut(arg, "\n")
	if !more || len(arg) <= most {
		return arg
	}
	if r := []rune(first); len(r) > most {
		first = string(r[:most])
	}
	return first + "…"
}

// canonical numbers the tokens of upstream stages, and leases, in order of first use, so that a key holds what a token stands for
// and never the name of a block.
type canonical struct {
	p      *Program
	order  []string
	index  map[string]int
	leases []kind.Lease
	files  []kind.File
}

// toolPrefix begins the names under which files that flameox keeps stand in keys.
const toolPrefix = "tool#"

// leasePrefix begins the names under which leases stand in keys.
const leasePrefix = "server#"

func (c *canonical) text(s string) string {
	out, err := token.Expand(s, func(name string) (string, error) {
		t, known := c.p.tokens[name]
		attr := name[strings.LastIndexByte(name, '.')+1:]
		switch {
		case !known:
			return "${" + name + "}", nil
		case t.Lease != nil:
			return "${" + leasePrefix + strconv.Itoa(c.lease(t.Lease)) + "." + attr + "}", nil
		case t.File != nil:
			return "${" + toolPrefix + strconv.Itoa(c.file(t.File)) + "." + attr + "}", nil
		}
		i, ok := c.index[name]
		if !ok {
			i = len(c.order) + 1
			c.index[name] = i
			c.order = append(c.order, name)
		}
		return "${" + upstreamPrefix + strconv.Itoa(i) + "." + attr + "}", nil
	})
	if err != nil {
		return s // Prepare reports a token that was cut apart before anything runs
	}
	return out
}

// lease is the number of a lease, from 1.
func (c *canonical) lease(l kind.Lease) int {
	i := slices.Index(c.leases, l)
	if over, ok := l.(kind.Over); ok && i < 0 && over.On() != nil {
		c.lease(over.On()) // it is started first
	}
	if i < 0 {
		i = len(c.leases)
		c.leases = append(c.leases, l)
	}
	return i + 1
}

// file is the number of a file, from 1.
func (c *canonical) file(f kind.File) int {
	i := slices.Index(c.files, f)
	if i < 0 {
		i = len(c.files)
		c.files = append(c.files, f)
	}
	return i + 1
}

// commandFacet is argv, working directory and environment, with tokens in place of values.
func (p *Program) commandFacet(c *canonical) facet.Facet {
	f := facet.Facet{Name: facet.Command}
	for i, a := range p.Command {
		f.Add("argv["+strconv.Itoa(i)+"]", c.text(a))
	}
	f.Add("cwd", p.Dir)
	env := p.trackedEnv()
	for _, k := range sortedKeys(env) { // the order numbers the tokens
		env[k] = c.text(env[k])
	}
	p.Host.Facts(&f, env)
	return f
}

// identity is the facet of what the program stands on; without entries where that is nothing but its inputs.
func (p *Program) identity() facet.Facet {
	f := facet.Facet{Name: facet.Identity}
	if p.target != nil {
		f.Add("target", p.target.Identity)
	}
	return f
}

// trackedEnv are the variables that are part of the key: the environment's, and over them the program's own.
func (p *Program) trackedEnv() map[string]string {
	env := maps.Clone(p.Host.Tracked)
	maps.Copy(env, p.Env)
	return env
}

// HostClass is the facet of the class of machine.
func HostClass(p *kind.Project) facet.Facet {
	f := facet.Facet{Name: facet.HostClass}
	for _, name := range sortedKeys(p.HostClass) {
		f.Add(name, p.HostClass[name])
	}
	return f
}
