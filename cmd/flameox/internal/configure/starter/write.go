package starter

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/flameox/flameox/lang"
)

// text collects a configuration.
type text struct{ b strings.Builder }

func (t *text) line(format string, args ...any) { fmt.Fprintf(&t.b, format+"\n", args...) }

// comment writes a comment. Names of files come into it: what would end its line is left out.
func (t *text) comment(indent, s string) {
	for l := range strings.SplitSeq(s, "\n") {
		l = strings.Map(func(r rune) rune {
			if r < ' ' || r == 0x7f || r == 0x2028 || r == 0x2029 {
				return '?'
			}
			return r
		}, l)
		t.line("%s", strings.TrimRight(indent+"# "+l, " "))
	}
}

func (t *text) starter(what string) *Starter {
	src := []byte(t.b.String())
	if out, diags := lang.Fmt(src); !diags.HasErrors() {
		src = out
	}
	return &Starter{What: what, Config: src}
}

// quote is a string as HCL writes it.
func quote(s string) string {
	return string(hclwrite.TokensForValue(cty.StringVal(s)).Bytes())
}

func list(items []string) string {
	quoted := make([]string, len(items))
	for i, s := range items {
		quoted[i] = quote(s)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

func plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

func (t *text) head(question string) {
	t.comment("", question)
	t.comment("", "\n  flameox plan     says what would run, and why\n  flameox apply    runs that, and reuses everything else\n\nWhat each block takes: flameox schema workload, flameox schema capture command.")
	t.line("")
}

// axisValue in an argument vector stands for the value of the axis.
const axisValue = "\x00axis"

// command is a workload with a capture of the provider command.
type command struct {
	what, question string
	note           string // about the command
	argv           []string
	axis           string // the name of an axis, or ""
	values         []string
	left           int // how many values there was no room for
	sources        []string
}

func (c command) starter() *Starter {
	if len(c.values) == 1 { // an axis of one value says nothing
		for i, a := range c.argv {
			if a == axisValue {
				c.argv[i] = c.values[0]
			}
		}
		c.axis = ""
	}
	t := &text{}
	t.head(c.question)
	t.comment("", "What to run.")
	t.line("workload \"main\" {")
	if c.note != "" {
		t.comment("  ", c.note)
	}
	args := make([]string, len(c.argv))
	for i, a := range c.argv {
		if args[i] = quote(a); a == axisValue {
			args[i] = "matrix." + c.axis
		}
	}
	t.line("  command = [%s]", strings.Join(args, ", "))
	t.line("  sources = %s", list(c.sources))
	if c.axis != "" {
		t.line("")
		t.comment("  ", "One instance for each value.")
		if c.left > 0 {
			t.comment("  ", fmt.Sprintf("%d more were found.", c.left))
		}
		t.line("  matrix = { %s = %s }", c.axis, list(c.values))
	}
	t.line("}")
	t.line("")
	t.capture("workload.main")
	t.wall("capture.command.main", c.axis != "")
	return t.starter(c.what)
}

func (t *text) capture(workload string) {
	t.comment("", "A measurement: wall time, CPU time and memory of three runs, each alone on the machine.")
	t.line("capture \"command\" \"main\" {\n  workload = %s\n  attempts = 3\n}", workload)
	t.line("")
}

// wall writes the output that shows the median wall time.
func (t *text) wall(capture string, axes bool) {
	t.comment("", "Shown when apply is done. Results are known only then, so only output and check may read\nthem.")
	t.line("output \"wall_ms\" {")
	if axes {
		t.line("  description = \"median wall time of a run, in ms, by instance\"\n  value = { for key, run in %s : key => floor(run.wall.median / 1000000) }", capture)
	} else {
		t.line("  description = \"median wall time of a run, in ms\"\n  value = floor(%s.wall.median / 1000000)", capture)
	}
	t.line("}")
}

// cmakeStarter builds a target and runs the program.
func cmakeStarter(target string, sources []string) *Starter {
	t := &text{}
	t.head("How long does " + target + " take, built by CMake?")
	t.comment("", "The program, built out of the tree. It is built again when one of its sources changes, and\nwhere the same bytes come out, nothing that stands on it runs.")
	t.line("build \"main\" {")
	t.line("  command = [\"sh\", \"-c\", %s, \"sh\", %s, out.dir]",
		quote(`cmake -S . -B "$2/tree" -DCMAKE_BUILD_TYPE=Release -DCMAKE_RUNTIME_OUTPUT_DIRECTORY="$2" && cmake --build "$2/tree" --target "$1"`), quote(target))
	t.line("  sources = %s\n  outputs = [%s]\n}", list(sources), quote(target))
	t.line("")
	t.comment("", "What to run.")
	t.line("workload \"main\" {")
	t.comment("  ", "Arguments follow the program. What it reads while it runs belongs into sources.")
	t.line("  command = [\"${build.main.dir}/%s\"]\n  sources = []\n}", target)
	t.line("")
	t.capture("workload.main")
	t.wall("capture.command.main", false)
	return t.starter("a CMake project with the executable " + target)
}

// goStarter builds the test binaries of packages, runs their benchmarks, and profiles them.
func goStarter(packages []goPackage, sources []string) *Starter {
	total := 0
	for _, p := range packages {
		total += p.benchmarks
	}
	what := fmt.Sprintf("a Go module with %s in %s", plural(total, "benchmark"), plural(len(packages), "package"))
	left := max(0, len(packages)-maxPackages)
	packages = packages[:min(len(packages), maxPackages)]
	single := len(packages) == 1
	dir, name := "./${matrix.package}", "bench.test"
	if single {
		dir = escape("./" + packages[0].dir)
		if packages[0].dir == "." {
			dir = "."
		}
	}
	t := &text{}
	t.comment("", "How fast are the benchmarks of this module, and where do they spend their time?\n\n  flameox plan     says which stages would run, and why\n  flameox apply    runs those, and reuses everything else\n\nWhat each block takes: flameox schema capture gobench.")
	t.line("")
	t.comment("", "Where programs run. A stage sees only the variables that are named here. Those that are\ninherited are part of a result's identity; the others are recorded, and a different value\nmakes nothing stale.")
	t.line("environment \"host\" \"go\" {\n  inherit   = %s\n  untracked = %s\n}", list(tracked), list(untracked))
	t.line("")
	t.comment("", "The test binary with the benchmarks. It is built again when one of its sources changes. If the\nnew one has the same bytes (somebody fixed a comment), nothing that stands on it runs.")
	t.line("build \"bench\" {\n  environment = environment.host.go")
	t.line("  command = [\"go\", \"test\", \"-c\", \"-trimpath\", \"-o\", \"${out.dir}/%s\", \"%s\"]", name, dir)
	t.line("  sources = %s\n  outputs = [%s]", list(sources), quote(name))
	if !single {
		var dirs []string
		for _, p := range packages {
			dirs = append(dirs, p.dir)
		}
		t.line("")
		t.comment("  ", "One instance for each package with benchmarks; what stands on the build has the same.")
		if left > 0 {
			t.comment("  ", fmt.Sprintf("%d more were found.", left))
		}
		t.line("  matrix = { package = %s }", list(dirs))
	}
	t.line("}")
	t.line("")
	t.goWorkload(packages, name, total)
	t.goCaptures()
	t.wall("capture.gobench.bench", !single)
	return t.starter(what)
}

// tracked change what is built or measured; untracked say where go finds and keeps things.
var (
	tracked   = []string{"CGO_ENABLED", "GODEBUG", "GOEXPERIMENT", "GOFLAGS", "GOGC", "GOMAXPROCS", "GOMEMLIMIT", "GOTOOLCHAIN"}
	untracked = []string{"HOME", "GOCACHE", "GOMODCACHE", "GOPATH", "GOPRIVATE", "GOPROXY", "GOROOT", "GOSUMDB"}
)

// escape is a text in a template.
func escape(s string) string {
	q := quote(s)
	return q[1 : len(q)-1]
}

func (t *text) goWorkload(packages []goPackage, name string, benchmarks int) {
	t.comment("", "What to run: in the package's own folder, as go test does. The binary is noticed when it\nchanges; files that benchmarks read belong into sources.")
	t.line("workload \"bench\" {\n  environment = environment.host.go\n  command = [\"${build.bench.dir}/%s\"]", name)
	var data []string
	for _, p := range packages {
		if p.testdata {
			data = append(data, p.dir)
		}
	}
	globs := []string{"testdata/**"}
	switch {
	case len(packages) > 1:
		t.line("  cwd = matrix.package")
	case packages[0].dir != ".":
		t.line("  cwd = %s", quote(packages[0].dir))
	}
	switch len(data) {
	case 0:
		t.line("  sources = []")
	case len(packages):
		t.line("  sources = %s", list(globs))
	default:
		t.line("  sources = contains(%s, matrix.package) ? %s : []", list(data), list(globs))
	}
	if benchmarks > 50 {
		t.line("  timeout = \"1h\"")
	}
	t.line("}")
	t.line("")
}

func (t *text) goCaptures() {
	t.comment("", "A measurement. It runs alone on the machine, and takes five samples of each benchmark. For\nfigures to decide by, use the default benchtime of 1s and count = 10.")
	t.line("capture \"gobench\" \"bench\" {\n  workload = workload.bench\n  bench = \".\"\n  benchtime = \"100ms\"\n  count = 5\n}")
	t.line("")
	t.comment("", "The same benchmarks under the CPU profiler. Profiling costs time, so these runs say where time\ngoes, and the ones above how much; profile_of ties the two together.")
	t.line("capture \"pprof\" \"bench\" {\n  workload = workload.bench\n  profile_of = capture.gobench.bench\n  profiles = [\"cpu\"]\n  bench = \".\"\n  benchtime = \"200ms\"\n}")
	t.line("")
}
