package broker

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// shebangMax is how much of a script's first line the kernel looks at.
const shebangMax = 256

// shebang is the first line of a script: one interpreter and at most one argument, which keeps its spaces.
type shebang struct {
	interpreter string
	argument    string
}

// classify says whether the file is a script, with its first line, or something that the kernel loads itself.
func classify(path string) (line shebang, script bool, err error) {
	f, err := os.Open(path)
	if err != nil {
		return line, false, fmt.Errorf("read the first bytes of %s: %w", path, plain(err))
	}
	defer f.Close()
	b := make([]byte, shebangMax)
	n, err := io.ReadFull(f, b)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return line, false, fmt.Errorf("read the first bytes of %s: %w", path, plain(err))
	}
	b = b[:n]
	if bytes.HasPrefix(b, []byte("#!")) {
		line, err = parseShebang(b)
		if err != nil {
			err = fmt.Errorf("%s: %w", path, err)
		}
		return line, true, err
	}
	if n == 0 {
		return line, false, fmt.Errorf("%s is empty, so there is nothing to execute", path)
	}
	if !bytes.ContainsFunc(b, func(r rune) bool { return r < '\t' }) {
		// A shell would take it for a script of its own. The kernel does not, and nothing here goes through a shell.
		return line, false, fmt.Errorf("%s is a text file without a #! line, which only a shell would run; add one, such as #!/bin/sh, or name the interpreter first", path)
	}
	return line, false, nil
}

// shebangOf is the first line of a script that can be read.
func shebangOf(path string) (shebang, bool) {
	line, script, err := classify(path)
	return line, script && err == nil
}

// parseShebang reads the line as the kernel does: blanks are spaces and tabs, and the argument is one string.
func parseShebang(b []byte) (shebang, error) {
	b = b[2:]
	text, _, ended := bytes.Cut(b, []byte("\n"))
	if !ended {
		text, _, _ = bytes.Cut(b, []byte{0})
	}
	s := strings.Trim(string(text), " \t")
	if s == "" {
		return shebang{}, errors.New("its #! line names no interpreter")
	}
	if !ended && len(b)+2 >= shebangMax && !strings.ContainsAny(s, " \t") {
		return shebang{}, fmt.Errorf("its #! line is longer than the %d bytes that the kernel reads", shebangMax)
	}
	interp, arg := s, ""
	if i := strings.IndexAny(s, " \t"); i >= 0 {
		interp, arg = s[:i], strings.Trim(s[i:], " \t")
	}
	if strings.HasSuffix(interp, "\r") || arg != "" && strings.HasSuffix(arg, "\r") {
		return shebang{}, errors.New("its #! line ends in a carriage return, so the kernel looks for a program of that name; save the script with Unix line ends")
	}
	return shebang{interp, arg}, nil
}

// envCall is what env(1) will run.
type envCall struct {
	program string // "" where it runs nothing
	args    []string
	path    string // PATH in which it looks
	dir     string
}

// execvpPath is where the C library looks when there is no PATH.
const execvpPath = "/bin:/usr/bin"

// parseEnv reads the arguments of GNU env: options, assignments, the program.
func parseEnv(args []string, path, dir string) (envCall, error) {
	call := envCall{path: path, dir: dir}
	options := true
	for expanded := 0; len(args) > 0; {
		a := args[0]
		args = args[1:]
		value := func(short, long string) (string, bool, error) {
			switch {
			case a == short || a == long:
				if len(args) == 0 {
					return "", true, fmt.Errorf("its option %s has no value", a)
				}
				v := args[0]
				args = args[1:]
				return v, true, nil
			case strings.HasPrefix(a, long+"="):
				return a[len(long)+1:], true, nil
			case strings.HasPrefix(a, short) && !strings.HasPrefix(a, "--"):
				return a[len(short):], true, nil
			}
			return "", false, nil
		}
		if !options || !strings.HasPrefix(a, "-") {
			if name, v, ok := strings.Cut(a, "="); ok {
				options = false
				if name == "PATH" {
					call.path = v
				}
				continue
			}
			call.program, call.args = a, args
			return call, nil
		}
		switch a {
		case "--":
			options = false
			continue
		case "-", "-i", "--ignore-environment":
			call.path = execvpPath
			continue
		case "-0", "--null", "-v", "--debug", "--block-signal", "--default-signal", "--ignore-signal", "--list-signal-handling":
			continue
		}
		if strings.HasPrefix(a, "-v") && !strings.HasPrefix(a, "--") {
			a = "-" + a[2:] // -vS, as the manual shows it
		}
		if v, ok, err := value("-S", "--split-string"); ok {
			if err != nil {
				return call, err
			}
			words, err := splitString(v)
			if err != nil {
				return call, err
			}
			if expanded++; expanded > 8 {
				return call, errors.New("its -S options expand to each other")
			}
			args = append(words, args...)
			continue
		}
		if v, ok, err := value("-u", "--unset"); ok {
			if err != nil {
				return call, err
			}
			if v == "PATH" {
				call.path = execvpPath
			}
			continue
		}
		if v, ok, err := value("-C", "--chdir"); ok {
			if err != nil {
				return call, err
			}
			if !filepath.IsAbs(v) {
				v = filepath.Join(call.dir, v)
			}
			call.dir = v
			continue
		}
		if _, ok, err := value("-a", "--argv0"); ok {
			if err != nil {
				return call, err
			}
			continue
		}
		if strings.HasPrefix(a, "--block-signal=") || strings.HasPrefix(a, "--default-signal=") || strings.HasPrefix(a, "--ignore-signal=") {
			continue
		}
		return call, fmt.Errorf("its option %s is not known, so what it runs cannot be told; call the program without env", a)
	}
	return call, nil
}

// splitString cuts the value of env -S into words, by the rules of GNU env. A variable cannot be followed: its value would decide
// what runs.
func splitString(s string) (words []string, err error) {
	var w strings.Builder
	in, quote := false, byte(0)
	flush := func() {
		if in {
			words = append(words, w.String())
			w.Reset()
			in = false
		}
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '\\' && quote == '\'' && (i+1 == len(s) || s[i+1] != '\'' && s[i+1] != '\\'):
			w.WriteByte(c)
		case c == '\\':
			i++
			if i == len(s) {
				return nil, errors.New("its -S value ends in a backslash")
			}
			if s[i] == '_' && quote == 0 {
				flush()
				continue
			}
			if s[i] == 'c' && quote == 0 {
				flush()
				return words, nil
			}
			e := strings.IndexByte(`fnrtv"#$'\_`, s[i])
			if e < 0 {
				return nil, fmt.Errorf(`its -S value has the unknown escape \%c`, s[i])
			}
			in = true
			w.WriteByte("\f\n\r\t\v\"#$'\\ "[e])
		case c == '$' && quote != '\'':
			return nil, errors.New("its -S value uses a variable, so what it runs depends on the environment; write the value")
		case quote != 0:
			if c == quote {
				quote = 0
			} else {
				w.WriteByte(c)
			}
		case c == '\'' || c == '"':
			quote, in = c, true
		case c == '#' && !in:
			return words, nil
		case strings.IndexByte(" \t\n\v\f\r", c) >= 0:
			flush()
		default:
			in = true
			w.WriteByte(c)
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("its -S value has no closing %c", quote)
	}
	flush()
	return words, nil
}
