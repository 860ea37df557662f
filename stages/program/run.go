package program

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/broker"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/graph/cas"
	"github.com/flameox/flameox/graph/facet"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/token"
)

// Roles of the outputs that every program leaves.
const (
	RoleStdout = "stdout"
	RoleStderr = "stderr"
	RoleTree   = "tree"
)

// Run starts the program and waits for it. The record has the states of the execution, the streams and, where a check of
// the live tree failed, the reason why the attempt is not valid. It is valid otherwise, and its outputs are still to be added.
func (p *Prepared) Run(ctx context.Context, t *graph.Task) (*cache.Record, error) {
	rec := &cache.Record{
		Execution: cache.ExecutionFailed, Capture: cache.CaptureRegistered, Validation: cache.ValidationPassed,
		Dir: filepath.Join(p.program.project.Root, filepath.FromSlash(p.program.Dir)),
	}
	argv, env, err := p.substitute(t, p.program.project.Secret)
	if err != nil {
		return nil, err
	}
	// What is recorded has the names of secrets where the process has their values.
	rec.Argv, rec.Env, err = p.substitute(t, func(name string) (string, bool) { return "${" + secretPrefix + name + "}", true })
	if err != nil {
		return nil, err
	}
	if err := p.putSources(t); err != nil {
		return nil, err
	}
	if p.exe != nil {
		if err := p.exe.Verify(ctx); err != nil {
			return nil, moved(err)
		}
	}
	if changed := p.changed(); changed != "" {
		return nil, &graph.MovedError{What: changed}
	}
	d := &p.program.Declared
	res, err := t.Store.Broker.Run(ctx, broker.Command{
		Argv: argv, Executable: p.start, Dir: rec.Dir, Env: env, Mark: t.Mark,
		Stdout: filepath.Join(t.Dir, "stdout"), Stderr: filepath.Join(t.Dir, "stderr"),
		Timeout: d.Timeout, Grace: d.Grace, OutputLimit: d.OutputLimit, MemoryLimit: d.MemoryLimit,
		Staging: t.Dir,
	})
	if err != nil {
		return invalid(rec, "not_started", err.Error()), nil
	}
	p.finish(rec, res)
	if err := putStreams(t, rec); err != nil {
		return nil, err
	}
	if err := putResources(t, rec, res); err != nil {
		return nil, err
	}
	if changed := p.changed(); changed != "" {
		return invalid(rec, "inputs_changed_during_run", changed+" changed while the program ran"), nil
	}
	if changed := p.listChanged(ctx); changed != "" {
		return invalid(rec, "inputs_changed_during_run", changed+" began or ceased to be an input while the program ran"), nil
	}
	if p.exe != nil {
		if err := p.exe.Verify(ctx); err != nil {
			return invalid(rec, "executable_changed", err.Error()), nil
		}
	}
	return rec, nil
}

// moved is a MovedError where an executable is not what it was.
func moved(err error) error {
	var changed *broker.ExecutableChangedError
	if errors.As(err, &changed) {
		return &graph.MovedError{What: changed.Link.Real}
	}
	return err
}

func invalid(rec *cache.Record, code, text string) *cache.Record {
	rec.Validation = cache.ValidationFailed
	rec.Invalid = append(rec.Invalid, cache.Note{Code: code, Text: text})
	return rec
}

// finish turns what the broker saw into the record's states.
func (p *Prepared) finish(rec *cache.Record, res *broker.Result) {
	rec.Started, rec.WallNS = res.Started.UTC(), res.Wall.Nanoseconds()
	rec.Signal, rec.Cause = res.Signal, res.Cause
	if res.Signal == "" {
		rec.Exit = &res.Exit
	}
	expected := res.Signal == "" && slices.Contains(p.program.ExpectExit, res.Exit)
	switch {
	case res.Cause == broker.CauseTimeout:
		rec.Execution = cache.ExecutionTimedOut
		invalid(rec, "timeout", fmt.Sprintf("it ran longer than timeout = %s and was ended", p.program.Timeout))
	case res.Cause == broker.CauseCancelled:
		rec.Execution = cache.ExecutionCancelled
		invalid(rec, "cancelled", "flameox was interrupted and ended it")
	case res.Cause == broker.CauseOutputLimit:
		invalid(rec, "output_limit", fmt.Sprintf("it wrote more than output_limit = %d bytes to its standard streams and was ended", p.program.OutputLimit))
	case res.Cause == broker.CauseMemoryLimit:
		invalid(rec, "memory_limit", fmt.Sprintf("its processes used more than memory_limit = %d bytes and were ended", p.program.MemoryLimit))
	case res.Cause == broker.CauseStorageReserve:
		invalid(rec, "storage_reserve", "the disk was nearly full, so it was ended; free some space or move the store")
	case !expected && res.Signal != "":
		invalid(rec, "signal", "it was killed by "+res.Signal)
	case !expected:
		invalid(rec, "exit", fmt.Sprintf("it exited %d; expect_exit = %v", res.Exit, p.program.ExpectExit))
	default:
		rec.Execution = cache.ExecutionSucceeded
	}
	for _, l := range res.Left {
		rec.Limitations = append(rec.Limitations, cache.Note{Code: "process_left", Text: fmt.Sprintf("%s (pid %d) outlived the program and was ended (%s)", l.Comm, l.Pid, l.Outcome)})
	}
}

