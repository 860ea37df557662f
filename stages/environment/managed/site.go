package managed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/lock"
	"github.com/flameox/flameox/internal/vfs"
)

// Site is where the environment of a key lies, or will.
type Site struct {
	Store *graph.Store
	Kind  string // "python"
	Key   digest.Digest
}

// name is short because the first line of a script, which names the interpreter, may be; the stamp has the whole key.
func (s *Site) name() string { return s.Key.String()[:24] }

// Dir is its folder.
func (s *Site) Dir() string { return filepath.Join(SitesDir(s.Store), s.name()) }

// SitesDir is the folder that environments stand in, each below one of its own.
func SitesDir(s *graph.Store) string { return filepath.Join(s.Dir, "env") }

// stamp reads the stamp; nil where there is none. The text says why one that is there does not count.
func (s *Site) stamp() (*stamp, string) {
	b, err := os.ReadFile(filepath.Join(s.Dir(), stampName))
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, ""
		}
		return &stamp{}, fmt.Sprintf("its stamp cannot be read (%v)", err)
	}
	st := new(stamp)
	switch err := json.Unmarshal(b, st); {
	case err != nil:
		return st, "its stamp is no stamp"
	case st.Format != format:
		return st, "another version of flameox built it"
	case st.Key != s.Key || st.Kind != s.Kind:
		return st, "it is another environment's"
	case st.Dir != s.Dir():
		return st, "it was moved here from " + st.Dir
	}
	return st, ""
}

// Ensure makes the environment stand: one that is there is compared with its manifest, and one that is missing or damaged is
// built. Others that want the same one wait meanwhile. damaged says what was wrong with one that had been built before.
func (s *Site) Ensure(ctx context.Context, build func(dir string) error) (damaged string, err error) {
	for _, d := range []string{SitesDir(s.Store), filepath.Join(s.Store.Dir, "lock")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return "", fmt.Errorf("make the folder of environments: %w", err)
		}
	}
	l, err := lock.Acquire(ctx, s.Store.LockPath("env-"+s.name()), lock.Holder{Command: "flameox: the environment " + s.name()})
	if err != nil {
		return "", err
	}
	defer l.Release()
	st, damaged := s.stamp()
	if st != nil && damaged == "" {
		if damaged = s.verify(st); damaged == "" {
			return "", nil
		}
	}
	if err := s.Remove(); err != nil {
		return damaged, err
	}
	dir := s.Dir()
	if err := os.Mkdir(dir, 0o755); err != nil {
		return damaged, fmt.Errorf("make the folder of the environment: %w", err)
	}
	if err := build(dir); err != nil {
		return damaged, err
	}
	return damaged, s.seal()
}

func (s *Site) verify(st *stamp) string {
	b, err := os.ReadFile(filepath.Join(s.Dir(), manifestName))
	if err != nil {
		return "its manifest cannot be read"
	}
	var m manifest
	if digest.Sum(b) != st.Manifest || json.Unmarshal(b, &m) != nil {
		return "its manifest was changed"
	}
	return damage(s.Dir(), &m)
}

// seal lists what was built and says last that it is complete.
func (s *Site) seal() error {
	dir, fsys := s.Dir(), s.Store.CAS.FS()
	b, err := record(dir)
	if err != nil {
		return fmt.Errorf("list the files of the environment: %w", err)
	}
	// A power loss must not leave a stamp on files that were never written. What it leaves where the file system cannot promise that is
	// found by comparing with the manifest.
	if err := vfs.WriteFile(fsys, filepath.Join(dir, manifestName), b, 0o644, true); err != nil {
		return fmt.Errorf("write the manifest of the environment: %w", err)
	}
	if err := fsys.SyncFS(dir); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return fmt.Errorf("write the environment to the disk: %w", err)
	}
	text, err := json.Marshal(stamp{Format: format, Kind: s.Kind, Key: s.Key, Dir: dir, Manifest: digest.Sum(b)})
	if err != nil {
		return err
	}
	if err := vfs.WriteFile(fsys, filepath.Join(dir, stampName), append(text, '\n'), 0o644, true); err != nil {
		return fmt.Errorf("write the stamp of the environment: %w", err)
	}
	return nil
}

// Remove takes the environment away, its stamp first, so that no part of it is ever taken for the whole.
func (s *Site) Remove() error {
	dir := s.Dir()
	if err := os.Remove(filepath.Join(dir, stampName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the damaged environment %s: %w", dir, err)
	}
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			os.Chmod(path, 0o755) // a program may have made it read-only
		}
		return nil
	})
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("remove the damaged environment %s: %w", dir, err)
	}
	return nil
}
