package pylock

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/pattern"
)

// Package is one locked package.
type Package struct {
	Name    string   // normalized: lower case, words joined by one dash
	Extras  []string // normalized, sorted
	Version string   // as written, exact
	Marker  string   // for which interpreters, or ""
	Hashes  []string // "sha256:…", sorted
	Line    int
}

// Lock is a whole file.
type Lock struct {
	Packages []Package // sorted by name, then marker
	// Options say where wheels come from: "--index-url", "https://…". Hashes make the source irrelevant, so they are not part of the
	// canonical form.
	Options [][2]string
}

// Error says what is wrong with a line.
type Error struct {
	Line   int // from 1
	Detail string
	// Unlocked says that the line is good as a requirement and lacks what makes it a lock: a version or a hash.
	Unlocked bool
}

func (e *Error) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Detail) }

// MaxSize is the size in bytes above which a file is not read: 16 MiB. The largest locks are a few hundred thousand bytes.
const MaxSize = 16 << 20

var (
	requirement = pattern.Lazy{Expr: `^([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*(?:\[([^\]]*)\])?\s*(.*)$`}
	version     = pattern.Lazy{Expr: `^[A-Za-z0-9][A-Za-z0-9.!+_-]*$`}
	separators  = pattern.Lazy{Expr: `[-_.]+`}
	hash        = pattern.Lazy{Expr: `^(sha256:[0-9a-f]{64}|sha384:[0-9a-f]{96}|sha512:[0-9a-f]{128})$`}
)

// sources are the options that say where packages come from.
var sources = map[string]bool{"--index-url": true, "-i": true, "--extra-index-url": true, "--find-links": true, "-f": true, "--trusted-host": true}

// flags are options without a value that do not change what is locked.
var flags = map[string]bool{"--no-index": true, "--require-hashes": true, "--pre": true, "--prefer-binary": true}

// policies are options with a value that do not change what is locked: only wheels are installed, whatever they say.
var policies = map[string]bool{"--only-binary": true, "--no-binary": true}

// Normalize is the name of a package as indexes compare it.
func Normalize(name string) string {
	return strings.ToLower(separators.ReplaceAllString(name, "-"))
}

