package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/flameox/flameox/graph/broker"
	"github.com/flameox/flameox/internal/vfs"
	"github.com/flameox/flameox/stages/environment/managed"
	"github.com/flameox/flameox/stages/environment/pins"
)

// File is the lock file, relative to the configuration: environments may share one.
func (e *Environment) File() string { return e.o.Lock }

// Lock makes the lock with npm where it is missing or does not fit the package.json, and pins it. What is locked stays as it is, unless o says
// otherwise. npm runs with the caller's environment, and runs no scripts of packages: it is the caller's own work.
func (e *Environment) Lock(ctx context.Context, o pins.Locking, file *pins.File) (*pins.Locked, error) {
	name := e.o.Lock
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
	var old *Lock
	if !missing {
		if old, err = ParseLock(src); err != nil && (!made || o.Accept) {
			return nil, fmt.Errorf("%s is no lock: %w", name, err)
		}
	}
	pin, pinned := file.Of(name)
	edited := old != nil && pinned && pin.Digest != old.Digest()
	fresh := old != nil && (pinned && pin.Inputs == inputs || !pinned && e.fits(old))
	switch {
	case missing && !made:
		return nil, fmt.Errorf("the lock %s does not exist, and neither does %s, which it is made from: write that with what the environment needs", name, e.o.From)
	case edited && !o.Accept && !o.Upgrade:
		return nil, fmt.Errorf("%s locks something else than %s says (%s → %s): -accept pins it as it is, -upgrade makes it anew", name, pins.Name, pin.Digest.Short(), old.Digest().Short())
	case old != nil && (o.Accept || !made), fresh && !o.Upgrade:
		done := &pins.Locked{File: name, State: pins.Unchanged, Packages: len(old.Packages)}
		if !pinned || edited || pin.Inputs != inputs {
			file.Set(name, pins.Pin{Kind: language, Digest: old.Digest(), Inputs: inputs, Tool: pin.Tool})
			done.State = pins.Pinned
		}
		return done, nil
	}
	if o.Upgrade || old == nil {
		src = nil
	}
	text, tool, err := e.resolve(ctx, src)
	if err != nil {
		return nil, err
	}
	lock, err := ParseLock(text)
	if err != nil {
		return nil, fmt.Errorf("%s made a lock for %s that cannot be used: %w", tool, name, err)
	}
	state := pins.Made
	if old != nil && old.Digest() == lock.Digest() {
		if state = pins.Unchanged; !pinned || pin.Inputs != inputs {
			state = pins.Pinned
		}
	} else if err := vfs.WriteFile(vfs.OS{}, e.file(name), text, 0o644, true); err != nil {
		return nil, fmt.Errorf("write the lock %s: %w", name, err)
	}
	file.Set(name, pins.Pin{Kind: language, Digest: lock.Digest(), Inputs: inputs, Tool: tool})
	return &pins.Locked{File: name, State: state, Packages: len(lock.Packages), Tool: tool}, nil
}

// fits says whether a lock that nobody pinned is of the package.json that is there.
func (e *Environment) fits(l *Lock) bool {
	text, err := os.ReadFile(e.file(e.o.From))
	if err != nil {
		return true
	}
	return sameNeeds(text, l)
}

// resolve lets npm choose versions. What src, the lock that is there, has is kept.
func (e *Environment) resolve(ctx context.Context, src []byte) (text []byte, tool string, err error) {
	cannot := func(err error) error { return fmt.Errorf("make the lock %s: %w", e.o.Lock, err) }
	node, err := e.interpreter(ctx)
	if err != nil {
		return nil, "", err
	}
	npm, err := e.npm(node)
	if err != nil {
		return nil, "", cannot(err)
	}
	tmp, err := os.MkdirTemp("", "flameox-lock-")
	if err != nil {
		return nil, "", cannot(err)
	}
	defer os.RemoveAll(tmp)
	dir := filepath.Join(tmp, "project")
	manifest, err := os.ReadFile(e.file(e.o.From))
	if err == nil {
		err = os.Mkdir(dir, 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "package.json"), manifest, 0o600)
	}
	if err == nil && src != nil {
		err = os.WriteFile(filepath.Join(dir, "package-lock.json"), src, 0o600)
	}
	if rc, rerr := os.ReadFile(filepath.Join(filepath.Dir(e.file(e.o.From)), ".npmrc")); err == nil && rerr == nil {
		err = os.WriteFile(filepath.Join(dir, ".npmrc"), rc, 0o600)
	}
	if err != nil {
		return nil, "", cannot(err)
	}
	run := func(args ...string) (string, error) {
		vars := maps.Clone(e.project.Environ)
		vars["PATH"] = filepath.Dir(node.Path) + string(filepath.ListSeparator) + e.search
		out := filepath.Join(tmp, "npm.log")
		b := e.project.Store.Broker
		res, err := b.Run(ctx, broker.Command{
			Argv: append([]string{node.Path, npm}, args...), Dir: dir, Env: managed.Variables(vars), Mark: b.Mark("lock"), Stdout: out, Stderr: out, Timeout: stepTimeout, OutputLimit: 16 << 20,
		})
		if err != nil {
			return "", cannot(err)
		}
		if res.Exit != 0 || res.Cause != "" {
			return "", cannot(errors.New(explain(out, managed.Ending(res))))
		}
		said, err := os.ReadFile(out)
		return strings.TrimSpace(string(said)), err
	}
	at, err := run("--version", "--no-update-notifier")
	if err != nil {
		return nil, "", err
	}
	if _, err := run(append([]string{"install", "--package-lock-only", "--ignore-scripts", "--lockfile-version=3"}, quiet...)...); err != nil {
		return nil, "", err
	}
	text, err = os.ReadFile(filepath.Join(dir, "package-lock.json"))
	if err != nil {
		return nil, "", cannot(err)
	}
	return text, "npm " + at, nil
}
