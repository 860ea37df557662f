package pythonstartup_test

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/lang"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/providers/providertest"
	"github.com/flameox/flameox/providers/pythonstartup"
)

// seconds is a duration that is scanned as a number.
type seconds time.Duration

func (s *seconds) Scan(state fmt.ScanState, _ rune) error {
	text, err := state.Token(true, nil)
	if err != nil {
		return err
	}
	v, err := strconv.ParseFloat(string(text), 64)
	*s = seconds(math.Round(v * 1e9))
	return err
}

var venv string // removed by TestMain

var install = sync.OnceValues(func() (python, why string) {
	dir, err := os.MkdirTemp("", "pythonstartup-")
	if err != nil {
		return "", err.Error()
	}
	venv, python = dir, filepath.Join(dir, "bin", "python")
	for _, argv := range [][]string{{"python3", "-m", "venv", dir}, {python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "pyperf==2.11.0"}} {
		if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
			return "", fmt.Sprintf("%s: %v: %s", strings.Join(argv, " "), err, out)
		}
	}
	return python, ""
})

func TestMain(m *testing.M) {
	code := m.Run()
	if venv != "" {
		os.RemoveAll(venv)
	}
	os.Exit(code)
}

func python(t *testing.T) string {
	t.Helper()
	py, why := install()
	if why != "" {
		t.Skip("there is no Python with pyperf, and none could be made: " + why)
	}
	return py
}

// capture plans over argv behind Python, runs it, and makes the input that the engine would.
func capture(t *testing.T, timeout time.Duration, files map[string]string, argv ...string) (providers.Input, providertest.Ran) {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	o := lang.Defaults(p.Options()).(*pythonstartup.Options)
	if timeout > 0 {
		o.Timeout = timeout
	}
	inv, err := p.Plan(providers.Workload{Argv: append([]string{python(t)}, argv...)}, o)
	if err != nil {
		t.Fatal(err)
	}
	ran := providertest.Start(t, inv, dir)
	in := providers.Input{Exit: ran.Exit}
	for _, out := range inv.Outputs {
		data, err := os.ReadFile(filepath.Join(ran.Out, out.Path))
		if out.Path == "" || err != nil {
			continue
		}
		in.Artifacts = append(in.Artifacts, providers.Artifact{Name: out.Path, Role: out.Role, MediaType: out.MediaType, Digest: digest.Sum(data), Size: int64(len(data)), Path: filepath.Join(ran.Out, out.Path)})
	}
	return in, ran
}

func TestRealRuns(t *testing.T) {
	files := map[string]string{
		"slow.py":  "import time, fast\ntime.sleep(0.05)\n",
		"fast.py":  "",
		"main.py":  "import sys\nimport slow\nsys.stderr.write('on the way\\n')\ntry:\n    import nothing_of_this_name\nexcept ImportError:\n    pass\n",
		"other.py": "import slow\n",
	}
	for name, argv := range map[string][]string{
		"file": {"main.py"}, "module": {"-m", "main"}, "code": {"-c", "import main"}, "flags": {"-X", "utf8", "-B", "main.py"},
	} {
		t.Run(name, func(t *testing.T) {
			in, ran := capture(t, 0, files, argv...)
			if ran.Exit != 0 || !strings.Contains(string(ran.Stderr), "on the way") || strings.Contains(string(ran.Stderr), "import time:") {
				t.Fatalf("status %d: %s", ran.Exit, ran.Stderr)
			}
			if r, err := p.Validate(t.Context(), in); err != nil || !r.Valid || r.Producer != "2.11.0" {
				t.Fatalf("%+v %v", r, err)
			}
			out, tables := providertest.Extract(t, p, in, nil, evidence.DefaultBudget())
			if out.State != evidence.Complete {
				t.Errorf("%+v", out)
			}
			var wall, rss int
			for _, r := range tables["measurements"] {
				switch r["name"] {
				case "python_startup.wall_time":
					if ns := r["value_int"].(int64); ns > 5e7 && ns < 60e9 {
						wall++
					}
				case "python_startup.peak_rss":
					if n := r["value_int"].(int64); n > 1<<20 && n < 1<<30 {
						rss++
					}
				}
			}
			if wall != 5 || rss != 5 {
				t.Errorf("%d times and %d peaks are as they can be", wall, rss)
			}
			parents := map[string]string{}
			self := map[string]int64{}
			for _, r := range tables["python_imports"] {
				parents[r["module"].(string)], _ = r["parent_module"].(string)
				self[r["module"].(string)] = r["self_us"].(int64)
			}
			if parents["fast"] != "slow" || self["slow"] < 50_000 || self["fast"] > 49_000 {
				t.Errorf("fast is imported by %q, slow took %d us and fast %d", parents["fast"], self["slow"], self["fast"])
			}
			if by := parents["slow"]; by != map[bool]string{true: "main", false: ""}[name == "code"] {
				t.Errorf("slow is imported by %q", by)
			}
		})
	}
}

