package facts_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flameox/flameox/internal/ijson"
	"github.com/flameox/flameox/measure/facts"
)

func write(t *testing.T, path, content string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

const cache = `# This is the CMakeCache file.
// a comment
CMAKE_BUILD_TYPE:STRING=Release
CMAKE_CXX_FLAGS:STRING=-march=native -I %/include -fno-plt -fdebug-prefix-map=%=.
CMAKE_CXX_FLAGS_RELEASE:STRING=-O3 -DNDEBUG
CMAKE_HOME_DIRECTORY:INTERNAL=%/src
CMAKE_PROJECT_NAME:STATIC=my-proj.2
CMAKE_CACHE_MAJOR_VERSION:INTERNAL=3
CMAKE_CACHE_MINOR_VERSION:INTERNAL=25
CMAKE_CACHE_PATCH_VERSION:INTERNAL=1
MY_PROJ_2_HARDENED:BOOL=OFF
MY_PROJ_2_LEVEL:STRING=2
MY_PROJ_2_EMPTY:STRING=
MY_PROJ_2_DATA_DIR:PATH=%/data
MY_PROJ_2_SOMEWHERE:STRING=%/x
MY_PROJ_2_HIDDEN:INTERNAL=1
"MY_PROJ_2_A:B":BOOL=ON
SOMETHING_ELSE:BOOL=ON
`

func TestTwoBuildsThatAreConfiguredAlikeHaveOneConfigurationWhereverTheyAre(t *testing.T) {
	var found []facts.CMake
	for range 2 {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "CMakeCache.txt"), strings.ReplaceAll(cache, "%", dir))
		write(t, filepath.Join(dir, "CMakeFiles/3.25.1/CMakeCXXCompiler.cmake"), "set(CMAKE_CXX_COMPILER \"/usr/bin/c++\")\nset(CMAKE_CXX_COMPILER_ID \"AppleClang\")\nset(CMAKE_CXX_COMPILER_VERSION \"21.0.0\")\n")
		write(t, filepath.Join(dir, "CMakeFiles/3.9.0/CMakeCXXCompiler.cmake"), "set(CMAKE_CXX_COMPILER_ID \"GNU\")\nset(CMAKE_CXX_COMPILER_VERSION \"4\")\n")
		c, err := facts.ReadCMake(dir)
		if err != nil {
			t.Fatal(err)
		}
		if c.Home != filepath.Join(dir, "src") {
			t.Errorf("the checkout is %s", c.Home)
		}
		found = append(found, c)
	}
	want := map[string]any{
		"build_type": "Release", "cxx_flags": "-march=native -fno-plt", "cxx_build_flags": "-O3 -DNDEBUG", "cxx_compiler": "AppleClang 21.0.0",
		"options": map[string]any{"MY_PROJ_2_HARDENED": "OFF", "MY_PROJ_2_LEVEL": "2", "MY_PROJ_2_A:B": "ON"},
	}
	for _, c := range found {
		if diff := cmp.Diff(want, c.Configuration); diff != "" {
			t.Error(diff)
		}
	}
}

