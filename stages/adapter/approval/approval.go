package approval

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/vfs"
)

// Identity is what is approved.
type Identity struct {
	Name    string        `json:"name"`
	Version string        `json:"version"`
	SHA256  digest.Digest `json:"sha256"` // of the program's bytes
}

// String is the identity in one line.
func (i Identity) String() string {
	return i.Name + " " + i.Version + " (sha256 " + i.SHA256.String() + ")"
}

// Approval is one identity that the user trusts.
type Approval struct {
	Identity
	Path string    `json:"path"` // where it lay then; for people
	When time.Time `json:"when"` // UTC
}

// file is what is kept.
type file struct {
	Format   int        `json:"format_version"` // 1
	Approved []Approval `json:"approved"`
}

// maxFile bounds what is read.
const maxFile = 1 << 20

// Store is one user's approvals.
type Store struct {
	path string
	fs   vfs.FS
}

// Of is the store of the user whose environment it is: adapters.json below XDG_CONFIG_HOME/flameox, or HOME/.config/flameox.
func Of(environ map[string]string, fsys vfs.FS) (*Store, error) {
	base := environ["XDG_CONFIG_HOME"]
	if !filepath.IsAbs(base) {
		home := environ["HOME"]
		if !filepath.IsAbs(home) {
			return nil, errors.New("find which adapters are approved: neither HOME nor XDG_CONFIG_HOME is an absolute path; set one of them")
		}
		base = filepath.Join(home, ".config")
	}
	return &Store{path: filepath.Join(base, "flameox", "adapters.json"), fs: fsys}, nil
}

// Path is the file.
func (s *Store) Path() string { return s.path }

// List is everything that is approved, oldest first.
func (s *Store) List() ([]Approval, error) {
	b, err := vfs.ReadFile(s.fs, s.path, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read which adapters are approved: %w", err)
	}
	var f file
	if err := json.Unmarshal(b, &f); err != nil {
		return nil, fmt.Errorf("read which adapters are approved: %s is damaged (%w); delete it, and approve again what you trust", s.path, err)
	}
	if f.Format != 1 {
		return nil, fmt.Errorf("read which adapters are approved: %s has version %d of the format, and this flameox knows version 1; use a newer flameox", s.path, f.Format)
	}
	return f.Approved, nil
}

// Approved says whether the identity is approved, all of it.
func (s *Store) Approved(id Identity) (bool, error) {
	list, err := s.List()
	return slices.ContainsFunc(list, func(a Approval) bool { return a.Identity == id }), err
}

// Add approves one more identity.
func (s *Store) Add(a Approval) error {
	return s.change(func(list []Approval) []Approval {
		list = slices.DeleteFunc(list, func(old Approval) bool { return old.Identity == a.Identity })
		return append(list, a)
	})
}

// Remove takes approvals of a name back, and returns them.
func (s *Store) Remove(name string) (gone []Approval, err error) {
	err = s.change(func(list []Approval) []Approval {
		return slices.DeleteFunc(list, func(a Approval) bool {
			if a.Name == name {
				gone = append(gone, a)
			}
			return a.Name == name
		})
	})
	return gone, err
}

func (s *Store) change(with func([]Approval) []Approval) error {
	dir := filepath.Dir(s.path)
	if err := vfs.MkdirAll(s.fs, dir, 0o700); err != nil {
		return fmt.Errorf("keep which adapters are approved: %w", err)
	}
	lock, err := s.fs.Lock(filepath.Join(dir, "adapters.lock"), vfs.Exclusive, 10*time.Second)
	if err != nil {
		return fmt.Errorf("keep which adapters are approved: %w", err)
	}
	defer lock.Close()
	list, err := s.List()
	if err != nil {
		return err
	}
	f := file{Format: 1, Approved: append([]Approval{}, with(list)...)}
	b, err := json.MarshalIndent(f, "", "  ")
	if err == nil {
		err = vfs.WriteFile(s.fs, s.path, append(b, '\n'), 0o600, true)
	}
	if err != nil {
		return fmt.Errorf("keep which adapters are approved: %w", err)
	}
	return nil
}

// Sum is the digest of a program's bytes as they are now, never as something remembered them. It may not be a link or anything but a file.
func Sum(path string) (digest.Digest, []byte, error) {
	info, err := os.Lstat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a regular file")
	}
	if err == nil && info.Size() > maxProgram {
		err = fmt.Errorf("it has %d bytes, and an adapter may have %d", info.Size(), int64(maxProgram))
	}
	if err != nil {
		return digest.Digest{}, nil, fmt.Errorf("read the adapter %s: %w", path, err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return digest.Digest{}, nil, fmt.Errorf("read the adapter %s: %w", path, err)
	}
	return digest.Sum(b), b, nil
}

// maxProgram is how large an adapter may be.
const maxProgram = 256 << 20
