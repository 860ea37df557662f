package adapter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/flameox/flameox/graph/broker"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/stages/adapter/approval"
	"github.com/flameox/flameox/stages/adapter/contain"
	"github.com/flameox/flameox/stages/adapter/protocol"
)

// The bounds of one phase.
const (
	callTimeout = 2 * time.Minute
	callMemory  = 1 << 30
	callCPU     = 120
	callFile    = 64 << 20
	callFiles   = 256
)

// RefusedError says that a phase gave no answer that can be used.
type RefusedError struct {
	Adapter string
	Phase   protocol.Phase
	Code    string // adapter_timeout, adapter_output_limit, adapter_failed, adapter_response
	Why     string
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("the adapter %s could not %s: %s", e.Adapter, e.Phase, e.Why)
}

// call runs one phase of the program whose bytes were compared a moment ago, in a folder below dir, which it removes. The answer is what the program
// wrote to its standard output; the report is how it was contained.
func (a *Adapter) call(ctx context.Context, dir, mark string, program []byte, req protocol.Request) (answer []byte, report *contain.Report, err error) {
	private, err := os.MkdirTemp(dir, "adapter-")
	if err != nil {
		return nil, nil, fmt.Errorf("make a folder for the adapter %s: %w", a.Name, err)
	}
	defer os.RemoveAll(private)
	copied, scratch := filepath.Join(private, a.Name), filepath.Join(private, "tmp")
	question, contained := filepath.Join(private, "request.json"), filepath.Join(private, "contain.json")
	reported := filepath.Join(private, "report.json")
	read := append([]string{copied}, a.beside()...)
	if req.Artifact != nil {
		read = append(read, req.Artifact.Path)
	}
	req.APIVersion = protocol.Version
	err = errors.Join(
		os.Mkdir(scratch, 0o700),
		os.WriteFile(copied, program, 0o500),
		writeJSON(question, req),
		writeJSON(contained, contain.Request{
			Argv: []string{copied}, Env: []string{"PATH=" + a.project.Environ["PATH"], "LANG=C.UTF-8", "HOME=" + scratch, "TMPDIR=" + scratch, "PYTHONDONTWRITEBYTECODE=1"},
			Dir: scratch, Stdin: question, Read: read, Write: []string{scratch}, Report: reported, Required: a.required,
			Limits: contain.Limits{CPUSeconds: callCPU, FileBytes: callFile, Files: callFiles},
		}),
	)
	if err != nil {
		return nil, nil, fmt.Errorf("lay out the adapter %s: %w", a.Name, err)
	}
	stdout, stderr := filepath.Join(private, "stdout"), filepath.Join(private, "stderr")
	res, err := a.project.Store.Broker.Run(ctx, broker.Command{
		Argv: []string{a.project.Self, contain.Command, contained}, Dir: private, Mark: mark, Env: []string{"LANG=C.UTF-8"},
		Stdout: stdout, Stderr: stderr, Timeout: callTimeout, OutputLimit: protocol.MaxResponse, MemoryLimit: callMemory, Staging: private,
	})
	if err != nil {
		return nil, nil, fmt.Errorf("start the adapter %s: %w", a.Name, err)
	}
	refuse := func(code, format string, args ...any) ([]byte, *contain.Report, error) {
		return nil, report, &RefusedError{Adapter: a.Name, Phase: req.Phase, Code: code, Why: fmt.Sprintf(format, args...)}
	}
	report = &contain.Report{}
	if b, err := os.ReadFile(reported); err != nil || json.Unmarshal(b, report) != nil {
		report = nil
	}
	switch {
	case res.Cause == broker.CauseCancelled:
		return nil, nil, context.Cause(ctx)
	case res.Cause == broker.CauseTimeout:
		return refuse("adapter_timeout", "it ran longer than %s and was ended", callTimeout)
	case res.Cause == broker.CauseOutputLimit:
		return refuse("adapter_output_limit", "it wrote more than the %d bytes that an answer may have", protocol.MaxResponse)
	case res.Cause != "":
		return refuse("adapter_"+res.Cause, "it was ended (%s)", res.Cause)
	case res.Signal != "" || res.Exit != 0:
		return refuse("adapter_failed", "%s", howItFailed(res, stderr))
	case report == nil:
		return refuse("adapter_failed", "it was started without a report of its containment")
	}
	// What ran has to be what was compared, to the byte.
	if ran, err := os.ReadFile(copied); err != nil || digest.Sum(ran) != digest.Sum(program) {
		return refuse("adapter_changed", "its program is not what it was when it was started")
	}
	answer, err = os.ReadFile(stdout)
	if err != nil {
		return nil, nil, fmt.Errorf("read what the adapter %s answered: %w", a.Name, err)
	}
	return answer, report, nil
}

// beside is what a script needs beside itself: the folder that its interpreter was installed in, where that is not the system's.
func (a *Adapter) beside() (out []string) {
	exe, err := a.resolve()
	if err != nil {
		return nil // the start says why
	}
	for _, link := range exe.Chain[1:] {
		if prefix := filepath.Dir(filepath.Dir(link.Real)); prefix != string(filepath.Separator) {
			out = append(out, prefix)
		}
	}
	return out
}

func writeJSON(path string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return os.WriteFile(path, b, 0o600)
}

// howItFailed is the status or signal, and the last line that the program wrote to standard error.
func howItFailed(res *broker.Result, stderr string) string {
	how := fmt.Sprintf("it exited %d", res.Exit)
	if res.Signal != "" {
		how = "it was killed by " + res.Signal
	}
	b, err := os.ReadFile(stderr)
	if text := strings.TrimSpace(string(b)); err == nil && text != "" {
		line := text[strings.LastIndexByte(text, '\n')+1:]
		how += ": " + strings.ToValidUTF8(line[:min(len(line), 300)], "\uFFFD")
	}
	return how
}

// Probe asks the program who it is. The caller decides whether it may be run: this is how a user finds out what there is to approve.
func (a *Adapter) Probe(ctx context.Context, id approval.Identity, program []byte) (*contain.Report, error) {
	answer, report, err := a.call(ctx, "", "", program, protocol.Request{Phase: protocol.PhaseProbe})
	if err != nil {
		return nil, err
	}
	who, err := protocol.ParseProbe(answer)
	switch {
	case err != nil:
		return nil, &RefusedError{Adapter: a.Name, Phase: protocol.PhaseProbe, Code: "adapter_response", Why: err.Error()}
	case who.Name != id.Name || who.Version != id.Version:
		return nil, &RefusedError{Adapter: a.Name, Phase: protocol.PhaseProbe, Code: "adapter_response", Why: fmt.Sprintf("it says that it is %s %s, and the configuration calls it %s %s", who.Name, who.Version, id.Name, id.Version)}
	}
	return report, nil
}
