package program

import (
	"context"
	"errors"
	"fmt"
	"maps"
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
	"github.com/flameox/flameox/internal/host"
	"github.com/flameox/flameox/internal/selftrace"
	"github.com/flameox/flameox/internal/token"
	"github.com/flameox/flameox/stages/environment/managed"
	"github.com/flameox/flameox/stages/kind"
)

// Roles of the outputs that every program leaves.
const (
	RoleStdout = "stdout"
	RoleStderr = "stderr"
	RoleTree   = "tree"
)

// Run starts the program and waits for it, with the servers beside it that it needs. The record has the states of the execution, the streams
// and, where a check of the live tree failed, the reason why the attempt is not valid. It is valid otherwise, and its outputs are still to be
// added.
func (p *Prepared) Run(ctx context.Context, t *graph.Task) (*cache.Record, error) {
	rec := &cache.Record{
		Execution: cache.ExecutionFailed, Capture: cache.CaptureRegistered, Validation: cache.ValidationPassed,
		Dir: filepath.Join(p.program.project.Root, filepath.FromSlash(p.program.Dir)),
	}
	if err := p.verify(ctx); err != nil { // before anything is made ready for it
		return nil, err
	}
	settle := selftrace.Begin(ctx, "make ready")
	place, start, err := p.settle(ctx, t, rec)
	settle.End()
	if err != nil || !rec.Valid() {
		return rec, err
	}
	side, err := p.startLeases(ctx, t, rec)
	var res *broker.Result
	if err == nil && rec.Valid() {
		res, err = p.runBeside(ctx, t, rec, side, place, start)
	}
	sampled, released := side.release(t, rec)
	if err = errors.Join(err, released); err != nil {
		return nil, err
	}
	if res != nil {
		sampled = append([]kind.Sampled{{Result: res}}, sampled...)
	}
	if err := putResources(t, rec, sampled, contentionRows(side.contended)); err != nil {
		return nil, err
	}
	return rec, nil
}

// runBeside runs the program while its leases stand. The result is nil where it was not started.
func (p *Prepared) runBeside(ctx context.Context, t *graph.Task, rec *cache.Record, side *leases, place *managed.Place, start *broker.Executable) (*broker.Result, error) {
	own := site{dir: t.Dir, values: side.values()}
	argv, env, err := p.substitute(t.Store, own, place, p.program.project.Secret)
	if err != nil {
		return nil, err
	}
	// What is recorded has the names of secrets where the process has their values.
	rec.Argv, rec.Env, err = p.substitute(t.Store, own, place, nameSecret)
	if err != nil {
		return nil, err
	}
	if err := p.putSources(t); err != nil {
		return nil, err
	}
	if err := p.verify(ctx); err != nil {
		return nil, err
	}
	d := &p.program.Declared
	beside, lost := side.watch(ctx)
	var contention func() *host.Contended
	if t.Node.Exclusive {
		contention = watchContention()
	}
	res, err := t.Store.Broker.Run(beside, broker.Command{
		Argv: argv, Executable: start, Dir: rec.Dir, Env: env, Mark: t.Mark,
		Stdout: filepath.Join(t.Dir, "stdout"), Stderr: filepath.Join(t.Dir, "stderr"),
		Timeout: d.Timeout, Grace: d.Grace, OutputLimit: d.OutputLimit, MemoryLimit: d.MemoryLimit,
		Staging: t.Dir, SampleEvery: p.program.session.Every(nil),
	})
	leaseEnded := lost()
	if contention != nil && err == nil {
		side.contended = contention()
	}
	if err != nil {
		rec.Fail("not_started", err.Error())
		return nil, nil
	}
	if leaseEnded && res.Cause == broker.CauseCancelled {
		res.Cause = causeLeaseEnded
	}
	p.finish(rec, res)
	if contention != nil {
		noteContention(rec, t.Node, side.contended)
	}
	if err := putStreams(t, rec); err != nil {
		return nil, err
	}
	if changed := p.changed(); changed != "" {
		rec.Fail("inputs_changed_during_run", changed+" changed while the program ran")
		return res, nil
	}
	if changed := p.listChanged(ctx); changed != "" {
		rec.Fail("inputs_changed_during_run", changed+" began or ceased to be an input while the program ran")
		return res, nil
	}
	if err := p.verifyPrograms(ctx); err != nil {
		rec.Fail("executable_changed", err.Error())
	}
	return res, nil
}

