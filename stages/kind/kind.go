// Package kind is what the stage kinds share: how a kind describes itself to the language, how it turns an instance
// of its block into a node of the graph, and what it may know of the project.
//
// It holds no behaviour of any one kind, and imports none of them.
package kind

import (
	"context"
	"fmt"

	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/graph/cas"
	"github.com/flameox/flameox/graph/facet"
	"github.com/flameox/flameox/internal/reads"
	"github.com/flameox/flameox/internal/selftrace"
	"github.com/flameox/flameox/internal/sources"
	"github.com/flameox/flameox/internal/token"
	"github.com/flameox/flameox/lang"
	"github.com/flameox/flameox/providers"
)

// Kind is one type of stage block.
type Kind interface {
	// BlockType registers the block with the language.
	BlockType() lang.BlockType
	// Compile turns one instance into a node. What the instance refers to has been compiled before.
	Compile(inst *lang.Instance, c *Compiler) (*Compiled, error)
}

// Compiled is what became of an instance.
type Compiled struct {
	Node *graph.Node
	// Value is what stages that refer to this one use of it: a definition, an environment.
	Value any
	// Tokens says what the instance's runtime tokens stand for, by attribute.
	Tokens map[string]Token
	// Session is what others may join while a stage of the instance runs; nil where nothing runs.
	Session *Session
	// Results turns the node's records into the attributes that output and check read; nil where it has none.
	Results func(records []*cache.Summary) (map[string]any, error)
	// Implied are further nodes that come with the instance, where the language has instances of them (lang.Schema.Implies).
	Implied []*Compiled
	// Exact says that what users of the node put into their keys is known before it has run: a lock says what an environment will be.
	// They wait for it, and are not decided anew when it was made.
	Exact bool
	// Rows is the set of rows that the node makes; nil where it makes none. No two nodes make the same.
	Rows *Rows
}

// Rows is what a provider extracts from a stage's runs. A run has one set of them for each provider.
type Rows struct {
	Source   *graph.Node
	Provider string
}

// Token is a runtime token: a path below the tree that Node's result is, a value that only a lease has, or the path of a file.
type Token struct {
	Node  *graph.Node
	Lease Lease
	File  File
}

// File is one file that flameox keeps, and of which the content is known before it is there: a managed binary.
type File interface {
	// Fact identifies its content in the executables facet of its users.
	Fact() facet.Entry
	// Path is where it lies once it is ready.
	Path(s *graph.Store) string
	// Ready makes sure that it is what Fact says, from its bytes. The notes are limitations of the run that it was made ready for.
	Ready(ctx context.Context, t *graph.Task) ([]cache.Note, error)
}

// Project is what stages may know of the project and use of the machine.
type Project struct {
	Root      string // absolute project root
	Dir       string // folder of the configuration below Root, "" for the root itself
	Store     *graph.Store
	Stat      *cas.StatCache
	Providers *providers.Registry
	HostClass map[string]string // name → value, part of the key of measurements
	// Observe looks at the machine's class again, after something has run on it.
	Observe func() map[string]string
	Environ map[string]string // the caller's environment
	Self    string            // this binary, for extraction workers
	Memo    *Memo             // of one look at the project's files
	// Reads is told of everything outside of the process that actions are made from, so that a plan can stand again without being made. A stage
	// tells it before it looks; one that asks a program says that it cannot be known. It may be nil.
	Reads  *reads.Log
	Shared Pool                // servers that stand for longer than one stage
	Trace  *selftrace.Recorder // where flameox itself spends its time; nil where nobody asks
	// Secret is the value of a sensitive variable, for the moment a process starts. It goes nowhere else.
	Secret func(name string) (string, bool)

	sources *sources.Resolver
}

// Refresh forgets what was read of the project's files. It must not be called while a stage is asked for its actions.
func (p *Project) Refresh() error {
	p.Memo.Reset()
	var err error
	if p.sources, err = sources.New(p.Root); err == nil {
		p.sources.Trace = p.Trace
	}
	return err
}

// Looked tells Reads of one path.
func (p *Project) Looked(path string) { p.Reads.Path(path) }

// Sources lists the project's files as they were at the first question since Refresh.
func (p *Project) Sources() *sources.Resolver { return p.sources }

// Compiler compiles instances in dependency order and remembers them.
type Compiler struct {
	Project *Project
	by      map[*lang.Instance]*Compiled
	tokens  map[string]Token
	rows    map[Rows]*lang.Instance
}

