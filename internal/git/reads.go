package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Reads are what an answer of git depends on: absolute paths, directories by their listing, whether they are there or not, and environment variables.
type Reads struct {
	Paths []string
	Env   []string
	// Unknown says why git's answer may change without any of them moving; "" where it cannot.
	Unknown string
}

// mostUnlisted is how many directories without a listed file are asked about. Beyond it a tree is one that nobody wants walked.
const mostUnlisted = 4096

// ListReads are what the listing l of the files below dir depends on: the index, configuration, ignore files, and every directory that git looks
// into, also those in which it found nothing. It starts git two or three times. skip are names of directories that exclude kept git out of.
func (r *Repo) ListReads(ctx context.Context, dir string, l Listing, skip func(name string) bool) (Reads, error) {
	out, err := r.configReads(ctx, dir)
	if err != nil {
		return out, err
	}
	out.Paths = append(out.Paths, filepath.Join(r.GitDir, "index"), filepath.Join(r.CommonDir, "info", "exclude"), filepath.Join(r.GitDir, "info", "sparse-checkout"))
	// Ignore files above the directory count too.
	for at := dir; at != r.Root && at != filepath.Dir(at); {
		at = filepath.Dir(at)
		out.Paths = append(out.Paths, filepath.Join(at, ".gitignore"))
	}
	holding := map[string]bool{".": true}
	for _, f := range l.Files {
		for d := path.Dir(f); !holding[d]; d = path.Dir(d) {
			holding[d] = true
		}
	}
	nested := map[string]bool{}
	for _, s := range l.Submodules {
		nested[s] = true
		for d := path.Dir(s); !holding[d]; d = path.Dir(d) {
			holding[d] = true
		}
		out.Paths = append(out.Paths, filepath.Join(dir, filepath.FromSlash(s), ".git"))
	}
	asked := 0
	for level := []string{"."}; len(level) > 0; {
		var next, unlisted []string
		for _, d := range level {
			abs := filepath.Join(dir, filepath.FromSlash(d))
			out.Paths = append(out.Paths, abs, filepath.Join(abs, ".gitignore"))
			entries, err := os.ReadDir(abs)
			if err != nil {
				continue // git could not list it either
			}
			for _, e := range entries {
				rel := path.Join(d, e.Name())
				switch {
				case !e.IsDir() || e.Name() == ".git" || skip(e.Name()) || nested[rel]:
				case holding[rel]:
					next = append(next, rel)
				default:
					unlisted = append(unlisted, rel)
				}
			}
		}
		if asked += len(unlisted); asked > mostUnlisted {
			out.Unknown = fmt.Sprintf("more than %d directories below %s hold no file that git lists", mostUnlisted, dir)
			return out, nil
		}
		ignored, err := r.ignored(ctx, dir, unlisted)
		if err != nil {
			return out, err
		}
		for _, d := range unlisted {
			if !ignored[d] {
				next = append(next, d)
			}
		}
		level = next
	}
	return out, nil
}

// ignored are those of the directories that ignore files name, or hold.
func (r *Repo) ignored(ctx context.Context, dir string, names []string) (map[string]bool, error) {
	if len(names) == 0 {
		return nil, nil
	}
	b, err := r.feed(ctx, dir, []byte(strings.Join(names, "\x00")+"\x00"), "check-ignore", "-z", "--stdin")
	var failed *CommandError
	if errors.As(err, &failed) && failed.Exit == 1 && failed.Stderr == "" {
		return nil, nil // none of them
	}
	if err != nil {
		return nil, fmt.Errorf("find out which directories below %s are ignored: %w", dir, err)
	}
	out := map[string]bool{}
	for name := range bytes.SplitSeq(bytes.TrimSuffix(b, []byte{0}), []byte{0}) {
		out[string(name)] = true
	}
	return out, nil
}

