package runner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/flameox/flameox/internal/ijson"
	"github.com/flameox/flameox/measure/document"
	"github.com/flameox/flameox/measure/facts"
	"github.com/flameox/flameox/measure/harness"
)

// output is where an order's results go.
type output struct {
	dir       string // absolute
	artifacts string // of this invocation, relative to dir, with slashes
	shared    []any  // artifacts that all results refer to
}

// run measures the cases of an order that can be applied.
func (p *prepared) run(ctx context.Context, out string) (*Ran, error) {
	o, err := p.open(out)
	if err != nil {
		return nil, err
	}
	ran := &Ran{OrderHash: p.hash, OrderFile: filepath.Join(o.dir, document.OrderFile(p.hash)), Warnings: p.context.warnings}
	for i, c := range p.cases {
		documents, err := p.measure(ctx, o, i, c)
		if err != nil {
			return ran, err
		}
		done := Done{Index: i + 1, Of: len(p.cases), Case: c}
		for _, d := range documents {
			path, err := o.write(d)
			if err != nil {
				return ran, err
			}
			ran.Files, ran.Results = append(ran.Files, path), append(ran.Results, d)
			if document.At(d, "measurement", "kind") != "condition" {
				done.Results = append(done.Results, d)
			}
		}
		if p.opts.Progress != nil {
			p.opts.Progress(done)
		}
	}
	return ran, nil
}

// open makes the folder, with what all results refer to.
func (p *prepared) open(out string) (*output, error) {
	dir, err := filepath.Abs(out)
	if err != nil {
		return nil, fmt.Errorf("make the folder of the results: %w", err)
	}
	name := strings.TrimPrefix(p.hash, "sha256:")[:12]
	if slot, ok := p.order["slot"].(float64); ok {
		name = fmt.Sprintf("slot-%d", int(slot))
	}
	if err := os.MkdirAll(filepath.Join(dir, "artifacts"), 0o755); err != nil {
		return nil, fmt.Errorf("make the folder of the results: %w", err)
	}
	o := &output{dir: dir}
	// What an earlier run of an order left is evidence too.
	for i := 1; ; i++ {
		o.artifacts = "artifacts/" + name
		if i > 1 {
			o.artifacts += fmt.Sprintf("-%d", i)
		}
		err := os.Mkdir(filepath.Join(dir, filepath.FromSlash(o.artifacts)), 0o755)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("make the folder of the artifacts: %w", err)
		}
	}
	text, err := ijson.Canonical(p.order)
	if err != nil {
		return nil, err
	}
	if err := replace(filepath.Join(dir, document.OrderFile(p.hash)), text); err != nil {
		return nil, err
	}
	resolved, err := p.resolved()
	if err != nil {
		return nil, err
	}
	if err := o.keep("resolved-order.json", "work-order", resolved); err != nil {
		return nil, err
	}
	for _, c := range p.context.collected {
		if err := o.keep("collector-"+fileName(c.name)+".json", "collector", c.output); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// fileName is a name that may be anything, as a part of a file's.
func fileName(s string) string {
	sum := sha256.Sum256([]byte(s))
	clean := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, s)
	if clean == s && len(s) < 100 {
		return s
	}
	return fmt.Sprintf("%.80s-%s", clean, hex.EncodeToString(sum[:4]))
}

// resolved is the order with what its plan came to, so that a case that was lost can be told from one that was never planned.
func (p *prepared) resolved() ([]byte, error) {
	order := maps.Clone(p.order)
	filter, _ := p.suite()["filter"].(string)
	var plan []any
	for _, c := range p.cases {
		for _, q := range p.quantities(c) {
			entry := map[string]any{"id": fmt.Sprintf("p%d", len(plan)), "case": c.Text(), "quantity": q}
			// A filter with white space in it is no token, and is in the suite anyway.
			if filter != "" && document.Token(filter) == filter {
				entry["from"] = filter
			}
			plan = append(plan, entry)
		}
	}
	order["plan"] = plan
	return ijson.Canonical(order)
}

// quantities of the order that a case measures.
func (p *prepared) quantities(c Case) []string {
	var out []string
	list, _ := p.order["quantities"].([]any)
	for _, q := range list {
		if name, _ := q.(string); c.Quantity == "" || c.Quantity == name {
			out = append(out, name)
		}
	}
	return out
}

// keep writes an artifact that all results refer to.
func (o *output) keep(name, kind string, content []byte) error {
	if err := replace(filepath.Join(o.dir, filepath.FromSlash(o.artifacts), name), content); err != nil {
		return err
	}
	o.shared = append(o.shared, artifact(kind, o.artifacts+"/"+name, content))
	return nil
}

