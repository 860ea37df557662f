package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Head is what is checked out.
type Head struct {
	Revision string // full object name; "" before the first commit
	Branch   string // "main", or "" where HEAD is detached
	// Files were looked at to find the answer, also those that were missing. Where none of them changed, the
	// answer stands. Empty where git itself had to be asked.
	Files []string
}

// Head is what is checked out. It starts git only for references that are not plain files.
func (r *Repo) Head(ctx context.Context) (Head, error) {
	h, ok := r.headFromFiles()
	if ok {
		return h, nil
	}
	return r.headFromGit(ctx)
}

// headFromFiles reads HEAD and follows it. It is false wherever something is not exactly as expected.
func (r *Repo) headFromFiles() (h Head, ok bool) {
	path := filepath.Join(r.GitDir, "HEAD")
	// A HEAD that is a symbolic link is a branch in the form of git before 1.0.
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
		return Head{}, false
	}
	// Some file must have refs as plain files: with reftable HEAD is a constant.
	if _, err := os.Lstat(filepath.Join(r.CommonDir, "reftable")); err == nil {
		return Head{}, false
	}
	files := []string{path}
	for depth := 0; depth < 5; depth++ {
		b, err := readSmall(path)
		if err != nil {
			return Head{}, false
		}
		text := strings.TrimSpace(string(b))
		ref, symbolic := strings.CutPrefix(text, "ref:")
		if !symbolic {
			h.Revision, h.Files = text, files
			return h, isObjectName(text)
		}
		ref = strings.TrimSpace(ref)
		branch, isBranch := strings.CutPrefix(ref, "refs/heads/")
		// References outside refs/heads may belong to one worktree only: leave them to git.
		if !isBranch || branch == "" || !filepath.IsLocal(ref) {
			return Head{}, false
		}
		h.Branch = branch // of a symbolic branch the one it stands for, as git has it
		path = filepath.Join(r.CommonDir, filepath.FromSlash(ref))
		files = append(files, path)
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) || err == nil && info.IsDir() {
			// Packing writes packed-refs before it removes the loose file, so this order misses nothing.
			packed := filepath.Join(r.CommonDir, "packed-refs")
			h.Files = append(files, packed)
			h.Revision, ok = packedRef(packed, ref)
			return h, ok
		}
		if err != nil {
			return Head{}, false
		}
	}
	return Head{}, false
}

// packedRef looks ref up in a packed-refs file. A missing file or reference is "" and true: a branch without commits.
func packedRef(path, ref string) (string, bool) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", true
	}
	if err != nil {
		return "", false
	}
	for line := range bytes.Lines(b) {
		name, rest, ok := bytes.Cut(line, []byte(" "))
		if ok && string(bytes.TrimRight(rest, "\r\n")) == ref {
			return string(name), isObjectName(string(name))
		}
	}
	return "", true
}

// isObjectName says whether s is a full SHA-1 or SHA-256.
func isObjectName(s string) bool {
	if len(s) != 40 && len(s) != 64 {
		return false
	}
	for i := 0; i < len(s); i++ {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

func (r *Repo) headFromGit(ctx context.Context) (h Head, err error) {
	var failed *CommandError
	out, err := r.run(ctx, r.Root, "rev-parse", "--verify", "--quiet", "HEAD")
	switch {
	case err == nil:
		h.Revision = strings.TrimSpace(string(out))
	case !errors.As(err, &failed) || failed.Stderr != "":
		return Head{}, fmt.Errorf("find out what is checked out in %s: %w", r.Root, err)
	}
	out, err = r.run(ctx, r.Root, "symbolic-ref", "--quiet", "HEAD")
	switch {
	case err == nil:
		h.Branch = strings.TrimPrefix(strings.TrimSpace(string(out)), "refs/heads/")
	case !errors.As(err, &failed) || failed.Stderr != "":
		return Head{}, fmt.Errorf("find out which branch is checked out in %s: %w", r.Root, err)
	}
	return h, nil
}

// Resolve is the full name of the commit that revision ("origin/main", "v1.2~3", an abbreviation) names.
func (r *Repo) Resolve(ctx context.Context, revision string) (string, error) {
	out, err := r.run(ctx, r.Root, "rev-parse", "--verify", "--quiet", "--end-of-options", revision+"^{commit}")
	if err != nil {
		var failed *CommandError
		if errors.As(err, &failed) && failed.Exit == 1 {
			hint := ""
			if r.Shallow() {
				hint = "; the clone is shallow: \"git fetch --unshallow\" gets the rest of the history"
			}
			return "", fmt.Errorf("%q names no commit in %s: see \"git log\" or fetch it first%s", revision, r.Root, hint)
		}
		return "", fmt.Errorf("resolve revision %q in %s: %w", revision, r.Root, err)
	}
	return strings.TrimSpace(string(out)), nil
}
