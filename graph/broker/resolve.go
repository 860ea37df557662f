package broker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/suggest"
)

// Env is what an executable is looked up in.
type Env struct {
	Path string // PATH of the constructed environment
	Dir  string // absolute working directory
	// Libraries are the directories of LD_LIBRARY_PATH, and Preload the libraries of LD_PRELOAD, in the constructed environment.
	Libraries, Preload []string
	// Digest is the content digest of a file; the files themselves are read where it is nil. A caller with many stages
	// passes a cache.
	Digest func(path string) (digest.Digest, error)
	// Looked is told of every path that the answer depends on, before it is looked at, also of names that are not found; nil where nobody
	// listens. What answers from memory instead of looking has to tell it the same paths.
	Looked func(path string)
}

// looked tells who listens that the answer depends on what is at path.
func (e Env) looked(path string) {
	if e.Looked != nil {
		e.Looked(path)
	}
}

func (e Env) digest(path string) (digest.Digest, error) {
	if e.Digest != nil {
		return e.Digest(path)
	}
	f, err := os.Open(path)
	if err != nil {
		return digest.Digest{}, err
	}
	defer f.Close()
	d, _, err := digest.SumReader(f)
	return d, err
}

// LinkKind is what a link of the chain is.
type LinkKind string

// The kinds of links.
const (
	KindBinary      LinkKind = "binary"      // runs by itself
	KindScript      LinkKind = "script"      // needs the next link to run
	KindInterpreter LinkKind = "interpreter" // runs the script before it, and is a binary
	KindTool        LinkKind = "tool"        // what a launcher runs: a compiler of its toolchain
	KindData        LinkKind = "data"        // a file that decides what a launcher runs
	KindLibrary     LinkKind = "library"     // a shared library that the loader maps into it
)

// Link is one file of what really runs.
type Link struct {
	Asked  string // the name by which it was looked up: python3, or a path
	Found  string // absolute, before symbolic links were followed
	Real   string // absolute, after
	Kind   LinkKind
	Digest digest.Digest

	search string // PATH it was found through, or ""
	dir    string // working directory of the search
	id     identity
	racy   bool // it changed so shortly before it was hashed that its times may not show another change
}

// identity is what changes when a file does.
type identity struct {
	dev, ino   uint64
	size       int64
	mtim, ctim unix.Timespec
	mode       uint32
}

func identityOf(st *unix.Stat_t) identity {
	return identity{dev: st.Dev, ino: st.Ino, size: st.Size, mtim: st.Mtim, ctim: st.Ctim, mode: st.Mode}
}

// Executable is a command's first word, resolved.
type Executable struct {
	Path        string // to execute: as found, so that a program that looks at its own name keeps it
	Chain       []Link // from the command to what the kernel loads; never empty
	Libraries   []Link // shared libraries of the last program of the chain, and theirs, by name
	Limitations []string

	digest func(string) (digest.Digest, error)
}

// maxChain bounds the links; the kernel itself gives up after five interpreters.
const maxChain = 16

// shells run scripts that mostly start other programs.
var shells = map[string]bool{"sh": true, "bash": true, "dash": true, "ksh": true, "zsh": true, "ash": true, "fish": true}

// clockGrain is how coarse the times of a file may be.
const clockGrain = 20 * time.Millisecond

// Resolve finds what argv0 really runs: through PATH or relative to Dir, through symbolic links, through #! lines and env, and, for
// the go launcher, to the tools of its toolchain. args are the arguments after argv0; only `env` needs them.
func Resolve(env Env, argv0 string, args ...string) (*Executable, error) {
	path, err := lookup(env, argv0)
	if err != nil {
		return nil, err
	}
	x := &Executable{Path: path, digest: env.digest}
	if err := x.follow(env, argv0, path, KindBinary, args); err != nil {
		return x, err
	}
	x.addLibraries(env)
	return x, nil
}

// follow adds path and everything behind it to the chain.
func (x *Executable) follow(env Env, asked, path string, kind LinkKind, args []string) error {
	if len(x.Chain) >= maxChain {
		return refuse(BadInterpreter, x.Path, nil, "resolve %s: more than %d scripts and interpreters lead to each other; look at the #! lines of %s", x.Chain[0].Asked, maxChain, x.Path)
	}
	l, err := newLink(env, asked, path, kind)
	if err != nil {
		return err
	}
	env.looked(l.Real)
	line, script, err := classify(l.Real)
	if err != nil {
		return refuse(BadFormat, path, err, "resolve %s: %v", asked, err)
	}
	if script {
		l.Kind = KindScript
	}
	x.Chain = append(x.Chain, l)
	switch {
	case script:
		interp := line.interpreter
		if !filepath.IsAbs(interp) {
			interp = filepath.Join(env.Dir, interp)
			x.Limitations = append(x.Limitations, fmt.Sprintf("%s names its interpreter %q relative to the working directory", path, line.interpreter))
		}
		env.looked(interp)
		if err := runnable(interp); err != nil {
			return refuse(BadInterpreter, path, err, "resolve %s: %s asks for the interpreter %s: %v; install it or change the first line of the script", asked, path, interp, err)
		}
		if shells[filepath.Base(interp)] {
			x.Limitations = append(x.Limitations, fmt.Sprintf("%s is a shell script; what it starts in turn is not followed, so a wrapper or shim hides the program behind it: name that program where its identity matters", path))
		}
		var rest []string
		if line.argument != "" {
			rest = []string{line.argument}
		}
		return x.follow(env, interp, interp, KindInterpreter, append(rest, path))
	case filepath.Base(l.Real) == "env" || filepath.Base(path) == "env":
		return x.followEnv(env, path, args)
	case filepath.Base(l.Real) == "go":
		return x.followGo(env, l.Real)
	}
	return nil
}

