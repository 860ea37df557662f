package main

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flameox/flameox/graph"
)

var makeFormat = flag.String("make-format", "", "make the store of testdata/`NAME`, whose folder project is there, with this binary")

// formatProject is the experiment of a fixture in a folder of its own, with the fixture's store where it has one.
func formatProject(t *testing.T, fixture string) *project {
	t.Helper()
	p := newProject(t, nil)
	p.env = append(slices.DeleteFunc(p.env, func(e string) bool { return strings.HasPrefix(e, "PATH=") || strings.HasPrefix(e, "HOME=") }), "PATH=/usr/bin:/bin", "HOME="+t.TempDir())
	if err := os.CopyFS(p.dir, os.DirFS(filepath.Join(fixture, "project"))); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestMakeAFormatFixture(t *testing.T) {
	if *makeFormat == "" {
		t.Skip("-make-format names no fixture to make")
	}
	fixture := filepath.Join("testdata", *makeFormat)
	store := filepath.Join(fixture, "store")
	if _, err := os.Stat(store); err == nil {
		t.Fatalf("%s is there: a store of an older version stays as it is", store)
	}
	p := formatProject(t, fixture)
	p.run("apply", "-var", "round=1") // one of its captures fails, as it should
	p.run("apply")
	p.want(0, "pin", "import.gobench.old", "-reason", "the oldest evidence")
	p.want(0, "gc", "-apply")
	p.want(0, "recover")
	os.Remove(filepath.Join(p.dir, ".flameox", ".gitignore")) // it would hide the store from git
	for _, dir := range []string{"lock", "tmp", "trees"} {
		os.RemoveAll(filepath.Join(p.dir, ".flameox", dir))
	}
	current, err := os.Readlink(filepath.Join(p.dir, ".flameox", "evidence"))
	if err != nil {
		t.Fatal(err)
	}
	generations, _ := filepath.Glob(filepath.Join(p.dir, ".flameox", "evidence.d", "gen-*"))
	for _, g := range generations {
		if filepath.Base(g) != filepath.Base(current) {
			os.RemoveAll(g) // as an hour later
		}
	}
	copyStore(t, filepath.Join(p.dir, ".flameox"), store)
}

// copyStore copies a store as tar would: links stay links, and what is read-only stays so.
func copyStore(t *testing.T, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		dst := filepath.Join(to, rel)
		switch {
		case d.IsDir():
			return os.MkdirAll(dst, 0o755)
		case d.Type()&os.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			return os.Symlink(target, dst)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(dst, b, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// states are the states of the stages that a plan selects.
func states(t *testing.T, p *project, args ...string) map[string]string {
	t.Helper()
	var doc graph.PlanDocument
	if err := json.Unmarshal([]byte(p.want(0, append([]string{"plan", "-json"}, args...)...)), &doc); err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, s := range doc.Stages {
		out[s.Address] = string(s.State)
	}
	return out
}

func TestStoresOfEveryFormatAreUnderstood(t *testing.T) {
	fixtures, err := filepath.Glob(filepath.Join("testdata", "format-v*"))
	if err != nil || len(fixtures) == 0 {
		t.Fatalf("there is no store of an older version: %v", err)
	}
	for _, fixture := range fixtures {
		t.Run(filepath.Base(fixture), func(t *testing.T) {
			p := formatProject(t, fixture)
			copyStore(t, filepath.Join(fixture, "store"), filepath.Join(p.dir, ".flameox"))

			// Stages whose implementation has changed since run again, and rightly so; the fixture lists them.
			stale, _ := os.ReadFile(filepath.Join(fixture, "stale"))
			have := states(t, p, "-target=extract.gobench.old")
			for _, address := range []string{"import.gobench.old", "extract.gobench.old"} {
				want := "cached"
				if slices.Contains(strings.Fields(string(stale)), address) {
					want = "run"
				}
				if have[address] != want {
					t.Errorf("%s is %q, want %s", address, have[address], want)
				}
			}
			if len(stale) == 0 {
				if out := p.want(0, "apply", "-target=extract.gobench.old"); !strings.Contains(out, "Nothing to do") {
					t.Errorf("apply says %s", out)
				}
			}

			if out := p.want(0, "fsck", "-full"); !strings.Contains(out, "0 problems") || !strings.Contains(out, "1 run gave artifacts up") {
				t.Errorf("fsck says %s", out)
			}
			if out := p.want(0, "query", "SELECT count(*) AS n, sum(value_float) AS sum FROM measurements", "-format=csv"); out != "n,sum\n2,242\n" {
				t.Errorf("the query answers %q", out)
			}
			if out := p.want(0, "query", "SELECT count(*) AS n FROM runs WHERE kind = 'capture.command' AND NOT valid", "-format=csv"); out == "n\n0\n" {
				t.Errorf("no failed run is known: %q", out)
			}
			if out := p.want(0, "pins"); !strings.Contains(out, "import.gobench.old  the oldest evidence") {
				t.Errorf("the pins are %s", out)
			}
			if out := p.want(0, "show", "import.gobench.old"); !strings.Contains(out, "bench.txt") {
				t.Errorf("show says %s", out)
			}

			// The state file is the one that this version would write, or is written again; what it says is the same.
			p.want(0, "recover")
			if again := states(t, p, "-target=extract.gobench.old"); again["extract.gobench.old"] != have["extract.gobench.old"] {
				t.Errorf("after a recovery the plan says %v, before %v", again, have)
			}

			// What was collected comes back.
			if out := p.want(0, "restore", "-all"); !strings.Contains(out, "of 1 run.") {
				t.Errorf("restore says %s", out)
			}
			if out := p.want(0, "fsck", "-full"); !strings.Contains(out, "0 problems") || strings.Contains(out, "gave artifacts up") {
				t.Errorf("fsck says %s", out)
			}
			p.want(0, "gc", "-measurements")

			// And it travels.
			p.want(0, "bundle", "export", "all.flameox", "-all")
			other := formatProject(t, fixture)
			other.want(0, "bundle", "import", filepath.Join(p.dir, "all.flameox"))
			if there := states(t, other, "-target=extract.gobench.old"); there["extract.gobench.old"] != have["extract.gobench.old"] {
				t.Errorf("where it was imported the plan says %v", there)
			}
		})
	}
}
