// Package imports is the stage kind that brings an existing file into the store, unchanged, through the no-follow boundary. Its
// key is the file's content. What the file covers is unavailable, also where its bytes equal a capture's.
package imports

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/broker"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/graph/cas"
	"github.com/flameox/flameox/graph/facet"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/lang"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/stages/extract"
	"github.com/flameox/flameox/stages/kind"
	"github.com/flameox/flameox/stages/program"
)

const version = 1

// Kind is the block `import "<format>" "<name>"`.
type Kind struct{ Providers *providers.Registry }

// Options of an import.
type Options struct {
	Path string `arg:"path" doc:"the file, relative to the configuration, below the project" facet:"inputs"`
}

// BlockType describes the block with a schema for each importable format.
func (k Kind) BlockType() lang.BlockType {
	bt := lang.BlockType{
		Type: "import", Labels: []string{"format", "name"},
		Doc:     "Brings an existing file into the store.",
		Schemas: map[string]*lang.Schema{},
	}
	for _, f := range k.Providers.Formats() {
		bt.Schemas[f.Name] = &lang.Schema{
			Doc: "A file of the format " + f.Name + " (" + f.MediaType + ").", Options: &Options{},
			Results: program.Results(), Stage: true,
		}
	}
	return bt
}

type stage struct {
	rel      string // below the project root
	provider providers.Provider
	format   providers.Format
	project  *kind.Project
}

// Compile makes a pure node.
func (k Kind) Compile(inst *lang.Instance, c *kind.Compiler) (*kind.Compiled, error) {
	o := inst.Options.(*Options)
	rel := path.Join(c.Project.Dir, o.Path)
	if path.IsAbs(o.Path) || !filepath.IsLocal(rel) {
		return nil, fmt.Errorf("path is %q: give a file below the project, relative to the configuration", o.Path)
	}
	s := &stage{rel: rel, project: c.Project}
	for _, f := range k.Providers.Formats() {
		if f.Name == inst.Block.Labels[0] {
			s.provider, s.format = f.Importer, f.Format
		}
	}
	n := c.Node(inst, graph.Pure, s)
	n.Command = "import " + o.Path
	return &kind.Compiled{Node: n, Value: extract.Source{Node: n, Provider: s.provider.Name()}, Results: program.ReadResults}, nil
}

// Actions is one action: the file as it is now.
func (s *stage) Actions(context.Context, *graph.Results) ([]*graph.Action, error) {
	abs := filepath.Join(s.project.Root, filepath.FromSlash(s.rel))
	s.project.Reads.Path(abs)
	if info, err := os.Lstat(abs); err == nil && info.Mode()&os.ModeSymlink != 0 {
		return nil, &graph.BlockedError{Why: s.rel + " is a symbolic link", Do: "name the file itself"}
	}
	stat, err := s.project.Stat.Digest(abs)
	if errors.Is(err, os.ErrNotExist) {
		return nil, &graph.BlockedError{Why: s.rel + " does not exist", Do: "put the file there, or correct path"}
	}
	var failed *os.PathError
	switch {
	case errors.Is(err, cas.ErrNotRegular):
		return nil, &graph.BlockedError{Why: s.rel + " is not a regular file", Do: "name the file itself"}
	case errors.As(err, &failed):
		// One file that cannot be read must not keep the other stages from being planned.
		return nil, &graph.BlockedError{Why: fmt.Sprintf("%s cannot be read: %v", s.rel, failed.Err), Do: "make it readable, or correct path"}
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", s.rel, err)
	}
	inputs := facet.Facet{Name: facet.Inputs}
	inputs.AddNote("file", stat.Digest.String(), s.rel)
	definition := kind.Definition("import."+s.format.Name, 0)
	definition.Entries[1].Value = fmt.Sprintf("%d.%d", version, s.provider.Version())
	return []*graph.Action{{
		Manifest: facet.New(definition, inputs),
		Run: func(ctx context.Context, t *graph.Task) (*cache.Record, error) {
			return s.run(ctx, t, stat.Digest)
		},
	}}, nil
}

func (s *stage) run(ctx context.Context, t *graph.Task, keyed digest.Digest) (*cache.Record, error) {
	rec := &cache.Record{Execution: cache.ExecutionNotApplicable, Capture: cache.CaptureRegistered, Validation: cache.ValidationPassed}
	invalid := func(code, text string) (*cache.Record, error) {
		rec.Validation = cache.ValidationFailed
		rec.Invalid = append(rec.Invalid, cache.Note{Code: code, Text: text})
		return rec, nil
	}
	var err error
	if rec.Semantics, err = json.Marshal(map[string]string{"origin": "import", "provider": s.provider.Name(), "scope": "unavailable", "path": s.rel}); err != nil {
		return nil, err
	}
	files, refusals := broker.Snapshot(s.project.Root, []broker.Pattern{{Glob: escape(s.rel), Required: true}}, broker.Limits{})
	for _, r := range refusals {
		return invalid(string(r.Code), r.Error())
	}
	d, size, err := program.PutFile(t, &files[0])
	var refusal *broker.Refusal
	if errors.As(err, &refusal) {
		return invalid(string(refusal.Code), refusal.Error())
	}
	if err != nil {
		return nil, fmt.Errorf("keep %s: %w", s.rel, err)
	}
	if d != keyed { // the record would stand for the bytes that the key was made of
		invalid("inputs_changed_before_run", s.rel+" changed after the key was made")
	}
	rec.Outputs = append(rec.Outputs, cache.Output{
		Name: path.Base(s.rel), Role: s.format.Role, MediaType: s.format.MediaType, Digest: d, Size: size,
	})
	return rec, extract.Validate(ctx, t, s.project, s.provider, rec, nil)
}

// escape makes a glob that matches exactly the name.
func escape(name string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `{`, `\{`).Replace(name)
}