// followEnv adds the program that env runs.
func (x *Executable) followEnv(env Env, path string, args []string) error {
	call, err := parseEnv(args, env.Path, env.Dir)
	if err != nil {
		return refuse(BadInterpreter, path, err, "resolve %s: follow %s %s: %v", x.Chain[0].Asked, path, strings.Join(args, " "), err)
	}
	if call.program == "" {
		return nil // env alone prints the environment
	}
	env.Path, env.Dir = call.path, call.dir
	next, err := lookup(env, call.program)
	if err != nil {
		return err
	}
	return x.follow(env, call.program, next, KindInterpreter, call.args)
}

// followGo adds the tools that the go launcher runs. They, not the launcher, decide what a build is.
func (x *Executable) followGo(env Env, launcher string) error {
	root := filepath.Dir(filepath.Dir(launcher))
	version := filepath.Join(root, "VERSION")
	tools := filepath.Join(root, "pkg", "tool", runtime.GOOS+"_"+runtime.GOARCH)
	env.looked(filepath.Join(tools, "compile"))
	if runnable(filepath.Join(tools, "compile")) != nil {
		return nil // some other program of that name
	}
	for _, f := range []struct {
		path string
		kind LinkKind
	}{
		{version, KindData},
		{filepath.Join(tools, "compile"), KindTool},
		{filepath.Join(tools, "link"), KindTool},
		{filepath.Join(tools, "asm"), KindTool},
	} {
		l, err := newLink(env, f.path, f.path, f.kind)
		if errors.Is(err, fs.ErrNotExist) {
			x.Limitations = append(x.Limitations, fmt.Sprintf("the toolchain of %s has no %s", launcher, f.path))
			continue
		}
		if err != nil {
			return err
		}
		x.Chain = append(x.Chain, l)
	}
	x.Limitations = append(x.Limitations, "the go launcher runs another toolchain than its own where go.mod or GOTOOLCHAIN asks for one; GOTOOLCHAIN=local rules that out")
	return nil
}

func newLink(env Env, asked, path string, kind LinkKind) (Link, error) {
	l := Link{Asked: asked, Found: path, Kind: kind, dir: env.Dir}
	if !strings.Contains(asked, "/") {
		l.search = env.Path
	}
	env.looked(path)
	var err error
	if l.Real, err = filepath.EvalSymlinks(path); err != nil {
		return l, refuse(NotFound, path, err, "resolve %s: follow the symbolic links of %s: %v", asked, path, plain(err))
	}
	hashed := time.Now()
	var st unix.Stat_t
	if err := unix.Stat(l.Real, &st); err != nil {
		return l, refuse(NotFound, path, err, "resolve %s: look at %s: %v", asked, l.Real, err)
	}
	l.id = identityOf(&st)
	l.racy = hashed.Sub(time.Unix(st.Ctim.Unix())) < clockGrain
	if l.Digest, err = env.digest(l.Real); err != nil {
		return l, refuse(NotExecutable, path, err, "resolve %s: read %s to identify it: %v", asked, l.Real, plain(err))
	}
	return l, nil
}

// runnable says why path cannot be executed, or nil.
func runnable(path string) error {
	st, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("it does not exist")
	case err != nil:
		return plain(err)
	case st.IsDir():
		return errors.New("it is a directory")
	case !st.Mode().IsRegular():
		return errors.New("it is not a regular file")
	case unix.Faccessat(unix.AT_FDCWD, path, unix.X_OK, unix.AT_EACCESS) != nil:
		return errors.New("it is not executable")
	}
	return nil
}

