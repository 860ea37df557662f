package flamegraph

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// page is a difference in which names are hostile: 100 before, 200 after.
func page() *Page {
	root := &Node{Name: "all", Before: 100, After: 200}
	a := root.Child("</script><script>alert(1)</script>", "\"><img src=x onerror=alert(1)>")
	a.Before, a.After = 60, 150
	a.Child("<!--", "").After = 10
	b := root.Child("gone", "b.go")
	b.Before = 40
	return &Page{
		Metric: "cpu", Unit: "ns", Root: root, Verdict: "The two runs are incomparable: <b>host</b> differs.", By: "flameox test",
		After:  Side{Run: "01AFTER", Address: "capture.x.y[\"a=</title>\"]", Host: "h&1", Started: "2026-01-02 03:04:05 UTC", Total: "200 ns", State: "partial", Notes: []string{"code: <i>text</i>"}},
		Before: &Side{Run: "01BEFORE", Address: "capture.x.z", Host: "h2", Started: "2026-01-01 03:04:05 UTC", Total: "100 ns", State: "complete"},
	}
}

func write(t *testing.T, p *Page) string {
	t.Helper()
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// own is the page without the files that it carries.
func own(s string) string {
	for _, part := range []string{d3, library, script, style} {
		s = strings.Replace(s, part, "", 1)
	}
	return s
}

func TestNoNameBecomesMarkup(t *testing.T) {
	s := own(write(t, page()))
	for _, bad := range []string{"<img", "<b>", "<i>", "alert(1)</script>", "a=</title>", "<!--"} {
		if strings.Contains(s, bad) {
			t.Errorf("the page has %q as markup", bad)
		}
	}
	if n := strings.Count(s, "</script>"); n != 4 {
		t.Errorf("the page ends %d scripts, and has 4", n)
	}
}

func TestThePageSaysWhatItIsOf(t *testing.T) {
	s := write(t, page())
	for _, want := range []string{"01AFTER", "01BEFORE", "h&amp;1", "cpu in ns", "100 ns", "200 ns", "2026-01-01 03:04:05 UTC", "partial", "code: &lt;i&gt;text", "incomparable", "Apache License", "Permission to use, copy"} {
		if !strings.Contains(s, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	d, _ := page().data()
	caption := strings.Join(d.Caption, "\n")
	for _, want := range []string{"before: capture.x.z, run 01BEFORE, on h2", "after: capture.x.y", "run 01AFTER", "evidence partial", "incomparable"} {
		if !strings.Contains(caption, want) {
			t.Errorf("the picture lacks %q: %s", want, caption)
		}
	}
}

func TestThePageLoadsNothing(t *testing.T) {
	s := own(write(t, page()))
	for _, bad := range []string{" src=", " href=", "url(", "@import", "http:", "https:"} {
		head, _, _ := strings.Cut(s, "<pre>") // the licences name their sites
		if strings.Contains(head, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	policy := policy()
	if !strings.HasPrefix(policy, "default-src 'none';") || strings.Contains(policy, "unsafe") || strings.Count(policy, "sha256-") != 5 {
		t.Errorf("the policy is %s", policy)
	}
	if css := libraryStyle(); !strings.HasPrefix(css, ".d3-flame-graph rect{") || !strings.Contains(css, ".d3-flame-graph-tip{") {
		t.Errorf("the library's own style was not found in it: %.80q", css)
	}
	for _, part := range []string{d3, library, script} {
		if strings.Contains(part, "</script") || strings.Contains(part, "<!--") {
			t.Error("a script of the page would end, or be commented out, in its middle")
		}
	}
}

func TestWhatIsTooLightToBeDrawnKeepsItsWeight(t *testing.T) {
	root := &Node{Name: "all"}
	for i := range 100 {
		n := root.Child("f"+strings.Repeat("x", i), "")
		n.After = int64(i + 1)
		n.Child("leaf", "").After = int64(i + 1)
		root.After += n.After
	}
	list, folded := rows(root, 20)
	if len(list) > 40 || folded == 0 {
		t.Fatalf("%d rows, %d folded", len(list), folded)
	}
	sum := make([]int64, len(list))
	below := 0
	for i, r := range list {
		if r.parent >= i {
			t.Fatalf("row %d stands before its parent %d", i, r.parent)
		}
		if r.parent >= 0 {
			sum[r.parent] += r.after
		}
		below += r.folded
	}
	if sum[0] != root.After || list[0].after != root.After || below != folded {
		t.Errorf("the root weighs %d, what is below it %d of %d", list[0].after, sum[0], root.After)
	}
	whole, none := rows(root, 1000)
	if len(whole) != root.Size() || none != 0 {
		t.Errorf("%d rows of %d nodes, %d folded", len(whole), root.Size(), none)
	}
}

func TestBothSidesOfADifferenceCountForWhatIsKept(t *testing.T) {
	root := &Node{Name: "all", Before: 1000, After: 10}
	root.Child("before", "").Before = 1000
	root.Child("after", "").After = 10
	d, _ := (&Page{Root: root, MaxNodes: 3, Before: &Side{}}).data()
	if len(d.Nodes) != 3 || d.Nodes[1][3] != 10 || d.Nodes[2][2] != 1000 {
		t.Errorf("%v", d.Nodes)
	}
	b, err := json.Marshal(d)
	if err != nil || !bytes.Contains(b, []byte(`"diff":true`)) {
		t.Errorf("%s, %v", b, err)
	}
}

// upstream is where each embedded file comes from.
var upstream = []struct{ file, pkg, path, sha256 string }{
	{"d3.min.js", "d3@7.9.2", "dist/d3.min.js", "912111098ea99503a6f4967361d2bbdc9dbf58cf9c678c8e27e5b02d1a07f0c1"},
	{"d3.LICENSE", "d3@7.9.2", "LICENSE", "2a6d2d5f32ba0b755ddbc1c833f766e30cdbe6ebe9a6d4e3e24427721f0b63d3"},
	{"d3-flamegraph.umd.min.js", "d3-flame-graph@5.0.0", "dist/d3-flamegraph.umd.min.js", "5f8d8bc7bf7f8329248d43c1e215431a88f77e17daa217f3c31b019b8b71b3f7"},
	{"d3-flamegraph.LICENSE", "d3-flame-graph@5.0.0", "LICENSE", "b40930bbcf80744c86c46a12bc9da056641d722716c378f5659b9e555ef833e1"},
}

func TestEmbeddedFilesAreThoseThatTheNoteNames(t *testing.T) {
	note, err := os.ReadFile("assets/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range upstream {
		b, err := os.ReadFile(filepath.Join("assets", u.file))
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(b)
		if got := hex.EncodeToString(sum[:]); got != u.sha256 || !strings.Contains(string(note), u.sha256) {
			t.Errorf("%s has the digest %s; it and the note should have %s", u.file, got, u.sha256)
		}
	}
}

func TestEmbeddedFilesAreThoseThatTheRegistryServes(t *testing.T) {
	npm, err := exec.LookPath("npm")
	if err != nil {
		t.Skip("npm is not installed, so the packages cannot be fetched: ", err)
	}
	dir := t.TempDir()
	for _, pkg := range []string{"d3@7.9.2", "d3-flame-graph@5.0.0"} {
		cmd := exec.Command(npm, "pack", "--silent", "--fetch-retries=0", "--fetch-timeout=20000", pkg)
		cmd.Dir = dir
		out, err := cmd.Output()
		if err != nil {
			t.Skipf("npm reaches no registry, so %s is not compared: %v", pkg, err)
		}
		at := filepath.Join(dir, strings.ReplaceAll(pkg, "@", "-"))
		if err := os.Mkdir(at, 0o755); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("tar", "xzf", filepath.Join(dir, strings.TrimSpace(string(out))), "-C", at).CombinedOutput(); err != nil {
			t.Fatalf("unpack %s: %v\n%s", pkg, err, out)
		}
		for _, u := range upstream {
			if u.pkg != pkg {
				continue
			}
			served, err := os.ReadFile(filepath.Join(at, "package", u.path))
			if err != nil {
				t.Fatal(err)
			}
			ours, err := os.ReadFile(filepath.Join("assets", u.file))
			if err != nil || !bytes.Equal(served, ours) {
				t.Errorf("%s is not %s of %s: %v", u.file, u.path, pkg, err)
			}
		}
	}
}
