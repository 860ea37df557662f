package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	ctyyaml "github.com/zclconf/go-cty-yaml"
	"github.com/zclconf/go-cty/cty"
)

// fenced is a code block of a document, with the comment before it that says what to do with it.
var fenced = regexp.MustCompile("(?ms)(?:^<!-- (file|append): (\\S+) -->\n)?^```(\\w+)\n(.*?)^```$")

// typed is one command of the guide.
type typed struct {
	command string
	want    []string // lines that are printed, in this order
}

// script reads a document into the commands that a reader types; files that it shows become commands that write them.
func script(doc string) (out []typed) {
	for _, m := range fenced.FindAllStringSubmatch(doc, -1) {
		what, file, language, body := m[1], m[2], m[3], m[4]
		switch {
		case what == "file":
			out = append(out, typed{command: "cat > " + file + " <<'END OF FILE'\n" + body + "END OF FILE"})
		case what == "append":
			out = append(out, typed{command: "cat >> " + file + " <<'END OF FILE'\n\n" + body + "END OF FILE"})
		case language == "console":
			for line := range strings.Lines(body) {
				line = strings.TrimSuffix(line, "\n")
				if command, ok := strings.CutPrefix(line, "$ "); ok {
					out = append(out, typed{command: command})
				} else if more, ok := strings.CutPrefix(line, "> "); ok {
					out[len(out)-1].command += "\n" + more
				} else if strings.TrimSpace(line) != "" && line != "…" {
					out[len(out)-1].want = append(out[len(out)-1].want, line)
				}
			}
		}
	}
	return out
}

