package measuring

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/flameox/flameox/internal/view"
)

func result(status string, warnings []any, observations ...any) map[string]any {
	m := map[string]any{"status": status}
	if status != "success" {
		m["reason"] = "timeout"
	}
	if observations != nil {
		m["observations"] = observations
	}
	return map[string]any{
		"coordinates": map[string]any{"workload": map[string]any{"name": "f", "parameters": map[string]any{"size": "10"}}, "quantity": map[string]any{"name": "wall-time", "unit": "s"}},
		"measurement": m, "quality": map[string]any{"warnings": warnings},
	}
}

func TestATableSaysOnlyWhatTheObservationsDo(t *testing.T) {
	load := result("success", nil, 1.5)
	load["measurement"].(map[string]any)["kind"] = "condition"
	aggregate := result("success", nil)
	aggregate["measurement"].(map[string]any)["summaries"] = []any{
		map[string]any{"kind": "estimate", "estimator": map[string]any{"name": "median"}, "value": 2e-3}, map[string]any{"kind": "estimate", "estimator": map[string]any{"name": "mean"}, "value": 3e-3},
	}
	for want, doc := range map[string]map[string]any{
		`^f \[size=10\] +131 ns +131 ns +- +1 +success$`:                                      result("success", nil, 131e-9),
		`^f \[size=10\] +2 s +2 s ± 1 s +1 s \.\. 3 s +3 +success \[dirty-subject-tree, x\]$`: result("success", []any{"dirty-subject-tree", "x"}, 1.0, 2.0, map[string]any{"value": 3.0}),
		`^f \[size=10\] +1\.5 s +1\.5 s ± 707\.1 ms +1 s \.\. 2 s +2 +success$`:               result("success", nil, 1.0, 2.0, map[string]any{"value": 99.0, "included": false}),
		`^f \[size=10\] +- +- +- +0 +error \(timeout\)$`:                                      result("error", nil),
		`^f \[size=10\] +2 ms +3 ms +- +0 +success$`:                                          aggregate,
	} {
		var b strings.Builder
		if err := benchTable(&b, view.Options{}, []map[string]any{load, doc}, nil, nil); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(b.String()), "\n")
		if len(lines) != 2 || !regexp.MustCompile(want).MatchString(lines[1]) {
			t.Errorf("got\n%s\nwant a second line like %s", b.String(), want)
		}
	}
}

func TestALockOfAnAncestorIsNotWaitedFor(t *testing.T) {
	for pid, want := range map[int]bool{os.Getppid(): true, os.Getpid(): false, 0: false, 1 << 30: false} {
		if got := above(pid); got != want {
			t.Errorf("above(%d) is %v", pid, got)
		}
	}
}

func TestOnlyTheseCommandsRefuseWith2(t *testing.T) {
	for command, want := range map[string]bool{"flameox bench": true, "flameox config init": true, "flameox plan": false, "flameox": false, "flameox bundle": false} {
		if got := Refuses(command); got != want {
			t.Errorf("%s: %v", command, got)
		}
	}
}