// Parse reads a file. An error is an *Error where a line is wrong.
func Parse(src []byte) (*Lock, error) {
	if len(src) > MaxSize {
		return nil, fmt.Errorf("it has %d bytes, more than a lock can have (%d)", len(src), MaxSize)
	}
	if !utf8.Valid(src) || strings.ContainsRune(string(src), 0) {
		return nil, errors.New("it is not a text file in UTF-8")
	}
	l := &Lock{}
	lines := strings.Split(strings.TrimPrefix(string(src), "\ufeff"), "\n")
	for i := 0; i < len(lines); i++ {
		first := i + 1
		line := uncomment(lines[i])
		for strings.HasSuffix(line, `\`) {
			line = strings.TrimSuffix(line, `\`) + " "
			if i++; i == len(lines) {
				break
			}
			next := uncomment(lines[i])
			if next == "" && strings.TrimSpace(lines[i]) != "" { // a comment in between does not end the requirement
				next = `\`
			}
			line += next
		}
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if err := l.add(line, first); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(l.Packages, func(a, b Package) int {
		if c := strings.Compare(a.Name, b.Name); c != 0 {
			return c
		}
		return strings.Compare(a.Marker, b.Marker)
	})
	for i := 1; i < len(l.Packages); i++ {
		if a, b := l.Packages[i-1], l.Packages[i]; a.Name == b.Name && a.Marker == b.Marker {
			return nil, &Error{Line: max(a.Line, b.Line), Detail: fmt.Sprintf("%s is locked twice, also in line %d", b.Name, min(a.Line, b.Line))}
		}
	}
	return l, nil
}

// uncomment is a line without its comment: what begins with a # at the start or after a space.
func uncomment(line string) string {
	line = strings.TrimRight(line, "\r")
	for i := range len(line) {
		if line[i] == '#' && (i == 0 || line[i-1] == ' ' || line[i-1] == '\t') {
			line = line[:i]
			break
		}
	}
	return strings.TrimSpace(line)
}

func (l *Lock) add(line string, number int) error {
	wrong := func(format string, args ...any) error {
		return &Error{Line: number, Detail: fmt.Sprintf(format, args...)}
	}
	if strings.HasPrefix(line, "-") {
		name, value, _ := strings.Cut(line, " ")
		if n, v, ok := strings.Cut(name, "="); ok {
			name, value = n, v
		}
		value = strings.TrimSpace(value)
		switch {
		case sources[name] && value == "", policies[name] && value == "":
			return wrong("%s has no value", name)
		case sources[name]:
			l.Options = append(l.Options, [2]string{name, value})
		case policies[name]:
		case flags[name] && value == "":
			if name == "--no-index" {
				l.Options = append(l.Options, [2]string{name, ""})
			}
		case name == "-r", name == "--requirement", name == "-c", name == "--constraint":
			return wrong("%s leads to another file; a lock is one file", name)
		case name == "-e", name == "--editable":
			return wrong("an editable package has no hash; build it in a build block and name that in install")
		default:
			return wrong("the option %s means nothing in a lock", name)
		}
		return nil
	}
	spec, hashes, err := cutHashes(line)
	if err != "" {
		return wrong("%s", err)
	}
	spec, marker, _ := strings.Cut(spec, ";")
	m := requirement.FindStringSubmatch(strings.TrimSpace(spec))
	if m == nil || strings.ContainsAny(m[1], `/\`) || strings.HasPrefix(m[3], "/") || strings.HasPrefix(m[3], ":") {
		return wrong("%q is a path or a URL, which has no version; build it in a build block and name that in install", short(spec))
	}
	p := Package{Name: Normalize(m[1]), Marker: strings.Join(strings.Fields(marker), " "), Hashes: hashes, Line: number}
	for e := range strings.SplitSeq(m[2], ",") {
		if e = strings.TrimSpace(e); e != "" {
			p.Extras = append(p.Extras, Normalize(e))
		}
	}
	slices.Sort(p.Extras)
	p.Extras = slices.Compact(p.Extras)
	if strings.HasPrefix(m[3], "@") {
		return wrong("%s comes from a URL, which has no version; build it in a build block and name that in install", p.Name)
	}
	v, exact := strings.CutPrefix(m[3], "==")
	if v = strings.TrimSpace(strings.TrimPrefix(v, "=")); !exact || !version.MatchString(v) {
		return &Error{Line: number, Unlocked: true, Detail: fmt.Sprintf("%s has no exact version: a lock says name==version", p.Name)}
	}
	p.Version = v
	if len(hashes) == 0 {
		return &Error{Line: number, Unlocked: true, Detail: fmt.Sprintf("%s==%s has no --hash, so what would be installed is not known", p.Name, v)}
	}
	l.Packages = append(l.Packages, p)
	return nil
}

// cutHashes takes the --hash options from a requirement. The second result says what is wrong.
func cutHashes(line string) (spec string, hashes []string, wrong string) {
	words := strings.Fields(line)
	end := len(words)
	for i := 0; i < len(words); i++ {
		if !strings.HasPrefix(words[i], "--") {
			if end < i {
				return "", nil, fmt.Sprintf("%q stands behind the hashes", short(words[i]))
			}
			continue
		}
		end = min(end, i)
		name, value, ok := strings.Cut(words[i], "=")
		if !ok && i+1 < len(words) {
			i++
			value = words[i]
		}
		switch {
		case name != "--hash":
			return "", nil, fmt.Sprintf("the option %s of a package means nothing in a lock", name)
		case !hash.MatchString(value):
			return "", nil, fmt.Sprintf("%q is no sha256, sha384 or sha512 hash", short(value))
		}
		hashes = append(hashes, value)
	}
	slices.Sort(hashes)
	return strings.Join(words[:end], " "), slices.Compact(hashes), ""
}

// short is a text that a message can hold.
func short(s string) string {
	if len(s) > 80 {
		return strings.ToValidUTF8(s[:80], "") + "…"
	}
	return s
}

// Spec is the package without its hashes, as a requirement says it.
func (p *Package) Spec() string {
	s := p.Name
	if len(p.Extras) > 0 {
		s += "[" + strings.Join(p.Extras, ",") + "]"
	}
	s += "==" + p.Version
	if p.Marker != "" {
		s += " ; " + p.Marker
	}
	return s
}

// Text is the canonical form: what is locked, one package a line. Parse reads it.
func (l *Lock) Text() []byte {
	var b strings.Builder
	for i := range l.Packages {
		p := &l.Packages[i]
		b.WriteString(p.Spec())
		for _, h := range p.Hashes {
			b.WriteString(" --hash=" + h)
		}
		b.WriteByte('\n')
	}
	return []byte(b.String())
}

// Layout is the lock as files of this kind are laid out, a hash a line; the packages are sorted.
func (l *Lock) Layout() []byte {
	var b strings.Builder
	byName := slices.SortedStableFunc(slices.Values(l.Packages), func(a, b Package) int { return strings.Compare(a.Name, b.Name) })
	for i := range byName {
		b.WriteString(byName[i].Spec())
		for _, h := range byName[i].Hashes {
			b.WriteString(" \\\n    --hash=" + h)
		}
		b.WriteByte('\n')
	}
	return []byte(b.String())
}

// Digest is that of the canonical form.
func (l *Lock) Digest() digest.Digest { return digest.Sum(l.Text()) }

// Allows says whether a file with the SHA-256 is one of those that are locked. A file that is locked by other hashes only is not known.
func (l *Lock) Allows(sum digest.Digest) (allowed, known bool) {
	want := "sha256:" + sum.String()
	known = true
	for i := range l.Packages {
		p := &l.Packages[i]
		if slices.Contains(p.Hashes, want) {
			return true, true
		}
		if !slices.ContainsFunc(p.Hashes, func(h string) bool { return strings.HasPrefix(h, "sha256:") }) {
			known = false
		}
	}
	return false, known
}
