package target

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flameox/flameox/graph/broker"
)

func TestArgumentsAreReadAsPeopleWriteThem(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{"build", "src", "with:colon", "a:b/c"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	at := func(p string) string { return filepath.Join(dir, p) }
	for text, want := range map[string]Argument{
		"build":            {Path: at("build")},
		"build:src":        {Path: at("build"), SourceDir: at("src")},
		"build:/abs/src":   {Path: at("build"), SourceDir: "/abs/src"},
		"with:colon":       {Path: at("with:colon")},
		"with:colon:src":   {Path: at("with:colon"), SourceDir: at("src")},
		"a:b/c:src":        {Path: at("a:b/c"), SourceDir: at("src")},
		"absent:src":       {Path: at("absent"), SourceDir: at("src")},
		`C:\b:C:\s`:        {Path: at(`C:\b`), SourceDir: at(`C:\s`)},
		"@hardened":        {Configuration: "hardened", SourceRef: Workspace},
		"@hardened=v1.2":   {Configuration: "hardened", SourceRef: "v1.2"},
		"@a=refs/heads/x=": {Configuration: "a", SourceRef: "refs/heads/x="},
	} {
		want.Text = text
		got, err := Parse(text, Build, dir)
		if err != nil || got != want {
			t.Errorf("%s: got %+v, %v; want %+v", text, got, err, want)
		}
	}
	if got, err := Parse("with:colon", WorkingTree, dir); err != nil || got.Path != at("with:colon") || got.SourceDir != "" {
		t.Errorf("a working tree is one path whatever is in it: %+v, %v", got, err)
	}
	for _, text := range []string{"", " ", "@", "@=x", "@x=", ":src", "build:"} {
		if got, err := Parse(text, Build, dir); err == nil {
			t.Errorf("%q: got %+v, want an error", text, got)
		}
	}
}

func describe(t *testing.T, dir, path string, change func(map[string]any)) {
	t.Helper()
	d := map[string]any{
		"schema_version": "benchx/target-description/0.1.0",
		"target":         map[string]any{"kind": "build", "path": path, "source": map[string]any{"uri": "https://example.org/demo", "type": "git"}},
		"how_built":      map[string]any{"blas": "openblas"}, "activation": "", "labels": map[string]any{"build": "plain"},
	}
	if change != nil {
		change(d)
	}
	b, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, Sidecar), b, 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestABuildDirectorySpeaksOnlyForItself(t *testing.T) {
	dir := t.TempDir()
	if d, err := ReadSidecar(dir); d != nil || err != nil {
		t.Errorf("without a file: %v, %v", d, err)
	}
	describe(t, dir, dir, nil)
	d, err := ReadSidecar(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := d.Target()["how_built"]; fmt.Sprint(got) != "map[blas:openblas]" || d.Labels()["build"] != "plain" {
		t.Errorf("declared facts and labels are %v, %v", got, d.Labels())
	}
	// By way of a link it is the same directory.
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadSidecar(link); err != nil {
		t.Errorf("through a link: %v", err)
	}
	moved := dir + "-moved"
	if err := os.Rename(dir, moved); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadSidecar(moved); err == nil || !strings.Contains(err.Error(), "describes "+dir) {
		t.Errorf("of a directory that was moved: %v, want an error that names the old path", err)
	}
	for what, change := range map[string]func(map[string]any){
		"not a target description": func(d map[string]any) { delete(d, "target") },
		"/target/path":             func(d map[string]any) { d["target"].(map[string]any)["path"] = "build" },
		"/shell":                   func(d map[string]any) { d["shell"] = "not a shell" },
		"member build":             func(d map[string]any) { d["build"] = map[string]any{"type": "Release"} },
		"working_tree":             func(d map[string]any) { d["target"].(map[string]any)["kind"] = "working_tree" },
	} {
		describe(t, moved, moved, change)
		if _, err := ReadSidecar(moved); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("got %v, want an error with %q", err, what)
		}
	}
}

// provider is a project with a provider that is a script.
func provider(t *testing.T, script string) (p Provider, said *bytes.Buffer) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "provider.sh"), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	b := broker.New(broker.Options{NoSupervisor: true})
	t.Cleanup(func() { b.Close() })
	said = &bytes.Buffer{}
	return Provider{Command: []string{"./provider.sh", "an argument"}, Dir: dir, Env: []string{"PATH=/usr/bin:/bin"}, Broker: b, Stderr: said}, said
}

