package providertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flameox/flameox/providers"
)

// Read runs a Reader's script over payloads in an interpreter, as the engine does but for its limits, and returns what it left, in
// a new folder below dir.
func Read(t testing.TB, r providers.Reader, interpreter, job string, options any, artifacts []providers.Artifact, dir string) *providers.Reading {
	t.Helper()
	argument, err := r.Argument(options)
	if err != nil {
		t.Fatal(err)
	}
	dir, err = os.MkdirTemp(dir, "reading-")
	if err != nil {
		t.Fatal(err)
	}
	s := r.Script()
	script, out := filepath.Join(dir, s.Name), &providers.Reading{Path: filepath.Join(dir, "stream")}
	if err := os.WriteFile(script, s.Content, 0o400); err != nil {
		t.Fatal(err)
	}
	argv := append(append([]string{}, s.Flags...), script, job, argument)
	for _, a := range artifacts {
		argv = append(argv, a.Path)
	}
	spool(t, interpreter, argv, dir, out)
	return out
}

// Print runs the program of a Printer over a payload, as the engine does but for its limits, and returns what it left, in a new folder below dir. options
// are nil for a validation.
func Print(t testing.TB, pr providers.Printer, program string, options any, a providers.Artifact, dir string) *providers.Reading {
	t.Helper()
	dir, err := os.MkdirTemp(dir, "reading-")
	if err != nil {
		t.Fatal(err)
	}
	argv, version := pr.Asks(program)
	said, err := exec.CommandContext(t.Context(), argv[0], argv[1:]...).Output()
	if err != nil {
		t.Fatalf("running %q: %v", argv, err)
	}
	out := &providers.Reading{Path: filepath.Join(dir, "stream")}
	if out.Version, err = version(said); err != nil {
		t.Fatal(err)
	}
	if argv, err = pr.Print(program, options, a.Path); err != nil {
		t.Fatal(err)
	}
	spool(t, argv[0], argv[1:], dir, out)
	return out
}

// spool runs a program and keeps what it prints in out.Path.
func spool(t testing.TB, program string, argv []string, dir string, out *providers.Reading) {
	t.Helper()
	stream, err := os.Create(out.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, argv...)
	var stderr bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, stream, &stderr
	var exit *exec.ExitError
	if err := cmd.Run(); errors.As(err, &exit) {
		text := strings.TrimSpace(stderr.String())
		out.Failure = fmt.Sprintf("%v, %s", err, text[strings.LastIndexByte(text, '\n')+1:])
	} else if err != nil {
		t.Fatalf("running %q: %v", argv, err)
	}
}
