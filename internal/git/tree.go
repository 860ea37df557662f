package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Tree is the object id of the working tree as it is: what committing everything that is not ignored would record. exclude are paths below the root, relative with slashes, that are no part of it; what of them is
// tracked keeps the committed version. Neither the index nor the objects of the repository are touched.
func (r *Repo) Tree(ctx context.Context, exclude ...string) (string, error) {
	scratch, err := os.MkdirTemp("", "flameox-tree-")
	if err != nil {
		return "", fmt.Errorf("find the tree of %s: %w", r.Root, err)
	}
	defer os.RemoveAll(scratch)
	objects, err := r.run(ctx, r.Root, "rev-parse", "--git-path", "objects")
	if err != nil {
		return "", fmt.Errorf("find the tree of %s: %w", r.Root, err)
	}
	behind := strings.TrimRight(string(objects), "\r\n")
	if !filepath.IsAbs(behind) {
		behind = filepath.Join(r.Root, behind)
	}
	at := filepath.Join(scratch, "objects")
	if err := os.Mkdir(at, 0o700); err != nil {
		return "", fmt.Errorf("find the tree of %s: %w", r.Root, err)
	}
	index := filepath.Join(scratch, "index")
	// A path with a quote or a colon would be read as two, or as quoted.
	quoted := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(behind) + `"`
	env := []string{"GIT_INDEX_FILE=" + index, "GIT_OBJECT_DIRECTORY=" + at, "GIT_ALTERNATE_OBJECT_DIRECTORIES=" + quoted}
	// With these git would write beside the index in use, or into the repository.
	own := []string{"-c", "core.splitIndex=false", "-c", "core.untrackedCache=false", "-c", "core.safecrlf=false", "-c", "advice.addEmbeddedRepo=false"}
	step := func(args ...string) error {
		_, err := r.feedWith(ctx, r.Root, nil, env, append(slices.Clone(own), args...)...)
		return err
	}
	err = r.copyIndex(ctx, index, step, exclude)
	if err == nil {
		err = step(append([]string{"add", "-A", "--", "."}, without(exclude)...)...)
	}
	if err != nil {
		return "", fmt.Errorf("find the tree of %s: %w", r.Root, err)
	}
	out, err := r.feedWith(ctx, r.Root, nil, env, "write-tree")
	if err != nil {
		return "", fmt.Errorf("find the tree of %s: %w", r.Root, err)
	}
	id := strings.TrimSpace(string(out))
	if !isObjectName(id) {
		return "", fmt.Errorf("find the tree of %s: git write-tree wrote %.80q", r.Root, id)
	}
	return id, nil
}

// copyIndex makes an index of its own. It starts from the user's: with an empty one a tracked file that an ignore rule matches would be lost, and every file would be read again, since an index also holds what
// the files looked like when they were last read.
func (r *Repo) copyIndex(ctx context.Context, index string, step func(...string) error, exclude []string) error {
	from := filepath.Join(r.GitDir, "index")
	info, err := os.Stat(from)
	if errors.Is(err, fs.ErrNotExist) {
		return step("read-tree", "HEAD")
	}
	if err != nil {
		return err
	}
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.WriteFile(index, content, 0o600); err != nil {
		return err
	}
	// What was changed in the moment in which the index was written is told by the index's own time.
	if err := os.Chtimes(index, info.ModTime(), info.ModTime()); err != nil {
		return err
	}
	if len(exclude) > 0 {
		args := []string{"reset", "-q", "HEAD", "--"}
		for _, e := range exclude {
			args = append(args, ":(top,literal)"+e)
		}
		if err := step(args...); err != nil {
			return err
		}
	}
	// A file that git was told not to look at counts as it is.
	out, err := r.run(ctx, r.Root, "ls-files", "-v", "-z")
	if err != nil {
		return err
	}
	var unseen []string
	for entry := range bytes.SplitSeq(out, []byte{0}) {
		if len(entry) > 2 && entry[0] >= 'a' && entry[0] <= 'z' && entry[0] != 's' {
			unseen = append(unseen, string(entry[2:]))
		}
	}
	for chunk := range slices.Chunk(unseen, 500) {
		if err := step(append([]string{"update-index", "--no-assume-unchanged", "--"}, chunk...)...); err != nil {
			return err
		}
	}
	return nil
}

// without are pathspecs that leave paths out, whatever characters they have.
func without(paths []string) []string {
	out := make([]string, len(paths))
	for i, p := range paths {
		out[i] = ":(exclude,top,literal)" + p
	}
	return out
}

// Dirty says whether the working tree differs from what is committed in anything but the paths exclude, which are relative to the root, with slashes. A file that is neither tracked nor ignored counts.
func (r *Repo) Dirty(ctx context.Context, exclude ...string) (bool, error) {
	args := append([]string{"status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames", "--", "."}, without(exclude)...)
	out, err := r.run(ctx, r.Root, args...)
	if err != nil {
		return false, fmt.Errorf("find out whether %s was changed: %w", r.Root, err)
	}
	return len(out) > 0, nil
}

// Committed is the object id of the tree that is checked out.
func (r *Repo) Committed(ctx context.Context) (string, error) {
	out, err := r.run(ctx, r.Root, "rev-parse", "--verify", "HEAD^{tree}")
	return strings.TrimSpace(string(out)), err
}

// Origin is the address of the remote called origin, "" where there is none.
func (r *Repo) Origin(ctx context.Context) (string, error) {
	out, err := r.run(ctx, r.Root, "remote", "get-url", "origin")
	var failed *CommandError
	if errors.As(err, &failed) && failed.Exit == 2 {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return strings.TrimRight(string(out), "\r\n"), nil
}

// Blob is the object id that the file would be committed as; name is relative to the root, with slashes.
func (r *Repo) Blob(ctx context.Context, name string) (string, error) {
	out, err := r.run(ctx, r.Root, "hash-object", "--", name)
	if err != nil {
		return "", err
	}
	id := strings.TrimSpace(string(out))
	if !isObjectName(id) {
		return "", fmt.Errorf("git hash-object wrote %.80q for %s", id, name)
	}
	return id, nil
}

// Changed says whether the file differs from the committed one, or is not committed, also where it is ignored; name is relative to the root, with slashes.
func (r *Repo) Changed(ctx context.Context, name string) (bool, error) {
	out, err := r.run(ctx, r.Root, "status", "--porcelain=v1", "-z", "--untracked-files=all", "--ignored", "--no-renames", "--", ":(top,literal)"+name)
	if err != nil {
		return false, err
	}
	return len(out) > 0, nil
}
