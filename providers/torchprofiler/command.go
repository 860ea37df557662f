package torchprofiler

import (
	"fmt"
	"path"
	"strings"

	"github.com/flameox/flameox/internal/pattern"
	"github.com/flameox/flameox/internal/token"
)

// target is what Python runs: one of the launcher's three ways, and the arguments behind it.
type target struct {
	flags []string // of the interpreter
	kind  string   // --script, --module or --inline
	what  string
	args  []string
}

var pythonName = pattern.Lazy{Expr: `^python[0-9.]*t?d?$`}

// parse takes the workload's command apart: the launcher runs the program in the interpreter that the command names.
func parse(argv []string) (target, error) {
	var t target
	if len(argv) == 0 {
		return t, fmt.Errorf("the workload has no command to profile; capture \"torchprofiler\" needs one that begins with Python, such as [\"python3\", \"train.py\"]")
	}
	if name := path.Base(token.Display(argv[0])); !pythonName.MatchString(name) {
		return t, fmt.Errorf("the workload's command starts with %s, and torch.profiler runs in Python; write [\"python3\", \"train.py\", …], or [\"python3\", \"-m\", \"module\", …] (torchrun and shell scripts start Python themselves: use mode = \"sdk\" within the program)", token.Display(argv[0]))
	}
	for rest := argv[1:]; len(rest) > 0; {
		switch a := rest[0]; {
		case a == "-m" || a == "-c":
			if len(rest) < 2 || rest[1] == "" {
				return t, fmt.Errorf("the workload's command ends with %s, which needs something to run behind it", a)
			}
			t.kind, t.what, t.args = map[string]string{"-m": "--module", "-c": "--inline"}[a], rest[1], rest[2:]
			return t, nil
		case a == "-W" || a == "-X":
			if len(rest) < 2 {
				return t, fmt.Errorf("the workload's command ends with %s, which needs a value behind it", a)
			}
			t.flags, rest = append(t.flags, rest[:2]...), rest[2:]
		case a == "-":
			return t, fmt.Errorf("the workload's command reads its program from standard input, which a workload does not have; put it into a file")
		case strings.HasPrefix(a, "-W") || strings.HasPrefix(a, "-X") || strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "--") && strings.Trim(a[1:], "BbdEIOPqRsSuv") == "":
			t.flags, rest = append(t.flags, a), rest[1:]
		case strings.HasPrefix(a, "-"):
			return t, fmt.Errorf("the workload's command has %s in front of the program, which cannot be kept under the profiler; take it out", token.Display(a))
		default:
			t.kind, t.what, t.args = "--script", a, rest[1:]
			return t, nil
		}
	}
	return t, fmt.Errorf("the workload's command names no program for Python to run; write a file, -m module, or -c code behind %s", token.Display(argv[0]))
}