func artifact(kind, uri string, content []byte) any {
	sum := sha256.Sum256(content)
	media := "text/plain"
	switch filepath.Ext(uri) {
	case ".json":
		media = "application/json"
	case ".py":
		media = "text/x-python"
	}
	return map[string]any{"kind": kind, "media_type": media, "uri": uri, "sha256": hex.EncodeToString(sum[:])}
}

// write leaves a result as a file. One of the same name that says something else is the result of an earlier run of the same order: both are kept.
func (o *output) write(d map[string]any) (string, error) {
	text, err := ijson.Canonical(d)
	if err != nil {
		return "", err
	}
	producer, _ := document.At(d, "producer", "name").(string)
	key, _ := d["ingest_key"].(string)
	base := strings.TrimSuffix(document.FileName(producer, key), ".json")
	for i := 1; ; i++ {
		path := filepath.Join(o.dir, base+".json")
		if i > 1 {
			path = filepath.Join(o.dir, fmt.Sprintf("%s-%d.json", base, i))
		}
		switch _, err := os.Lstat(path); {
		case errors.Is(err, fs.ErrNotExist):
			return path, replace(path, text)
		case err != nil:
			return "", fmt.Errorf("write the result: %w", err)
		}
	}
}

// replace writes a file elsewhere and renames it, so that it is whole whenever it is there.
func replace(path string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".tmp-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// measure runs one case in a process of its own, and makes its results.
func (p *prepared) measure(ctx context.Context, o *output, index int, c Case) ([]map[string]any, error) {
	load := p.load()
	prefix := filepath.Join(o.dir, filepath.FromSlash(o.artifacts), fmt.Sprintf("%04d.", index))
	driver := filepath.Join(filepath.Dir(prefix), "driver.py") // of all cases
	paths := harness.Paths{
		Native: prefix + "native.json", Driver: driver, Workers: prefix,
		Variables: slices.Sorted(maps.Keys(union(p.recorded, p.variables()))),
	}
	argv, err := p.harness.Command(p.runnable, c, p.precision, paths)
	if err != nil {
		return nil, err
	}
	started := p.opts.now()
	exit, err := p.place.Start(ctx, harness.Command{Argv: argv, Dir: p.runnable.Dir, Stdout: prefix + "stdout", Stderr: prefix + "stderr", Timeout: p.limit})
	var refusal *Refusal
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.As(err, &refusal):
		// The program is gone since the cases were listed: the case was begun, and has an outcome.
		exit = harness.Exit{Status: -1}
		if err := os.WriteFile(prefix+"stderr", []byte(refusal.Error()+"\n"), 0o644); err != nil {
			return nil, err
		}
	case err != nil:
		return nil, err
	}
	raw := harness.Raw{
		Case: c, Quantities: p.quantities(c), Precision: p.precision, Exit: exit, Files: map[string][]byte{}, Variables: p.variables(), Recorded: p.recorded,
	}
	artifacts := slices.Clone(o.shared)
	for _, f := range []struct {
		end, kind string
		into      *[]byte
	}{
		{"native.json", "native-output", &raw.Native}, {"stdout", "stdout", &raw.Stdout}, {"stderr", "stderr", &raw.Stderr},
		{harness.WorkerEnv, "worker-environment", nil}, {harness.ManagerEnv, "manager-environment", nil},
	} {
		content, err := os.ReadFile(prefix + f.end)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read what %s left: %w", c.Text(), err)
		}
		if f.into != nil {
			*f.into = content
		} else {
			raw.Files[f.end] = content
		}
		artifacts = append(artifacts, artifact(f.kind, fmt.Sprintf("%s/%04d.%s", o.artifacts, index, f.end), content))
	}
	switch content, err := os.ReadFile(driver); {
	case err == nil:
		artifacts = append(artifacts, artifact("driver", o.artifacts+"/driver.py", content))
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("read what drove %s: %w", c.Text(), err)
	}
	a := attempt{p: p, index: index, raw: raw, started: started, ended: p.opts.now(), artifacts: artifacts, load: load}
	return a.documents()
}

type loadAverage struct {
	value float64
	probe string
	ok    bool
}

func (p *prepared) load() loadAverage {
	read := p.opts.Load
	if read == nil {
		read = facts.Load
	}
	v, probe, ok := read()
	return loadAverage{v, probe, ok}
}

func union(names []string, variables map[string]string) map[string]bool {
	out := map[string]bool{}
	for _, n := range names {
		out[n] = true
	}
	for n := range variables {
		out[n] = true
	}
	return out
}
