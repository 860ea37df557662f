package hyperfine_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/providers/hyperfine"
	"github.com/flameox/flameox/providers/providertest"
)

func needHyperfine(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("hyperfine"); err != nil {
		t.Skip("hyperfine is not on PATH (Debian: apt-get install hyperfine)")
	}
}

func capture(t *testing.T, o *hyperfine.Options, expect []int, argv ...string) (data []byte, ran providertest.Ran) {
	t.Helper()
	needHyperfine(t)
	inv, err := p.Plan(providers.Workload{Argv: argv, ExpectExit: expect}, o)
	if err != nil {
		t.Fatal(err)
	}
	ran = providertest.Start(t, inv, t.TempDir())
	data, err = os.ReadFile(filepath.Join(ran.Out, "hyperfine.json"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return data, ran
}

func TestRealRuns(t *testing.T) {
	runs := func(n int) func(*hyperfine.Options) { return func(o *hyperfine.Options) { o.Runs = &n } }
	t.Run("without a shell every argument arrives as it is", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "it's a file")
		data, ran := capture(t, options(runs(3)), nil, "sh", "-c", `printf '%s\n' "$@" > "$0"`, file, "a b", `q"uo'te`, `back\slash`, "$HOME", "", "*", "ü")
		out, rows := extract(t, data)
		if ran.Exit != 0 || out.State != evidence.Complete || out.Results["samples"] != int64(3) {
			t.Fatalf("exit %d, %+v\n%s%s", ran.Exit, out, ran.Stdout, ran.Stderr)
		}
		means(t, rows)
		got, err := os.ReadFile(file)
		if want := "a b\nq\"uo'te\nback\\slash\n$HOME\n\n*\nü\n"; err != nil || string(got) != want {
			t.Errorf("%q %v, want %q", got, err, want)
		}
	})
	t.Run("through a shell, prepared and cleaned up", func(t *testing.T) {
		dir := t.TempDir()
		log := filepath.Join(dir, "log")
		data, ran := capture(t, options(runs(4), func(o *hyperfine.Options) {
			o.Shell, o.WarmUp, o.Name = "default", 2, `the "name"`
			o.Setup, o.Prepare, o.Cleanup = "echo setup >> "+log, "echo prepare >> "+log, "echo cleanup >> "+log
		}), nil, "sleep", "0.02")
		out, rows := extract(t, data)
		if ran.Exit != 0 || out.State != evidence.Complete || rows[0]["name"] != `hyperfine.wall_time.the "name"` {
			t.Fatalf("exit %d, %+v %v\n%s", ran.Exit, out, rows, ran.Stderr)
		}
		for _, r := range rows[:4] {
			if v, ok := r["value_int"].(int64); !ok || v < 10_000_000 {
				t.Errorf("a sleep of 20 ms took %v", r)
			}
		}
		text, err := os.ReadFile(log)
		if n := strings.Count(string(text), "prepare"); err != nil || !strings.HasPrefix(string(text), "setup\n") || !strings.HasSuffix(string(text), "cleanup\n") || n < 4 {
			t.Errorf("%q %v", text, err)
		}
	})
	t.Run("hyperfine decides how many runs there are", func(t *testing.T) {
		most := 6
		data, _ := capture(t, options(func(o *hyperfine.Options) { o.MinRuns, o.MaxRuns = 5, &most }), nil, "true")
		if out, _ := extract(t, data); out.Results["samples"] != int64(6) {
			t.Errorf("%+v", out)
		}
	})
	t.Run("a command that fails leaves no results", func(t *testing.T) {
		if data, ran := capture(t, options(runs(3)), nil, "false"); ran.Exit == 0 || len(data) != 0 {
			t.Errorf("exit %d, %q", ran.Exit, data)
		}
	})
	t.Run("a status that the workload expects is no failure, another is", func(t *testing.T) {
		for exit, valid := range map[string]bool{"3": true, "4": false} {
			data, ran := capture(t, options(runs(3)), []int{0, 3}, "sh", "-c", "exit "+exit)
			out, rows := extract(t, data)
			if ran.Exit != 0 || !providertest.HasCode(out.Limitations, hyperfine.FailedRuns) || rows[0]["dimensions"].(map[string]string)["exit"] != exit {
				t.Errorf("exit %d, %+v", ran.Exit, out)
			}
			in := providertest.Input(t, hyperfine.Role, data)
			in.ExpectExit = []int{0, 3}
			if r, err := p.Validate(t.Context(), in); err != nil || r.Valid != valid {
				t.Errorf("status %s: %+v %v", exit, r, err)
			}
		}
	})
	t.Run("it says its version", func(t *testing.T) {
		needHyperfine(t)
		argv, version := p.Probe(nil)
		out, err := exec.CommandContext(t.Context(), argv[0], argv[1:]...).Output()
		if err != nil {
			t.Fatal(err)
		}
		if v, err := version(out, nil); err != nil || !strings.Contains(string(out), v) {
			t.Errorf("%q %v", v, err)
		}
	})
}
