package pyargv

import (
	"fmt"
	"path"
	"strings"

	"github.com/flameox/flameox/internal/pattern"
	"github.com/flameox/flameox/internal/token"
)

// Command is a call of Python.
type Command struct {
	Python string   // as the command names it: a name or a path, which may hold tokens
	Flags  []string // of the interpreter, each with its value
	Target []string // -m module …, -c code …, or file …; never empty
}

// Interpreter is the command up to its target.
func (c Command) Interpreter() []string { return append([]string{c.Python}, c.Flags...) }

// Module is the module that is run with -m, and its arguments.
func (c Command) Module() (name string, args []string, ok bool) {
	if c.Target[0] != "-m" {
		return "", nil, false
	}
	return c.Target[1], c.Target[2:], true
}

var name = pattern.Lazy{Expr: `^python[0-9.]*t?d?(\.exe)?$`}

// Is says whether an argument names Python.
func Is(arg string) bool { return name.MatchString(path.Base(token.Display(arg))) }

// kept are flags of a single letter that need no value and change nothing of how a program is found.
const kept = "BbdEIOPqRsSuv"

// Parse takes a command apart. by is what needs it, for messages.
func Parse(by string, argv []string) (Command, error) {
	if len(argv) == 0 {
		return Command{}, fmt.Errorf("the workload has no command to run under %s", by)
	}
	c := Command{Python: argv[0]}
	if !Is(argv[0]) {
		return c, fmt.Errorf("the workload's command starts with %s, and %s needs Python itself there; write [\"python3\", \"file.py\", …], or [\"python3\", \"-m\", \"module\", …] for a program that is installed with Python", token.Display(argv[0]), by)
	}
	for rest := argv[1:]; len(rest) > 0; {
		a := rest[0]
		n := 1
		switch {
		case a == "-m" || a == "-c":
			if len(rest) < 2 || rest[1] == "" {
				return c, fmt.Errorf("the workload's command ends with %s, which needs a %s behind it", a, map[string]string{"-m": "module", "-c": "program"}[a])
			}
			c.Target = rest
			return c, nil
		case a == "-W" || a == "-X" || a == "--check-hash-based-pycs":
			if n = 2; len(rest) < 2 {
				return c, fmt.Errorf("the workload's command ends with %s, which needs a value behind it", a)
			}
		case a == "-":
			return c, fmt.Errorf("the workload's command reads its program from standard input, which a workload does not have; put it into a file")
		case strings.HasPrefix(a, "-W") || strings.HasPrefix(a, "-X"):
		case strings.HasPrefix(a, "--"):
			return c, fmt.Errorf("the workload's command has %s before the program, with which Python runs nothing that could be recorded; take it out", token.Display(a))
		case strings.HasPrefix(a, "-"):
			if i := strings.IndexFunc(a[1:], func(r rune) bool { return !strings.ContainsRune(kept, r) }); i >= 0 {
				return c, fmt.Errorf("the workload's command has %s before the program, and -%c cannot be kept under %s; write flags apart, options of Python first, then the program or -m or -c", a, a[1+i], by)
			}
		default:
			c.Target = rest
			return c, nil
		}
		c.Flags, rest = append(c.Flags, rest[:n]...), rest[n:]
	}
	return c, fmt.Errorf("the workload's command names no program for Python to run; write a file, -m module, or -c code behind %s", token.Display(argv[0]))
}
