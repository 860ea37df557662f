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
	stream, err := os.Create(out.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	argv := append(append([]string{}, s.Flags...), script, job, argument)
	for _, a := range artifacts {
		argv = append(argv, a.Path)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, interpreter, argv...)
	var stderr bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, stream, &stderr
	var exit *exec.ExitError
	if err := cmd.Run(); errors.As(err, &exit) {
		text := strings.TrimSpace(stderr.String())
		out.Failure = fmt.Sprintf("%v, %s", err, text[strings.LastIndexByte(text, '\n')+1:])
	} else if err != nil {
		t.Fatalf("running %q: %v", argv, err)
	}
	return out
}
