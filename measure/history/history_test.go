package history

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flameox/flameox/internal/git"
	"github.com/flameox/flameox/measure/identity"
)

func doc(revision string, n int, changes func(map[string]any)) map[string]any {
	d := map[string]any{
		"producer": map[string]any{"name": "p"}, "ingest_key": fmt.Sprintf("k%03d", n), "source": map[string]any{"uri": "https://example.org/demo", "type": "git"}, "revision": map[string]any{"key": revision},
		"benchmark": map[string]any{"source": map[string]any{"uri": "https://example.org/demo", "type": "git"}, "revision": map[string]any{"key": "b1"}},
		"coordinates": map[string]any{"workload": map[string]any{"name": "w"}, "quantity": map[string]any{"name": "wall-time", "unit": "s", "direction": "lower-is-better"},
			"environment": map[string]any{"schema": "machine/v1", "identity": map[string]any{"runner": "h"}}},
		"provenance": map[string]any{"run_key": "r", "started_at": fmt.Sprintf("2026-01-02T03:%02d:%02dZ", n/60, n%60), "subject_dirty": "clean"},
	}
	if changes != nil {
		changes(d)
	}
	return d
}

// line is a point for each value, each of a revision of its own.
func line(values []float64) []Input {
	out := make([]Input, len(values))
	for i, v := range values {
		out[i] = Input{v, doc(fmt.Sprintf("rev%03d", i), i, nil)}
	}
	return out
}

func noisy(n int, seed uint64, level func(int) float64) []float64 {
	r := rand.New(rand.NewPCG(seed, 7))
	out := make([]float64, n)
	for i := range out {
		out[i] = level(i) * (1 + 0.002*r.NormFloat64())
	}
	return out
}

