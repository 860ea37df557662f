package program

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheDistributionsAreThoseThatPythonFinds(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3")
	}
	venv := filepath.Join(t.TempDir(), "venv")
	if out, err := exec.Command(python, "-m", "venv", venv).CombinedOutput(); err != nil {
		t.Skipf("python3 -m venv: %v\n%s", err, out)
	}
	bare := exec.Command(python, "-c", "import sys; print(sys.executable)")
	out, err := bare.Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, exe := range []string{strings.TrimSpace(string(out)), filepath.Join(venv, "bin", "python")} {
		real, err := filepath.EvalSymlinks(exe)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(exe, "-c", "import json,importlib.metadata as m; print(json.dumps({d.metadata['Name']: d.version for d in m.distributions()}))")
		cmd.Env = append(os.Environ(), "PYTHONNOUSERSITE=1", "PYTHONPATH=")
		said, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		var want map[string]string
		if err := json.Unmarshal(said, &want); err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		looked := func(string) {}
		for _, e := range distributions(looked, siteFolders(looked, exe, real)) {
			got[strings.TrimPrefix(e.Name, "distribution ")] = e.Value
		}
		for name, version := range want {
			name = strings.ToLower(strings.NewReplacer("_", "-", ".", "-").Replace(name))
			if got[name] != version {
				t.Errorf("%s has %s %s, and %q was found", exe, name, version, got[name])
			}
		}
		if len(got) != len(want) {
			t.Errorf("%s has %d distributions, and %d were found: %v", exe, len(want), len(got), got)
		}
	}
}