func TestAProgramThatFailsIsRunOnceMoreForWhatItPrints(t *testing.T) {
	in, ran := capture(t, 0, map[string]string{"bad.py": "import sys\nprint('to stdout')\nsys.exit('no configuration')\n"}, "bad.py")
	if ran.Exit != 1 || !strings.Contains(string(ran.Stderr), "no configuration") || !strings.Contains(string(ran.Stdout), "to stdout") {
		t.Errorf("status %d: %s%s", ran.Exit, ran.Stdout, ran.Stderr)
	}
	if len(in.Artifacts) != 0 {
		t.Error("there is a result all the same")
	}
}

func TestAProgramThatIsKilledOnlyWithItsImportsTimedEndsLikeAShellsWould(t *testing.T) {
	source := "import os, signal, sys\nif sys._xoptions.get('importtime'): os.kill(os.getpid(), signal.SIGTERM)\n"
	in, ran := capture(t, 0, map[string]string{"die.py": source}, "die.py")
	if ran.Exit != 128+15 || len(in.Artifacts) != 2 {
		t.Errorf("status %d with %d artifacts: %s", ran.Exit, len(in.Artifacts), ran.Stderr)
	}
	if r, err := p.Validate(t.Context(), in); err != nil || r.Valid {
		t.Errorf("%+v %v", r, err)
	}
}

func TestAProgramThatRunsTooLongIsEnded(t *testing.T) {
	_, ran := capture(t, 200*time.Millisecond, map[string]string{"long.py": "import time\ntime.sleep(300)\n"}, "long.py")
	if ran.Exit == 0 {
		t.Errorf("status %d: %s", ran.Exit, ran.Stderr)
	}
	source := "import sys, time\nif sys._xoptions.get('importtime'): time.sleep(300)\n"
	_, ran = capture(t, time.Second, map[string]string{"long.py": source}, "long.py")
	if ran.Exit != 124 || !strings.Contains(string(ran.Stderr), "longer than 1 s") {
		t.Errorf("status %d: %s", ran.Exit, ran.Stderr)
	}
}

func TestAnInterpreterWithoutPyperfIsSaid(t *testing.T) {
	dir := t.TempDir()
	if out, err := exec.Command("python3", "-m", "venv", "--without-pip", dir).CombinedOutput(); err != nil {
		t.Skipf("python3 makes no environment: %s", out)
	}
	inv, err := p.Plan(providers.Workload{Argv: []string{dir + "/bin/python", "-c", "pass"}}, lang.Defaults(p.Options()))
	if err != nil {
		t.Fatal(err)
	}
	ran := providertest.Start(t, inv, dir)
	if ran.Exit != 4 || !strings.Contains(string(ran.Stderr), "has no pyperf") {
		t.Errorf("status %d: %s", ran.Exit, ran.Stderr)
	}
}
