package starter

import (
	"path"
	"slices"
	"strings"

	"github.com/flameox/flameox/internal/pattern"
)

// maxScripts bounds an axis of scripts.
const maxScripts = 8

var benchName = pattern.Lazy{Expr: `(^|[_-])(bench|benchmark|benchmarks|perf)([_-]|$)`}

// pythonProject is for Python: benchmark scripts where there are some, otherwise how long the package takes to import.
func pythonProject(t *tree) *Starter {
	var scripts, packages []string
	for _, f := range t.files {
		dir, name := path.Split(f.path)
		stem, ok := strings.CutSuffix(name, ".py")
		inBench := dir == "bench/" || dir == "benchmarks/"
		switch {
		case !ok:
		case strings.HasPrefix(stem, "test_") || strings.HasSuffix(stem, "_test") || stem == "conftest":
		case benchName.MatchString(stem), inBench && stem != "__init__":
			scripts = append(scripts, f.path)
		case stem == "__init__":
			parts := strings.Split(strings.TrimSuffix(dir, "/"), "/")
			if len(parts) == 1 || len(parts) == 2 && parts[0] == "src" {
				packages = append(packages, parts[len(parts)-1])
			}
		}
	}
	project := t.has("pyproject.toml") || t.has("setup.py") || t.has("setup.cfg")
	if !project && len(scripts) == 0 {
		return nil
	}
	c := command{sources: []string{"**/*.py"}}
	if !slices.ContainsFunc(t.files, func(f file) bool { return strings.HasSuffix(f.path, ".py") }) {
		c.sources = []string{}
	}
	packages = slices.DeleteFunc(packages, func(p string) bool { return p == "tests" || p == "docs" || p == "examples" })
	switch {
	case len(scripts) > 0:
		c.what = "a Python project with " + plural(len(scripts), "benchmark script")
		c.question = "How long do the benchmark scripts of this project take?"
		c.left = max(0, len(scripts)-maxScripts)
		c.axis, c.values = "script", scripts[:min(len(scripts), maxScripts)]
		c.argv = []string{"python3", axisValue}
		c.note = "The interpreter is the python3 of PATH; where the scripts need the one of a virtual\nenvironment, name it here: \".venv/bin/python\"."
	case len(packages) > 0:
		slices.Sort(packages)
		c.what = "a Python project without benchmark scripts"
		c.question = "How long does the package take to import? A beginning: no benchmark script was found\n(bench_*.py, benchmarks/*.py). Name the program that matters below."
		c.argv = []string{"python3", "-c", "import " + packages[0]}
		if !slices.ContainsFunc(t.files, func(f file) bool { return f.path == packages[0]+"/__init__.py" }) {
			c.argv[2] = "import sys; sys.path.insert(0, \"src\"); import " + packages[0]
		}
		c.note = "The interpreter is the python3 of PATH; where the package needs the one of a virtual\nenvironment, name it here: \".venv/bin/python\"."
	default:
		c.what = "a Python project without benchmark scripts"
		c.question = "How long does the interpreter take to start? A beginning: no benchmark script was\nfound (bench_*.py, benchmarks/*.py). Name the program that matters below."
		c.argv = []string{"python3", "-c", "pass"}
	}
	return c.starter()
}

var (
	addExecutable = pattern.Lazy{Expr: `(?im)^\s*add_executable\s*\(\s*([A-Za-z0-9_.+-]+)\s+([A-Za-z]*)`}
	makeTarget    = pattern.Lazy{Expr: `(?m)^([A-Za-z0-9][A-Za-z0-9_.-]*)\s*:([^=]|$)`}
)

// cmakeProject is for CMake: the executable that is called like a benchmark, or the first. It is built out of the tree, and the program
// that comes out is run.
func cmakeProject(t *tree) *Starter {
	if !t.has("CMakeLists.txt") {
		return nil
	}
	var targets []string
	for _, f := range t.files {
		if path.Base(f.path) != "CMakeLists.txt" {
			continue
		}
		for _, m := range addExecutable.FindAllStringSubmatch(t.read(f.path), -1) {
			if m[2] != "IMPORTED" && m[2] != "ALIAS" {
				targets = append(targets, m[1])
			}
		}
	}
	if len(targets) == 0 {
		return nil
	}
	target := targets[0]
	if i := slices.IndexFunc(targets, func(s string) bool { return benchName.MatchString(strings.ToLower(s)) }); i >= 0 {
		target = targets[i]
	}
	return cmakeStarter(target, nativeSources(t))
}

// nativeSources are globs of what a compiler reads.
func nativeSources(t *tree) []string {
	var out []string
	for _, f := range t.files {
		glob := "**/*" + path.Ext(f.path)
		if path.Base(f.path) == "CMakeLists.txt" {
			glob = "**/CMakeLists.txt"
		} else if !slices.Contains([]string{".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hxx", ".inc", ".s", ".S", ".cmake", ".cu", ".f90", ".in"}, path.Ext(f.path)) {
			continue
		}
		if !slices.Contains(out, glob) {
			out = append(out, glob)
		}
	}
	slices.Sort(out)
	return out
}

// makeProject is for a Makefile with a target that is called like a benchmark.
func makeProject(t *tree) *Starter {
	for _, name := range []string{"GNUmakefile", "makefile", "Makefile"} {
		if !t.has(name) {
			continue
		}
		for _, m := range makeTarget.FindAllStringSubmatch(t.read(name), -1) {
			if benchName.MatchString(m[1]) {
				c := command{
					what: "a Makefile with the target " + m[1], question: "How long does `make " + m[1] + "` take?",
					argv: []string{"make", "--silent", m[1]},
					note: "What the target builds first is measured, too. To measure the program alone, name it\nhere: [\"./program\", \"argument\"].",
				}
				if sources := nativeSources(t); len(sources) > 0 {
					c.sources = append([]string{name}, sources...)
				} else {
					c.sources = []string{name}
				}
				return c.starter()
			}
		}
		return nil
	}
	return nil
}

// executable is for a program in the folder, or in its bin or build.
func executable(t *tree) *Starter {
	var found []string
	for _, f := range t.files {
		dir := path.Dir(f.path)
		if f.exec && (dir == "." || dir == "bin" || dir == "build") && !strings.HasSuffix(f.path, ".so") {
			found = append(found, f.path)
		}
	}
	if len(found) == 0 {
		return nil
	}
	program := found[0]
	if i := slices.IndexFunc(found, func(p string) bool { return benchName.MatchString(strings.ToLower(path.Base(p))) }); i >= 0 {
		program = found[i]
	}
	c := command{
		what: "the program " + program, question: "How long does " + program + " take?", argv: []string{"./" + program}, sources: []string{},
		note: "Arguments follow the program. What it reads belongs into sources, so that a change of it\nis noticed; the program itself is noticed anyway.",
	}
	return c.starter()
}

// nothing is for a folder in which nothing was recognized.
func nothing() *Starter {
	c := command{
		what: "an example, because nothing was recognized here", question: "How long does a command take? An example: put the program that matters in its place.",
		argv: []string{"sleep", "0.1"}, sources: []string{},
		note: "The program and its arguments, never a shell. What it reads belongs into sources, so that\na change of it is noticed.",
	}
	return c.starter()
}
