package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flameox/flameox/lang"
)

const diagnosticsDoc = "../../docs/diagnostics.md"

// fence is a block of code in Markdown: its language, the name of the file it is, and its text.
var fence = regexp.MustCompile("(?m)^```([a-z]+)(?: (\\S+))?\n((?s:.*?))^```$")

// TestTheExamplesOfDiagnosticsPrintWhatTheDocumentSays types what the document shows into a shell, with the files that it shows. With
// -update it writes what was printed into the document.
func TestTheExamplesOfDiagnosticsPrintWhatTheDocumentSays(t *testing.T) {
	src, err := os.ReadFile(diagnosticsDoc)
	if err != nil {
		t.Fatal(err)
	}
	_, examples, found := strings.Cut(string(src), "\n## Examples\n")
	if !found {
		t.Fatalf("%s has no examples", diagnosticsDoc)
	}
	var shown []string
	doc := string(src)
	for _, section := range strings.Split("\n"+examples, "\n### ")[1:] {
		name, text, _ := strings.Cut(section, "\n")
		shown = append(shown, name)
		t.Run(name, func(t *testing.T) {
			got, old := runExample(t, text)
			if !strings.Contains(got, ": "+name+"\n") {
				t.Errorf("the example does not print %q", name)
			}
			if *update {
				doc = strings.Replace(doc, section, strings.Replace(section, "```text\n"+old+"```", "```text\n"+got+"```", 1), 1)
			} else if diff := cmp.Diff(old, got); diff != "" {
				t.Errorf("-document +printed (run with -update when it is meant):\n%s", diff)
			}
		})
	}
	slices.Sort(shown)
	if diff := cmp.Diff(lang.Summaries(), shown); diff != "" {
		t.Errorf("every diagnostic has one example; -language +document:\n%s", diff)
	}
	if *update {
		if err := os.WriteFile(diagnosticsDoc, []byte(doc), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// runExample makes the files of a section, runs its commands, and returns what they print and what the document says.
func runExample(t *testing.T, section string) (printed, documented string) {
	t.Helper()
	dir, script, outputs := t.TempDir(), "", 0
	for _, m := range fence.FindAllStringSubmatch(section, -1) {
		switch kind, file, text := m[1], m[2], m[3]; kind {
		case "sh":
			script = text
		case "text":
			documented = text
			outputs++
		default:
			if file == "" {
				file = "flameox.hcl"
			}
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if script == "" || outputs != 1 {
		t.Fatalf("the example needs one sh and one text, and has %q and %d", script, outputs)
	}
	if strings.Contains(section, "required_version") {
		// A binary of a test has no version that a constraint could exclude.
		var out strings.Builder
		c, diags := lang.Load(dir, lang.NewRegistry(), lang.Input{Version: "0.4.0"})
		if err := lang.Render(&out, diags, c.Files, lang.RenderOptions{}); err != nil {
			t.Fatal(err)
		}
		return out.String(), documented
	}
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "NO_COLOR=1", "LANG=C.UTF-8", "HOME="+t.TempDir(), "FLAMEOX_MEASURE_LOCK="+filepath.Join(t.TempDir(), "lock"), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	out, err := cmd.CombinedOutput()
	if _, failed := err.(*exec.ExitError); err != nil && !failed {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(out), dir, "/home/ada/experiment")
	return strings.TrimRight(text, "\n") + "\n", documented
}
