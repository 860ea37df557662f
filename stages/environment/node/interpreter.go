package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/broker"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/pattern"
	"github.com/flameox/flameox/internal/vfs"
	"github.com/flameox/flameox/stages/environment/managed"
)

// Interpreter is a base interpreter: no shim.
type Interpreter struct {
	Path     string        `json:"path"` // absolute, links followed
	Digest   digest.Digest `json:"sha256"`
	Version  string        `json:"version"`  // "20.20.2"
	Platform string        `json:"platform"` // "linux x64 115": system, architecture, ABI of native modules
}

// probe is what the interpreter is asked.
const probe = `console.log(JSON.stringify({path: process.execPath, version: process.versions.node, platform: [process.platform, process.arch, process.versions.modules].join(" ")}))`

const (
	probeTimeout = 30 * time.Second
	probeOutput  = 64 << 10 // bytes
)

// selectors are the caller's variables by which a shim chooses a version. They are for the probe alone: what they chose is in the key.
var selectors = []string{"NODENV_VERSION", "NODENV_ROOT", "NVM_DIR", "VOLTA_HOME", "FNM_DIR", "ASDF_DIR", "ASDF_DATA_DIR", "ASDF_NODEJS_VERSION", "MISE_DATA_DIR", "MISE_NODE_VERSION"}

// interpreter finds the base interpreter. A shim is asked each time, because what it looks at is not known; an interpreter itself once, for as
// long as its bytes stand.
func (e *Environment) interpreter(ctx context.Context) (*Interpreter, error) {
	exe, err := broker.Resolve(broker.Env{Path: e.search, Dir: e.dir(), Digest: e.digest, Looked: e.project.Looked}, e.o.Interpreter)
	var start *broker.StartError
	if errors.As(err, &start) {
		return nil, &graph.BlockedError{Why: start.Error(), Do: "install Node, or correct interpreter"}
	}
	if err != nil {
		return nil, err
	}
	last := exe.Chain[len(exe.Chain)-1]
	memo := e.remembered()
	if old := memo[last.Digest.String()]; old != nil && len(exe.Chain) == 1 && old.Path == last.Real {
		return old, nil
	}
	found, err := e.ask(ctx, exe)
	if err == nil {
		found.Path, err = filepath.EvalSymlinks(found.Path)
	}
	if err == nil {
		found.Digest, err = e.digest(found.Path)
	}
	if err != nil {
		return nil, &graph.BlockedError{Why: fmt.Sprintf("%s cannot be used as a Node interpreter: %v", exe.Path, err), Do: "correct interpreter"}
	}
	if found.Path == last.Real && len(exe.Chain) == 1 {
		e.remember(memo, found)
	}
	return found, nil
}

func (e *Environment) digest(path string) (digest.Digest, error) {
	h, err := e.project.Stat.Digest(path)
	return h.Digest, err
}

