package broker

import (
	"fmt"
	"slices"
	"strings"

	"github.com/flameox/flameox/internal/pattern"
)

// Base is what every constructed environment has.
type Base struct {
	Path string // PATH
	Home string // private HOME
	Tmp  string // private TMPDIR
}

// RefusedName is a variable that was offered for inheritance and not taken.
type RefusedName struct {
	Name   string
	Reason string // a clause: "it makes the loader run other code"
}

// Environment constructs an environment, sorted by name: the base and LANG=C.UTF-8, over it what is inherited from the host, over it
// what is declared. A name that could change which code runs, or that looks like a secret, is inherited only where
// it is declared, and is returned as refused. An impossible name or value is an error.
func Environment(base Base, declared, inherited map[string]string) (env []string, refused []RefusedName, err error) {
	all := map[string]string{"PATH": base.Path, "HOME": base.Home, "TMPDIR": base.Tmp, "LANG": "C.UTF-8"}
	for name, value := range inherited {
		if _, ok := declared[name]; ok || name == MarkEnv {
			continue
		}
		if reason := unsafeName(name, value); reason != "" {
			refused = append(refused, RefusedName{name, reason})
			continue
		}
		all[name] = value
	}
	for name, value := range declared {
		if name == MarkEnv {
			return nil, nil, fmt.Errorf("environment: %s is how flameox finds its processes; it cannot be declared", name)
		}
		all[name] = value
	}
	for name, value := range all {
		switch {
		case name == "" || strings.ContainsAny(name, "=\x00"):
			return nil, nil, fmt.Errorf("environment: the name %q is empty or has a = or a NUL byte, which no environment can hold", name)
		case strings.IndexByte(value, 0) >= 0:
			return nil, nil, fmt.Errorf("environment: the value of %s has a NUL byte, which no environment can hold", name)
		}
		if value == "" && (name == "HOME" || name == "TMPDIR" || name == "PATH") {
			if _, given := declared[name]; !given {
				continue // an empty path would mean the working directory
			}
		}
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	slices.SortFunc(refused, func(a, b RefusedName) int { return strings.Compare(a.Name, b.Name) })
	return env, refused, nil
}

// Names with which code other than the command's own is loaded or run, by who obeys them.
var (
	loaderName = pattern.Lazy{Expr: `^(LD|DYLD)_`}
	hookNames  = map[string]string{
		"PYTHONPATH": "Python", "PYTHONHOME": "Python", "PYTHONSTARTUP": "Python", "PYTHONINSPECT": "Python", "PYTHONBREAKPOINT": "Python",
		"PYTHONUSERBASE": "Python", "PYTHONEXECUTABLE": "Python", "PYTHONPLATLIBDIR": "Python",
		"NODE_OPTIONS": "Node", "NODE_PATH": "Node",
		"PERL5OPT": "Perl", "PERL5LIB": "Perl", "PERL5DB": "Perl", "PERLLIB": "Perl",
		"RUBYOPT": "Ruby", "RUBYLIB": "Ruby",
		"JAVA_TOOL_OPTIONS": "Java", "_JAVA_OPTIONS": "Java", "JDK_JAVA_OPTIONS": "Java", "CLASSPATH": "Java",
		"BASH_ENV": "the shell", "ENV": "the shell", "SHELLOPTS": "the shell", "BASHOPTS": "the shell", "PS4": "the shell", "PROMPT_COMMAND": "the shell",
		"GCONV_PATH": "the C library", "GLIBC_TUNABLES": "the C library", "LOCPATH": "the C library", "NLSPATH": "the C library", "MALLOC_TRACE": "the C library",
		"GDBINIT": "a debugger", "LLDB_INIT": "a debugger", "DEBUGINFOD_URLS": "a debugger",
		"GIT_SSH_COMMAND": "git", "GIT_EXTERNAL_DIFF": "git",
	}
	// A word of the name, between underscores, that means a secret.
	secretWord = pattern.Lazy{Expr: `(^|_)(SECRETS?|TOKENS?|PASSWORDS?|PASSWD|PASSPHRASE|PWD_?HASH|CREDENTIALS?|CREDS|API_?KEYS?|ACCESS_?KEY(_ID)?|PRIVATE_?KEY|AUTH|COOKIES?|BEARER|PAT|JWT|KEY|CERT_?KEY|SIGNATURE)(_|$)`}
	joinedWord = pattern.Lazy{Expr: `(SECRET|PASSWORD|PASSWD|APIKEY|AUTHTOKEN|ACCESSTOKEN|PRIVATEKEY)`}
	userInURL  = pattern.Lazy{Expr: `^[a-zA-Z][a-zA-Z0-9+.-]*://[^/@\s]*:[^/@\s]*@`}
)

// unsafeName says why a variable is not inherited by itself, or "".
func unsafeName(name, value string) string {
	upper := strings.ToUpper(name)
	if loaderName.MatchString(upper) {
		return "it makes the dynamic loader load other code"
	}
	if who, ok := hookNames[upper]; ok {
		return "it makes " + who + " run other code"
	}
	if secretWord.MatchString(upper) || joinedWord.MatchString(upper) {
		return "its name looks like a secret's"
	}
	if userInURL.MatchString(value) {
		return "its value is a URL with a password"
	}
	if strings.HasPrefix(value, "() {") {
		return "it is a function of a shell"
	}
	return ""
}
