package git

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Listing is what git knows below a directory.
type Listing struct {
	// Files are tracked, or untracked and not ignored, and exist; relative to the directory with slashes, sorted by bytes.
	// A symbolic link is listed as itself.
	Files []string
	// Submodules are directories that are repositories of their own, tracked or not. Their files are not in Files.
	Submodules []string
}

// List is the files below dir, which is in the working tree. exclude are further ignore patterns for untracked
// files, in the form of .gitignore: they keep git from walking large directories. It starts git once.
func (r *Repo) List(ctx context.Context, dir string, exclude ...string) (Listing, error) {
	args := []string{"ls-files", "-z", "-t", "--stage", "--cached", "--others", "--deleted", "--exclude-standard"}
	for _, e := range exclude {
		args = append(args, "--exclude="+e)
	}
	out, err := r.run(ctx, dir, args...)
	if err != nil {
		return Listing{}, fmt.Errorf("list the files below %s: %w", dir, err)
	}
	l, err := parseList(out, func(name string) bool {
		_, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(name)))
		return err == nil
	})
	if err != nil {
		return Listing{}, fmt.Errorf("list the files below %s: %w", dir, err)
	}
	return l, nil
}

// parseList reads what ls-files writes with -z -t --stage: "H 100644 <object> 0\tname" of what is in the index,
// "? name" of what is not, "R 100644 …\tname" once more of what is in the index and gone. exists is asked about files that
// sparse checkout may have left out.
func parseList(out []byte, exists func(string) bool) (Listing, error) {
	var l Listing
	gone := map[string]bool{}
	for len(out) > 0 {
		entry, rest, ok := bytes.Cut(out, []byte{0})
		out = rest
		if !ok || len(entry) < 3 || entry[1] != ' ' {
			return Listing{}, fmt.Errorf("git ls-files wrote an entry that is not understood: %.100q", entry)
		}
		tag, name := entry[0], string(entry[2:])
		if tag == '?' {
			// git writes an untracked repository as a directory and does not look inside.
			if sub, isDir := strings.CutSuffix(name, "/"); isDir {
				l.Submodules = append(l.Submodules, sub)
			} else {
				l.Files = append(l.Files, name)
			}
			continue
		}
		stage, path, ok := strings.Cut(name, "\t")
		if !ok {
			return Listing{}, fmt.Errorf("git ls-files wrote an entry that is not understood: %.100q", entry)
		}
		switch {
		case tag == 'R':
			gone[path] = true
		case strings.HasPrefix(stage, "160000 "):
			l.Submodules = append(l.Submodules, path)
		case tag == 'S' && !exists(path):
		default:
			l.Files = append(l.Files, path)
		}
	}
	if len(gone) > 0 {
		l.Files = slices.DeleteFunc(l.Files, func(f string) bool { return gone[f] })
	}
	slices.Sort(l.Files)
	l.Files = slices.Compact(l.Files) // an unmerged file has an entry for each side
	slices.Sort(l.Submodules)
	l.Submodules = slices.Compact(l.Submodules)
	return l, nil
}

// Status is how the working tree differs from HEAD. Paths are relative to the root, sorted as git does.
type Status struct {
	Changed   []string // tracked: modified, staged, deleted, renamed (the new name), unmerged
	Untracked []string // not ignored; a directory without tracked files is one entry ending in a slash
}

// Dirty says whether anything differs.
func (s Status) Dirty() bool { return len(s.Changed)+len(s.Untracked) > 0 }

// Status asks git how the tree differs from HEAD. exclude are paths below the root that do not count, such as the
// store; "*" and "**" are allowed.
func (r *Repo) Status(ctx context.Context, exclude ...string) (Status, error) {
	args := []string{"status", "--porcelain=v1", "-z", "--untracked-files=normal", "--no-renames", "--", "."}
	for _, e := range exclude {
		args = append(args, ":(exclude,glob)"+e)
	}
	out, err := r.run(ctx, r.Root, args...)
	if err != nil {
		return Status{}, fmt.Errorf("find out whether %s was changed: %w", r.Root, err)
	}
	var s Status
	for entry := range bytes.SplitSeq(bytes.TrimSuffix(out, []byte{0}), []byte{0}) {
		switch {
		case len(entry) == 0:
		case len(entry) < 4 || entry[2] != ' ':
			return Status{}, fmt.Errorf("git status wrote an entry that is not understood: %.100q", entry)
		case entry[0] == '?':
			s.Untracked = append(s.Untracked, string(entry[3:]))
		default:
			s.Changed = append(s.Changed, string(entry[3:]))
		}
	}
	return s, nil
}
