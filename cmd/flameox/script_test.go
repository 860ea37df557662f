package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain lets the test binary stand for flameox: scripts call it by that name, and it starts itself as supervisor
// and extraction worker as the real binary does.
func TestMain(m *testing.M) {
	if os.Getenv(asMain) != "" || len(os.Args) > 1 && strings.HasPrefix(os.Args[1], "__") {
		os.Exit(run(os.Args))
	}
	testscript.Main(m, map[string]func(){
		"flameox": func() { os.Exit(run(os.Args)) },
	})
}

func TestScripts(t *testing.T) {
	goEnv := map[string]string{}
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOROOT", "GOPROXY"} {
		out, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatalf("go env %s: %v", name, err)
		}
		goEnv[name] = strings.TrimSpace(string(out))
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			for name, value := range goEnv {
				e.Setenv(name, value)
			}
			e.Setenv("GOFLAGS", "-mod=mod")
			e.Setenv("NO_COLOR", "1")
			e.Setenv("LANG", "C.UTF-8")
			// Outside the working directory, which git lists as sources.
			home, err := os.MkdirTemp("", "flameox-script-home-")
			if err != nil {
				return err
			}
			e.Defer(func() { os.RemoveAll(home) })
			e.Setenv("HOME", home)
			// Each script has a machine of its own, so that scripts do not wait for each other's measurements.
			e.Setenv("FLAMEOX_MEASURE_LOCK", filepath.Join(home, "measure.lock"))
			e.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(home, "gitconfig"))
			return os.WriteFile(filepath.Join(home, "gitconfig"), []byte("[user]\nname = t\nemail = t@example.com\n[init]\ndefaultBranch = main\n"), 0o644)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"replace-in": replaceIn,
			"blob":       blobCommand,
			"exits":      exitsCommand,
			"reseal":     reseal,
			"forge":      forge,
			"elsewhere":  elsewhereCommand,
		},
		Condition:     condition,
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
	})
}

// replaceIn is `replace-in FILE OLD NEW`: edits a file as a person would; OLD must be there.
func replaceIn(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: replace-in FILE OLD NEW")
	}
	path := ts.MkAbs(args[0])
	b, err := os.ReadFile(path)
	ts.Check(err)
	if !strings.Contains(string(b), args[1]) {
		ts.Fatalf("%s does not contain %q", args[0], args[1])
	}
	ts.Check(os.WriteFile(path, []byte(strings.ReplaceAll(string(b), args[1], args[2])), 0o644))
}

// blobCommand is `blob delete|flip CONTENT`: finds the blob in the store whose content contains CONTENT, and removes it or changes
// one byte of it without changing its size.
func blobCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: blob delete|flip CONTENT")
	}
	found := 0
	err := filepath.WalkDir(ts.MkAbs(".flameox/cas"), func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || len(filepath.Base(filepath.Dir(path))) != 2 {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(b), args[1]) {
			return err
		}
		found++
		if args[0] == "delete" {
			return os.Remove(path)
		}
		b[0] ^= 1
		if err := os.Chmod(path, 0o644); err != nil {
			return err
		}
		return os.WriteFile(path, b, 0o644)
	})
	ts.Check(err)
	if found == 0 {
		ts.Fatalf("no blob contains %q", args[1])
	}
}
