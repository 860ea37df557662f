package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flameox/flameox/measure/runner"
)

func put(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func nothing(string) string { return "" }

func TestTheFileIsFoundFromBelowAndItsFolderIsTheRoot(t *testing.T) {
	root := t.TempDir()
	put(t, filepath.Join(root, FileName), `{"schema_version":"benchx/config/0.1.0","project":"demo","paths":{"store":"s/x.parquet"},"compare":{"rounds":5.0,"k":0}}`)
	below := filepath.Join(root, "a", "b")
	if err := os.MkdirAll(below, 0o755); err != nil {
		t.Fatal(err)
	}
	c, err := Find(below)
	if err != nil {
		t.Fatal(err)
	}
	if c.Root != root || c.Project != "demo" || c.Compare.Rounds != 5 || c.Compare.K == nil || *c.Compare.K != 0 {
		t.Errorf("got %+v", c)
	}
	if got, want := c.StorePath(nothing), filepath.Join(root, "s", "x.parquet"); got != want {
		t.Errorf("the store is %s, want %s", got, want)
	}
	if got := c.Results(); got.Value != filepath.Join(root, "results") || got.From != FromDefault {
		t.Errorf("results are %+v", got)
	}
	home := c.Store(func(name string) string { return map[string]string{HomeVariable: "/h"}[name] })
	if home.Value != "/h/store.parquet" || home.From != "$BENCHX_HOME" {
		t.Errorf("with BENCHX_HOME the store is %+v", home)
	}
	// The nearest one counts.
	put(t, filepath.Join(below, FileName), `{"schema_version":"benchx/config/0.1.0"}`)
	if c, err = Find(below); err != nil || c.Root != below || c.Project != "" {
		t.Errorf("got %+v, %v", c, err)
	}
}

func TestWithoutAFileTheRootIsTheFolder(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, ".benchx", "config.json"), `{"project":"old"}`)
	put(t, filepath.Join(dir, ".benchx", "setup.json"), `{}`)
	c, err := Find(dir)
	if err != nil || c.Root != dir || c.File != "" || c.Project != "" {
		t.Fatalf("got %+v, %v", c, err)
	}
	if strings.Join(c.Legacy, " ") != ".benchx/config.json" {
		t.Errorf("files that are not read any more: %q", c.Legacy)
	}
}

func TestErrorsNameTheFileAndTheKey(t *testing.T) {
	for text, want := range map[string][]string{
		`{"schema_version":"benchx/config/0.1.0","zoo":1}`:                                             {`"zoo"`},
		`{"schema_version":"benchx/config/0.1.0","adapter":{"name":"criterion"}}`:                      {"adapter.name: ", "google-benchmark"},
		`{"schema_version":"benchx/config/0.1.0","adapter":{"nmae":"pyperf"}}`:                         {"adapter: ", `"nmae"`},
		`{"schema_version":"benchx/config/0.1.0","timeouts":{"case_s":"60"}}`:                          {"timeouts.case_s: "},
		`{"schema_version":"benchx/config/0.1.0","timeouts":{"case_s":0,"order_s":-1}}`:                {"timeouts.case_s: ", "timeouts.order_s: "},
		`{"schema_version":"benchx/config/0.1.0","provider":{"command":[]}}`:                           {"provider.command: "},
		`{"schema_version":"benchx/config/0.1.0","environment_variables":{"A=B":"c"}}`:                 {"environment_variables: ", "A=B"},
		`{"schema_version":"benchx/config/0.1.0","collectors":{"kernel":{"command":["x"]}}}`:           {"collectors.kernel: ", "another name"},
		`{"schema_version":"benchx/config/0.1.0","collectors":{"x":{"command":["y"],"when":"after"}}}`: {"collectors.x.when: "},
		`{"schema_version":"benchx/config/0.1.0","project":"a","project":"b"}`:                         {"project"},
		`{"schema_version":"benchx/config/0.2.0"}`:                                                     {"schema_version: ", "0.2.0"},
		`{"project":"x"}`: {"schema_version: "},
		`{`:               {"line 1"},
		`[]`:              {"object"},
		"\xff":            {"UTF-8"},
	} {
		dir := t.TempDir()
		file := put(t, filepath.Join(dir, FileName), text)
		_, err := Find(dir)
		var invalid *Error
		if !errors.As(err, &invalid) {
			t.Errorf("%s: got %v, want an error of the file", text, err)
			continue
		}
		for _, w := range append(want, file) {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %q lacks %q", text, err, w)
			}
		}
	}
}