func (e *Environment) ask(ctx context.Context, exe *broker.Executable) (*Interpreter, error) {
	e.project.Reads.Refuse("an interpreter is asked for its version") // the next plan knows it
	tmp, err := os.MkdirTemp("", "flameox-probe-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	vars := map[string]string{"PATH": e.search, "LANG": "C.UTF-8", "HOME": e.project.Environ["HOME"], "TMPDIR": tmp}
	for _, name := range selectors {
		if v, ok := e.project.Environ[name]; ok {
			vars[name] = v
		}
	}
	out, errs := filepath.Join(tmp, "stdout"), filepath.Join(tmp, "stderr")
	res, err := e.project.Store.Broker.Run(ctx, broker.Command{
		Argv: []string{exe.Path, "-e", probe}, Executable: exe, Dir: e.dir(), Env: managed.Variables(vars), Mark: e.project.Store.Broker.Mark("probe"),
		Stdout: out, Stderr: errs, Timeout: probeTimeout, OutputLimit: probeOutput,
	})
	if err != nil {
		return nil, err
	}
	if res.Exit != 0 || res.Cause != "" {
		return nil, fmt.Errorf("asked for its version, it ended with %s%s", managed.Ending(res), lastLine(errs))
	}
	text, err := os.ReadFile(out)
	if err != nil {
		return nil, err
	}
	found := new(Interpreter)
	if err := json.Unmarshal(text, found); err != nil || !filepath.IsAbs(found.Path) || !isVersion.MatchString(found.Version) {
		return nil, errors.New("asked for its version, it answered something else")
	}
	return found, nil
}

var isVersion = pattern.Lazy{Expr: `^[0-9]+\.[0-9]+\.[0-9]+[-a-z0-9.]*$`}

// npm finds the npm of the interpreter: the one that came with it, else the one in PATH. It is started by the interpreter itself, because its own
// first line would find another.
func (e *Environment) npm(node *Interpreter) (string, error) {
	bin := filepath.Dir(node.Path)
	candidates := []string{filepath.Join(bin, "..", "lib", "node_modules", "npm", "bin", "npm-cli.js"), filepath.Join(bin, "node_modules", "npm", "bin", "npm-cli.js"), filepath.Join(bin, "npm")}
	for _, dir := range filepath.SplitList(e.search) {
		candidates = append(candidates, filepath.Join(dir, "npm"))
	}
	for _, c := range append(candidates, "/usr/share/nodejs/npm/bin/npm-cli.js") {
		if real, err := filepath.EvalSymlinks(c); err == nil && filepath.Base(real) == "npm-cli.js" {
			return real, nil
		}
	}
	return "", fmt.Errorf("%s has no npm, which builds the environment: install npm 7 or later beside it", node.Path)
}

func (e *Environment) memoPath() string {
	return filepath.Join(e.project.Store.Dir, "cache", "node.json")
}

// maxRemembered bounds the file of answers.
const maxRemembered = 64

// remembered are the earlier answers by the interpreter's digest. The file is a cache: whatever is wrong with it costs a question.
func (e *Environment) remembered() map[string]*Interpreter {
	m := map[string]*Interpreter{}
	if b, err := os.ReadFile(e.memoPath()); err == nil && json.Unmarshal(b, &m) != nil {
		m = map[string]*Interpreter{}
	}
	return m
}

func (e *Environment) remember(m map[string]*Interpreter, found *Interpreter) {
	if _, err := os.Stat(filepath.Dir(e.memoPath())); err != nil {
		return // nothing was applied here: leave no folder behind
	}
	if len(m) >= maxRemembered {
		clear(m)
	}
	m[found.Digest.String()] = found
	if b, err := json.Marshal(m); err == nil {
		vfs.WriteFile(e.project.Store.CAS.FS(), e.memoPath(), b, 0o644, false)
	}
}

// lastLine is the last line that says an error, or the last at all, as a clause; without what a URL says of its user.
func lastLine(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	last, wrong := "", ""
	for l := range strings.SplitSeq(string(text), "\n") {
		l = strings.TrimSpace(l)
		said, isError := strings.CutPrefix(l, "npm error ")
		switch {
		case l == "" || strings.Contains(l, "complete log of this run"):
		case isError && !strings.HasPrefix(said, "code ") && wrong == "":
			wrong = said
		default:
			last = l
		}
	}
	if wrong != "" {
		last = wrong
	}
	if last == "" {
		return ""
	}
	if len(last) > 400 {
		last = strings.ToValidUTF8(last[:400], "") + "…"
	}
	return ": " + redact(last)
}

// userInfo is the part of a URL that names a user, with the password.
var userInfo = pattern.Lazy{Expr: `([a-zA-Z][a-zA-Z0-9+.-]*://)[^/@\s]+@`}

// redact takes users and passwords out of URLs.
func redact(s string) string { return userInfo.ReplaceAllString(s, "${1}…@") }
