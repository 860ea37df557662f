package lang

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/flameox/flameox/lang/bounded"
	"github.com/flameox/flameox/lang/funcs"
	"github.com/flameox/flameox/lang/source"
	"github.com/flameox/flameox/lang/syntax"
)

// Input is what a configuration is loaded with besides its files.
type Input struct {
	Values
	// Root is the project root, which no path may leave; the directory of the configuration where it is empty.
	Root string
	// Version is flameox's own, which required_version is compared with; not compared where it is empty.
	Version string
	// Open and ReadDir replace the operating system's where they are not nil. They get absolute paths.
	Open    func(path string) (fs.File, error)
	ReadDir func(path string) ([]fs.DirEntry, error)
	// GitRevision resolves a revision to a commit id for git_revision; nil where there is no git.
	GitRevision func(revision string) (string, error)
}

// Read is one file, directory listing, environment variable or revision that was looked at.
type Read = source.Read

// The kinds of reads.
const (
	ReadFile = source.File
	ReadDir  = source.Dir
	ReadEnv  = source.Env
	ReadGit  = source.Git
)

// Config is a loaded configuration.
type Config struct {
	Dir  string // absolute
	Root string // absolute
	// Settings of the flameox block, defaults filled in.
	Settings  Settings
	Variables []*Variable // in order of declaration
	Blocks    []*Block    // in order of declaration: by file name, then position
	// Files are the sources by the names that diagnostics use, for Render.
	Files map[string]*hcl.File
	// Reads is everything that was looked at, in order; Expand adds to it.
	Reads []Read

	reg     *Registry
	reader  *source.Reader
	suggest suggester
	funcs   map[string]function.Function
	budget  bounded.Budget
	diags   hcl.Diagnostics

	nodes  []*node
	index  map[string]*node // by address
	values evaluated
	checks []*checkDecl
	outs   []*outputDecl

	syntaxErrors bool // what a file lacks is unknown, so nothing may be called missing
}

func (c *Config) report(d ...*hcl.Diagnostic) { c.diags = append(c.diags, d...) }

const (
	configName   = "flameox.hcl"
	configSuffix = ".flameox.hcl"
)

// Load reads flameox.hcl and every *.flameox.hcl in dir, evaluates variables and locals, and checks types, labels, arguments
// and references. The Config is never nil; with errors it holds what could be understood.
func Load(dir string, reg *Registry, in Input) (*Config, hcl.Diagnostics) {
	c := &Config{reg: reg, Files: map[string]*hcl.File{}, index: map[string]*node{}}
	c.Settings.StoreKeep = defaultKeep
	defer func() { c.Reads = c.reader.Reads() }()
	c.reader = &source.Reader{Open: in.Open, ReadDir: in.ReadDir, Environ: environMap(in.Environ)}
	var err error
	if c.Dir, err = filepath.Abs(dir); err == nil {
		c.Root = c.Dir
		if in.Root != "" {
			c.Root, err = filepath.Abs(in.Root)
		}
	}
	if err != nil {
		return c, hcl.Diagnostics{errorNowhere(sumNoConfig, "Cannot find the directory %q: %s.", dir, err)}
	}
	c.reader.Root, c.reader.Dir = c.Root, c.Dir

	top := c.readFiles()
	if top == nil {
		return c, c.finish()
	}
	c.loadSettings(top["flameox"], in)
	c.funcs = funcs.Table(funcs.Host{Reader: c.reader, Budget: &c.budget, Env: c.Settings.Env, GitRevision: in.GitRevision})
	c.declareBlocks(top)
	if c.syntaxErrors {
		return c, c.finish()
	}
	c.loadVariables(top["variable"], in.Values)
	c.loadLocals(top["locals"])
	for _, n := range c.nodes {
		c.analyseNode(n)
	}
	c.loadOutputs(top["output"])
	c.loadChecks(top["check"])
	return c, c.finish()
}