const answer = `{"schema_version":"benchx/target-description/0.1.0","target":{"kind":"%s","path":"%s","source":{"uri":"https://example.org/demo","type":"git"}},"provider":{"name":"p","version":"2"}}`

func TestAProviderIsAskedOnItsStandardInputAndAnswersOnItsStandardOutput(t *testing.T) {
	p, said := provider(t, "cat > request; pwd > where; echo \"$1\" > args; echo building >&2; cat answer")
	build := t.TempDir()
	if err := os.WriteFile(filepath.Join(p.Dir, "answer"), fmt.Appendf(nil, answer, "build", build), 0o644); err != nil {
		t.Fatal(err)
	}
	a, err := Parse("@plain=v1", Build, "/")
	if err != nil {
		t.Fatal(err)
	}
	for op, want := range map[Operation]string{
		Prepare:  `{"configuration":"plain","operation":"prepare","schema_version":"benchx/target-provider-request/0.1.0","source_ref":"v1"}`,
		Describe: `{"configuration":"plain","operation":"describe","schema_version":"benchx/target-provider-request/0.1.0","source_ref":"v1"}`,
	} {
		r, err := p.Resolve(context.Background(), op, a, Build, "the baseline")
		if err != nil {
			t.Fatal(err)
		}
		if r.Path() != build || fmt.Sprint(r.Target["provider"]) != "map[name:p version:2]" {
			t.Errorf("the target is %v", r.Target)
		}
		for file, want := range map[string]string{"request": want, "where": p.Dir, "args": "an argument"} {
			if got, err := os.ReadFile(filepath.Join(p.Dir, file)); err != nil || strings.TrimSpace(string(got)) != want {
				t.Errorf("%s is %s, %v; want %s", file, got, err, want)
			}
		}
	}
	if said.String() != "building\nbuilding\n" {
		t.Errorf("what the provider said is %q", said)
	}
}

func TestAProviderThatFailsIsNamedWithWhatItWasAskedFor(t *testing.T) {
	build := t.TempDir()
	for script, want := range map[string][]string{
		"echo no compiler >&2; exit 7": {"failed to prepare @broken, the contender", "exit 7"},
		"kill -9 $$":                   {"SIGKILL"},
		"echo building; echo '{}'":     {"not a target description"},
		"echo '{}'":                    {"not a target description", "schema_version"},
		"printf '" + fmt.Sprintf(answer, "build", "/none") + "'":      {"/none", "no folder"},
		"printf '" + fmt.Sprintf(answer, "build", "relative") + "'":   {"/target/path"},
		"printf '" + fmt.Sprintf(answer, "working_tree", build) + "'": {"working_tree", "measures the kind build"},
		`printf '{"schema_version":"benchx/target-description/0.1.0","target":{"kind":"artifact","uri":"https://x/y","sha256":"` + strings.Repeat("0", 64) + `","source":{"uri":"https://x","type":"git"},"revision":"r"}}'`: {"artifact", "deferred"},
		"head -c 5000000 /dev/zero": {"5000000 bytes"},
		"printf '" + strings.Replace(fmt.Sprintf(answer, "build", build), "}}", `},"build":{}}`, 1) + "'": {"build"},
	} {
		p, _ := provider(t, script)
		a, err := Parse("@broken", Build, "/")
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.Resolve(context.Background(), Prepare, a, Build, "the contender")
		if err == nil {
			t.Errorf("%.60s: no error", script)
			continue
		}
		for _, w := range want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%.60s: %q lacks %q", script, err, w)
			}
		}
	}
	p, _ := provider(t, "")
	p.Command = nil
	if _, err := p.Ask(context.Background(), Prepare, Argument{Configuration: "x", SourceRef: Workspace}, "the target"); err == nil || !strings.Contains(err.Error(), "needs a provider") {
		t.Errorf("without a provider: %v", err)
	}
	p.Command = []string{"./absent.sh"}
	if _, err := p.Ask(context.Background(), Prepare, Argument{Configuration: "x", SourceRef: Workspace}, "the target"); err == nil || !strings.Contains(err.Error(), "absent.sh") {
		t.Errorf("with a provider that is not there: %v", err)
	}
}

func TestAProviderEndsWithWhoeverAsked(t *testing.T) {
	p, _ := provider(t, "echo started >&2; sleep 60")
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, err := p.Ask(ctx, Prepare, Argument{Configuration: "x", SourceRef: Workspace}, "the target")
	if err == nil || !strings.Contains(err.Error(), "stopped") || time.Since(began) > 20*time.Second {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
}
