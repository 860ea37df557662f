package managed

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/flameox/flameox/internal/digest"
)

// The files of an environment that are flameox's.
const (
	manifestName = ".flameox-manifest.json"
	stampName    = ".flameox-stamp.json"
)

// format is that of both files.
const format = 1

// entry is one file or link. The times and the inode are those of a moment at which the content was known: where they stand, the
// content is not read again.
type entry struct {
	Path   string         `json:"path"` // below the environment, with / between names
	Link   string         `json:"link,omitempty"`
	Digest *digest.Digest `json:"sha256,omitempty"`
	Size   int64          `json:"size,omitempty"`
	Mode   uint32         `json:"mode,omitempty"` // permission bits
	Inode  uint64         `json:"inode,omitempty"`
	Mtime  int64          `json:"mtime_ns,omitempty"`
	Ctime  int64          `json:"ctime_ns,omitempty"`
}

type manifest struct {
	Format int     `json:"format"`
	Files  []entry `json:"files"` // sorted by path
}

// stamp says that a folder is an environment.
type stamp struct {
	Format   int           `json:"format"`
	Kind     string        `json:"kind"` // "python"
	Key      digest.Digest `json:"key"`
	Dir      string        `json:"dir"`      // where it was built: an environment that was moved is none
	Manifest digest.Digest `json:"manifest"` // SHA-256 of the manifest's bytes
}

// look lists what is in dir, without content. Our own files, and folders, are left out.
func look(dir string) ([]entry, error) {
	var out []entry
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if rel == manifestName || rel == stampName {
			return nil
		}
		e := entry{Path: rel}
		if d.Type() == fs.ModeSymlink {
			e.Link, err = os.Readlink(path)
			out = append(out, e)
			return err
		}
		if !d.Type().IsRegular() {
			return fmt.Errorf("%s is neither a file nor a link", rel)
		}
		if err := e.stat(path); err != nil {
			return err
		}
		out = append(out, e)
		return nil
	})
	slices.SortFunc(out, func(a, b entry) int { return strings.Compare(a.Path, b.Path) })
	return out, err
}

func (e *entry) stat(path string) error {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return &fs.PathError{Op: "lstat", Path: path, Err: err}
	}
	e.Size, e.Mode, e.Inode = st.Size, st.Mode&0o7777, st.Ino
	e.Mtime, e.Ctime = st.Mtim.Nano(), st.Ctim.Nano()
	return nil
}

func (e *entry) hash(dir string) error {
	f, err := os.Open(filepath.Join(dir, filepath.FromSlash(e.Path)))
	if err != nil {
		return err
	}
	defer f.Close()
	d, _, err := digest.SumReader(f)
	e.Digest = &d
	return err
}

// record lists what is in dir with its content.
func record(dir string) ([]byte, error) {
	files, err := look(dir)
	if err != nil {
		return nil, err
	}
	for i := range files {
		if files[i].Link == "" {
			if err := files[i].hash(dir); err != nil {
				return nil, err
			}
		}
	}
	return json.Marshal(manifest{Format: format, Files: files})
}

// damage says how dir differs from its manifest, or "". Only files whose identity moved are read. Compiled files that came later are
// no damage: an interpreter with other options leaves them, and they follow from the sources.
func damage(dir string, m *manifest) string {
	now, err := look(dir)
	if err != nil {
		return fmt.Sprintf("it cannot be read (%v)", err)
	}
	for len(m.Files) > 0 || len(now) > 0 {
		switch {
		case len(now) == 0 || len(m.Files) > 0 && m.Files[0].Path < now[0].Path:
			return m.Files[0].Path + " is missing"
		case len(m.Files) == 0 || now[0].Path < m.Files[0].Path:
			if !compiled(now[0].Path) {
				return now[0].Path + " was added"
			}
			now = now[1:]
			continue
		}
		was, is := &m.Files[0], &now[0]
		m.Files, now = m.Files[1:], now[1:]
		if was.Link != is.Link || was.Mode != is.Mode || was.Size != is.Size {
			return was.Path + " was changed"
		}
		if was.Link != "" || was.Inode == is.Inode && was.Mtime == is.Mtime && was.Ctime == is.Ctime {
			continue
		}
		if err := is.hash(dir); err != nil {
			return fmt.Sprintf("%s cannot be read (%v)", is.Path, err)
		}
		if was.Digest == nil || *was.Digest != *is.Digest {
			return was.Path + " was changed"
		}
	}
	return ""
}

func compiled(path string) bool {
	return strings.HasSuffix(path, ".pyc") && strings.Contains("/"+path, "/__pycache__/")
}
