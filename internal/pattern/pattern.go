package pattern

import (
	"regexp"
	"sync"
)

// Lazy is a regular expression in a variable of a package: var digits = pattern.Lazy{Expr: `[0-9]+`}. Its methods are those of
// regexp.Regexp; the first call of any compiles it and panics where Expr is not an expression. It is safe for concurrent use.
type Lazy struct {
	Expr string // never changed

	once sync.Once
	re   *regexp.Regexp
}

// Regexp is the compiled expression.
func (l *Lazy) Regexp() *regexp.Regexp {
	l.once.Do(func() { l.re = regexp.MustCompile(l.Expr) })
	return l.re
}

// Match says whether b holds a match.
func (l *Lazy) Match(b []byte) bool { return l.Regexp().Match(b) }

// MatchString says whether s holds a match.
func (l *Lazy) MatchString(s string) bool { return l.Regexp().MatchString(s) }

// FindSubmatch is the leftmost match and its groups, nil where there is none.
func (l *Lazy) FindSubmatch(b []byte) [][]byte { return l.Regexp().FindSubmatch(b) }

// FindStringSubmatch is the leftmost match and its groups, nil where there is none.
func (l *Lazy) FindStringSubmatch(s string) []string { return l.Regexp().FindStringSubmatch(s) }

// FindStringSubmatchIndex is the offsets of FindStringSubmatch, in pairs.
func (l *Lazy) FindStringSubmatchIndex(s string) []int { return l.Regexp().FindStringSubmatchIndex(s) }

// FindAllStringSubmatch is the first n matches and their groups, all of them where n is negative.
func (l *Lazy) FindAllStringSubmatch(s string, n int) [][]string {
	return l.Regexp().FindAllStringSubmatch(s, n)
}

// FindAllStringIndex is the offsets of the first n matches, of all where n is negative.
func (l *Lazy) FindAllStringIndex(s string, n int) [][]int {
	return l.Regexp().FindAllStringIndex(s, n)
}

// ReplaceAllString is s with every match replaced by the template with.
func (l *Lazy) ReplaceAllString(s, with string) string { return l.Regexp().ReplaceAllString(s, with) }
