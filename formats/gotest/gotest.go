package gotest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/flameox/flameox/internal/pattern"
	"github.com/flameox/flameox/internal/token"
)

// Command is a command that runs Go tests or benchmarks.
type Command struct {
	argv   []string
	at     int    // index before which flags are inserted
	end    int    // index behind the last argument that may be a flag of testing
	prefix string // "-" or "-test."
}

// Flag is one flag without its dashes. A flag without Value is boolean and set.
type Flag struct {
	Name  string
	Value string
	Bool  bool
}

var goName = pattern.Lazy{Expr: `^go([0-9][0-9a-z.]*)?(\.exe)?$`}

// Recognize says what argv is: `go test`, by its first two words (with -C between them), or a test binary, by a
// first word that ends in ".test". Runtime tokens may stand inside. ok is false for anything else, such as a
// wrapper, whose own flags nobody here can tell from the test's.
func Recognize(argv []string) (c Command, ok bool) {
	if len(argv) == 0 {
		return Command{}, false
	}
	switch base := baseName(argv[0]); {
	case goName.MatchString(base):
		i := 1
		for i < len(argv) {
			switch a := argv[i]; {
			case a == "-C" || a == "--C":
				i += 2
				continue
			case strings.HasPrefix(a, "-C=") || strings.HasPrefix(a, "--C="):
				i++
				continue
			case a == "test":
				c := Command{argv: argv, at: i + 1, end: len(argv), prefix: "-"}
				for j := c.at; j < len(argv); j++ {
					if argv[j] == "-args" || argv[j] == "--args" {
						c.end = j
						break
					}
				}
				return c, true
			}
			break
		}
		return Command{}, false
	case strings.HasSuffix(base, ".test") || strings.HasSuffix(base, ".test.exe"):
		return Binary(argv), true
	}
	return Command{}, false
}

// Binary is argv as a test binary, whatever its name. argv has at least one element.
func Binary(argv []string) Command {
	c := Command{argv: argv, at: 1, end: len(argv), prefix: "-test."}
	if i := slices.Index(argv, "--"); i > 0 {
		c.end = i
	}
	return c
}

// GoTest says whether the command is `go test` and not a test binary.
func (c Command) GoTest() bool { return c.prefix == "-" }

// Has says whether the command itself already sets the flag, in any of its spellings.
func (c Command) Has(flag string) bool {
	for i := c.at; i < c.end; i++ {
		name, ok := strings.CutPrefix(c.argv[i], "-")
		if !ok {
			continue
		}
		name = strings.TrimPrefix(name, "-")
		name, _, _ = strings.Cut(name, "=")
		if c.GoTest() {
			name = strings.TrimPrefix(name, "test.")
		} else if name, ok = strings.CutPrefix(name, "test."); !ok {
			continue
		}
		if name == flag {
			return true
		}
	}
	return false
}

// ConflictError says that the workload's command sets a flag that the capture sets.
type ConflictError struct {
	Flag     string // as the command would spell it
	Argument string // of the capture
}

// Error says which of the two to change.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("the workload's command already has %s, which the capture sets from its argument %s; say it in one place: take %s out of the command and write %s in the capture", e.Flag, e.Argument, e.Flag, e.Argument)
}

// With is the command with flags added. A flag that the command has is a *ConflictError.
func (c Command) With(flags ...Flag) ([]string, error) {
	out := slices.Clone(c.argv[:c.at])
	for _, f := range flags {
		if c.Has(f.Name) {
			return nil, &ConflictError{Flag: c.prefix + f.Name, Argument: f.Name}
		}
		if f.Bool {
			out = append(out, c.prefix+f.Name)
		} else {
			out = append(out, c.prefix+f.Name+"="+f.Value)
		}
	}
	return append(out, c.argv[c.at:]...), nil
}

// ValidBenchtime says what is wrong with a value of -benchtime, or nil.
func ValidBenchtime(s string) error {
	if token.Has(s) || benchtime.MatchString(s) {
		return nil
	}
	return fmt.Errorf("benchtime = %q is neither a duration nor a number of iterations; write \"500ms\", \"2s\" or \"100x\"", s)
}

var benchtime = pattern.Lazy{Expr: `^([1-9][0-9]*x|([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+)$`}

// baseName is the last path element, of either kind of path; it looks at text only, so a token is part of a name.
func baseName(s string) string {
	if i := strings.LastIndexAny(s, `/\`); i >= 0 {
		return s[i+1:]
	}
	return s
}

// ManyPackages says whether the command names packages by a pattern with "...", which may be several.
func (c Command) ManyPackages() bool {
	return c.GoTest() && slices.ContainsFunc(c.argv[c.at:c.end], func(a string) bool {
		return !strings.HasPrefix(a, "-") && strings.HasSuffix(a, "...")
	})
}