// verify makes sure that what the key was made of has not moved.
func (p *Prepared) verify(ctx context.Context) error {
	if err := p.verifyPrograms(ctx); err != nil {
		return moved(err)
	}
	if changed := p.changed(); changed != "" {
		return &graph.MovedError{What: changed}
	}
	return nil
}

// verifyPrograms makes sure that the files which run are those of the key.
func (p *Prepared) verifyPrograms(ctx context.Context) error {
	for _, exe := range append([]*broker.Executable{p.exe}, p.others...) {
		if exe == nil {
			continue
		}
		if err := exe.Verify(ctx); err != nil {
			return err
		}
	}
	return nil
}

// moved is a MovedError where an executable is not what it was.
func moved(err error) error {
	var changed *broker.ExecutableChangedError
	if errors.As(err, &changed) {
		return &graph.MovedError{What: changed.Link.Real}
	}
	return err
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
		rec.Fail("timeout", fmt.Sprintf("it ran longer than timeout = %s and was ended", p.program.Timeout))
	case res.Cause == broker.CauseCancelled:
		rec.Execution = cache.ExecutionCancelled
		rec.Fail("cancelled", "flameox was interrupted and ended it")
	case res.Cause == causeLeaseEnded: // the lease says why
	case res.Cause == broker.CauseOutputLimit:
		rec.Fail("output_limit", fmt.Sprintf("it wrote more than output_limit = %d bytes to its standard streams and was ended", p.program.OutputLimit))
	case res.Cause == broker.CauseMemoryLimit:
		rec.Fail("memory_limit", fmt.Sprintf("its processes used more than memory_limit = %d bytes and were ended", p.program.MemoryLimit))
	case res.Cause == broker.CauseStorageReserve:
		rec.Fail("storage_reserve", "the disk was nearly full, so it was ended; free some space or move the store")
	case !expected && res.Signal != "":
		rec.Fail("signal", "it was killed by "+res.Signal)
	case !expected:
		rec.Fail("exit", fmt.Sprintf("it exited %d; expect_exit = %v", res.Exit, p.program.ExpectExit))
	default:
		rec.Execution = cache.ExecutionSucceeded
	}
	for _, l := range res.Left {
		rec.Limitations = append(rec.Limitations, cache.Note{Code: "process_left", Text: fmt.Sprintf("%s (pid %d) outlived the program and was ended (%s)", l.Comm, l.Pid, l.Outcome)})
	}
}

// secretPrefix begins the tokens that stand for sensitive variables.
const secretPrefix = "var."

// nameSecret stands for the value of a secret where its name is enough.
func nameSecret(name string) (string, bool) { return "${" + secretPrefix + name + "}", true }

// site is where one start of a program happens.
type site struct {
	dir    string            // private: out/, home/, tmp/ and the spooled streams
	values map[string]string // of the tokens that only this start has
}

// substitute fills the tokens in: what the process really gets.
func (p *Prepared) substitute(store *graph.Store, at site, place *managed.Place, secret func(name string) (string, bool)) (argv, env []string, err error) {
	value := func(name string) (string, error) {
		if name == outDir {
			return filepath.Join(at.dir, "out"), nil
		}
		if variable, ok := strings.CutPrefix(name, secretPrefix); ok {
			if v, known := secret(variable); known {
				return v, nil
			}
			return "", fmt.Errorf("the sensitive variable %s has no value", variable)
		}
		if v, ok := at.values[name]; ok {
			return v, nil
		}
		if f := p.program.tokens[name].File; f != nil {
			return f.Path(store), nil
		}
		root, ok := p.trees[name]
		if !ok {
			return "", fmt.Errorf("${%s} has no value here", name)
		}
		return store.CAS.Materialize(root)
	}
	for _, a := range p.program.Command {
		s, err := token.Expand(a, value)
		if err != nil {
			return nil, nil, err
		}
		argv = append(argv, s)
	}
	search := p.program.Host.Path
	if place != nil {
		search = place.Bin + string(filepath.ListSeparator) + search
		if p.own != "" {
			argv[0] = place.Programs[p.own]
			if script := place.Scripts[p.own]; script != "" {
				argv = slices.Insert(argv, 1, script)
			}
		}
	}
	vars := map[string]string{
		"PATH": search, "LANG": "C.UTF-8",
		"HOME": filepath.Join(at.dir, "home"), "TMPDIR": filepath.Join(at.dir, "tmp"),
	}
	if place != nil {
		maps.Copy(vars, place.Env)
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
		rec.Fail(string(r.Code), r.Error())
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
				rec.Fail(string(refusal.Code), refusal.Error())
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
