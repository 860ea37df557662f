package node

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/broker"
	"github.com/flameox/flameox/stages/environment/managed"
)

const stepTimeout = 30 * time.Minute

// workshop is what npm is run in.
type workshop struct {
	t     *graph.Task
	dir   string // private, below the task's
	path  string // PATH
	node  string // the interpreter
	npm   string // npm-cli.js
	steps int
	log   []string // files that the steps wrote, in order
}

func (e *Environment) workshop(t *graph.Task, node *Interpreter) (*workshop, error) {
	npm, err := e.npm(node)
	if err != nil {
		return nil, &managed.StepError{What: "build " + e.Address, Detail: err.Error()}
	}
	w := &workshop{t: t, dir: filepath.Join(t.Dir, "environment"), node: node.Path, npm: npm}
	w.path = filepath.Dir(node.Path) + string(filepath.ListSeparator) + e.search
	for _, d := range []string{"home", "tmp"} {
		if err := os.MkdirAll(filepath.Join(w.dir, d), 0o700); err != nil {
			return nil, fmt.Errorf("make a folder for building the environment: %w", err)
		}
	}
	return w, nil
}

// quiet are the settings of every npm: it says what went wrong and asks nobody anything else.
var quiet = []string{"--no-audit", "--no-fund", "--no-update-notifier", "--no-progress", "--loglevel=error", "--foreground-scripts=false"}

// run runs npm in dir with a private home, and no configuration of the caller's unless vars have it.
func (w *workshop) run(ctx context.Context, what, dir string, args []string, vars map[string]string) (*broker.Result, error) {
	w.steps++
	out := filepath.Join(w.dir, fmt.Sprintf("step-%d.log", w.steps))
	w.log = append(w.log, out)
	all := map[string]string{
		"PATH": w.path, "LANG": "C.UTF-8", "HOME": filepath.Join(w.dir, "home"), "TMPDIR": filepath.Join(w.dir, "tmp"),
		"npm_config_userconfig": filepath.Join(w.dir, "no-user"), "npm_config_globalconfig": filepath.Join(w.dir, "no-global"), "NO_COLOR": "1",
	}
	for name, v := range vars {
		if all[name] = v; v == "" {
			delete(all, name)
		}
	}
	res, err := w.t.Store.Broker.Run(ctx, broker.Command{
		Argv: append(append([]string{w.node, w.npm}, args...), quiet...), Dir: dir, Env: managed.Variables(all), Mark: w.t.Mark,
		Stdout: out, Stderr: out, Timeout: stepTimeout, OutputLimit: 16 << 20, Staging: w.dir,
	})
	if err != nil {
		return nil, &managed.StepError{What: what, Detail: err.Error()}
	}
	if ctx.Err() != nil {
		return res, ctx.Err()
	}
	if res.Cause != "" || res.Signal != "" || res.Exit != 0 {
		return res, &managed.StepError{What: what, Detail: explain(out, managed.Ending(res))}
	}
	return res, nil
}

// explain says why npm failed, and what to do where that is known.
func explain(log, how string) string {
	text, _ := os.ReadFile(log)
	said := string(text)
	has := func(s string) bool { return strings.Contains(said, s) }
	switch {
	case has("ENOTCACHED"):
		return "the store does not have all that is locked" + lastLine(log)
	case has("EINTEGRITY"):
		return "a package is not what the lock says: its hash differs" + lastLine(log)
	case has("ENOTFOUND"), has("ECONNREFUSED"), has("ETIMEDOUT"), has("ECONNRESET"), has("EAI_AGAIN"), has("SELF_SIGNED_CERT"):
		return "no package registry was reached, and the store does not have what is locked; the log says what was tried"
	case has("EBADENGINE"), has("EBADPLATFORM"):
		return "a package is not for this interpreter or platform" + lastLine(log)
	}
	return how + lastLine(log)
}

// reach is how the caller reaches a registry: variables, and the configuration that the caller's own npm would read.
func (e *Environment) reach() map[string]string {
	more := map[string]string{"npm_config_globalconfig": ""} // npm reads the machine's
	for name, v := range e.project.Environ {
		switch strings.ToLower(name) {
		case "http_proxy", "https_proxy", "all_proxy", "no_proxy", "ssl_cert_file", "ssl_cert_dir", "node_extra_ca_certs":
			more[name] = v
		default:
			if strings.HasPrefix(strings.ToLower(name), "npm_config_") && !owned[strings.ToLower(name)] {
				more[name] = v
			}
		}
	}
	user := filepath.Join(e.project.Environ["HOME"], ".npmrc")
	if v := e.project.Environ["npm_config_userconfig"]; v != "" {
		user = v
	}
	if _, err := os.Stat(user); err == nil {
		more["npm_config_userconfig"] = user
	}
	return more
}

// owned are the caller's settings that would change what is built.
var owned = map[string]bool{
	"npm_config_cache": true, "npm_config_offline": true, "npm_config_ignore_scripts": true, "npm_config_prefix": true, "npm_config_omit": true, "npm_config_include": true,
	"npm_config_global": true, "npm_config_production": true, "npm_config_dry_run": true, "npm_config_package_lock_only": true, "npm_config_userconfig": true,
	"npm_config_os": true, "npm_config_cpu": true, "npm_config_libc": true, "npm_config_install_strategy": true, "npm_config_install_links": true, "npm_config_bin_links": true,
	"npm_config_workspaces": true, "npm_config_workspace": true, "npm_config_script_shell": true, "npm_config_node_options": true, "npm_config_save": true,
}

// shown is a variable as it may be recorded.
func shown(v string) string {
	name, _, _ := strings.Cut(v, "=")
	for _, s := range []string{"auth", "password", "token", "otp", "key", "secret"} {
		if strings.Contains(strings.ToLower(name), s) {
			return name + "=…"
		}
	}
	return redact(v)
}

// written is everything that npm said, redacted.
func (w *workshop) written() []byte {
	var b strings.Builder
	for _, f := range w.log {
		text, _ := os.ReadFile(f)
		b.Write(text)
	}
	return []byte(redact(b.String()))
}
