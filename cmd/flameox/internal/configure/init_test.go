package configure

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Another process may write the file between the look and the write, and a link may lead anywhere.
func TestAFileThatExistsIsNeverWritten(t *testing.T) {
	dir := t.TempDir()
	there, link := filepath.Join(dir, "there"), filepath.Join(dir, "link")
	write1(t, there, "mine")
	if err := os.Symlink(filepath.Join(dir, "elsewhere"), link); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{there, link} {
		if err := create(name, []byte("theirs")); err == nil || !strings.Contains(err.Error(), "stays as it is") {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
	if b, _ := os.ReadFile(there); string(b) != "mine" {
		t.Errorf("the file holds %q now", b)
	}
	if _, err := os.Stat(filepath.Join(dir, "elsewhere")); err == nil {
		t.Error("the file was written through a link")
	}
}

func TestTheStoreIsIgnoredOnce(t *testing.T) {
	for before, after := range map[string]string{
		"":                       ".flameox/\n",
		"bin\n":                  "bin\n.flameox/\n",
		"bin":                    "bin\n.flameox/\n",
		"bin\r\n":                "bin\r\n.flameox/\r\n",
		"# .flameox/\n":          "# .flameox/\n.flameox/\n",
		"!.flameox/\n":           "!.flameox/\n.flameox/\n",
		"x.flameox/\n":           "x.flameox/\n.flameox/\n",
		".flameox\n":             "",
		"a\n/.flameox/ \n":       "",
		"**/.flameox/\r\nbin":    "",
		".flameox/cas\nbin\n":    ".flameox/cas\nbin\n.flameox/\n",
		"bin\n.flameox/\nmore\n": "",
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, ".gitignore")
		if before != "" {
			write1(t, path, before)
		}
		if after == "" {
			after = before
		}
		for i, want := range []bool{after != before, false} {
			added, err := ignoreStore(dir)
			if b, _ := os.ReadFile(path); err != nil || added != want || string(b) != after {
				t.Errorf("%q, time %d: added %v, %v: %q", before, i+1, added, err, b)
			}
		}
	}
}
