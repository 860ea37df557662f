package adapter

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/stages/adapter/protocol"
)

// The adapter of examples/adapter goes through every phase, contained, over what it really measured.
func TestTheExampleMeasuresARealCommand(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3, in which the example is written")
	}
	script, err := os.ReadFile(filepath.Join("..", "..", "examples", "adapter", "rusage.py"))
	if err != nil {
		t.Fatal(err)
	}
	a, _ := project(t, string(script))
	_, program, err := a.Approved()
	if err != nil {
		t.Fatal(err)
	}
	ask := func(req protocol.Request) []byte {
		t.Helper()
		out, _, err := a.call(t.Context(), t.TempDir(), "", program, req)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	who, err := protocol.ParseProbe(ask(protocol.Request{Phase: protocol.PhaseProbe}))
	if err != nil || who.Name != "rusage" || who.Version != "1.0.0" {
		t.Fatalf("%+v %v", who, err)
	}
	plan, err := protocol.ParsePlan(ask(protocol.Request{Phase: protocol.PhasePlan, Command: []string{"true"}}))
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	var argv []string
	for _, arg := range append(plan.Prefix, "--", python, "-c", "import sys; x = bytearray(64 << 20); sys.exit(3)") {
		argv = append(argv, strings.NewReplacer(protocol.OutDir, out, protocol.Self, a.program).Replace(arg))
	}
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	if err := cmd.Run(); cmd.ProcessState.ExitCode() != 3 {
		t.Fatalf("the wrapper hides how the command ended: %v", err)
	}
	path := filepath.Join(out, plan.Outputs[0].Path)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	artifact := &protocol.Artifact{Name: "rusage.json", Kind: "rusage", SHA256: digest.Sum(data).String(), Bytes: int64(len(data)), Path: path}
	said, err := protocol.ParseValidated(ask(protocol.Request{Phase: protocol.PhaseValidate, Artifact: artifact}))
	if err != nil || !said.Valid {
		t.Fatalf("%+v %v", said, err)
	}
	found, err := protocol.ParseExtracted(ask(protocol.Request{Phase: protocol.PhaseExtract, Artifact: artifact}))
	if err != nil || !strings.Contains(string(found.Summary), `"minor_page_faults":`) {
		t.Fatalf("%s %v", found.Summary, err)
	}
	if err := os.WriteFile(path, []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	if said, err = protocol.ParseValidated(ask(protocol.Request{Phase: protocol.PhaseValidate, Artifact: artifact})); err != nil || said.Valid {
		t.Errorf("a damaged artifact is valid: %+v %v", said, err)
	}
}