// finish hands over the diagnostics collected so far.
func (c *Config) finish() hcl.Diagnostics {
	d := sortDiags(c.diags)
	c.diags = nil
	return d
}

// readFiles parses the files and returns the top-level blocks by type, or nil where there is nothing to look at.
func (c *Config) readFiles() map[string][]*hclsyntax.Block {
	entries, err := c.reader.List(".")
	if err != nil {
		c.report(errorNowhere(sumNoConfig, "Cannot list the directory %s: %s. Run the command where flameox.hcl is, or name that directory.", c.Dir, err))
		return nil
	}
	var names []string
	for _, e := range entries {
		if n := e.Name(); n == configName || strings.HasSuffix(n, configSuffix) && !strings.HasPrefix(n, ".") {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	if len(names) == 0 {
		c.report(errorNowhere(sumNoConfig, "There is no flameox.hcl and no *.flameox.hcl in %s. Run the command where one is, choose the folder with -C, or write one: the README begins with an example.", c.Dir))
		return nil
	}
	top := map[string][]*hclsyntax.Block{}
	for _, name := range names {
		body := c.readFile(name)
		if body == nil {
			c.syntaxErrors = true
			continue
		}
		for _, a := range body.Attributes {
			c.report(errorAt(sumMisplacedArg, a.NameRange, "An argument belongs in a block. For a named value, write locals { %s = … }.", a.Name))
		}
		for _, b := range body.Blocks {
			top[b.Type] = append(top[b.Type], b)
		}
	}
	return top
}

func (c *Config) readFile(name string) *hclsyntax.Body {
	src, err := c.reader.ReadFile(name)
	if err != nil {
		s := sumUnreadable
		if errors.Is(err, source.ErrTooLarge) {
			s = sumFileTooLarge
		}
		c.report(errorAt(s, hcl.Range{Filename: name, Start: hcl.InitialPos, End: hcl.InitialPos}, "%s.", capital(err.Error())))
		return nil
	}
	c.Files[name] = &hcl.File{Bytes: src}
	if p := source.CheckText(src, name); p != nil {
		c.report(errorAt(sumNotText, p.Range, "%s", p.Why))
		return nil
	}
	f, problems, diags := syntax.Parse(src, name, func(part *hclsyntax.Body) { bounded.Watch(part, &c.budget) })
	if len(problems) > 0 {
		for _, p := range problems {
			c.report(fromProblem(p))
		}
		return nil
	}
	c.Files[name] = f
	if diags.HasErrors() {
		c.report(fromHCL(sumSyntax, diags, "", false)...)
		return nil
	}
	return f.Body.(*hclsyntax.Body)
}

// acceptable says whether a parser may see src, and reports why not.
func (c *Config) acceptable(src []byte, name string) bool {
	if p := source.CheckText(src, name); p != nil {
		c.report(errorAt(sumNotText, p.Range, "%s", p.Why))
		return false
	}
	problems := source.CheckConfig(src, name)
	for _, p := range problems {
		c.report(fromProblem(p))
	}
	return len(problems) == 0
}

func fromProblem(p source.Problem) *hcl.Diagnostic {
	s := map[source.Fault]summary{source.NotText: sumNotText, source.TooDeep: sumTooDeep, source.BadNumber: sumBadNumber, source.Escaped: sumNUL}[p.Fault]
	return errorAt(s, p.Range, "%s", p.Why)
}

// ResolvePath turns a path as an argument holds it, relative to the configuration's directory, into one relative to the
// project root, with slashes. It is an error where it is absolute or leaves the root.
func (c *Config) ResolvePath(p string) (string, error) { return c.reader.Resolve(p) }

func environMap(environ []string) map[string]string {
	m := make(map[string]string, len(environ))
	for _, kv := range environ {
		if name, value, ok := strings.Cut(kv, "="); ok {
			m[name] = value
		}
	}
	return m
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