// NewCompiler starts with nothing compiled.
func NewCompiler(p *Project) *Compiler {
	return &Compiler{Project: p, by: map[*lang.Instance]*Compiled{}, tokens: map[string]Token{}, rows: map[Rows]*lang.Instance{}}
}

// Add remembers what became of an instance. An error says that another instance makes the same rows.
func (c *Compiler) Add(inst *lang.Instance, out *Compiled) error {
	if out.Rows != nil {
		if err := c.claim(*out.Rows, inst); err != nil {
			return err
		}
	}
	c.by[inst] = out
	for attr, t := range out.Tokens {
		c.tokens[inst.Address().String()+"."+attr] = t
	}
	return nil
}

// claim remembers who makes the rows. A second extraction is an error: which of the two were published would depend on the order
// in which they ended.
func (c *Compiler) claim(rows Rows, by *lang.Instance) error {
	first := c.rows[rows]
	if first == nil {
		c.rows[rows] = by
		return nil
	}
	second, implied := by, first.ImpliedBy
	if by.ImpliedBy != nil {
		first, second, implied = by, first, by.ImpliedBy
	}
	place := func(i *lang.Instance) string {
		r := i.Block.Range
		return fmt.Sprintf("%s at %s:%d", i.Address(), r.Filename, r.Start.Line)
	}
	text := "%s and %s both extract %s rows from %s, and a run has one set of them: "
	if implied != nil {
		return fmt.Errorf(text+"take %s out and write its options in a nested block extract { … } of the capture, or set extract = false in the capture",
			"what comes with "+place(implied), place(second), rows.Provider, rows.Source.Address, second.Block.Address())
	}
	return fmt.Errorf(text+"keep one of them, with the options that are meant", place(first), place(second), rows.Provider, rows.Source.Address)
}

// Of is what became of an instance, or nil.
func (c *Compiler) Of(inst *lang.Instance) *Compiled { return c.by[inst] }

// Value is the value of what a reference points at; the zero T where the reference was not given.
func Value[T any](c *Compiler, ref lang.Ref) (v T, err error) {
	if ref.Instance == nil {
		return v, nil
	}
	v, ok := c.by[ref.Instance].Value.(T)
	if !ok {
		return v, fmt.Errorf("%s cannot be used here", ref.Instance.Address())
	}
	return v, nil
}

// Tokens finds what each token in the strings stands for. Names that no stage has are left out: they are the stage's own, such as out.dir.
func (c *Compiler) Tokens(texts ...string) map[string]Token {
	out := map[string]Token{}
	for _, s := range texts {
		for _, name := range token.Names(s) {
			if t, ok := c.tokens[name]; ok {
				out[name] = t
			}
		}
	}
	return out
}

// Node makes the node of an instance with everything the language knows of it.
func (c *Compiler) Node(inst *lang.Instance, nature graph.Nature, stage graph.Stage) *graph.Node {
	n := &graph.Node{
		Address: inst.Address(), Kind: inst.Block.Kind(), Nature: nature, Stage: stage,
		Attempts: max(1, inst.Meta.Attempts),
		Level:    cache.Sensitivity(inst.Meta.Sensitive),
		Labels:   inst.Meta.Labels,
		File:     inst.Block.Range.Filename, Line: inst.Block.Range.Start.Line,
		Exclusive: nature == graph.Measurement, MaxContention: inst.Meta.MaxContention,
		Reuse: graph.Reuse{Never: inst.Meta.Reuse == "never", Age: inst.Meta.ReuseAge},
	}
	if inst.Meta.Exclusive != nil {
		n.Exclusive = *inst.Meta.Exclusive
	}
	after := map[*lang.Instance]bool{}
	for _, d := range inst.Meta.DependsOn {
		after[d] = true
	}
	if p := inst.Meta.ProfileOf; p != nil {
		after[p] = true
	}
	for _, d := range inst.Deps {
		switch out := c.by[d]; {
		case after[d]:
			n.After = append(n.After, out.Node)
		case out.Exact:
			n.Uses = append(n.Uses, out.Node)
			n.Deps = append(n.Deps, out.Node.Deps...) // what its key is made of, the user's is made of too
		default:
			n.Deps = append(n.Deps, out.Node)
		}
	}
	return n
}