func history(t *testing.T, in []Input, o Options) *Document {
	t.Helper()
	o.Series, o.Estimator, o.Policy = "s", "median", identity.Default()
	if o.MinEffect == 0 {
		o.MinEffect = 0.01
	}
	d, err := Make(t.Context(), in, o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestAStepIsFoundAtItsRevision(t *testing.T) {
	d := history(t, line(noisy(30, 1, func(i int) float64 {
		if i >= 17 {
			return 1.05
		}
		return 1
	})), Options{})
	if len(d.Changes) != 1 || d.Changes[0].Revision != "rev017" || d.Changes[0].After != "rev016" || d.Changes[0].Verdict != "regressed" || d.Changes[0].Effect < 0.045 || d.Changes[0].Effect > 0.055 {
		t.Errorf("%+v", d.Changes)
	}
}

func TestOneOutlierIsNoChange(t *testing.T) {
	for seed := range uint64(20) {
		v := noisy(30, seed, func(int) float64 { return 1 })
		v[20] = 3
		if d := history(t, line(v), Options{}); len(d.Changes) != 0 {
			t.Errorf("seed %d: %+v", seed, d.Changes)
		}
	}
}

func TestASlowDriftIsFound(t *testing.T) {
	d := history(t, line(noisy(30, 3, func(i int) float64 { return 1 + 0.003*float64(i) })), Options{})
	if len(d.Changes) == 0 || d.Changes[0].Verdict != "regressed" {
		t.Errorf("%+v", d.Changes)
	}
}

func TestFewRevisionsAreNoHistoryToJudge(t *testing.T) {
	if d := history(t, line([]float64{1, 1, 1, 2, 2}), Options{}); len(d.Changes) != 0 || !strings.Contains(d.Note, "5 revisions are too few") {
		t.Errorf("%+v %q", d.Changes, d.Note)
	}
}

func TestAnAcceptedChangeIsSilentAndTheNextOneIsNot(t *testing.T) {
	in := line(noisy(45, 4, func(i int) float64 { return 1 + 0.1*float64(i/15) }))
	if d := history(t, in, Options{}); len(d.Changes) != 2 {
		t.Fatalf("%+v", d.Changes)
	}
	root := t.TempDir()
	for range 2 {
		if err := Accept(root, Acceptance{Series: "s", Revision: "rev015", Note: "worth it"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := Accept(root, Acceptance{Series: "another", Revision: "rev030"}); err != nil {
		t.Fatal(err)
	}
	list, err := ReadAccepted(root)
	if err != nil || len(list) != 2 {
		t.Fatal(list, err)
	}
	d := history(t, in, Options{Accepted: list})
	if len(d.Changes) != 1 || d.Changes[0].Revision != "rev030" || len(d.Boundaries) != 1 || d.Boundaries[0].Note != "worth it" {
		t.Errorf("%+v %+v", d.Changes, d.Boundaries)
	}
	if err := os.WriteFile(AnnotationsFile(root), []byte(`{"schema_version":"x"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Accept(root, Acceptance{Series: "s", Revision: "rev001"}); err == nil {
		t.Error("a file that is not understood was overwritten")
	}
}

func TestARevisionIsNamedByItsBeginning(t *testing.T) {
	d := history(t, line([]float64{1, 2}), Options{})
	if r, err := d.Revision("rev001"); err != nil || r != "rev001" {
		t.Error(r, err)
	}
	for _, prefix := range []string{"rev", "x"} {
		if r, err := d.Revision(prefix); err == nil {
			t.Errorf("%s names %s", prefix, r)
		}
	}
}

func TestWithoutACheckoutPointsAreInTheOrderOfTimeAndTheHistorySaysSo(t *testing.T) {
	in := line([]float64{1, 2, 3})
	in[0], in[2] = in[2], in[0]
	// A time with a fraction is after the same second without one.
	in = append(in, Input{9, doc("late", 2, func(d map[string]any) { d["provenance"].(map[string]any)["started_at"] = "2026-01-02T03:00:02.5Z" })})
	d := history(t, in, Options{})
	var got []string
	for _, p := range d.Points {
		got = append(got, p.Revision)
	}
	if fmt.Sprint(got) != "[rev000 rev001 rev002 late]" || d.Ordering != StartedAt || !strings.Contains(d.OrderingNote, "not available") {
		t.Errorf("%v %s %s", got, d.Ordering, d.OrderingNote)
	}
}

func TestIgnoredFactsThatChangeAreFlaggedWhereTheyChange(t *testing.T) {
	in := line([]float64{1, 2, 3, 4})
	for i := 2; i < 4; i++ {
		in[i].Document["benchmark"].(map[string]any)["revision"] = map[string]any{"key": "b2"}
	}
	d := history(t, in, Options{})
	for i, p := range d.Points {
		if want := i == 2; (len(p.Changed) == 1) != want || want && (p.Changed[0].Pointer != "/benchmark/revision/key" || p.Changed[0].Before != "b1" || p.Changed[0].After != "b2") {
			t.Errorf("%d: %+v", i, p.Changed)
		}
	}
}

func TestDirtyTreesAreListedAndJudgeNothingWhereOthersAreClean(t *testing.T) {
	dirty := func(d map[string]any) { d["provenance"].(map[string]any)["subject_dirty"] = "dirty" }
	in := []Input{{1, doc("a", 0, nil)}, {5, doc("a", 1, dirty)}}
	if d := history(t, in, Options{}); !d.Points[0].Judged || d.Points[1].Judged || d.Points[1].Why == "" {
		t.Errorf("%+v", d.Points)
	}
	if d := history(t, in[1:], Options{}); !d.Points[0].Judged {
		t.Errorf("%+v", d.Points)
	}
}

func TestRevisionsAreInTheOrderOfTheirAncestry(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not here, whose order this is: ", err)
	}
	dir := t.TempDir()
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=t", "-c", "user.email=t@example.com"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	run("init", "-q", "-b", "main")
	var revisions []string
	commit := func(name string) string {
		if err := os.WriteFile(filepath.Join(dir, "f"), []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
		run("add", "-A")
		run("commit", "-q", "-m", name)
		return run("rev-parse", "HEAD")
	}
	for i := range 12 {
		revisions = append(revisions, commit(fmt.Sprint(i)))
	}
	run("checkout", "-q", "-b", "side", revisions[3])
	side := commit("side")
	run("checkout", "-q", "main")
	// Measured the newest first, and revision 6 not at all; the level changed at 7, or at 6.
	var in []Input
	n := 0
	for i := len(revisions) - 1; i >= 0; i-- {
		if i == 6 {
			continue
		}
		v := 1.0
		if i >= 6 {
			v = 1.5
		}
		in = append(in, Input{v * (1 + 0.001*float64(i%3)), doc(revisions[i], n, nil)})
		n++
	}
	in = append(in, Input{7, doc(side, n, nil)}, Input{8, doc(strings.Repeat("e", 40), n+1, nil)})
	repo, err := git.Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	d := history(t, in, Options{Repo: repo})
	if d.Ordering != Ancestry || d.Points[0].Revision != revisions[0] || d.Points[10].Revision != revisions[11] || d.Points[11].Judged || d.Points[12].Judged {
		t.Fatalf("%s %+v", d.Ordering, d.Points)
	}
	if len(d.Changes) != 1 || d.Changes[0].Revision != revisions[7] || d.Changes[0].After != revisions[5] || d.Changes[0].Commits != 2 {
		t.Errorf("%+v", d.Changes)
	}
	if d := history(t, in, Options{Repo: repo, Target: "side"}); d.Points[4].Revision != side || !d.Points[4].Judged || d.Points[5].Judged {
		t.Errorf("the history of a branch is %+v", d.Points)
	}
	if _, err := Make(context.Background(), in, Options{Repo: repo, Target: "nonesuch", Policy: identity.Default()}); err == nil {
		t.Error("a target that git does not know orders a history")
	}
}
