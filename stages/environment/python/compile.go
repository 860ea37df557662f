package python

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/flameox/flameox/graph/broker"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/pylock"
	"github.com/flameox/flameox/internal/vfs"
	"github.com/flameox/flameox/stages/environment/managed"
	"github.com/flameox/flameox/stages/environment/pins"
)

// What locking is, of every language.
type (
	Locking = pins.Locking
	Locked  = pins.Locked
)

// The states of Locked.
const (
	LockMade      = pins.Made
	LockPinned    = pins.Pinned
	LockUnchanged = pins.Unchanged
)

// File is the lock file, relative to the configuration: environments may share one.
func (e *Environment) File() string { return e.o.Requirements }

// Lock makes the lock with the ecosystem's own tool where it is missing or does not fit what it is made from, and pins it. What is locked stays
// as it is, unless o says otherwise. The tool runs with the caller's environment: it is the caller's own work.
func (e *Environment) Lock(ctx context.Context, o Locking, file *pins.File) (*Locked, error) {
	name := e.o.Requirements
	inputs, err := e.inputs()
	if err != nil {
		return nil, err
	}
	made := !inputs.IsZero()
	src, err := os.ReadFile(e.file(name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the lock %s: %w", name, err)
	}
	missing := err != nil
	var old *pylock.Lock
	if !missing {
		if old, err = pylock.Parse(src); err != nil && (!made || o.Accept) {
			return nil, fmt.Errorf("%s is no lock: %w; move it to %s, set from = [%q], and run `flameox lock` again", name, err, asInput(name), asInput(name))
		}
	}
	pin, pinned := file.Of(name)
	edited := old != nil && pinned && pin.Digest != old.Digest()
	switch {
	case missing && !made:
		return nil, fmt.Errorf("the lock %s does not exist, and %s does not say what it is made from: give from = [\"requirements.in\"] or packages = [\"name\"]", name, e.Address)
	case edited && !o.Accept && !o.Upgrade:
		return nil, fmt.Errorf("%s locks something else than %s says (%s → %s): -accept pins it as it is, -upgrade makes it anew", name, pins.Name, pin.Digest.Short(), old.Digest().Short())
	case old != nil && (o.Accept || !made):
		done := &Locked{File: name, State: LockUnchanged, Packages: len(old.Packages)}
		if want := (pins.Pin{Kind: language, Digest: old.Digest(), Inputs: inputs}); !pinned || edited || pin.Inputs != inputs {
			file.Set(name, want)
			done.State = LockPinned
		}
		return done, nil
	case old != nil && pinned && pin.Inputs == inputs && !o.Upgrade:
		return &Locked{File: name, State: LockUnchanged, Packages: len(old.Packages)}, nil
	}
	text, tool, err := e.compile(ctx, o.Upgrade, src, old)
	if err != nil {
		return nil, err
	}
	lock, err := pylock.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s made a lock for %s that cannot be used: %w", tool, name, err)
	}
	state := LockMade
	if old != nil && old.Digest() == lock.Digest() {
		state = LockUnchanged // its layout is its writer's
		if !pinned || pin.Inputs != inputs {
			state = LockPinned
		}
	} else {
		head := fmt.Sprintf("# Made by `flameox lock` with %s; change what it is made from, and run that again.\n", tool)
		if err := vfs.WriteFile(vfs.OS{}, e.file(name), append([]byte(head), text...), 0o644, true); err != nil {
			return nil, fmt.Errorf("write the lock %s: %w", name, err)
		}
	}
	file.Set(name, pins.Pin{Kind: language, Digest: lock.Digest(), Inputs: inputs, Tool: tool})
	return &Locked{File: name, State: state, Packages: len(lock.Packages), Tool: tool}, nil
}

func asInput(lock string) string {
	base := strings.TrimSuffix(strings.TrimSuffix(lock, filepath.Ext(lock)), ".lock")
	return base + ".in"
}

// compile runs the tool. old is the lock that is there, as a file and as what it means; its versions are kept unless upgrade.
func (e *Environment) compile(ctx context.Context, upgrade bool, src []byte, old *pylock.Lock) (text []byte, tool string, err error) {
	python, err := e.interpreter(ctx)
	if err != nil {
		return nil, "", err
	}
	tmp, err := os.MkdirTemp("", "flameox-lock-")
	if err != nil {
		return nil, "", fmt.Errorf("make a folder for the lock: %w", err)
	}
	defer os.RemoveAll(tmp)
	c := &compiler{e: e, tmp: tmp, python: python, out: filepath.Join(tmp, "lock.txt"), upgrade: upgrade}
	for _, f := range e.o.From {
		c.inputs = append(c.inputs, e.file(f))
	}
	if len(e.o.Packages) > 0 {
		file := filepath.Join(tmp, "packages.in")
		if err := os.WriteFile(file, []byte(strings.Join(e.o.Packages, "\n")+"\n"), 0o600); err != nil {
			return nil, "", err
		}
		c.inputs = append(c.inputs, file)
	}
	if old != nil && !upgrade { // the tools keep what their output has
		if err := os.WriteFile(c.out, src, 0o600); err != nil {
			return nil, "", err
		}
		c.old = old
	}
	if _, err := broker.Resolve(broker.Env{Path: e.search, Dir: e.dir(), Digest: e.digest}, "uv"); err == nil {
		return c.file(ctx, "uv", []string{
			"uv", "pip", "compile", "--quiet", "--no-header", "--generate-hashes", "--only-binary", ":all:", "--python", python.Path, "--output-file", c.out,
		})
	}
	// pip-tools is a package of whatever interpreter was named, which may be a virtual environment of the same base.
	named, err := broker.Resolve(broker.Env{Path: e.search, Dir: e.dir(), Digest: e.digest}, e.o.Interpreter)
	if err != nil {
		return nil, "", err
	}
	if _, err := c.run(ctx, []string{named.Path, "-I", "-c", "import piptools"}); err == nil {
		return c.file(ctx, "pip-tools", []string{
			named.Path, "-I", "-m", "piptools", "compile", "--quiet", "--no-header", "--generate-hashes", "--allow-unsafe", "--strip-extras",
			"--no-emit-index-url", "--no-emit-find-links", // they may hold passwords, and folders of this machine
			"--pip-args", "--only-binary :all:", "--output-file", c.out,
		})
	}
	return c.report(ctx)
}

