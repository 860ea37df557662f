package tool

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/graph/cas"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/lock"
)

// Folder is where tools lie below the store.
const Folder = "tools"

// partials is the folder of downloads that are not whole.
const partials = "partial"

// folder is the tool's: the name begins its key, as that of an environment.
func (t *Tool) folder(s *graph.Store) string {
	m := t.manifest()
	return filepath.Join(s.Dir, Folder, m.Key().String()[:24])
}

// Path is where the executable lies once Ready has returned.
func (t *Tool) Path(s *graph.Store) string { return filepath.Join(t.folder(s), t.name) }

// alone keeps others from the same tool until release.
func (t *Tool) alone(ctx context.Context, s *graph.Store) (release func(), err error) {
	for _, d := range []string{filepath.Join(s.Dir, Folder, partials), filepath.Join(s.Dir, "lock")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return nil, fmt.Errorf("make the folder of tools: %w", err)
		}
	}
	name := filepath.Base(t.folder(s))
	l, err := lock.Acquire(ctx, s.LockPath("tool-"+name), lock.Holder{Command: "flameox: the tool " + t.Address})
	if err != nil {
		return nil, err
	}
	return func() { l.Release() }, nil
}

// acquire makes sure that what is downloaded is a blob of the store. Where it is one already nothing is asked of anybody: a blob is named
// by its digest.
func (t *Tool) acquire(ctx context.Context, task *graph.Task) error {
	s := task.Store
	release, err := t.alone(ctx, s)
	if err != nil {
		return err
	}
	defer release()
	if s.CAS.Verify(t.archive) == cas.Present {
		return nil
	}
	part := filepath.Join(s.Dir, Folder, partials, t.archive.String())
	if err := newClient().fetch(ctx, t, part); err != nil {
		return err
	}
	sum, size, err := task.Batch.PutFile(part)
	if err != nil {
		return fmt.Errorf("keep the download of %s: %w", t.Address, err)
	}
	if sum != t.archive || size != t.o.Size {
		return &Error{Kind: WrongBytes, Text: fmt.Sprintf("the download of %s was changed on disk while it was read; apply again", t.Address)}
	}
	if err := task.Flush(); err != nil { // the executable is taken out of the store, as it will be every later time
		return err
	}
	return os.Remove(part)
}

// Ready makes sure that the executable is what the configuration says: it is hashed from its bytes, whatever its size and times are. One that is
// missing or something else is taken out of the download again; the notes say that it was something else.
func (t *Tool) Ready(ctx context.Context, task *graph.Task) ([]cache.Note, error) {
	release, err := t.alone(ctx, task.Store)
	if err != nil {
		return nil, err
	}
	defer release()
	path := t.Path(task.Store)
	why := t.wrong(path)
	if why == "" {
		return nil, nil
	}
	var notes []cache.Note
	if why != absent {
		notes = append(notes, cache.Note{Code: "tool_replaced", Text: fmt.Sprintf("the executable of %s was something else (%s) and was made again from the store before this run", t.Address, why)})
	}
	return notes, t.install(task.Store, path)
}

// absent is what wrong says of no file.
const absent = "missing"

// wrong says how what lies at path is not the executable, or "".
func (t *Tool) wrong(path string) string {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return absent
	case err != nil:
		return err.Error()
	case !info.Mode().IsRegular():
		return "it is not a file"
	}
	f, err := os.Open(path)
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	sum, _, err := digest.SumReader(f)
	switch {
	case err != nil:
		return err.Error()
	case sum != t.executable:
		return "SHA-256 " + sum.Short()
	case info.Mode().Perm()&0o111 == 0:
		return "it is not executable"
	case info.Mode().Perm()&0o022 != 0:
		return "others may write it"
	}
	return ""
}

// install takes the executable out of the download and puts it in place, whole and verified or not at all.
func (t *Tool) install(s *graph.Store, path string) error {
	dir := filepath.Dir(path)
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("remove what lies in the place of %s: %w", t.Address, err)
	}
	blob, err := s.CAS.Open(t.archive)
	if err != nil {
		return &Error{Kind: Missing, Err: err, Text: fmt.Sprintf("neither the executable of %s nor its download is here; run it first: flameox apply -target=%s", t.Address, t.Address)}
	}
	defer blob.Close()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the folder of %s: %w", t.Address, err)
	}
	tmp := filepath.Join(dir, ".new")
	out, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("write the executable of %s: %w", t.Address, err)
	}
	defer os.Remove(tmp)
	defer out.Close()
	h := sha256.New()
	if err := unpack(blob, t.o.Size, t.o.Member, io.MultiWriter(out, h)); err != nil {
		return &Error{Kind: WrongFormat, Err: err, Text: fmt.Sprintf("the executable of %s could not be taken out of what %s answers: %v", t.Address, redact(t.url), err)}
	}
	if sum := digest.Of(h); sum != t.executable {
		return &Error{Kind: WrongBytes, Text: fmt.Sprintf("the executable in the download of %s has the SHA-256 %s and not %s: executable_sha256 or member is wrong. It was not run", t.Address, sum, t.executable)}
	}
	err = errors.Join(out.Chmod(0o555), out.Sync(), out.Close())
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		return fmt.Errorf("write the executable of %s: %w", t.Address, err)
	}
	return nil
}
