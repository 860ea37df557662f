package python

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/broker"
	"github.com/flameox/flameox/internal/pattern"
	"github.com/flameox/flameox/stages/environment/managed"
)

// network are the caller's variables by which pip finds an index and gets there. They are passed on to the one step that may use a
// network, and are recorded without secrets. They are not keyed: hashes make the source of a wheel irrelevant.
var network = []string{
	"PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_NO_INDEX", "PIP_TRUSTED_HOST", "PIP_CERT", "PIP_CLIENT_CERT", "PIP_PROXY",
	"PIP_DEFAULT_TIMEOUT", "PIP_RETRIES", "PIP_KEYRING_PROVIDER",
	"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NETRC",
}

// workshop is what the tools of one build are run in.
type workshop struct {
	t     *graph.Task
	dir   string // private, below the task's
	path  string // PATH
	steps int
	log   []string // files that the steps wrote, in order
}

const stepTimeout = 30 * time.Minute

// newWorkshop makes the private folder. It is apart from the home of the program that a user of the environment runs.
func newWorkshop(t *graph.Task, path string) (*workshop, error) {
	w := &workshop{t: t, dir: filepath.Join(t.Dir, "environment"), path: path}
	for _, d := range []string{"home", "tmp"} {
		if err := os.MkdirAll(filepath.Join(w.dir, d), 0o700); err != nil {
			return nil, fmt.Errorf("make a folder for building the environment: %w", err)
		}
	}
	return w, nil
}

// vars are the variables of every tool. No configuration of the caller is read, and nothing is fetched, unless more says so.
func (w *workshop) vars(more map[string]string) map[string]string {
	v := map[string]string{
		"PATH": w.path, "LANG": "C.UTF-8", "HOME": filepath.Join(w.dir, "home"), "TMPDIR": filepath.Join(w.dir, "tmp"),
		"PIP_CONFIG_FILE": os.DevNull, "PIP_NO_INPUT": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_CACHE_DIR": "1", "PIP_NO_COLOR": "1",
	}
	for name, value := range more {
		if v[name] = value; value == "" {
			delete(v, name)
		}
	}
	return v
}

// run runs one tool. tolerate is an exit status beside 0 that is no failure.
func (w *workshop) run(ctx context.Context, what string, argv []string, vars map[string]string, tolerate int) (*broker.Result, error) {
	w.steps++
	out := filepath.Join(w.dir, fmt.Sprintf("step-%d.log", w.steps))
	w.log = append(w.log, out)
	res, err := w.t.Store.Broker.Run(ctx, broker.Command{
		Argv: argv, Dir: w.dir, Env: managed.Variables(vars), Mark: w.t.Mark, Stdout: out, Stderr: out, Timeout: stepTimeout, OutputLimit: 16 << 20, Staging: w.dir,
	})
	if err != nil {
		return nil, &managed.StepError{What: what, Detail: err.Error()}
	}
	if ctx.Err() != nil {
		return res, ctx.Err()
	}
	if res.Cause != "" || res.Signal != "" || res.Exit != 0 && res.Exit != tolerate {
		return res, &managed.StepError{What: what, Detail: explain(out, argv[0], managed.Ending(res))}
	}
	return res, nil
}

// explain says why a tool failed, and what to do where that is known.
func explain(log, python, how string) string {
	text, _ := os.ReadFile(log)
	said := string(text)
	has := func(s string) bool { return strings.Contains(said, s) }
	switch {
	case has("No module named pip"):
		return python + " has no pip; install it for this interpreter (python3-pip, or `" + python + " -m ensurepip`)"
	case has("no such option: --python"):
		return "the pip of " + python + " is older than 22.3; upgrade it"
	case has("No module named venv"):
		return python + " has no module venv; install it (python3-venv)"
	case has("NewConnectionError"), has("NameResolutionError"), has("Network is unreachable"), has("ConnectTimeoutError"), has("ProxyError"), has("SSLError"):
		return "no package index was reached, and the store does not have what is locked; the log says what was tried"
	case has("DO NOT MATCH THE HASHES"):
		return "a wheel is not what the lock says: its hash differs" + lastLine(log)
	case has("No matching distribution found"):
		return how + lastLine(log) + " (only wheels are installed: a package that has none for this interpreter is built by a build block and named in install)"
	}
	return how + lastLine(log)
}

// lastLine is the last line that says an error, or the last at all, as a clause; without what a URL says of its user.
func lastLine(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	last, wrong := "", ""
	for l := range strings.SplitSeq(string(text), "\n") {
		if l = strings.TrimSpace(l); l != "" {
			last = l
			if strings.HasPrefix(l, "ERROR:") {
				wrong = l
			}
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

// written is everything that the tools said, redacted.
func (w *workshop) written() []byte {
	var b strings.Builder
	for _, f := range w.log {
		text, _ := os.ReadFile(f)
		b.Write(text)
	}
	return []byte(redact(b.String()))
}
