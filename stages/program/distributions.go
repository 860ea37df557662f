package program

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/flameox/flameox/graph/broker"
	"github.com/flameox/flameox/graph/facet"
	"github.com/flameox/flameox/internal/pattern"
	"github.com/flameox/flameox/stages/kind"
)

// DistributionFact is what the name of a fact of the key begins with that is a package of the machine's interpreter: its name follows, normalized.
const DistributionFact = "distribution "

// pythonName is what an interpreter's file is called.
var pythonName = pattern.Lazy{Expr: `^python(3(\.[0-9]+)?t?)?$`}

// addDistributions puts the packages that a Python of the machine finds into the facet, by name: another version of one is another program. An environment
// with a lock needs none of it.
func (p *Program) addDistributions(f *facet.Facet, exe *broker.Executable) error {
	last := exe.Chain[len(exe.Chain)-1]
	if !pythonName.MatchString(filepath.Base(last.Real)) {
		return nil
	}
	type memoKey struct{ found, real string }
	found, err := kind.Remember(p.project.Memo, memoKey{last.Found, last.Real}, func() ([]facet.Entry, error) {
		return distributions(p.project.Looked, siteFolders(p.project.Looked, last.Found, last.Real)), nil
	})
	f.Entries = append(f.Entries, found...)
	return err
}

// siteFolders are the folders in which the interpreter finds installed packages: those of the virtual environment that it was found in, then those
// of the installation that it really is. looked is told of what it looks at.
func siteFolders(looked func(string), found, real string) (dirs []string) {
	add := func(patterns ...string) {
		for _, p := range patterns {
			noteGlob(looked, p)
			list, _ := filepath.Glob(p) // the patterns are right
			for _, d := range list {
				if !slices.Contains(dirs, d) {
					dirs = append(dirs, d)
				}
			}
		}
	}
	version := strings.TrimPrefix(filepath.Base(real), "python")
	if !strings.Contains(version, ".") {
		version = "3.*"
	}
	version = strings.TrimSuffix(version, "t") + "*" // a build without the GIL has a t behind it
	prefixes := []string{filepath.Dir(filepath.Dir(real))}
	looked(filepath.Join(filepath.Dir(filepath.Dir(found)), "pyvenv.cfg"))
	if venv := filepath.Dir(filepath.Dir(found)); isFile(filepath.Join(venv, "pyvenv.cfg")) {
		prefixes = []string{venv}
		if cfg, err := os.ReadFile(filepath.Join(venv, "pyvenv.cfg")); err == nil && systemPackages.Match(cfg) {
			prefixes = append(prefixes, filepath.Dir(filepath.Dir(real)))
		}
	}
	for _, p := range prefixes {
		add(filepath.Join(p, "lib*", "python"+version, "site-packages"), filepath.Join(p, "lib", "python"+version, "dist-packages"),
			filepath.Join(p, "local", "lib", "python"+version, "dist-packages"), filepath.Join(p, "lib", "python3", "dist-packages"))
	}
	return dirs
}

// noteGlob tells of every folder whose listing decides what a pattern matches: the one that each part of it is looked up in.
func noteGlob(looked func(string), pattern string) {
	for at := pattern; at != filepath.Dir(at); at = filepath.Dir(at) {
		parents, _ := filepath.Glob(filepath.Dir(at)) // the patterns are right
		if len(parents) == 0 {
			looked(filepath.Dir(at))
		}
		for _, p := range parents {
			looked(p)
		}
		if !strings.ContainsAny(filepath.Dir(at), "*?[") {
			return
		}
	}
}

var systemPackages = pattern.Lazy{Expr: `(?mi)^\s*include-system-site-packages\s*=\s*true\s*$`}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// distributions are what is installed in the folders, by name; the first folder that has a name wins, as in an import.
func distributions(looked func(string), dirs []string) []facet.Entry {
	version := map[string]string{}
	for _, d := range dirs {
		looked(d)
		entries, err := os.ReadDir(d)
		if err != nil {
			continue // it is not searched either
		}
		for _, e := range entries {
			base, ok := strings.CutSuffix(e.Name(), ".dist-info")
			if !ok {
				if base, ok = strings.CutSuffix(e.Name(), ".egg-info"); !ok {
					continue
				}
			}
			name, v, _ := strings.Cut(base, "-")
			name = strings.ToLower(strings.NewReplacer("_", "-", ".", "-").Replace(name))
			if _, seen := version[name]; !seen {
				version[name] = v
			}
		}
	}
	var out []facet.Entry
	for _, name := range sortedKeys(version) {
		out = append(out, facet.Entry{Name: DistributionFact + name, Value: version[name]})
	}
	return out
}
