package archtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/flameox/flameox/lang"
)

func TestEveryDiagnosticIsInTheCatalogue(t *testing.T) {
	src, err := os.ReadFile(filepath.Join("..", "..", "docs", "diagnostics.md"))
	if err != nil {
		t.Fatal(err)
	}
	var documented []string
	for line := range strings.SplitSeq(string(src), "\n") {
		cells := strings.Split(line, " | ")
		if name, ok := strings.CutPrefix(cells[0], "| "); ok && len(cells) == 3 && name != "summary" {
			documented = append(documented, name)
		}
	}
	for _, s := range lang.Summaries() {
		switch n := countOf(documented, s); {
		case n == 0:
			t.Errorf("docs/diagnostics.md lacks %q", s)
		case n > 1:
			t.Errorf("docs/diagnostics.md has %q %d times", s, n)
		}
	}
	for _, s := range documented {
		if !slices.Contains(lang.Summaries(), s) {
			t.Errorf("docs/diagnostics.md has %q, which no diagnostic has", s)
		}
	}
}

func countOf(list []string, s string) (n int) {
	for _, x := range list {
		if x == s {
			n++
		}
	}
	return n
}

// link is a Markdown link to a file beside the document.
var link = regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`)

func TestLinksOfTheDocumentsLeadSomewhere(t *testing.T) {
	root := filepath.Join("..", "..")
	var docs []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md", "examples/*/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		docs = append(docs, found...)
	}
	links := 0
	for _, doc := range docs {
		src, err := os.ReadFile(doc)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, m := range link.FindAllStringSubmatch(string(src), -1) {
			links++
			if _, err := os.Stat(filepath.Join(filepath.Dir(doc), m[1])); err != nil {
				t.Errorf("%s links to %s, which is not there", strings.TrimPrefix(doc, root+string(filepath.Separator)), m[1])
			}
		}
	}
	if links < 10 {
		t.Errorf("found %d links in %d documents; the pattern has gone wrong", links, len(docs))
	}
}

// A program that was built, or data that a program made, does not belong among the sources.
func TestNoFileIsLargerThanSourcesAre(t *testing.T) {
	root := filepath.Join("..", "..")
	out, err := exec.Command("git", "-C", root, "ls-files", "-z").Output()
	if err != nil {
		t.Skip("this is no git checkout: ", err)
	}
	const most = 512 << 10
	for name := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		if info, err := os.Lstat(filepath.Join(root, name)); err == nil && info.Size() > most {
			t.Errorf("%s has %d bytes, more than %d", name, info.Size(), most)
		}
	}
}