// lookup finds a program as execvp does. An error lists what was searched.
func lookup(env Env, name string) (string, error) {
	if name == "" {
		return "", refuse(BadArgument, "", nil, "resolve a command: its first word is empty")
	}
	if strings.IndexByte(name, 0) >= 0 {
		return "", refuse(BadArgument, "", nil, "resolve %q: a name has no NUL byte", name)
	}
	if strings.Contains(name, "/") {
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(env.Dir, name)
		}
		env.looked(path)
		if err := runnable(path); err != nil {
			if _, serr := os.Stat(path); serr == nil {
				return "", refuse(NotExecutable, path, err, "resolve %s: %s: %v; chmod +x makes a file executable", name, path, err)
			}
			return "", refuse(NotFound, path, fs.ErrNotExist, "resolve %s: %s does not exist%s", name, path, similar(env, filepath.Dir(path), filepath.Base(path)))
		}
		return path, nil
	}
	var dirs []string
	var blocked string
	for _, dir := range filepath.SplitList(env.Path) {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(env.Dir, dir) // an empty entry is the working directory
		}
		dirs = append(dirs, dir)
		path := filepath.Join(dir, name)
		env.looked(path)
		err := runnable(path)
		if err == nil {
			return path, nil
		}
		if _, serr := os.Stat(path); serr == nil && blocked == "" {
			blocked = fmt.Sprintf("; %s exists, but %v", path, err)
		}
	}
	if len(dirs) == 0 {
		return "", refuse(NotFound, name, fs.ErrNotExist, "resolve %s: it is not found, because PATH is empty; declare PATH, or name the program by its path", name)
	}
	if blocked == "" {
		blocked = similar(env, "", name, dirs...)
	}
	return "", refuse(NotFound, name, fs.ErrNotExist, "resolve %s: it is not found on PATH=%s%s; install it, declare its directory in PATH, or name it by its path", name, env.Path, blocked)
}

// similar names files of the directories that are spelled almost like name.
func similar(env Env, dir, name string, dirs ...string) string {
	if dir != "" {
		dirs = append(dirs, dir)
	}
	var near []string
	for _, d := range dirs {
		env.looked(d)
		entries, err := os.ReadDir(d)
		if err != nil || len(entries) > 20_000 {
			continue
		}
		for _, e := range entries {
			n := e.Name()
			// A version is the commonest difference: python for python3.
			alike := n != name && (suggest.Distance(n, name) <= 1+len(name)/6 || len(name) >= 3 && strings.TrimRight(n, "0123456789.") == strings.TrimRight(name, "0123456789."))
			if alike {
				env.looked(filepath.Join(d, n))
			}
			if alike && !slices.Contains(near, n) && runnable(filepath.Join(d, n)) == nil {
				near = append(near, n)
			}
		}
	}
	if len(near) == 0 {
		return ""
	}
	slices.SortStableFunc(near, func(a, b string) int { return suggest.Distance(a, name) - suggest.Distance(b, name) })
	return "; did you mean " + strings.Join(near[:min(3, len(near))], " or ") + "?"
}

// ExecutableChangedError says that what would run is not what was resolved.
type ExecutableChangedError struct {
	Link     Link // as it was
	Real     string
	Digest   digest.Digest // as it is; zero where it could not be read
	Detail   string
	Original error
}

func (e *ExecutableChangedError) Error() string {
	return fmt.Sprintf("start %s: it is not what was planned: %s; plan again", e.Link.Asked, e.Detail)
}

func (e *ExecutableChangedError) Unwrap() error { return e.Original }

// Verify says whether every link is still what it was, right before a start. Only a file whose identity moved is read again.
func (x *Executable) Verify(ctx context.Context) error {
	for i := range x.Chain {
		if err := ctx.Err(); err != nil {
			return refuse(NotStarted, x.Path, err, "start %s: stopped before it was started: %v", x.Chain[0].Asked, err)
		}
		if err := x.verify(&x.Chain[i]); err != nil {
			return err
		}
	}
	for i := range x.Libraries {
		if err := x.verify(&x.Libraries[i]); err != nil {
			return err
		}
	}
	return nil
}

func (x *Executable) verify(l *Link) error {
	if l.search != "" {
		if now, err := lookup(Env{Path: l.search, Dir: l.dir}, l.Asked); err != nil {
			return &ExecutableChangedError{Link: *l, Original: err, Detail: fmt.Sprintf("%s is gone from PATH", l.Found)}
		} else if now != l.Found {
			return &ExecutableChangedError{Link: *l, Real: now, Detail: fmt.Sprintf("PATH now leads to %s instead of %s", now, l.Found)}
		}
	}
	real, err := filepath.EvalSymlinks(l.Found)
	if err != nil {
		return &ExecutableChangedError{Link: *l, Original: err, Detail: fmt.Sprintf("%s cannot be followed any more: %v", l.Found, plain(err))}
	}
	var st unix.Stat_t
	if err := unix.Stat(real, &st); err != nil {
		return &ExecutableChangedError{Link: *l, Real: real, Original: err, Detail: fmt.Sprintf("%s cannot be looked at any more: %v", real, err)}
	}
	if real == l.Real && identityOf(&st) == l.id && !l.racy {
		return nil
	}
	d, err := x.digest(real)
	if err != nil {
		return &ExecutableChangedError{Link: *l, Real: real, Original: err, Detail: fmt.Sprintf("%s cannot be read any more: %v", real, plain(err))}
	}
	if d != l.Digest {
		return &ExecutableChangedError{Link: *l, Real: real, Digest: d, Detail: fmt.Sprintf("the content of %s changed, %s → %s", real, l.Digest.Short(), d.Short())}
	}
	if l.Kind != KindData && l.Kind != KindLibrary {
		if err := runnable(real); err != nil {
			return &ExecutableChangedError{Link: *l, Real: real, Digest: d, Original: err, Detail: fmt.Sprintf("%s: %v any more", real, err)}
		}
	}
	return nil
}