// configReads are git itself, its configuration wherever it comes from, and the user's ignore file.
func (r *Repo) configReads(ctx context.Context, dir string) (out Reads, err error) {
	out.Env = []string{"PATH", "HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_COUNT", "GIT_EXEC_PATH", "LD_LIBRARY_PATH", "LD_PRELOAD"}
	for _, e := range os.Environ() {
		if name, _, _ := strings.Cut(e, "="); strings.HasPrefix(name, "GIT_CONFIG_KEY_") || strings.HasPrefix(name, "GIT_CONFIG_VALUE_") {
			out.Env = append(out.Env, name)
		}
	}
	for _, d := range filepath.SplitList(os.Getenv("PATH")) {
		if !filepath.IsAbs(d) {
			out.Unknown = "PATH has a folder that is not absolute, so which git is asked depends on where flameox runs"
			return out, nil
		}
		exe := filepath.Join(d, "git")
		out.Paths = append(out.Paths, exe)
		if info, err := os.Stat(exe); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			break
		}
	}
	home := os.Getenv("HOME")
	user := os.Getenv("XDG_CONFIG_HOME")
	if user == "" && home != "" {
		user = filepath.Join(home, ".config")
	}
	for _, p := range []string{filepath.Join(home, ".gitconfig"), filepath.Join(user, "git", "config"), filepath.Join(user, "git", "ignore"), os.Getenv("GIT_CONFIG_GLOBAL"), os.Getenv("GIT_CONFIG_SYSTEM"), "/etc/gitconfig"} {
		if filepath.IsAbs(p) {
			out.Paths = append(out.Paths, p)
		}
	}
	out.Paths = append(out.Paths, filepath.Join(r.Root, ".git"), filepath.Join(r.GitDir, "HEAD"), filepath.Join(r.GitDir, "commondir"), filepath.Join(r.GitDir, "config.worktree"), filepath.Join(r.CommonDir, "config"))
	return out, r.originReads(ctx, dir, home, &out)
}

// originReads adds the files that git's configuration comes from, and those that it names.
func (r *Repo) originReads(ctx context.Context, dir, home string, out *Reads) error {
	b, err := r.run(ctx, dir, "config", "--list", "--show-origin", "-z")
	if err != nil {
		return fmt.Errorf("find out where git's configuration comes from: %w", err)
	}
	fields := strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		origin, isFile := strings.CutPrefix(fields[i], "file:")
		if isFile {
			if !filepath.IsAbs(origin) {
				origin = filepath.Join(dir, origin)
			}
			out.Paths = append(out.Paths, origin)
		}
		key, value, _ := strings.Cut(fields[i+1], "\n")
		named := key == "core.excludesfile" || key == "include.path" || strings.HasPrefix(key, "includeif.") && strings.HasSuffix(key, ".path")
		if !named || value == "" {
			continue
		}
		if rest, ok := strings.CutPrefix(value, "~/"); ok {
			value = filepath.Join(home, rest)
		}
		switch {
		case filepath.IsAbs(value):
		case strings.HasPrefix(value, "~"), strings.HasPrefix(value, "%("), !isFile:
			out.Unknown = fmt.Sprintf("git's configuration names the file %s, of which it is not known where it lies", value)
		case key == "core.excludesfile":
			value = filepath.Join(r.Root, value)
		default:
			value = filepath.Join(filepath.Dir(origin), value)
		}
		if filepath.IsAbs(value) {
			out.Paths = append(out.Paths, value)
		}
	}
	return nil
}

// RevisionReads are what the commit that revision names depends on: every reference, and which objects there are.
func (r *Repo) RevisionReads(ctx context.Context, revision string) (Reads, error) {
	if strings.ContainsAny(revision, ":{") {
		return Reads{Unknown: fmt.Sprintf("what the revision %q names depends on more than references", revision)}, nil
	}
	out, err := r.configReads(ctx, r.Root)
	if err != nil {
		return out, err
	}
	for _, f := range []string{"reftable", filepath.Join("objects", "info", "alternates")} {
		p := filepath.Join(r.CommonDir, f)
		if _, err := os.Lstat(p); err == nil {
			out.Unknown = p + " is there, and what depends on it is not known"
			return out, nil
		}
		out.Paths = append(out.Paths, p)
	}
	for _, dir := range slices.Compact([]string{r.GitDir, r.CommonDir}) {
		for _, f := range []string{"HEAD", "FETCH_HEAD", "ORIG_HEAD", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "packed-refs", "shallow", revision} {
			if filepath.IsLocal(f) {
				out.Paths = append(out.Paths, filepath.Join(dir, f))
			}
		}
		if err := treeReads(filepath.Join(dir, "refs"), &out); err != nil {
			return out, err
		}
	}
	// Which objects there are decides what an abbreviation names, and whether a commit can be found.
	objects := filepath.Join(r.CommonDir, "objects")
	entries, err := os.ReadDir(objects)
	if err != nil {
		return out, fmt.Errorf("look at the objects of %s: %w", r.Root, err)
	}
	out.Paths = append(out.Paths, objects)
	for _, e := range entries {
		if e.IsDir() {
			out.Paths = append(out.Paths, filepath.Join(objects, e.Name()))
		}
	}
	return out, nil
}

// treeReads adds every file and folder below dir, and dir itself.
func treeReads(dir string, out *Reads) error {
	err := filepath.WalkDir(dir, func(p string, _ os.DirEntry, err error) error {
		if err == nil || errors.Is(err, os.ErrNotExist) {
			out.Paths = append(out.Paths, p)
			return nil
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("look at the references below %s: %w", dir, err)
	}
	return nil
}