// differing is what differs from machine to machine and from minute to minute: ids, digests, times, names of hosts, figures with a
// unit, fractions, and large numbers. Counts stay.
var differing = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`\b01[0-9A-HJKMNP-TV-Z]{2}(…[0-9A-Z]{2}|[0-9A-Z]{22})`), "RUN"},
	{regexp.MustCompile(`\b([0-9a-f]{64}|[0-9a-f]{6})\b`), "DIGEST"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\s+\S+$`), "TIME HOST"},
	{regexp.MustCompile(`( ago on )\S+$`), "${1}HOST"},
	{regexp.MustCompile(`( ago, )\S+?(\):)`), "${1}HOST$2"},
	{regexp.MustCompile(`\d+(\.\d+)? (h|m|s|ms|µs|B|KiB|MiB)\b( \d+ (m|s|ms)\b)?`), "N"},
	{regexp.MustCompile(`\d+\.\d+|\d{4,}`), "N"},
	{regexp.MustCompile(`\s+contention$`), ""}, // others were busy meanwhile
	{regexp.MustCompile(`\s+`), " "},
}

func form(line string) string {
	for _, d := range differing {
		line = d.pattern.ReplaceAllString(line, d.with)
	}
	return strings.TrimSpace(line)
}

// matches says whether a printed line is like one of the guide, which may end with … for any rest.
func matches(want, line string) bool {
	if begin, ok := strings.CutSuffix(want, "…"); ok {
		return strings.HasPrefix(form(line), form(begin))
	}
	return form(want) == form(line)
}

func TestWhatTheGuideShowsIsComparedAndNotPassedOver(t *testing.T) {
	for _, c := range []struct {
		want, line string
		same       bool
	}{
		{"✓ build.bench   1.2 s   5.44 MiB", "✓ build.bench   477 ms   5.50 MiB", true},
		{"Nothing to do: 5 cached.", "Nothing to do: 6 cached.", false},
		{"exit code 4", "exit code 1", false},
		{"  inputs   merge.go  4a0e5d → 20a7e2", "  inputs merge.go   111111 → 222222", true},
		{"a long line that…", "a long line that goes on", true},
		{"a long line that…", "another line", false},
		{"  n=1000   cached   1 m ago on vm", "  n=1000   cached   2 s ago on bench-7.example", true},
		{"  n=1000   cached   1 m ago on vm", "  n=1000   run   never ran", false},
	} {
		if matches(c.want, c.line) != c.same {
			t.Errorf("%q and %q: like each other should be %v", c.want, c.line, c.same)
		}
	}
}

func TestTheGuideIsTrue(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("measures")
	}
	src, err := os.ReadFile(filepath.Join("..", "..", "docs", "guide.md"))
	if err != nil {
		t.Fatal(err)
	}
	list := script(string(src))
	if len(list) < 40 {
		t.Fatalf("the guide has %d commands; it cannot be read any more", len(list))
	}
	env := programEnv(t)
	dir := t.TempDir()
	t.Cleanup(func() { exec.Command("chmod", "-R", "u+w", dir).Run() })
	repository, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(repository, filepath.Join(dir, "flameox")); err != nil {
		t.Fatal(err)
	}
	// One shell for all, as in front of a reader: cd and files stay.
	const mark = "@@ command"
	var b strings.Builder
	for i, c := range list {
		fmt.Fprintf(&b, "echo '%s %d'\n%s\necho '%s ended' $?\n", mark, i, c.command, mark)
	}
	out, _ := bash(t, dir, env, "exec 2>&1 </dev/null\n"+b.String())
	parts := regexp.MustCompile(`(?ms)^`+mark+` (\d+)\n(.*?)^`+mark+` ended (\d+)$`).FindAllStringSubmatch(out, -1)
	if len(parts) != len(list) {
		t.Fatalf("%d of %d commands ran:\n%s", len(parts), len(list), out)
	}
	for i, c := range list {
		printed, code := parts[i][2], parts[i][3]
		if code != "0" {
			t.Errorf("$ %s\nexit code %s:\n%s", c.command, code, printed)
			continue
		}
		lines := strings.Split(printed, "\n")
		for _, want := range c.want {
			n := slices.IndexFunc(lines, func(l string) bool { return matches(want, l) })
			if n < 0 {
				t.Errorf("$ %s\nprints nothing (any more, or in this order) like\n\t%s\nbut\n%s", c.command, want, printed)
				break
			}
			lines = lines[n+1:]
		}
	}
}

type step struct {
	name, run, uses, condition string
	with                       map[string]string
}

func workflow(t *testing.T) []step {
	t.Helper()
	src, err := os.ReadFile(filepath.Join("..", "..", "docs", "ci", "flameox.yml"))
	if err != nil {
		t.Fatal(err)
	}
	ty, err := ctyyaml.ImpliedType(src)
	if err != nil {
		t.Fatal(err)
	}
	v, err := ctyyaml.Unmarshal(src, ty)
	if err != nil {
		t.Fatal(err)
	}
	text := func(v cty.Value, name string) string {
		if !v.Type().HasAttribute(name) {
			return ""
		}
		return v.GetAttr(name).AsString()
	}
	var out []step
	for _, s := range v.GetAttr("jobs").GetAttr("measure").GetAttr("steps").AsValueSlice() {
		st := step{name: text(s, "name"), run: text(s, "run"), uses: text(s, "uses"), condition: text(s, "if"), with: map[string]string{}}
		if s.Type().HasAttribute("with") {
			for name := range s.GetAttr("with").Type().AttributeTypes() {
				st.with[name] = text(s.GetAttr("with"), name)
			}
		}
		out = append(out, st)
	}
	return out
}

// job does in dir what a runner does with the workflow, but for what needs its service, and gives the exit codes of the steps.
func job(t *testing.T, dir string, env []string, steps []step) (codes map[string]int, printed map[string]string, summary string) {
	t.Helper()
	temp := t.TempDir()
	summary = filepath.Join(temp, "summary")
	env = append(slices.Clone(env), "RUNNER_TEMP="+temp, "GITHUB_STEP_SUMMARY="+summary)
	codes, printed = map[string]int{}, map[string]string{}
	failed := false
	for _, s := range steps {
		if s.run == "" || s.name == "Install flameox" || failed && s.condition == "" {
			continue
		}
		out, code := bash(t, dir, env, "set -e\n"+s.run)
		codes[s.name], printed[s.name] = code, out
		failed = failed || code != 0
	}
	if _, err := os.Stat(filepath.Join(temp, "evidence.flameox")); err != nil {
		t.Errorf("there is no bundle: %v", err)
	}
	b, err := os.ReadFile(summary)
	if err != nil {
		t.Error(err)
	}
	return codes, printed, string(b)
}

func TestTheWorkflowMeasuresInAShallowCloneAndItsGateFails(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("measures")
	}
	steps := workflow(t)
	var restored, saved map[string]string
	for _, s := range steps {
		switch {
		case strings.HasPrefix(s.uses, "actions/cache/restore@"):
			restored = s.with
		case strings.HasPrefix(s.uses, "actions/cache/save@"):
			saved = s.with
		case s.name == "Install flameox" && !strings.Contains(s.run, "go install \"github.com/flameox/flameox/cmd/flameox@"):
			t.Errorf("flameox is installed by %s", s.run)
		}
		if strings.Contains(s.run, "${{") {
			t.Errorf("%s: an expression in a script is text that anybody may have written", s.name)
		}
	}
	if restored["path"] != ".flameox" || saved["path"] != ".flameox" || restored["key"] != saved["key"] ||
		!strings.HasPrefix(saved["key"], restored["restore-keys"]) || !strings.Contains(saved["key"], "github.run_id") {
		t.Errorf("the store is restored with %v and saved with %v", restored, saved)
	}

	env := programEnv(t)
	origin := quickstart(t, env)
	parent := filepath.Dir(origin)
	t.Cleanup(func() { exec.Command("chmod", "-R", "u+w", parent).Run() })
	must(t, origin, env, `sed -i 's/"50ms"/"1ms"/; s/"200ms"/"20ms"/' flameox.hcl && git commit -qam fast && git commit -q --allow-empty -m two`)
	clone := "git clone -q --depth 1 file://" + origin + " "
	must(t, parent, env, clone+"first")
	if n := must(t, filepath.Join(parent, "first"), env, "git rev-list --count HEAD"); strings.TrimSpace(n) != "1" {
		t.Fatalf("the clone has %s commits", n)
	}
	codes, _, summary := job(t, filepath.Join(parent, "first"), env, steps)
	for name, code := range codes {
		if code != 0 {
			t.Errorf("%s: exit code %d", name, code)
		}
	}
	if len(codes) < 6 || !strings.Contains(summary, "never ran") || !strings.Contains(summary, "gobench.BenchmarkSort/impl=merge/n=1000") {
		t.Errorf("%d steps, summary:\n%s", len(codes), summary)
	}

	// The store as the cache brings it: the next clone has nothing to do.
	must(t, parent, env, clone+"second && cp -R first/.flameox second/")
	_, printed, _ := job(t, filepath.Join(parent, "second"), env, steps)
	if !strings.Contains(printed["Measure"], "Nothing to do: 17 cached.") {
		t.Errorf("with the store of the first clone:\n%s", printed["Measure"])
	}

	must(t, origin, env, `cat > gate.flameox.hcl <<'EOT'
check "impossible" {
  assert {
    condition     = extract.gobench.sort["impl=merge,n=1000"].median["gobench.BenchmarkSort/impl=merge/n=1000 ns/op"] < 1
    error_message = "It takes time."
  }
}
EOT
git add . && git commit -qm gate`)
	must(t, parent, env, clone+"third && cp -R second/.flameox third/")
	codes, printed, _ = job(t, filepath.Join(parent, "third"), env, steps)
	if codes["Measure"] != 4 || !strings.Contains(printed["Measure"], "check impossible failed: It takes time.") {
		t.Errorf("the gate: exit code %d, want 4\n%s", codes["Measure"], printed["Measure"])
	}
	for _, name := range []string{"Report", "Bundle the evidence", "Trim the store"} {
		if codes[name] != 0 {
			t.Errorf("%s after a failed gate: exit code %d\n%s", name, codes[name], printed[name])
		}
	}
}
