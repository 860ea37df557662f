package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// can remembers what this machine can do, so that scripts ask once.
var can sync.Map

// condition says whether a script can run here: [pip] that python3 has a pip that installs into other interpreters (22.3), [pypi] that
// it reaches an index; [npm] that npm reaches a registry; [libbenchmark] that a C++ compiler finds Google Benchmark; [perf] that
// perf is there and may record; [python312] that python3 is 3.12 or later; [toxiproxy] that a module proxy has the source of Toxiproxy.
func condition(name string) (bool, error) {
	argv := map[string][]string{
		"pip":          {"python3", "-I", "-m", "pip", "--python", "python3", "--version"},
		"pypi":         {"python3", "-I", "-m", "pip", "download", "--quiet", "--no-deps", "--retries", "0", "--timeout", "10", "six==1.17.0"},
		"libbenchmark": {"c++", "-fsyntax-only", "-include", "benchmark/benchmark.h", "-x", "c++", "/dev/null"},
		"perf":         {"perf", "record", "-q", "-N", "-o", "perf.data", "--", "perf", "--version"},
		"python312":    {"python3", "-I", "-c", "import sys; sys.exit(sys.version_info < (3, 12))"},
		"toxiproxy":    {"go", "list", "-m", "github.com/Shopify/toxiproxy/v2@v2.12.0"},
		"npm":          {"npm", "view", "--fetch-retries=0", "--fetch-timeout=10000", "ms@2.1.3", "version"},
	}[name]
	if argv == nil {
		return false, fmt.Errorf("no condition is called %q", name)
	}
	ask := sync.OnceValues(func() (bool, error) {
		dir, err := os.MkdirTemp("", "flameox-condition-")
		if err != nil {
			return false, err
		}
		defer os.RemoveAll(dir)
		path, err := exec.LookPath(argv[0])
		if err != nil {
			return false, nil
		}
		for i := range argv[1:] {
			argv[i+1] = strings.Replace(argv[i+1], "python3", path, 1)
		}
		cmd := exec.Command(path, argv[1:]...)
		cmd.Dir, cmd.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(dir, "home"), "LANG=C.UTF-8"}
		if argv[0] == "go" { // where its modules come from is in its variables
			cmd.Env = os.Environ()
		}
		return cmd.Run() == nil, nil
	})
	once, _ := can.LoadOrStore(name, ask)
	return once.(func() (bool, error))()
}