func TestAProjectHasOneFileThatSaysHowItMeasures(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, FileName), `{"schema_version":"benchx/config/0.1.0"}`)
	put(t, filepath.Join(dir, "flameox.hcl"), ``)
	if _, err := Find(dir); err == nil || !strings.Contains(err.Error(), "flameox.hcl") {
		t.Errorf("got %v, want a refusal that names flameox.hcl", err)
	}
	if err := os.Remove(filepath.Join(dir, FileName)); err != nil {
		t.Fatal(err)
	}
	if _, err := Init(dir, runner.Harnesses()[0].About()); err == nil || !strings.Contains(err.Error(), "flameox.hcl") {
		t.Errorf("init: %v, want a refusal that names flameox.hcl", err)
	}
}

// What init writes is what applies without it: for every harness it loads, and gives that harness's defaults again.
func TestInitStatesTheDefaultsAndOverwritesNothing(t *testing.T) {
	for _, h := range runner.Harnesses() {
		about, dir := h.About(), t.TempDir()
		path, err := Init(dir, about)
		if err != nil {
			t.Fatal(err)
		}
		c, err := Find(dir)
		if err != nil {
			t.Fatalf("%s: what was written is refused: %v", about.Name, err)
		}
		got, err := about.Precision(c.Adapter.Precision)
		if err != nil {
			t.Fatal(err)
		}
		want, err := about.Precision(nil)
		if err != nil {
			t.Fatal(err)
		}
		if a, b := got.Attempted(), want.Attempted(); c.Adapter.Name != about.Name || a != b || got.Warmup != want.Warmup || got.Seconds != want.Seconds {
			t.Errorf("%s: got %+v, want %+v", about.Name, got, want)
		}
		if c.Timeouts != (Timeouts{DefaultCase, DefaultOrder}) || c.Compare.MinRounds != DefaultRounds || *c.Compare.K != DefaultK {
			t.Errorf("%s: got %+v %+v", about.Name, c.Timeouts, c.Compare)
		}
		before, _ := os.ReadFile(path)
		if _, err := Init(dir, about); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("a second init: %v, want a refusal that names %s", err, path)
		}
		if after, _ := os.ReadFile(path); string(after) != string(before) {
			t.Error("a refused init changed the file")
		}
	}
	if _, err := Init(filepath.Join(t.TempDir(), "none"), runner.Harnesses()[0].About()); err == nil || !strings.Contains(err.Error(), "no folder") {
		t.Errorf("init in a folder that is not there: %v", err)
	}
}

func TestAFlagWinsOverTheFileAndTheFileOverWhatIsBuiltIn(t *testing.T) {
	for _, c := range []struct{ said, file, builtin, want, from string }{
		{"a", "b", "c", "a", "--x"}, {"", "b", "c", "b", FromFile}, {"", "", "c", "c", FromDefault}, {"", "", "", "", FromNowhere},
	} {
		if got := Pick("--x", c.said, c.file, c.builtin); got.Value != c.want || got.From != c.from || got.Set() != (c.from != "") {
			t.Errorf("%+v: got %+v", c, got)
		}
	}
}

func FuzzNoTextOfAFilePanics(f *testing.F) {
	f.Add([]byte(`{"schema_version":"benchx/config/0.1.0","adapter":{"precision":{"repetitions":3}}}`))
	f.Add([]byte(`{"schema_version":"benchx/config/0.1.0","collectors":{"x":{"command":["y"]}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := parse("/p/"+FileName, text)
		if (c == nil) == (err == nil) {
			t.Errorf("got %v, %v", c, err)
		}
	})
}
