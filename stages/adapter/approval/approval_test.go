package approval_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/vfs"
	"github.com/flameox/flameox/stages/adapter/approval"
)

func of(t *testing.T, environ map[string]string) *approval.Store {
	t.Helper()
	s, err := approval.Of(environ, vfs.OS{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestNameVersionAndBytesMustAllBeThoseThatWereApproved(t *testing.T) {
	home := t.TempDir()
	s := of(t, map[string]string{"HOME": home})
	id := approval.Identity{Name: "a", Version: "1", SHA256: digest.SumString("x")}
	if err := s.Add(approval.Approval{Identity: id, Path: "/x", When: time.Unix(0, 0).UTC()}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		id   approval.Identity
		want bool
	}{
		{id, true},
		{approval.Identity{Name: "b", Version: "1", SHA256: id.SHA256}, false},
		{approval.Identity{Name: "a", Version: "2", SHA256: id.SHA256}, false},
		{approval.Identity{Name: "a", Version: "1", SHA256: digest.SumString("y")}, false},
		{approval.Identity{}, false},
	} {
		if got, err := s.Approved(c.id); err != nil || got != c.want {
			t.Errorf("%s: %v %v", c.id, got, err)
		}
	}
	if got, _ := of(t, map[string]string{"HOME": t.TempDir()}).Approved(id); got {
		t.Error("another user has the approval too")
	}
	if got, _ := of(t, map[string]string{"HOME": "/nowhere", "XDG_CONFIG_HOME": filepath.Join(home, ".config")}).Approved(id); !got {
		t.Error("XDG_CONFIG_HOME is not looked at")
	}
	info, err := os.Stat(s.Path())
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("others may read or write it: %v %v", info.Mode(), err)
	}
	gone, err := s.Remove("a")
	if err != nil || len(gone) != 1 {
		t.Fatalf("%v %v", gone, err)
	}
	if got, _ := s.Approved(id); got {
		t.Error("it is approved after it was taken back")
	}
}

func TestADamagedFileApprovesNothingAndSaysSo(t *testing.T) {
	s := of(t, map[string]string{"HOME": t.TempDir()})
	if err := os.MkdirAll(filepath.Dir(s.Path()), 0o755); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{"{": "damaged", `{"format_version": 2}`: "newer flameox", `[]`: "damaged"} {
		if err := os.WriteFile(s.Path(), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if ok, err := s.Approved(approval.Identity{}); ok || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v %v", text, ok, err)
		}
	}
	if _, err := approval.Of(map[string]string{"HOME": "relative"}, vfs.OS{}); err == nil {
		t.Error("a relative home was taken")
	}
}

func TestAProgramBehindALinkIsNotRead(t *testing.T) {
	dir := t.TempDir()
	real := filepath.Join(dir, "real")
	if err := os.WriteFile(real, []byte("x"), 0o755); err != nil {
		t.Fatal(err)
	}
	if d, b, err := approval.Sum(real); err != nil || d != digest.SumString("x") || string(b) != "x" {
		t.Errorf("%v %q %v", d, b, err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{link, dir, filepath.Join(dir, "none")} {
		if _, _, err := approval.Sum(p); err == nil {
			t.Errorf("%s was read", p)
		}
	}
}
