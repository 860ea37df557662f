package source

import (
	"context"
	"crypto/sha1" //nolint:gosec // the id of a folder without git has the form of a tree id; it protects nothing
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/flameox/flameox/internal/git"
	"github.com/flameox/flameox/measure/document"
)

// States of a tree.
const (
	Clean   = "clean"
	Dirty   = "dirty"
	Unknown = "unknown" // what its revision differs in could not be found out; then there is no tree id
)

// Identity is what is measured.
type Identity struct {
	Root     string // of the checkout, or the folder itself where there is none; absolute
	URI      string // of the source, normalized
	Type     string // git or directory
	Revision string // object name of the commit; directory-<id> without git
	State    string // Clean, Dirty, Unknown
	Tree     string // object id of the working tree as it is; "" where State is Unknown
}

// ErrNoCommit is a repository in which nothing was committed yet: it has no revision to record.
var ErrNoCommit = errors.New("nothing is committed in the repository yet, so there is no revision to record; commit first")

// Identify says what dir is. exclude are absolute paths that are no part of it, such as the store and the folder of results, where they lie in the tree; a file of them that is tracked keeps its committed
// version. The error is ErrNoCommit, or a folder that cannot be read.
func Identify(ctx context.Context, dir string, exclude ...string) (Identity, error) {
	repo, err := git.Find(dir)
	if errors.Is(err, git.ErrNotRepository) {
		return directory(dir, exclude)
	}
	if err != nil {
		return Identity{}, err
	}
	id := Identity{Root: repo.Root, Type: "git", State: Unknown}
	head, err := repo.Head(ctx)
	if err != nil {
		return Identity{}, err
	}
	if head.Revision == "" {
		return Identity{}, fmt.Errorf("%s: %w", repo.Root, ErrNoCommit)
	}
	id.Revision, id.URI = head.Revision, uri(ctx, repo)
	inside := below(repo.Root, exclude)
	// Unknown is an answer: git may refuse a repository that can be found.
	dirty, err := repo.Dirty(ctx, inside...)
	if err != nil {
		return id, ctx.Err()
	}
	tree, err := repo.Tree(ctx, inside...)
	if err != nil {
		return id, ctx.Err()
	}
	committed, err := repo.Committed(ctx)
	if err != nil {
		return id, ctx.Err()
	}
	id.State, id.Tree = Clean, tree
	if dirty || tree != committed {
		id.State = Dirty
	}
	return id, nil
}

// File is the identity of one source file, such as a suite that lies outside the measured checkout. Tree is the object id of its content.
func File(ctx context.Context, path string) (Identity, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return Identity{}, fmt.Errorf("identify the suite %s: %w", path, err)
	}
	repo, err := git.Find(filepath.Dir(path))
	if err != nil {
		if !errors.Is(err, git.ErrNotRepository) {
			return Identity{}, err
		}
		return Identity{Root: path, Type: "file", URI: document.SourceURI(path, ""), State: Dirty, Tree: blob(content)}, nil
	}
	id := Identity{Root: repo.Root, Type: "git", URI: uri(ctx, repo), State: Unknown}
	head, err := repo.Head(ctx)
	if err != nil {
		return Identity{}, err
	}
	id.Revision = head.Revision
	name, err := real(path)
	if err != nil {
		return Identity{}, err
	}
	name, err = filepath.Rel(repo.Root, name)
	if err != nil {
		return Identity{}, err
	}
	name = filepath.ToSlash(name)
	hash, err := repo.Blob(ctx, name)
	if err != nil {
		return id, ctx.Err()
	}
	changed, err := repo.Changed(ctx, name)
	if err != nil {
		return id, ctx.Err()
	}
	id.State, id.Tree = Clean, hash
	if changed || id.Revision == "" {
		id.State = Dirty
	}
	return id, nil
}

// URI is where a checkout comes from: its origin, or the repository that all its worktrees share.
func URI(ctx context.Context, dir string) string {
	repo, err := git.Find(dir)
	if err != nil {
		return document.SourceURI(dir, "")
	}
	return uri(ctx, repo)
}

func uri(ctx context.Context, repo *git.Repo) string {
	if origin, err := repo.Origin(ctx); err == nil && origin != "" {
		return document.SourceURI(origin, repo.Root)
	}
	return document.SourceURI(repo.Home(), "")
}

// below are the paths that lie below root, relative to it with slashes; links in the folders above them are followed, as in root.
func below(root string, paths []string) []string {
	var out []string
	for _, p := range paths {
		at, err := real(p)
		if err != nil {
			continue
		}
		rel, err := filepath.Rel(root, at)
		if err == nil && rel != "." && filepath.IsLocal(rel) {
			out = append(out, filepath.ToSlash(rel))
		}
	}
	return out
}

// real is a path without links in it, also one that is not there yet.
func real(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	rest := ""
	for at := abs; ; at = filepath.Dir(at) {
		if found, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.Join(found, rest), nil
		}
		if at == filepath.Dir(at) {
			return abs, nil
		}
		rest = filepath.Join(filepath.Base(at), rest)
	}
}

// ignored are folders that no version of a source has.
var ignored = []string{".git", ".benchx", ".flameox", "__pycache__"}

// directory is the identity of a folder without git: a digest over the names and contents of its files. Nothing says that it was ever committed, so it is dirty.
func directory(dir string, exclude []string) (Identity, error) {
	root, err := real(dir)
	if err != nil {
		return Identity{}, err
	}
	var names []string
	skip := below(root, exclude)
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		switch {
		case path != root && d.IsDir() && slices.Contains(ignored, d.Name()), slices.Contains(skip, rel):
			if d.IsDir() {
				return filepath.SkipDir
			}
		case d.Type().IsRegular(), d.Type()&fs.ModeSymlink != 0:
			names = append(names, rel)
		}
		return nil
	})
	if err != nil {
		return Identity{}, fmt.Errorf("identify the folder %s: %w", dir, err)
	}
	slices.Sort(names)
	h := sha1.New() //nolint:gosec // see the import
	for _, name := range names {
		if err := entry(h, root, name); err != nil {
			return Identity{}, fmt.Errorf("identify the folder %s: %w", dir, err)
		}
	}
	id := hex.EncodeToString(h.Sum(nil))
	return Identity{Root: root, URI: document.SourceURI(root, ""), Type: "directory", Revision: "directory-" + id, State: Dirty, Tree: id}, nil
}

func entry(h io.Writer, root, name string) error {
	path := filepath.Join(root, filepath.FromSlash(name))
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := os.Readlink(path)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(h, "%d:%s:%d:%s", len(name), name, len(target), target)
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := fmt.Fprintf(h, "%d:%s:%d:", len(name), name, info.Size()); err != nil {
		return err
	}
	n, err := io.Copy(h, f)
	if err == nil && n != info.Size() {
		err = fmt.Errorf("%s changed while it was read", name)
	}
	return err
}

// blob is git's object id of a content.
func blob(content []byte) string {
	h := sha1.New() //nolint:gosec // see the import
	fmt.Fprintf(h, "blob %d\x00", len(content))
	h.Write(content)
	return hex.EncodeToString(h.Sum(nil))
}
