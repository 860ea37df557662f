package facts

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/flameox/flameox/internal/pattern"
)

// CMake is what a build directory says of its configuration.
type CMake struct {
	Home          string         // the sources that it was configured from; "" where it does not say
	Configuration map[string]any // build_type, cxx_flags, cxx_compiler, options
}

type entry struct{ kind, value string }

// ReadCMake reads the cache of a build directory. One that CMake did not make has none, and is no error.
func ReadCMake(dir string) (CMake, error) {
	cache, err := readCache(filepath.Join(dir, "CMakeCache.txt"))
	if errors.Is(err, fs.ErrNotExist) {
		return CMake{}, nil
	}
	if err != nil {
		return CMake{}, fmt.Errorf("read the configuration of the build directory %s: %w", dir, err)
	}
	c := CMake{Home: cache["CMAKE_HOME_DIRECTORY"].value, Configuration: map[string]any{}}
	put := func(name, value string) {
		if value != "" {
			c.Configuration[name] = value
		}
	}
	kind := cache["CMAKE_BUILD_TYPE"].value
	put("build_type", kind)
	put("cxx_flags", withoutPaths(cache["CMAKE_CXX_FLAGS"].value))
	if kind != "" {
		put("cxx_build_flags", withoutPaths(cache["CMAKE_CXX_FLAGS_"+strings.ToUpper(kind)].value))
	}
	put("interprocedural_optimization", cache["CMAKE_INTERPROCEDURAL_OPTIMIZATION"].value)
	put("cxx_compiler", compiler(dir, cache))
	if options := projectOptions(cache); len(options) > 0 {
		c.Configuration["options"] = options
	}
	return c, nil
}

// line is NAME:TYPE=VALUE; a name that has a colon in it is quoted.
var line = pattern.Lazy{Expr: `^(?:"([^"]*)"|([^":=#/][^:=]*)):([A-Z]+)=(.*)$`}

func readCache(path string) (map[string]entry, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	out := map[string]entry{}
	scan := bufio.NewScanner(f)
	scan.Buffer(nil, 1<<20)
	for scan.Scan() {
		if m := line.FindStringSubmatch(strings.TrimRight(scan.Text(), "\r")); m != nil {
			out[m[1]+m[2]] = entry{m[3], m[4]}
		}
	}
	return out, scan.Err()
}

// withoutPaths are the words of flags that name no place: the same configuration in another directory is the same.
func withoutPaths(flags string) string {
	words := strings.Fields(flags)
	words = slices.DeleteFunc(words, func(w string) bool { return strings.ContainsAny(w, `/\`) })
	for i := len(words) - 1; i >= 0; i-- {
		// What took the path that followed it.
		if slices.Contains([]string{"-I", "-isystem", "-L", "-include", "-idirafter", "-iquote"}, words[i]) {
			words = slices.Delete(words, i, i+1)
		}
	}
	return strings.Join(words, " ")
}

// set is a line of the file in which CMake keeps what it found out about the compiler.
var set = pattern.Lazy{Expr: `(?m)^set\((CMAKE_CXX_COMPILER_ID|CMAKE_CXX_COMPILER_VERSION) "([^"]*)"\)`}

func compiler(dir string, cache map[string]entry) string {
	version := cache["CMAKE_CACHE_MAJOR_VERSION"].value + "." + cache["CMAKE_CACHE_MINOR_VERSION"].value + "." + cache["CMAKE_CACHE_PATCH_VERSION"].value
	found, err := filepath.Glob(filepath.Join(dir, "CMakeFiles", "*", "CMakeCXXCompiler.cmake"))
	if err != nil || len(found) == 0 {
		return ""
	}
	path := found[len(found)-1]
	// A directory that was configured by several versions of CMake has a folder of each.
	if own := filepath.Join(dir, "CMakeFiles", version, "CMakeCXXCompiler.cmake"); slices.Contains(found, own) {
		path = own
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	facts := map[string]string{}
	for _, m := range set.FindAllStringSubmatch(string(text), -1) {
		facts[m[1]] = m[2]
	}
	return strings.TrimSpace(facts["CMAKE_CXX_COMPILER_ID"] + " " + facts["CMAKE_CXX_COMPILER_VERSION"])
}

var unfit = pattern.Lazy{Expr: `[^A-Z0-9]`}

// projectOptions are the entries that begin with the project's name.
func projectOptions(cache map[string]entry) map[string]any {
	project := cache["CMAKE_PROJECT_NAME"].value
	if project == "" {
		return nil
	}
	prefix := unfit.ReplaceAllString(strings.ToUpper(project), "_") + "_"
	out := map[string]any{}
	for name, e := range cache {
		if strings.HasPrefix(name, prefix) && (e.kind == "BOOL" || e.kind == "STRING") && e.value != "" && !strings.Contains(e.value, "/") {
			out[name] = e.value
		}
	}
	return out
}
