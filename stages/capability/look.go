package capability

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/broker"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/token"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/stages/environment"
	"github.com/flameox/flameox/stages/environment/managed"
	"github.com/flameox/flameox/stages/environment/python"
	"github.com/flameox/flameox/stages/kind"
)

// The bounds of one question. An interpreter on a cold disk takes seconds; what takes longer blocks what it is asked for.
const (
	probeTimeout = 20 * time.Second
	probeOutput  = 1 << 20
)

// look finds a producer in one place. built says that it is an environment of the producer's language that flameox builds.
func look(ctx context.Context, p *kind.Project, provider providers.Provider, at providers.Location, place Place, built, named bool) (Finding, error) {
	programs := at.Programs
	if built {
		base, err := find(p, []string{place.Interpreter}, place.Host)
		if err != nil {
			return Finding{}, err
		}
		if file := below(p.Root, base); file != "" && !named { // describing the environment asks its base who it is
			return unasked(provider, file), nil
		}
		d, err := place.Host.Runtime.Describe(ctx, &graph.Results{})
		if err != nil {
			return obstacle(err), nil
		}
		if at.Library != "" {
			return locked(at, d), nil
		}
		for _, name := range at.Programs {
			if file := d.Programs[name]; file != "" {
				programs = []string{file}
				break
			}
		}
	}
	exe, err := find(p, programs, place.Host)
	if err != nil {
		return Finding{}, err
	}
	if exe == nil {
		where := "on PATH"
		if place.Name != "" {
			where = "in path of it"
		}
		f := Finding{State: Absent, Probe: "passive", Why: "no " + strings.Join(at.Programs, " and no ") + " is " + where, Do: at.Install}
		if at.Optional {
			f.State = Available
		}
		return f, nil
	}
	f := Finding{State: Available, Probe: "passive", Executable: exe.Path}
	probe, version := question(provider, exe.Path)
	if probe == nil {
		return f, nil
	}
	if file := below(p.Root, exe); file != "" && !named {
		f := unasked(provider, file)
		f.Executable = exe.Path
		return f, nil
	}
	f.Probe = "active"
	ans, err := ask(ctx, p, exe, place.Host, probe)
	if err != nil {
		return Finding{}, err
	}
	if ans.failed != "" {
		f.State, f.Why = Blocked, fmt.Sprintf("asking %s for its version failed: %s", exe.Path, ans.failed)
		f.Do = "see what `" + exe.Path + "` does by itself, or name another one in path of an environment"
		return f, nil
	}
	f.Version, err = version(ans)
	var denied *providers.Denial
	switch {
	case errors.As(err, &denied):
		f.State, f.Why, f.Do = Blocked, denied.Why, denied.Do
	case err == nil:
		if denied = providers.Forbidden(provider, os.ReadFile); denied != nil {
			f.State, f.Why, f.Do = Blocked, denied.Why, denied.Do
		}
	case f.Version != "":
		f.State, f.Why, f.Do = Incompatible, err.Error(), at.Install
	default:
		f.State, f.Why, f.Do = Absent, err.Error(), at.Install
	}
	return f, nil
}

// locked says what the lock of an environment has.
func locked(at providers.Location, d *managed.Description) Finding {
	for _, e := range d.Facts {
		if name, ok := strings.CutPrefix(e.Name, python.PackageFact); ok && name == at.Library {
			return Finding{State: Available, Probe: "lock", Version: e.Value}
		}
	}
	return Finding{State: Absent, Probe: "lock", Why: "its lock has no " + at.Library, Do: "add " + at.Library + " to what the lock is made from, and run `flameox lock`"}
}

// unasked is a program that a look at everything does not start.
func unasked(provider providers.Provider, file string) Finding {
	return Finding{
		State: Blocked, Probe: "passive", Why: file + " is in the project, and a look at everything starts nothing that a project brings",
		Do: "ask for it with `flameox providers " + provider.Name() + "`",
	}
}

// obstacle is an environment that cannot be described: a lock that is missing or wrong is no reason to say nothing of other places.
func obstacle(err error) Finding {
	var blocked *graph.BlockedError
	if errors.As(err, &blocked) {
		return Finding{State: Blocked, Probe: "lock", Why: blocked.Why, Do: blocked.Do}
	}
	return Finding{State: Blocked, Probe: "lock", Why: err.Error()}
}

// find resolves the first of the programs that is there; nil where none is.
func find(p *kind.Project, programs []string, host *environment.Host) (*broker.Executable, error) {
	for _, name := range programs {
		exe, err := broker.Resolve(broker.Env{Path: host.Path, Dir: filepath.Join(p.Root, filepath.FromSlash(p.Dir)), Digest: func(path string) (digest.Digest, error) {
			s, err := p.Stat.Digest(path)
			return s.Digest, err
		}}, name)
		var start *broker.StartError
		if err == nil {
			return exe, nil
		}
		if !errors.As(err, &start) {
			return nil, fmt.Errorf("look for %s: %w", name, err)
		}
	}
	return nil, nil
}

