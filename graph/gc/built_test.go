package gc_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/flameox/flameox/graph/gc"
)

// folder makes a folder that was built for a key, as old as age.
func (s *store) folder(in, name string, age time.Duration) string {
	s.t.Helper()
	dir := filepath.Join(s.cas.Dir(), in, name)
	inner := filepath.Join(dir, "lib")
	for _, d := range []string{inner, filepath.Join(s.cas.Dir(), "lock")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			s.t.Fatal(err)
		}
	}
	for _, f := range []string{filepath.Join(dir, ".flameox-stamp.json"), filepath.Join(inner, "a")} {
		if err := os.WriteFile(f, []byte("12345"), 0o644); err != nil {
			s.t.Fatal(err)
		}
	}
	if err := os.Chmod(inner, 0o555); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { os.Chmod(inner, 0o755) })
	if err := os.Chtimes(dir, now.Add(-age), now.Add(-age)); err != nil {
		s.t.Fatal(err)
	}
	return dir
}

func TestWhatWasBuiltGoesWithTheLastRunThatWasMadeWithIt(t *testing.T) {
	s := newStore(t)
	key := func(run string) string {
		for _, r := range s.recs.All() {
			if r.Run == run {
				return r.Key.String()[:24]
			}
		}
		t.Fatal("no run " + run)
		return ""
	}
	youngRun := s.run("environment.x", "pure", young, "young")
	current := s.run("environment.x", "pure", old, "current")
	gone := s.run("environment.x", "pure", old, "gone")
	keep := []string{
		s.folder("env", key(youngRun), old), s.folder("tools", key(current), old),
		s.folder("env", "0123456789abcdef01234567", young), // of no run, and new: it may be about to be one's
		s.folder("env", "somebody's", old),
	}
	goes := []string{s.folder("env", key(gone), old), s.folder("tools", "fedcba9876543210fedcba98", old)}
	part := filepath.Join(s.cas.Dir(), "tools", "partial", "ab")
	if err := os.MkdirAll(filepath.Dir(part), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(part, []byte("part"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(part, now.Add(-old), now.Add(-old)); err != nil {
		t.Fatal(err)
	}
	goes = append(goes, part)
	o := options()
	o.Current = map[string]bool{current: true}
	plan, err := gc.Plan(s.cas, s.recs, o)
	if err != nil {
		t.Fatal(err)
	}
	if len(plan.Built) != 3 || plan.BuiltBytes != 24 {
		t.Errorf("the plan has %+v", plan.Built)
	}
	for _, p := range slices.Concat(keep, goes) {
		if _, err := os.Stat(p); err != nil {
			t.Errorf("planning removed %s", p)
		}
	}
	r := s.apply(o)
	if !slices.Equal(r.Built, plan.Built) || !r.Applied {
		t.Errorf("planned %+v, applied %+v", plan.Built, r.Built)
	}
	for _, p := range goes {
		if _, err := os.Lstat(p); err == nil {
			t.Errorf("%s is still there", p)
		}
	}
	for _, p := range keep {
		if _, err := os.Stat(filepath.Join(p, "lib", "a")); err != nil {
			t.Errorf("%s was needed: %v", p, err)
		}
	}
}
