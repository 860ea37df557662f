package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/flameox/flameox/internal/selftrace"
)

const (
	maxOutput = 256 << 20 // bytes of standard output: over a million paths
	maxStderr = 64 << 10
	timeout   = 60 * time.Second // where the context has no earlier deadline
)

// CommandError is a git command that failed.
type CommandError struct {
	Args   []string // without "git" and its settings
	Dir    string
	Exit   int    // status, or -1 where it was killed
	Stderr string // trimmed, at most 64 KiB
}

// Error names the command and quotes git.
func (e *CommandError) Error() string {
	s := fmt.Sprintf("git %s in %s exited with %d", strings.Join(e.Args, " "), e.Dir, e.Exit)
	if e.Stderr != "" {
		s += ": " + e.Stderr
	}
	return s
}

// settings keep the user's configuration from starting programs or changing output.
var settings = []string{"--no-pager", "-c", "core.fsmonitor=false", "-c", "core.quotePath=false", "-c", "color.ui=false"}

// run runs git in dir and returns its standard output.
func (r *Repo) run(ctx context.Context, dir string, args ...string) ([]byte, error) {
	return r.feed(ctx, dir, nil, args...)
}

// feed is run with a standard input.
func (r *Repo) feed(ctx context.Context, dir string, input []byte, args ...string) ([]byte, error) {
	return r.feedWith(ctx, dir, input, nil, args...)
}

// feedWith is feed with variables beside those that every command has.
func (r *Repo) feedWith(ctx context.Context, dir string, input []byte, variables []string, args ...string) ([]byte, error) {
	exe, err := exec.LookPath("git")
	if err != nil {
		return nil, fmt.Errorf("%w: install git, or give every workload its \"sources\" and use no revision", ErrNoGit)
	}
	if trace := selftrace.From(ctx); trace != nil {
		defer trace.Begin("git", strings.Join(args, " ")).End()
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, exe, append(append([]string{}, settings...), args...)...)
	isolate(cmd)
	cmd.Dir = dir
	cmd.Env = append(environment(os.Environ()), variables...)
	cmd.WaitDelay = time.Second
	if input != nil {
		cmd.Stdin = bytes.NewReader(input)
	}
	stdout := &limited{max: maxOutput, full: cancel}
	stderr := &limited{max: maxStderr}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	err = cmd.Run()
	if err == nil && !stdout.overflow {
		return stdout.buf.Bytes(), nil
	}
	name := "git " + strings.Join(args, " ")
	switch {
	case stdout.overflow:
		return nil, fmt.Errorf("%s in %s wrote more than %d MiB and was stopped", name, dir, maxOutput>>20)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, fmt.Errorf("%s in %s did not finish in time and was stopped: %w", name, dir, ctx.Err())
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%s in %s was stopped: %w", name, dir, ctx.Err())
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil, &CommandError{Args: args, Dir: dir, Exit: exit.ExitCode(), Stderr: strings.TrimSpace(stderr.buf.String())}
	}
	return nil, fmt.Errorf("%s in %s could not start: %w", name, dir, err)
}

// environment is the caller's without what would point git at another repository or make it talk. Variables
// that hold a person's configuration (GIT_CONFIG_GLOBAL, the GIT_CONFIG_COUNT family that CI uses for safe.directory) stay.
func environment(env []string) []string {
	var out []string
	for _, e := range env {
		if strings.HasPrefix(e, "GIT_") && !keep(e) || strings.HasPrefix(e, "LC_") || strings.HasPrefix(e, "LANG") {
			continue
		}
		out = append(out, e)
	}
	return append(out, "LC_ALL=C", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1")
}

func keep(e string) bool {
	for _, p := range []string{"GIT_CONFIG_GLOBAL=", "GIT_CONFIG_SYSTEM=", "GIT_CONFIG_NOSYSTEM=", "GIT_CONFIG_COUNT=", "GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_", "GIT_EXEC_PATH="} {
		if strings.HasPrefix(e, p) {
			return true
		}
	}
	return false
}

// limited keeps the first max bytes; at the next one it calls full, which ends the process.
type limited struct {
	buf      bytes.Buffer
	max      int
	full     func()
	overflow bool
}

func (l *limited) Write(p []byte) (int, error) {
	if room := l.max - l.buf.Len(); len(p) > room {
		l.buf.Write(p[:room])
		l.overflow = true
		if l.full != nil {
			l.full()
		}
		return len(p), nil
	}
	l.buf.Write(p)
	return len(p), nil
}
