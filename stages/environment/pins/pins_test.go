package pins

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/vfs"
)

func TestPinsAreReadBackAndOtherBlocksAreKept(t *testing.T) {
	dir := t.TempDir()
	f, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	a := Pin{Kind: "python", Digest: digest.SumString("a"), Inputs: digest.SumString("i"), Tool: "pip 23.2.1"}
	f.Set("a.lock.txt", a)
	f.Set("b.lock.txt", Pin{Kind: "python", Digest: digest.SumString("b")})
	if err := f.Write(vfs.OS{}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, Name)
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(src, "\nmodel \"m\" {\n  sha256 = \"x\" # mine\n}\n"...), 0o644); err != nil {
		t.Fatal(err)
	}
	if f, err = Read(dir); err != nil {
		t.Fatal(err)
	}
	if got, ok := f.Of("a.lock.txt"); !ok || got != a {
		t.Errorf("read %v, want %v", got, a)
	}
	a.Digest, a.Inputs, a.Tool = digest.SumString("c"), digest.Digest{}, ""
	f.Set("a.lock.txt", a)
	if err := f.Write(vfs.OS{}); err != nil {
		t.Fatal(err)
	}
	if f, err = Read(dir); err != nil {
		t.Fatal(err)
	}
	if got, _ := f.Of("a.lock.txt"); got != a {
		t.Errorf("read %v, want %v", got, a)
	}
	src, _ = os.ReadFile(path)
	if !strings.Contains(string(src), `sha256 = "x" # mine`) || strings.Count(string(src), "lock \"python\"") != 2 {
		t.Errorf("the file is\n%s", src)
	}
}

func TestAFileOfPinsThatCannotBeReadIsAnError(t *testing.T) {
	for _, src := range []string{"lock {", `lock "python" "x" { sha256 = "zz" }`, `lock "python" "x" {}`} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, Name), []byte(src), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(dir); err == nil || !strings.Contains(err.Error(), "flameox lock") {
			t.Errorf("%s: %v", src, err)
		}
	}
}
