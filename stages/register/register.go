package register

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"

	"github.com/zclconf/go-cty/cty"

	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/graph/cas"
	"github.com/flameox/flameox/graph/facet"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/lang"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/stages/extract"
	"github.com/flameox/flameox/stages/kind"
)

// version is raised whenever what is registered, or how, changes for the same document.
const version = 1

// Kind is the block `register "<provider>" "<name>"`.
type Kind struct {
	providers map[string]providers.Registrar
}

// New makes the kind for all providers whose documents can be registered.
func New(reg *providers.Registry) *Kind {
	k := &Kind{providers: map[string]providers.Registrar{}}
	for _, p := range reg.All() {
		if r, ok := p.(providers.Registrar); ok {
			k.providers[p.Name()] = r
		}
	}
	return k
}

// Options of a registration.
type Options struct {
	Run      lang.Ref `arg:"run" kinds:"capture" doc:"the capture whose run left the document" facet:"inputs"`
	Artifact string   `arg:"artifact,optional" doc:"the artifact of the run that is the document, by its name; either this or path" facet:"inputs"`
	Pipeline string   `arg:"pipeline,optional" doc:"the artifact of the run that lists what the document is about, such as kernel-build.json of a compiler's capture; the only one of the run where this is left out" facet:"inputs"`
	Path     string   `arg:"path,optional" doc:"the file that the run left beside the configuration, relative to it, below the project" facet:"inputs"`
}

var results = []lang.Attr{
	{Name: "verdict", Type: cty.String, Doc: "of the document: pass, fail, inconclusive or unsupported; the worst of the attempts, fail before inconclusive before unsupported before pass"},
	{Name: "state", Type: cty.String, Doc: "complete, empty or partial: of the rows"},
	{Name: "rows", Type: cty.Number, Doc: "rows in all tables and attempts"},
	{Name: "producer", Type: cty.String, Doc: "who wrote the document of the newest attempt, as it says itself"},
	{Name: "limitations", Type: cty.List(cty.String), Doc: "what the documents do not say, as codes"},
}

// BlockType describes the block with a schema for each provider.
func (k *Kind) BlockType() lang.BlockType {
	bt := lang.BlockType{
		Type: "register", Labels: []string{"provider", "name"},
		Doc:     "Appends a document to the run that left it.",
		Schemas: map[string]*lang.Schema{},
	}
	for name, p := range k.providers {
		bt.Schemas[name] = &lang.Schema{Doc: "Registers " + p.Doc() + ".", Options: &Options{}, Results: results, Stage: true}
	}
	return bt
}

// Compile makes a pure node: one action for each attempt of the run.
func (k *Kind) Compile(inst *lang.Instance, c *kind.Compiler) (*kind.Compiled, error) {
	o := inst.Options.(*Options)
	src, err := kind.Value[extract.Source](c, o.Run)
	if err != nil {
		return nil, err
	}
	s := &stage{provider: k.providers[inst.Block.Labels[0]], project: c.Project, artifact: o.Artifact, pipeline: o.Pipeline}
	switch {
	case (o.Artifact == "") == (o.Path == ""):
		return nil, errors.New("give the document either as artifact, the name of an artifact of the run, or as path, a file")
	case o.Path != "":
		rel := path.Join(c.Project.Dir, o.Path)
		if path.IsAbs(o.Path) || !filepath.IsLocal(rel) {
			return nil, fmt.Errorf("path is %q: give a file below the project, relative to the configuration", o.Path)
		}
		s.root, s.rel = c.Project.Root, rel
	}
	s.runs = func(in *graph.Results) []*cache.Summary { return in.Of(src.Node) }
	n := c.Node(inst, graph.Pure, s)
	n.Level = graph.Stricter(n.Level, src.Node.Level)
	n.Command = "register " + o.Artifact + o.Path
	return &kind.Compiled{Node: n, Results: readResults, Rows: &kind.Rows{Source: src.Node, Provider: s.provider.Name()}}, nil
}

// stage registers documents with the runs of one capture, or with one run.
type stage struct {
	provider providers.Registrar
	project  *kind.Project
	runs     func(in *graph.Results) []*cache.Summary
	artifact string // name; "" where the document is a file
	pipeline string // name of the artifact that the document is about; "" for the only one
	root     string // folder that the file is below, absolute
	rel      string // the file
	reviewed int    // the only revision of the run that may be appended to; 0 for the newest
}

// found is a document before it is in the store.
type found struct {
	name   string // that a person knows it by
	digest digest.Digest
	size   int64
	stored bool // it is an artifact already
}

// Actions is one action for each run. A file is what the newest run left.
func (s *stage) Actions(_ context.Context, in *graph.Results) ([]*graph.Action, error) {
	runs := s.runs(in)
	if s.artifact == "" && len(runs) > 1 {
		runs = runs[len(runs)-1:]
	}
	out := make([]*graph.Action, 0, len(runs))
	for _, r := range runs {
		doc, err := s.find(r)
		if err != nil {
			return nil, err
		}
		inputs := facet.Facet{Name: facet.Inputs}
		inputs.Add("run", r.Run)
		inputs.AddNote("document", doc.digest.String(), doc.name)
		if s.pipeline != "" {
			inputs.Add("pipeline", s.pipeline)
		}
		definition := kind.Definition("register."+s.provider.Name(), 0)
		definition.Entries[1].Value = fmt.Sprintf("%d.%d", version, s.provider.Version())
		out = append(out, &graph.Action{
			Manifest: facet.New(definition, inputs), For: r.Run, Provider: s.provider.Name(),
			Run: func(ctx context.Context, t *graph.Task) (*cache.Record, error) { return s.run(ctx, t, r.Run, doc) },
		})
	}
	return out, nil
}

// find looks for the document. The error is a *graph.BlockedError where there is none.
func (s *stage) find(r *cache.Summary) (found, error) {
	if s.artifact != "" {
		var names []string
		for _, o := range r.Outputs {
			if o.Name == s.artifact && !o.Tree {
				return found{name: o.Name, digest: o.Digest, size: o.Size, stored: true}, nil
			}
			if !o.Tree {
				names = append(names, o.Name)
			}
		}
		return found{}, &graph.BlockedError{Why: fmt.Sprintf("run %s has no artifact %q", r.Run, s.artifact), Do: fmt.Sprintf("name one of those that it has: %q", names)}
	}
	abs := filepath.Join(s.root, filepath.FromSlash(s.rel))
	s.project.Reads.Path(abs)
	if info, err := os.Lstat(abs); err == nil && info.Mode()&os.ModeSymlink != 0 {
		return found{}, &graph.BlockedError{Why: s.rel + " is a symbolic link", Do: "name the file itself"}
	}
	stat, err := s.project.Stat.Digest(abs)
	var failed *os.PathError
	switch {
	case errors.Is(err, os.ErrNotExist):
		return found{}, &graph.BlockedError{Why: s.rel + " does not exist", Do: "let the workload write it there, or give the artifact that it left"}
	case errors.Is(err, cas.ErrNotRegular):
		return found{}, &graph.BlockedError{Why: s.rel + " is not a regular file", Do: "name the file itself"}
	case errors.As(err, &failed):
		return found{}, &graph.BlockedError{Why: fmt.Sprintf("%s cannot be read: %v", s.rel, failed.Err), Do: "make it readable, or correct path"}
	case err != nil:
		return found{}, fmt.Errorf("read %s: %w", s.rel, err)
	}
	return found{name: s.rel, digest: stat.Digest}, nil
}
