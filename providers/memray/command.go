package memray

import (
	"fmt"
	"path"
	"strings"

	"github.com/flameox/flameox/internal/pattern"
	"github.com/flameox/flameox/internal/token"
)

// command is a call of Python, taken apart.
type command struct {
	python string
	flags  []string // of the interpreter
	target []string // -m module …, -c code …, or file …
}

func (c command) interpreter() []string { return append([]string{c.python}, c.flags...) }

var pythonName = pattern.Lazy{Expr: `^python[0-9.]*t?d?$`}

// parse takes the workload's command apart. memray runs a target in the interpreter that it is installed in, so the command has to
// name that interpreter: what a launcher would choose is not known before it runs.
func parse(argv []string) (command, error) {
	if len(argv) == 0 {
		return command{}, fmt.Errorf("the workload has no command to run under memray")
	}
	c := command{python: argv[0]}
	if name := path.Base(argv[0]); !pythonName.MatchString(name) {
		return c, fmt.Errorf("the workload's command starts with %s, and memray needs Python itself there; write [\"python3\", \"file.py\", …], or [\"python3\", \"-m\", \"module\", …] for a program that is installed with Python, such as pytest", token.Display(argv[0]))
	}
	rest := argv[1:]
	for len(rest) > 0 {
		a := rest[0]
		switch {
		case a == "-m" || a == "-c":
			if len(rest) < 2 || rest[1] == "" {
				return c, fmt.Errorf("the workload's command ends with %s, which needs a %s behind it", a, map[string]string{"-m": "module", "-c": "program"}[a])
			}
			c.target = rest
			return c, nil
		case a == "-W" || a == "-X" || a == "--check-hash-based-pycs":
			if len(rest) < 2 {
				return c, fmt.Errorf("the workload's command ends with %s, which needs a value behind it", a)
			}
			c.flags, rest = append(c.flags, rest[:2]...), rest[2:]
		case a == "-":
			return c, fmt.Errorf("the workload's command reads its program from standard input, which a workload does not have; put it into a file")
		case strings.HasPrefix(a, "-W") || strings.HasPrefix(a, "-X"):
			c.flags, rest = append(c.flags, a), rest[1:]
		case strings.HasPrefix(a, "--"):
			return c, fmt.Errorf("the workload's command has %s before the program, with which Python runs nothing that could be recorded; take it out", token.Display(a))
		case strings.HasPrefix(a, "-"):
			for _, letter := range a[1:] {
				if !strings.ContainsRune("BbdEIOPqRsSuv", letter) {
					return c, fmt.Errorf("the workload's command has %s before the program, and -%c cannot be kept under memray; write flags apart, options of Python first, then the program or -m or -c", a, letter)
				}
			}
			c.flags, rest = append(c.flags, a), rest[1:]
		default:
			c.target = rest
			return c, nil
		}
	}
	return c, fmt.Errorf("the workload's command names no program for Python to run; write a file, -m module, or -c code behind %s", token.Display(argv[0]))
}