func TestADirectoryThatCMakeDidNotMakeHasNoConfiguration(t *testing.T) {
	c, err := facts.ReadCMake(t.TempDir())
	if err != nil || c.Home != "" || len(c.Configuration) != 0 {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestRealCMakeIsRead(t *testing.T) {
	cmake, err := exec.LookPath("cmake")
	if err != nil {
		t.Skip("cmake is not installed, so what it writes cannot be read")
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "src/CMakeLists.txt"), "cmake_minimum_required(VERSION 3.10)\nproject(demo CXX)\noption(DEMO_HARDENED \"x\" ON)\n")
	build := filepath.Join(dir, "build")
	if out, err := exec.Command(cmake, "-S", filepath.Join(dir, "src"), "-B", build, "-DCMAKE_BUILD_TYPE=Release").CombinedOutput(); err != nil {
		t.Skipf("cmake cannot configure a project here: %v\n%s", err, out)
	}
	c, err := facts.ReadCMake(build)
	if err != nil {
		t.Fatal(err)
	}
	if c.Home != filepath.Join(dir, "src") || c.Configuration["build_type"] != "Release" || c.Configuration["cxx_compiler"] == nil {
		t.Errorf("%+v", c)
	}
	if diff := cmp.Diff(map[string]any{"DEMO_HARDENED": "ON"}, c.Configuration["options"]); diff != "" {
		t.Error(diff)
	}
}

func TestFactsAreVerifiedExactlyAndAtAnyDepth(t *testing.T) {
	have := object(t, `{"blas":{"name":"openblas","threads":1},"numpy":"2.0","list":[1,2],"extra":true,"null":null}`)
	for want, missing := range map[string][]string{
		`{}`:                                     nil,
		`{"blas":{"name":"openblas"}}`:           nil,
		`{"blas":{"name":"OpenBLAS"}}`:           {"blas", "name"},
		`{"blas":{"version":"3"}}`:               {"blas", "version"},
		`{"blas":"openblas"}`:                    {"blas"},
		`{"numpy":{"version":"2.0"}}`:            {"numpy"},
		`{"blas":{"threads":1.0}}`:               nil,
		`{"blas":{"threads":"1"}}`:               {"blas", "threads"},
		`{"list":[1,2]}`:                         nil,
		`{"list":[1]}`:                           {"list"},
		`{"null":null}`:                          nil,
		`{"absent":null}`:                        {"absent"},
		`{"a":{},"blas":{}}`:                     {"a"},
		`{"numpy":"2.0","extra":true,"b.c":"x"}`: {"b.c"},
	} {
		if diff := cmp.Diff(missing, facts.Missing(have, object(t, want))); diff != "" {
			t.Errorf("%s: %s", want, diff)
		}
	}
}

func object(t *testing.T, text string) map[string]any {
	t.Helper()
	m, err := ijson.Object([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestOnlyNamedVariablesAreRecorded(t *testing.T) {
	environ := []string{"MY_CI_TOKEN=hunter2", "MY_FLAG=1", "OMP_NUM_THREADS=4", "LD_LIBRARY_PATH=", "BENCHX_ENV_ALLOWLIST=MY_FLAG, ,LD_LIBRARY_PATH,MY_FLAG"}
	names := facts.Recorded(environ, []string{"PYTHONHASHSEED"})
	n := 0
	for _, name := range names {
		if name == "MY_FLAG" {
			n++
		}
	}
	if n != 1 || len(names) != 11 {
		t.Errorf("the names are %v", names)
	}
	if diff := cmp.Diff(map[string]any{"MY_FLAG": "1", "OMP_NUM_THREADS": "4", "LD_LIBRARY_PATH": ""}, facts.Environment(environ, names)); diff != "" {
		t.Error(diff)
	}
}

func TestDeclaredFactsAreReadFromTheFirstFolderThatHasThemOrFromWhereTheEnvironmentSays(t *testing.T) {
	one, two := t.TempDir(), t.TempDir()
	if got, err := facts.Setup(nil, one, two); got != nil || err != nil {
		t.Errorf("without any: %v, %v", got, err)
	}
	write(t, filepath.Join(two, ".benchx/setup.json"), `{"arrow":"conda"}`)
	if got, err := facts.Setup(nil, one, two); err != nil || got["arrow"] != "conda" {
		t.Errorf("%v, %v", got, err)
	}
	named := write(t, filepath.Join(one, "facts.json"), `{"arrow":"apt"}`)
	if got, err := facts.Setup([]string{"BENCHX_SETUP_FILE=" + named}, one, two); err != nil || got["arrow"] != "apt" {
		t.Errorf("%v, %v", got, err)
	}
	for _, text := range []string{"{not json", "[]", `{"a":1,"a":2}`} {
		write(t, filepath.Join(one, ".benchx/setup.json"), text)
		if got, err := facts.Setup(nil, one, two); err == nil {
			t.Errorf("%s: %v", text, got)
		}
	}
}

func TestAProgramThatIsOlderThanASourceIsStale(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not on PATH")
	}
	dir := t.TempDir()
	if out, err := exec.Command(git, "init", "-q", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	now := time.Now().Add(-time.Hour)
	at := func(name string, age time.Duration) string {
		path := write(t, filepath.Join(dir, name), "x")
		if err := os.Chtimes(path, now.Add(age), now.Add(age)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	program := at("build/bench", 0)
	at("lib/a.cc", -time.Minute)
	at("README.md", time.Minute)
	at("build/generated.h", time.Minute)
	ctx := context.Background()
	if got := facts.Newer(ctx, dir, program); got != "" {
		t.Errorf("%s is newer, and nothing is built from it", got)
	}
	at("lib/a.cc", time.Minute)
	if got := facts.Newer(ctx, dir, program); got != "lib/a.cc" {
		t.Errorf("newer: %q", got)
	}
}

func TestTheMachineSaysNothingThatMovesByItself(t *testing.T) {
	identity, system, _ := facts.Machine()
	if identity["runner"] == nil || identity["cores"] == nil || system["os"] == nil || system["kernel"] == nil {
		t.Errorf("identity %v, system %v", identity, system)
	}
	time.Sleep(20 * time.Millisecond)
	again, systemAgain, _ := facts.Machine()
	if diff := cmp.Diff(identity, again) + cmp.Diff(system, systemAgain); diff != "" {
		t.Error(diff)
	}
	if v, probe, ok := facts.Load(); ok && (v < 0 || probe == "") {
		t.Errorf("load %v by %q", v, probe)
	}
}
