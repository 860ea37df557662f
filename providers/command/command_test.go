package command_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/flameox/flameox/internal/token"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/providers/command"
	"github.com/flameox/flameox/providers/providertest"
)

var p command.Provider

func TestConformance(t *testing.T) {
	providertest.Run(t, p, nil, &providertest.Plan{
		Workload: providers.Workload{Argv: []string{"sh", "-c", "echo hi"}}, Options: &command.Options{Outputs: []string{"*.json", "logs/**"}},
	})
}

func TestTheCommandRunsUnchangedAndItsStreamsAndFilesAreKept(t *testing.T) {
	argv := []string{"sh", "-c", "echo out; echo err >&2; echo {} > \"$0/r.json\"; exit 3", token.Make("out.dir")}
	inv, err := p.Plan(providers.Workload{Argv: argv}, &command.Options{Outputs: []string{"*.json"}})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(inv.Argv, argv) {
		t.Errorf("argv %q", inv.Argv)
	}
	var got []string
	for _, o := range inv.Outputs {
		got = append(got, string(o.Stream)+o.Path)
		if o.Required != (o.Path != "") {
			t.Errorf("output %+v", o)
		}
	}
	if !slices.Equal(got, []string{"stdout", "stderr", "*.json"}) {
		t.Errorf("outputs %v", got)
	}
	ran := providertest.Start(t, inv, t.TempDir())
	if string(ran.Stdout) != "out\n" || string(ran.Stderr) != "err\n" || ran.Exit != 3 {
		t.Errorf("ran %+v", ran)
	}
}

func TestOutputsStayBelowTheRunsFolder(t *testing.T) {
	w := providers.Workload{Argv: []string{"true"}}
	for _, pattern := range []string{"", "/etc/passwd", "../x", "a/../../x", "[", token.Make("out.dir") + "/x"} {
		if _, err := p.Plan(w, &command.Options{Outputs: []string{pattern}}); err == nil || !strings.Contains(err.Error(), "outputs has") {
			t.Errorf("%q: %v", pattern, err)
		}
	}
	if _, err := p.Plan(w, &command.Options{Outputs: []string{"a", "a"}}); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Errorf("error %v", err)
	}
	if _, err := p.Plan(w, &command.Options{Outputs: []string{"a..b", "**/*.json"}}); err != nil {
		t.Error(err)
	}
}
