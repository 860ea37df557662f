package program

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/broker"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/stats"
	"github.com/flameox/flameox/lang"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/stages/environment/managed"
)

// RolePaths is the artifact that says where a capture ran, for extractions that make file names relative.
const RolePaths = "paths"

// pathsName is the output of that role.
const pathsName = "paths.json"

// PutOutputs takes the declared outputs from the out folder and the streams. Outputs of a program that failed are kept too.
// A refused or a missing required one makes the record invalid. All patterns are looked for at once, so that a file is one
// output, the first pattern's that matches it, and one look decides what there is.
func PutOutputs(t *graph.Task, rec *cache.Record, declared []providers.DeclaredOutput) error {
	return PutBounded(t, rec, declared, broker.Limits{})
}

// PutBounded is PutOutputs of no more than the limits allow.
func PutBounded(t *graph.Task, rec *cache.Record, declared []providers.DeclaredOutput, limits broker.Limits) error {
	var patterns []broker.Pattern
	var of []providers.DeclaredOutput // by pattern
	for _, d := range declared {
		if d.Stream != "" {
			relabel(rec, d)
			continue
		}
		patterns, of = append(patterns, broker.Pattern{Glob: d.Path, Required: d.Required}), append(of, d)
	}
	if len(patterns) == 0 {
		return nil
	}
	files, refusals := broker.Snapshot(t.Out(), patterns, limits)
	for i := range refusals {
		refuse(rec, &refusals[i])
	}
	taken := map[string]bool{pathsName: true}
	for _, o := range rec.Outputs {
		taken[o.Name] = true
	}
	// As declared: providers may take the first of several payloads for the main one.
	slices.SortStableFunc(files, func(a, b broker.File) int { return a.Pattern - b.Pattern })
	for i := range files {
		f := &files[i]
		sum, size, err := PutFile(t, f)
		var refusal *broker.Refusal
		if errors.As(err, &refusal) {
			refuse(rec, refusal)
			continue
		}
		if err != nil {
			return fmt.Errorf("keep output %s: %w", f.Path, err)
		}
		d := of[f.Pattern]
		rec.Outputs = append(rec.Outputs, cache.Output{
			Name: unused(taken, f.Path), Role: d.Role, MediaType: d.MediaType, Digest: sum, Size: size, Sensitivity: level(d),
		})
	}
	return nil
}

// unused is the name of an output that the program wrote to path: path, unless the run has an output of the engine that
// is called that, such as stdout.
func unused(taken map[string]bool, path string) string {
	for taken[path] {
		path = "out/" + path
	}
	taken[path] = true
	return path
}

func refuse(rec *cache.Record, r *broker.Refusal) {
	if r.Code == broker.RefusedMissing {
		rec.Capture = cache.CapturePartial
	} else {
		rec.Capture = cache.CaptureQuarantined
	}
	rec.Fail(string(r.Code), r.Error())
}

// PutFile stores one output while the boundary watches that it does not change.
func PutFile(t *graph.Task, f *broker.File) (d digest.Digest, size int64, err error) {
	err = f.Read(func(r io.Reader) (err error) {
		d, size, err = t.Batch.Put(r)
		return err
	})
	return d, size, err
}

// relabel gives a stream, which is kept anyway, the role its provider knows it by.
func relabel(rec *cache.Record, d providers.DeclaredOutput) {
	for i := range rec.Outputs {
		if o := &rec.Outputs[i]; o.Name == string(d.Stream) {
			o.Role, o.MediaType, o.Sensitivity = d.Role, d.MediaType, level(d)
			return
		}
	}
	if d.Required {
		rec.Capture = cache.CapturePartial
		rec.Fail(string(broker.RefusedMissing), "the program was not started, so "+string(d.Stream)+" is missing")
	}
}

func level(d providers.DeclaredOutput) cache.Sensitivity {
	if d.Sensitive {
		return cache.Sensitive
	}
	return cache.Internal
}

// PutPaths adds the artifact that says where the program ran.
func (p *Prepared) PutPaths(t *graph.Task, rec *cache.Record) error {
	b, err := json.Marshal(providers.Paths{
		Root: p.program.project.Root, Dir: rec.Dir, Outputs: t.Store.CAS.TreesDir(), Environments: managed.SitesDir(t.Store),
	})
	if err != nil {
		return err
	}
	sum, err := t.Batch.PutBytes(b)
	if err != nil {
		return fmt.Errorf("keep "+pathsName+": %w", err)
	}
	rec.Outputs = append(rec.Outputs, cache.Output{Name: pathsName, Role: RolePaths, MediaType: "application/json", Digest: sum, Size: int64(len(b))})
	return nil
}

// Artifacts are a record's payloads: what a provider validates and extracts, and what an extraction's key is made of. A stream is
// among them only where a provider gave it a role of its own, which says that it is read.
func Artifacts(s *graph.Store, outputs []cache.Output) (in []providers.Artifact, paths *cache.Output) {
	for i, o := range outputs {
		switch {
		case o.Tree, o.Registered(), o.Role == RoleStdout, o.Role == RoleStderr, o.Role == providers.RoleLog, o.Role == RoleTree, strings.HasPrefix(o.Role, RoleTable):
		case o.Role == RolePaths:
			paths = &outputs[i]
		default:
			in = append(in, providers.Artifact{
				Name: o.Name, Role: o.Role, MediaType: o.MediaType, Digest: o.Digest, Size: o.Size, Path: s.CAS.Path(o.Digest),
			})
		}
	}
	return in, paths
}

// Results are the result attributes of every stage that runs a program.
func Results() []lang.Attr {
	return []lang.Attr{
		{Name: "status", Type: cty.String, Doc: "passed, or why the newest attempt is not valid"},
		{Name: "exit", Type: cty.Number, Doc: "exit status of the newest attempt; null where a signal ended it"},
		{Name: "attempts", Type: cty.Number, Doc: "valid attempts that stand for the stage"},
		{Name: "wall.median", Type: cty.Number, Doc: "median wall time of those attempts, in ns"},
		{Name: "artifacts", Type: cty.List(cty.String), Doc: "names of the newest attempt's artifacts"},
	}
}

// ReadResults computes them.
func ReadResults(records []*cache.Summary) (map[string]any, error) {
	if len(records) == 0 {
		return nil, nil
	}
	rec, err := records[len(records)-1].Record()
	if err != nil {
		return nil, err
	}
	walls := make([]float64, len(records))
	for i, r := range records {
		walls[i] = float64(r.Wall.Nanoseconds())
	}
	out := map[string]any{"status": string(rec.Validation), "attempts": len(records), "wall.median": stats.Median(walls)}
	if rec.Exit != nil {
		out["exit"] = *rec.Exit
	}
	var names []string
	for _, o := range rec.Outputs {
		names = append(names, o.Name)
	}
	out["artifacts"] = names
	return out, nil
}

// sinkDir is where a task writes Parquet parts of its own.
func sinkDir(t *graph.Task) string { return filepath.Join(t.Dir, "rows") }

// treeOf is the output that is a folder of files, or nil.
func treeOf(outputs []cache.Output) *cache.Output {
	for i := range outputs {
		if outputs[i].Tree {
			return &outputs[i]
		}
	}
	return nil
}
