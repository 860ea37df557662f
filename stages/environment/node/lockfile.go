package node

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/flameox/flameox/internal/digest"
)

// maxLock is the size in bytes above which a lock is not read.
const maxLock = 64 << 20

// Lock is a package-lock.json of version 2 or 3.
type Lock struct {
	Packages []Package // sorted by place
	source   []byte
	root     map[string]json.RawMessage // what the project needs, as its package.json says
	digest   digest.Digest
}

// Package is one folder of node_modules.
type Package struct {
	Place    string            // "node_modules/a/node_modules/b"
	Version  string            // "1.2.3"
	SHA512   string            // of its tarball, hexadecimal; "" for one that lies in another's tarball
	Optional bool              // it may be missing: it is another platform's
	Installs bool              // it has scripts that run when it is installed
	Bin      map[string]string // its programs: name → file below its folder
}

// Name is the package's name at its place.
func (p *Package) Name() string {
	return p.Place[strings.LastIndex(p.Place, "node_modules/")+len("node_modules/"):]
}

// Top says that the project's own files find it.
func (p *Package) Top() bool { return strings.Count("/"+p.Place, "/node_modules/") == 1 }

// wire is a package as the file has it.
type wire struct {
	Version   string          `json:"version"`
	Resolved  string          `json:"resolved"`
	Integrity string          `json:"integrity"`
	Link      bool            `json:"link"`
	InBundle  bool            `json:"inBundle"`
	Optional  bool            `json:"optional"`
	DevOpt    bool            `json:"devOptional"`
	Installs  bool            `json:"hasInstallScript"`
	Bin       json.RawMessage `json:"bin"`
}

// needs are the members of a package.json that say what is installed.
var needs = []string{"dependencies", "devDependencies", "optionalDependencies", "peerDependencies", "peerDependenciesMeta"}

// ParseLock reads a lock. The error says what in it is not locked.
func ParseLock(src []byte) (*Lock, error) {
	if len(src) > maxLock {
		return nil, fmt.Errorf("it has %d bytes, more than any lock", len(src))
	}
	var file struct {
		Version  int                        `json:"lockfileVersion"`
		Packages map[string]json.RawMessage `json:"packages"`
	}
	if err := json.Unmarshal(src, &file); err != nil {
		return nil, fmt.Errorf("it is no JSON: %w", err)
	}
	if file.Version != 2 && file.Version != 3 {
		return nil, fmt.Errorf("its lockfileVersion is %d, and 2 or 3 is needed: npm 7 and later make it", file.Version)
	}
	l := &Lock{source: src}
	canonical := map[string]map[string]json.RawMessage{}
	for place, raw := range file.Packages {
		var members map[string]json.RawMessage
		if err := json.Unmarshal(raw, &members); err != nil {
			return nil, fmt.Errorf("its entry %q is no package: %w", place, err)
		}
		if place == "" {
			l.root = map[string]json.RawMessage{}
			for _, name := range needs {
				if v, ok := members[name]; ok {
					l.root[name] = v
				}
			}
			if _, ok := members["workspaces"]; ok {
				return nil, errors.New("it is of a project with workspaces, whose folders no hash locks: give the environment a package.json of its own")
			}
			canonical[place] = l.root
			continue
		}
		p, err := parsePackage(place, raw)
		if err != nil {
			return nil, err
		}
		l.Packages = append(l.Packages, *p)
		for _, name := range []string{"resolved", "license", "funding", "deprecated", "engines"} {
			delete(members, name) // they change nothing that is installed
		}
		canonical[place] = members
	}
	if l.root == nil {
		return nil, errors.New(`it does not say what the project needs (its packages have no entry "")`)
	}
	slices.SortFunc(l.Packages, func(a, b Package) int { return strings.Compare(a.Place, b.Place) })
	text, err := json.Marshal(canonical) // sorts names, and compacts
	if err != nil {
		return nil, err
	}
	l.digest = digest.Sum(text)
	return l, nil
}

func parsePackage(place string, raw json.RawMessage) (*Package, error) {
	var w wire
	if err := json.Unmarshal(raw, &w); err != nil {
		return nil, fmt.Errorf("its entry %q is no package: %w", place, err)
	}
	if w.Link || !strings.HasPrefix(place, "node_modules/") {
		return nil, fmt.Errorf("%s is a folder of the project, which no hash locks", place)
	}
	if !filepath.IsLocal(place) || filepath.Clean(place) != place || strings.ContainsAny(place, "\\\x00") {
		return nil, fmt.Errorf("it has a package at %q, which is no place below node_modules", place)
	}
	p := &Package{Place: place, Version: w.Version, Optional: w.Optional || w.DevOpt, Installs: w.Installs}
	if name := p.Name(); name == "" || strings.Count(name, "/") > 1 || strings.Contains(name, "/") && name[0] != '@' {
		return nil, fmt.Errorf("it has a package at %q, which is no place below node_modules", place)
	}
	if len(w.Bin) > 0 {
		p.Bin = map[string]string{}
		var one string
		if json.Unmarshal(w.Bin, &one) == nil {
			p.Bin[p.Name()[strings.LastIndexByte(p.Name(), '/')+1:]] = one
		} else if err := json.Unmarshal(w.Bin, &p.Bin); err != nil {
			return nil, fmt.Errorf("the programs of %s are not names and files: %w", place, err)
		}
		for name, file := range p.Bin {
			if !filepath.IsLocal(file) || name == "" || strings.ContainsAny(name, "/\\\x00") {
				return nil, fmt.Errorf("the program %q of %s is no file of it", name, place)
			}
		}
	}
	if w.InBundle {
		return p, nil
	}
	if u, err := url.Parse(w.Resolved); err != nil || u.Scheme != "https" && u.Scheme != "http" {
		return nil, fmt.Errorf("%s %s does not come from a registry (%q)", p.Name(), w.Version, redact(w.Resolved))
	}
	for h := range strings.FieldsSeq(w.Integrity) {
		if b64, ok := strings.CutPrefix(h, "sha512-"); ok {
			b64, _, _ = strings.Cut(b64, "?")
			if sum, err := base64.StdEncoding.DecodeString(b64); err == nil && len(sum) == 64 {
				p.SHA512 = hex.EncodeToString(sum)
				return p, nil
			}
		}
	}
	return nil, fmt.Errorf("%s %s has no SHA-512 in integrity", p.Name(), w.Version)
}

// Digest identifies what is locked, however the file is laid out and wherever tarballs were.
func (l *Lock) Digest() digest.Digest { return l.digest }

// Manifest is the package.json that the lock is of: nothing of the project's own but what it needs.
func (l *Lock) Manifest() []byte {
	m := map[string]any{"name": "environment", "version": "0.0.0", "private": true}
	for name, v := range l.root {
		m[name] = v
	}
	b, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return nil // raw messages that were parsed are JSON
	}
	return append(b, '\n')
}

// Programs are the programs of the packages that the project's own files find: name → file below the environment. Where two have the same name, the
// package that is first by name has it.
func (l *Lock) Programs() map[string]string {
	out := map[string]string{}
	for i := range l.Packages {
		p := &l.Packages[i]
		for name, file := range p.Bin {
			if _, twice := out[name]; p.Top() && !twice {
				out[name] = p.Place + "/" + filepath.ToSlash(filepath.Clean(file))
			}
		}
	}
	return out
}