// below is a link of an executable that lies in the project, relative to it, or "".
func below(root string, exe *broker.Executable) string {
	if exe == nil {
		return ""
	}
	for _, link := range exe.Chain {
		for _, path := range []string{link.Found, link.Real} {
			if rel, err := filepath.Rel(root, path); err == nil && filepath.IsLocal(rel) {
				return filepath.ToSlash(rel)
			}
		}
	}
	return ""
}

// answer is what a program said.
type answer struct {
	stdout, stderr []byte
	failed         string // why there is no answer
}

// question is what a provider's program is asked, and how the answer is read; nil where it is asked nothing.
func question(provider providers.Provider, program string) ([]string, func(*answer) (string, error)) {
	switch pr := provider.(type) {
	case providers.Prober:
		argv, version := pr.Probe([]string{program})
		return argv, func(a *answer) (string, error) { return version(a.stdout, a.stderr) }
	case providers.Reader:
		s := pr.Script()
		return slices.Concat([]string{program}, s.Flags, []string{"-c", string(s.Content), "probe"}), func(a *answer) (string, error) {
			text := bytes.TrimSpace(a.stdout)
			var id providers.ReaderIdentity
			if err := json.Unmarshal(text[bytes.LastIndexByte(text, '\n')+1:], &id); err != nil {
				return "", fmt.Errorf("asking %s which %s it has: its answer is not as it should be: %w", program, s.Library, err)
			}
			if id.Version == "" {
				return "", fmt.Errorf("%s has no %s (%s)", program, s.Library, id.Error)
			}
			return id.Version, nil
		}
	}
	return nil, nil
}

// ask runs a question once for one look at the project. A program that fails has answered too, where it said why: what is read is for the
// provider to judge.
func ask(ctx context.Context, p *kind.Project, exe *broker.Executable, host *environment.Host, argv []string) (*answer, error) {
	type memoKey struct{ path, argv, env string }
	key := memoKey{exe.Path, strings.Join(argv, "\x00"), strings.Join(variables(host, ""), "\x00")}
	return kind.Remember(p.Memo, key, func() (*answer, error) {
		dir, err := os.MkdirTemp("", "flameox-probe-")
		if err != nil {
			return nil, fmt.Errorf("make a folder for a question to %s: %w", exe.Path, err)
		}
		defer os.RemoveAll(dir)
		stdout, stderr := filepath.Join(dir, "stdout"), filepath.Join(dir, "stderr")
		// In a folder of its own: what lies in the project, a pyperf.py or a go.mod, answers nothing.
		res, err := p.Store.Broker.Run(ctx, broker.Command{
			Argv: argv, Executable: exe, Dir: dir, Env: variables(host, dir), Stdout: stdout, Stderr: stderr, Timeout: probeTimeout, OutputLimit: probeOutput,
		})
		if err != nil {
			return &answer{failed: err.Error()}, nil
		}
		if res.Cause == broker.CauseCancelled {
			return nil, context.Cause(ctx)
		}
		out := &answer{}
		if out.stdout, err = os.ReadFile(stdout); err == nil {
			out.stderr, err = os.ReadFile(stderr)
		}
		switch {
		case err != nil:
			return nil, fmt.Errorf("read what %s answered: %w", exe.Path, err)
		case res.Cause == broker.CauseTimeout:
			out.failed = fmt.Sprintf("it was ended after %s", probeTimeout)
		case res.Cause != "":
			out.failed = "it was ended: " + res.Cause
		case res.Signal != "":
			out.failed = "it was killed by " + res.Signal
		}
		return out, nil
	})
}

// variables are the whole environment of a question: that of a program of the place, with a private folder. Toolchains stay those that are
// there, and fetch no other.
func variables(host *environment.Host, private string) []string {
	env := map[string]string{
		"PATH": host.Path, "LANG": "C.UTF-8", "HOME": private, "TMPDIR": private, "PYTHONDONTWRITEBYTECODE": "1", "GOTOOLCHAIN": "local", "GOFLAGS": "",
	}
	maps.Copy(env, host.Untracked)
	maps.Copy(env, host.Tracked)
	maps.DeleteFunc(env, func(_, v string) bool { return token.Has(v) })
	out := make([]string, 0, len(env))
	for _, k := range slices.Sorted(maps.Keys(env)) {
		out = append(out, k+"="+env[k])
	}
	return out
}
