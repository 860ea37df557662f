package git

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ErrNotRepository is what errors.Is finds where a directory belongs to no working tree.
var ErrNotRepository = errors.New("not in a git repository")

// ErrNoGit is what errors.Is finds where the git executable is missing.
var ErrNoGit = errors.New("git is not on PATH")

// Repo is a working tree. All paths are absolute, with symbolic links resolved.
type Repo struct {
	Root      string // top of the working tree
	GitDir    string // of this working tree: HEAD, index
	CommonDir string // shared by all worktrees of the repository: refs, objects
}

// Find is the working tree that dir is in. It starts no process. Like git it goes up until it finds a
// .git that is a repository, and not across a mount point. errors.Is(err, ErrNotRepository) where there is none.
func Find(dir string) (*Repo, error) {
	start, err := filepath.Abs(dir)
	if err == nil {
		start, err = filepath.EvalSymlinks(start)
	}
	if err != nil {
		return nil, fmt.Errorf("look for a git repository around %s: %w", dir, err)
	}
	dev, _ := device(start)
	for at := start; ; at = filepath.Dir(at) {
		if d, ok := device(at); ok && d != dev {
			break
		}
		gitDir, err := gitDirOf(at)
		if err != nil {
			return nil, err
		}
		if gitDir != "" {
			common, err := commonDirOf(gitDir)
			if err != nil {
				return nil, err
			}
			return &Repo{Root: at, GitDir: gitDir, CommonDir: common}, nil
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	return nil, fmt.Errorf("%s is %w", dir, ErrNotRepository)
}

// gitDirOf is the git directory of a working tree whose top is root, or "".
func gitDirOf(root string) (string, error) {
	path := filepath.Join(root, ".git")
	info, err := os.Stat(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			return "", nil
		}
		return "", fmt.Errorf("look for a git repository: %w", err)
	}
	if !info.IsDir() {
		b, err := readSmall(path)
		if err != nil {
			return "", fmt.Errorf("read the link to a git directory: %w", err)
		}
		target, ok := strings.CutPrefix(strings.TrimRight(string(b), "\r\n"), "gitdir: ")
		if !ok {
			return "", fmt.Errorf("%s is a file but does not name a git directory; it should read \"gitdir: PATH\"", path)
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(root, target)
		}
		path = target
	}
	path, err = filepath.EvalSymlinks(path)
	if err != nil {
		return "", fmt.Errorf("%s names a git directory that is not there (a moved worktree: run \"git worktree repair\"): %w", filepath.Join(root, ".git"), err)
	}
	// An empty or foreign .git is no repository to git either.
	if _, err := os.Lstat(filepath.Join(path, "HEAD")); err != nil {
		return "", nil
	}
	return path, nil
}

func commonDirOf(gitDir string) (string, error) {
	b, err := readSmall(filepath.Join(gitDir, "commondir"))
	if errors.Is(err, fs.ErrNotExist) {
		return gitDir, nil
	}
	if err != nil {
		return "", fmt.Errorf("read which repository the worktree belongs to: %w", err)
	}
	common := strings.TrimRight(string(b), "\r\n")
	if !filepath.IsAbs(common) {
		common = filepath.Join(gitDir, common)
	}
	common, err = filepath.EvalSymlinks(common)
	if err != nil {
		return "", fmt.Errorf("the repository of the worktree %s is not there: %w", gitDir, err)
	}
	return common, nil
}

// Home is the directory that all worktrees of the repository agree on: the top of the main working tree,
// or the bare repository where there is none.
func (r *Repo) Home() string {
	switch {
	case r.GitDir == r.CommonDir: // the main tree, or a submodule, which is a repository of its own
		return r.Root
	case filepath.Base(r.CommonDir) == ".git":
		return filepath.Dir(r.CommonDir)
	}
	return r.CommonDir
}

// Shallow says whether history was cut off when the repository was cloned.
func (r *Repo) Shallow() bool {
	info, err := os.Stat(filepath.Join(r.CommonDir, "shallow"))
	return err == nil && info.Size() > 0
}

// readSmall reads a file of git's own, none of which is large.
func readSmall(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > 1<<16 {
		return nil, fmt.Errorf("%s is no small file", path)
	}
	return os.ReadFile(path)
}
