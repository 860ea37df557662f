package cas

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/vfs"
)

// Note is the JSON file beside a quarantined file.
type Note struct {
	From string    `json:"from"`           // path at which it was
	Why  string    `json:"why"`            // a sentence
	When time.Time `json:"when"`           // UTC
	Size int64     `json:"size"`           // bytes
	Blob string    `json:"blob,omitempty"` // digest that its name claimed
}

// Quarantine moves the file of a blob to quarantine/ with a note that says why, and returns its new path. The blob is absent from then on.
func (s *Store) Quarantine(d digest.Digest, why string) (string, error) {
	p, err := MoveToQuarantine(s.fs, s.dir, s.Path(d), "blob-"+d.String(), why, d)
	if err == nil {
		s.forget(d)
	}
	return p, err
}

// MoveToQuarantine moves a file or a directory of the store below dir to quarantine/NAME-xxxx with a note in quarantine/NAME-xxxx.json.
func MoveToQuarantine(fsys vfs.FS, dir, path, name, why string, blob digest.Digest) (string, error) {
	fail := func(err error) (string, error) {
		return "", Explain("move "+path+" to quarantine", err)
	}
	st, err := fsys.Lstat(path)
	if err != nil {
		return fail(err)
	}
	to, err := quarantineNote(fsys, dir, name, Note{From: path, Why: why, Size: st.Size, Blob: blob.String()})
	if err != nil {
		return fail(err)
	}
	if err := fsys.Rename(path, to); err != nil {
		return fail(err)
	}
	return to, nil
}

// CopyToQuarantine keeps bytes that are about to be cut from the file path, durably.
func CopyToQuarantine(fsys vfs.FS, dir, path, name, why string, data []byte) (string, error) {
	to, err := quarantineNote(fsys, dir, name, Note{From: path, Why: why, Size: int64(len(data))})
	if err == nil {
		err = vfs.WriteFile(fsys, to, data, 0o444, true)
	}
	if err != nil {
		return "", Explain("copy a part of "+path+" to quarantine", err)
	}
	return to, nil
}

// quarantineNote writes the note first: a file in quarantine without one would be a riddle.
func quarantineNote(fsys vfs.FS, dir, name string, n Note) (string, error) {
	q := filepath.Join(dir, "quarantine")
	if err := vfs.MkdirAll(fsys, q, 0o755); err != nil {
		return "", err
	}
	n.When = fsys.Now().UTC()
	b, err := json.MarshalIndent(n, "", "  ")
	if err != nil {
		return "", err
	}
	to := filepath.Join(q, fmt.Sprintf("%s-%s", name, rand.Text()[:8]))
	return to, vfs.WriteFile(fsys, to+".json", append(b, '\n'), 0o444, false)
}
