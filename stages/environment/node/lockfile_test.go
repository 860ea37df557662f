package node

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
)

// sum is a SHA-512 as a lock has it.
var sum = "sha512-" + strings.Repeat("A", 86) + "=="

const entry = `"node_modules/a": {"version": "1.0.0", "resolved": "https://r.example/a-1.0.0.tgz", "integrity": "SUM", "license": "MIT", "bin": {"a": "cli.js"}, "hasInstallScript": true}`

// lockOf is a lock with entries beside the root's.
func lockOf(entries ...string) []byte {
	all := append([]string{`"": {"name": "w", "version": "3.0.0", "dependencies": {"a": "^1.0.0"}}`}, entries...)
	return []byte(strings.ReplaceAll(`{"name": "w", "lockfileVersion": 3, "packages": {`+strings.Join(all, ", ")+`}}`, "SUM", sum))
}

func TestALockSaysWhatIsInstalledAndNothingElseMatters(t *testing.T) {
	l, err := ParseLock(lockOf(entry, `"node_modules/@s/b": {"version": "2.0.0", "inBundle": true, "bin": "b.js"}`, `"node_modules/a/node_modules/c": {"version": "3.0.0", "resolved": "https://r.example/c.tgz", "integrity": "sha1-xx SUM", "optional": true, "bin": {"c": "c.js"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if len(l.Packages) != 3 || l.Packages[0].Name() != "@s/b" || l.Packages[1].Name() != "a" || !l.Packages[2].Optional || l.Packages[2].Top() || len(l.Packages[1].SHA512) != 128 {
		t.Errorf("the packages are %+v", l.Packages)
	}
	want := map[string]string{"a": "node_modules/a/cli.js", "b": "node_modules/@s/b/b.js"}
	if got := l.Programs(); !maps.Equal(got, want) {
		t.Errorf("the programs are %v", got)
	}
	var manifest map[string]any
	if err := json.Unmarshal(l.Manifest(), &manifest); err != nil || manifest["name"] != "environment" || manifest["dependencies"].(map[string]any)["a"] != "^1.0.0" {
		t.Errorf("the manifest is %s (%v)", l.Manifest(), err)
	}
	base, err := ParseLock(lockOf(entry))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		from, to string
		same     bool
	}{
		"where it comes from": {"https://r.example/", "https://mirror.example/", true},
		"the license":         {"MIT", "ISC", true},
		"the layout":          {", ", ",\n\t", true},
		"the project's name":  {`"name": "w"`, `"name": "v"`, true},
		"the version":         {`"version": "1.0.0"`, `"version": "1.0.1"`, false},
		"the hash":            {"sha512-AAAA", "sha512-BAAA", false},
		"what is needed":      {"^1.0.0", "^1.0.1", false},
	} {
		l, err := ParseLock([]byte(strings.ReplaceAll(string(lockOf(entry)), c.from, c.to)))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if (l.Digest() == base.Digest()) != c.same {
			t.Errorf("%s: the digest is the same: %v, want %v", name, !c.same, c.same)
		}
	}
}

func TestWhatNoHashLocksIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		src  string
		want string
	}{
		"no JSON":       {"{", "no JSON"},
		"version 1":     {`{"lockfileVersion": 1, "dependencies": {}}`, "lockfileVersion is 1"},
		"no root":       {`{"lockfileVersion": 3, "packages": {}}`, "what the project needs"},
		"workspaces":    {`{"lockfileVersion": 3, "packages": {"": {"workspaces": ["x"]}}}`, "workspaces"},
		"a folder":      {string(lockOf(`"packages/x": {"version": "1.0.0"}`)), "a folder of the project"},
		"a link":        {string(lockOf(`"node_modules/x": {"resolved": "packages/x", "link": true}`)), "a folder of the project"},
		"out":           {string(lockOf(`"node_modules/../../x": {"version": "1.0.0"}`)), "no place below node_modules"},
		"deep":          {string(lockOf(`"node_modules/a/b/c": {"version": "1.0.0"}`)), "no place below node_modules"},
		"sha1 only":     {string(lockOf(`"node_modules/x": {"version": "1.0.0", "resolved": "https://r.example/x.tgz", "integrity": "sha1-abc"}`)), "x 1.0.0 has no SHA-512"},
		"short":         {string(lockOf(`"node_modules/x": {"version": "1.0.0", "resolved": "https://r.example/x.tgz", "integrity": "sha512-AAAA"}`)), "no SHA-512"},
		"git":           {string(lockOf(`"node_modules/x": {"version": "1.0.0", "resolved": "git+ssh://git@github.com/x/x.git#abc", "integrity": "SUM"}`)), "not come from a registry"},
		"a file":        {string(lockOf(`"node_modules/x": {"version": "1.0.0", "resolved": "file:x.tgz", "integrity": "SUM"}`)), "not come from a registry"},
		"a program out": {string(lockOf(`"node_modules/x": {"version": "1.0.0", "inBundle": true, "bin": {"x": "../../y"}}`)), "is no file of it"},
	} {
		if _, err := ParseLock([]byte(c.src)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestAPasswordInAnAddressIsNotRepeated(t *testing.T) {
	_, err := ParseLock(lockOf(`"node_modules/x": {"version": "1.0.0", "resolved": "ftp://me:hunter2@r.example/x.tgz", "integrity": "SUM"}`))
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("the error is %v", err)
	}
	for _, v := range []string{"npm_config_//r.example/:_authToken=hunter2", "HTTPS_PROXY=http://me:hunter2@proxy:1", "npm_config__auth=hunter2"} {
		if s := shown(v); strings.Contains(s, "hunter2") {
			t.Errorf("%q is recorded as %q", v, s)
		}
	}
}

func TestOverridesAreRefusedBecauseNoLockRepeatsThem(t *testing.T) {
	if _, err := neededBy([]byte(`{"dependencies": {}, "overrides": {"a": "1"}}`)); err == nil || !strings.Contains(err.Error(), "overrides") {
		t.Errorf("the error is %v", err)
	}
	l, err := ParseLock(lockOf(entry))
	if err != nil {
		t.Fatal(err)
	}
	if !sameNeeds([]byte(`{"name": "q", "scripts": {"x": "y"}, "dependencies": {"a": "^1.0.0"}}`), l) || sameNeeds([]byte(`{"dependencies": {"a": "^2.0.0"}}`), l) {
		t.Error("a lock is of a package.json that needs the same, and of no other")
	}
}

func FuzzParseLock(f *testing.F) {
	f.Add(lockOf(entry))
	f.Add([]byte(`{"lockfileVersion": 3, "packages": {"": {}, "node_modules/@a/b": {"bin": 1}}}`))
	f.Fuzz(func(t *testing.T, src []byte) {
		l, err := ParseLock(src)
		if err != nil {
			return
		}
		for i := range l.Packages {
			if strings.Contains(l.Packages[i].Place, "..") && !strings.HasPrefix(l.Packages[i].Place, "node_modules/") {
				t.Errorf("a package lies at %q", l.Packages[i].Place)
			}
		}
		if !json.Valid(l.Manifest()) {
			t.Errorf("the manifest is %q", l.Manifest())
		}
		again, err := ParseLock(slices.Clone(src))
		if err != nil || again.Digest() != l.Digest() {
			t.Errorf("read again it is something else (%v)", err)
		}
	})
}
