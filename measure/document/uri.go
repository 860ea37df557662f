package document

import (
	"net/url"
	"path/filepath"
	"strings"

	"github.com/flameox/flameox/internal/pattern"
)

var (
	scheme = pattern.Lazy{Expr: `^[A-Za-z][A-Za-z0-9+.-]*://`}
	drive  = pattern.Lazy{Expr: `^[A-Za-z]:[\\/]`}
	// git's own rule: user@host:path, where no slash comes before the colon. A host in brackets may hold colons.
	scp = pattern.Lazy{Expr: `^(?:([^@/:\[\]]+)@)?(\[[0-9A-Fa-f:.]+\]|[^@/:\[\]]+):(.*)$`}
)

// SourceURI is the one spelling of a source that is recorded and compared: SCP-like addresses become ssh://, local paths file://, relative to dir, and a
// user's name and password are left out of web addresses, since the address of a CI checkout may hold a token.
func SourceURI(s, dir string) string {
	switch {
	case scheme.MatchString(s):
		return withoutCredentials(s)
	case drive.MatchString(s):
		return "file:///" + strings.ReplaceAll(s, `\`, "/")
	}
	if m := scp.FindStringSubmatch(s); m != nil {
		user, host, path := m[1], m[2], m[3]
		if user != "" {
			user += "@"
		}
		if !strings.HasPrefix(path, "/") {
			path = "/~/" + path // relative to the login directory, and not the absolute /path
		}
		return "ssh://" + user + host + path
	}
	if !filepath.IsAbs(s) {
		s = filepath.Join(dir, s)
	}
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(filepath.Clean(s))}).String()
}

func withoutCredentials(s string) string {
	at, rest, _ := strings.Cut(s, "://")
	switch strings.ToLower(at) {
	case "http", "https":
	default:
		return s // the user of ssh:// is part of the address
	}
	host, path, slash := strings.Cut(rest, "/")
	if i := strings.LastIndexByte(host, '@'); i >= 0 {
		host = host[i+1:]
	}
	out := at + "://" + host
	if slash {
		out += "/" + path
	}
	return out
}

var ports = map[string]string{"http": ":80", "https": ":443", "ssh": ":22", "git": ":9418"}

// IdentityURI is SourceURI without what does not tell sources apart: case of scheme and host, a default port, a trailing slash, one .git, query and fragment.
// The path keeps its case.
func IdentityURI(s string) string {
	s = withoutCredentials(s)
	s, _, _ = strings.Cut(s, "#")
	s, _, _ = strings.Cut(s, "?")
	at, rest, ok := strings.Cut(s, "://")
	if !ok {
		return s
	}
	at = strings.ToLower(at)
	authority, path, slash := strings.Cut(rest, "/")
	user := ""
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		user, authority = authority[:i+1], authority[i+1:]
	}
	authority = strings.TrimSuffix(strings.ToLower(authority), ports[at])
	out := at + "://" + user + authority
	if slash {
		out += "/" + path
	}
	out = strings.TrimRight(out, "/")
	return strings.TrimSuffix(out, ".git")
}