// secretPrefix begins the tokens that stand for sensitive variables.
const secretPrefix = "var."

// substitute fills the tokens in: what the process really gets.
func (p *Prepared) substitute(t *graph.Task, secret func(name string) (string, bool)) (argv, env []string, err error) {
	value := func(name string) (string, error) {
		if name == outDir {
			return t.Out(), nil
		}
		if variable, ok := strings.CutPrefix(name, secretPrefix); ok {
			if v, known := secret(variable); known {
				return v, nil
			}
			return "", fmt.Errorf("the sensitive variable %s has no value", variable)
		}
		root, ok := p.trees[name]
		if !ok {
			return "", fmt.Errorf("${%s} has no value here", name)
		}
		return t.Store.CAS.Materialize(root)
	}
	for _, a := range p.program.Command {
		s, err := token.Expand(a, value)
		if err != nil {
			return nil, nil, err
		}
		argv = append(argv, s)
	}
	vars := map[string]string{
		"PATH": p.program.Host.Path, "LANG": "C.UTF-8",
		"HOME": filepath.Join(t.Dir, "home"), "TMPDIR": filepath.Join(t.Dir, "tmp"),
	}
	for _, m := range []map[string]string{p.program.Host.Untracked, p.program.Host.Tracked, p.program.Env} {
		for k, v := range m {
			if vars[k], err = token.Expand(v, value); err != nil {
				return nil, nil, err
			}
		}
	}
	for _, k := range sortedKeys(vars) {
		env = append(env, k+"="+vars[k])
	}
	return argv, env, nil
}

// putSources keeps the listing of the sources, so that a later plan can say which file moved. Their content stays in the project.
func (p *Prepared) putSources(t *graph.Task) error {
	if p.files == nil {
		return nil
	}
	_, dirs, err := cas.BuildTree(p.files.tree)
	if err != nil {
		return err
	}
	for _, b := range dirs {
		if _, err := t.Batch.PutBytes(b.Bytes); err != nil {
			return err
		}
	}
	return nil
}

func putStreams(t *graph.Task, rec *cache.Record) error {
	for _, role := range []string{RoleStdout, RoleStderr} {
		sum, size, err := t.Batch.PutFile(filepath.Join(t.Dir, role))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("keep %s: %w", role, err)
		}
		rec.Outputs = append(rec.Outputs, cache.Output{Name: role, Role: role, MediaType: "text/plain; charset=utf-8", Digest: sum, Size: size})
	}
	return nil
}

// SnapshotTree takes the outputs from the out folder through the no-follow boundary as one tree. It returns nil, and makes the
// record invalid, where an output was refused or is missing.
func SnapshotTree(t *graph.Task, rec *cache.Record, patterns []broker.Pattern) (*cache.Output, error) {
	files, refusals := broker.Snapshot(t.Out(), patterns, broker.Limits{})
	for _, r := range refusals {
		rec.Capture = cache.CaptureQuarantined
		invalid(rec, string(r.Code), r.Error())
	}
	if !rec.Valid() {
		return nil, nil
	}
	var tree []cas.File
	var size int64
	for i := range files {
		f := &files[i]
		d, n, err := PutFile(t, f)
		if err != nil {
			var refusal *broker.Refusal
			if errors.As(err, &refusal) {
				rec.Capture = cache.CaptureQuarantined
				invalid(rec, string(refusal.Code), refusal.Error())
				return nil, nil
			}
			return nil, fmt.Errorf("keep output %s: %w", f.Path, err)
		}
		tree = append(tree, cas.File{Path: f.Path, Digest: d, Size: n, Exec: f.Exec()})
		size += n
	}
	root, err := t.Batch.PutTree(tree)
	if err != nil {
		return nil, fmt.Errorf("keep the outputs: %w", err)
	}
	return &cache.Output{Name: "outputs", Role: RoleTree, Digest: root, Size: size, Tree: true}, nil
}

// Script is a run's command as a person can run it again.
func Script(rec *cache.Record) string {
	var b strings.Builder
	b.WriteString("cd " + quoteShell(rec.Dir) + " &&\nenv -i \\\n")
	for _, e := range rec.Env {
		name, value, _ := strings.Cut(e, "=")
		b.WriteString("  " + name + "=" + quoteShell(value) + " \\\n")
	}
	b.WriteString(" ")
	for _, a := range rec.Argv {
		b.WriteString(" " + quoteShell(a))
	}
	return b.String() + "\n"
}

// Restore lays out again what a run's command refers to below the store: the trees of upstream outputs.
func Restore(s *graph.Store, rec *cache.Record) error {
	inputs := rec.Manifest.Facet(facet.Inputs)
	if inputs == nil {
		return nil
	}
	for _, e := range inputs.Entries {
		if !strings.HasPrefix(e.Name, upstreamPrefix) {
			continue
		}
		root, err := digest.Parse(e.Value)
		if err != nil {
			return err
		}
		if _, err := s.CAS.Materialize(root); err != nil {
			return fmt.Errorf("lay out the files that the command uses: %w", err)
		}
	}
	return nil
}

func quoteShell(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./=:,@%+${}[]#", r)) || r == '$'
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