// compiler is one run of a tool.
type compiler struct {
	e       *Environment
	tmp     string
	python  *Interpreter
	inputs  []string
	out     string
	upgrade bool
	old     *pylock.Lock
}

// run runs a tool with the caller's environment and returns what it printed.
func (c *compiler) run(ctx context.Context, argv []string) ([]byte, error) {
	out := filepath.Join(c.tmp, "tool.log")
	vars := map[string]string{}
	for name, v := range c.e.project.Environ {
		vars[name] = v
	}
	vars["PIP_DISABLE_PIP_VERSION_CHECK"], vars["PIP_NO_INPUT"], vars["PATH"] = "1", "1", c.e.search
	b := c.e.project.Store.Broker
	res, err := b.Run(ctx, broker.Command{
		Argv: argv, Dir: c.e.dir(), Env: managed.Variables(vars), Mark: b.Mark("lock"), Stdout: out, Stderr: out, Timeout: stepTimeout, OutputLimit: 16 << 20,
	})
	if err != nil {
		return nil, err
	}
	if res.Exit != 0 || res.Cause != "" {
		hint := ""
		if c.old != nil {
			hint = "; the versions that are locked now may not fit any more: -upgrade lets them change"
		}
		return nil, fmt.Errorf("make the lock %s: %s%s", c.e.o.Requirements, explain(out, argv[0], managed.Ending(res)), hint)
	}
	return os.ReadFile(out)
}

// file runs a tool that writes a lock by itself.
func (c *compiler) file(ctx context.Context, tool string, argv []string) ([]byte, string, error) {
	if c.upgrade {
		argv = append(argv, "--upgrade")
	}
	if _, err := c.run(ctx, append(argv, c.inputs...)); err != nil {
		return nil, "", err
	}
	text, err := os.ReadFile(c.out)
	return text, tool, err
}

// report is what pip says it would install.
type report struct {
	Pip     string `json:"pip_version"`
	Install []struct {
		Download struct {
			URL     string `json:"url"`
			Archive struct {
				Hashes map[string]string `json:"hashes"`
			} `json:"archive_info"`
		} `json:"download_info"`
		Metadata struct {
			Name    string `json:"name"`
			Version string `json:"version"`
		} `json:"metadata"`
	} `json:"install"`
}

// report locks with pip alone: what it would install for this interpreter, with the hash of that one file.
func (c *compiler) report(ctx context.Context) ([]byte, string, error) {
	file := filepath.Join(c.tmp, "report.json")
	argv := []string{
		c.python.Path, "-I", "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed", "--only-binary", ":all:", "--report", file,
	}
	if c.old != nil {
		keep := filepath.Join(c.tmp, "keep.txt")
		var b strings.Builder
		for i := range c.old.Packages {
			p := c.old.Packages[i]
			p.Extras = nil // constraints have none
			b.WriteString(p.Spec() + "\n")
		}
		if err := os.WriteFile(keep, []byte(b.String()), 0o600); err != nil {
			return nil, "", err
		}
		argv = append(argv, "-c", keep)
	}
	for _, in := range c.inputs {
		if filepath.Ext(in) == ".toml" {
			return nil, "", fmt.Errorf("make the lock %s: pip alone cannot read %s; install uv or pip-tools, or name requirements files", c.e.o.Requirements, filepath.Base(in))
		}
		argv = append(argv, "-r", in)
	}
	if _, err := c.run(ctx, argv); err != nil {
		return nil, "", err
	}
	src, err := os.ReadFile(file)
	if err != nil {
		return nil, "", fmt.Errorf("make the lock %s: read what pip reports: %w", c.e.o.Requirements, err)
	}
	var r report
	if err := json.Unmarshal(src, &r); err != nil {
		return nil, "", fmt.Errorf("make the lock %s: read what pip reports: %w", c.e.o.Requirements, err)
	}
	l := &pylock.Lock{}
	for _, p := range r.Install {
		hash := p.Download.Archive.Hashes["sha256"]
		if hash == "" {
			if hash, err = hashOf(p.Download.URL); err != nil {
				return nil, "", fmt.Errorf("make the lock %s: %s %s has no SHA-256 in its index: %w", c.e.o.Requirements, p.Metadata.Name, p.Metadata.Version, err)
			}
		}
		l.Packages = append(l.Packages, pylock.Package{Name: pylock.Normalize(p.Metadata.Name), Version: p.Metadata.Version, Hashes: []string{"sha256:" + hash}})
	}
	return l.Layout(), "pip " + r.Pip, nil
}

// hashOf hashes a wheel of a folder, of which pip does not say the hash.
func hashOf(where string) (string, error) {
	u, err := url.Parse(where)
	if err != nil || u.Scheme != "file" {
		return "", fmt.Errorf("%s is no file to hash; use an index that has hashes, or uv", redact(where))
	}
	f, err := os.Open(u.Path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	d, _, err := digest.SumReader(f)
	return d.String(), err
}
