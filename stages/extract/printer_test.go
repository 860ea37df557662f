package extract

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/stages/environment"
	"github.com/flameox/flameox/stages/program"
)

// printer is a Printer whose program does what a payload says: real processes with the faults that one can have.
type printer struct{}

const printingProgram = `#!/bin/sh
if [ "$1" = version ]; then cat "$(dirname "$0")/version"; exit; fi
what=$(cat "$2")
echo "$1 $what $HOME" | sed 's/ [^ ]*reader-[^ ]*$/ private/'
case $what in
fail) echo "no such record" >&2; exit 3 ;;
hang) sleep 600 ;;
flood) while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done ;;
esac
`

func (printer) Name() string                     { return "printer" }
func (printer) Version() int                     { return 1 }
func (printer) Doc() string                      { return "A printer of the test." }
func (printer) Prints(a providers.Artifact) bool { return a.Role == "payload" }
func (printer) Printing(argv []string, _ any) (string, error) {
	if len(argv) == 0 {
		return "", errors.New("name the program")
	}
	return argv[0], nil
}
func (printer) Asks(program string) ([]string, func([]byte) (string, error)) {
	return []string{program, "version"}, func(b []byte) (string, error) {
		v, ok := strings.CutPrefix(strings.TrimSpace(string(b)), "v")
		if !ok {
			return "", fmt.Errorf("%q is no version", b)
		}
		return v, nil
	}
}
func (printer) Print(program string, options any, payload string) ([]string, error) {
	if options == nil {
		return []string{program, "lightly", payload}, nil
	}
	return []string{program, "wholly", payload}, nil
}
func (printer) Missing(program, version string) string {
	return "bring " + program + " of version " + version
}

func (printer) Validate(_ context.Context, in providers.Input) (providers.Receipt, error) {
	if in.Reading == nil {
		return providers.Receipt{Valid: true}, nil
	}
	f, err := os.Open(in.Reading.Path)
	if err != nil {
		return providers.Receipt{}, err
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	r := providers.Receipt{Limitations: []evidence.Limitation{{Code: "stream", Text: string(b)}, {Code: "version", Text: in.Reading.Version}}}
	if r.Valid = in.Reading.Failure == ""; !r.Valid {
		r.Reasons = []evidence.Limitation{{Code: "failed", Text: in.Reading.Failure}}
	}
	return r, err
}

// install writes the program and what it says of itself.
func install(t *testing.T, version string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{"prints": printingProgram, "version": version + "\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "prints")
}

// printWith validates a payload that was captured with a program of version 2.1.
func printWith(t *testing.T, content string, argv []string, budget evidence.Budget) *cache.Record {
	t.Helper()
	task, rec := attempt(t, content)
	rec.Argv, rec.Env, rec.Dir, rec.Producer = argv, []string{"PATH=/usr/bin:/bin", "SECRET=1"}, t.TempDir(), "2.1"
	if err := validate(t.Context(), task, home(t, task), printer{}, rec, []int{3}, budget); err != nil {
		t.Fatal(err)
	}
	return rec
}

func TestAProgramPrintsAndItsTextReachesTheProvider(t *testing.T) {
	rec := printWith(t, "fine", []string{install(t, "v2.1"), "x"}, evidence.DefaultBudget())
	if !rec.Valid() || rec.Producer != "2.1" || rec.Limitations[0].Text != "lightly fine private" || rec.Limitations[1].Text != "2.1" {
		t.Errorf("%s by %s: %v %v", rec.Validation, rec.Producer, rec.Invalid, rec.Limitations)
	}
	if rec := printWith(t, "fine", nil, evidence.DefaultBudget()); !rec.Valid() || len(rec.Limitations) != 0 {
		t.Errorf("an import was printed: %v", rec.Limitations)
	}
}

func TestAProgramThatFailsLeavesAnInvalidAttemptThatSaysWhy(t *testing.T) {
	for _, c := range []struct{ content, version, code, text string }{
		{"fail", "v2.1", "failed", "exit status 3, no such record"},
		{"hang", "v2.1", "worker_timeout", "the reader of printer ran longer than 2s"},
		{"flood", "v2.1", "worker_output_limit", "the reader of printer was ended"},
		{"fine", "v2.2", "reader_version", "is of version 2.2 now, and was of version 2.1"},
		{"fine", "what?", "reader_missing", "its answer is not as it should be"},
	} {
		t.Run(c.content+" "+c.version, func(t *testing.T) {
			budget := evidence.DefaultBudget()
			budget.OutputBytes = 1 << 20
			if c.content == "hang" {
				budget.Wall = 2 * time.Second
			}
			rec := printWith(t, c.content, []string{install(t, c.version)}, budget)
			if rec.Valid() || len(rec.Invalid) != 1 || rec.Invalid[0].Code != c.code || !strings.Contains(rec.Invalid[0].Text, c.text) || len(rec.Outputs) != 1 {
				t.Errorf("%s: %v", rec.Validation, rec.Invalid)
			}
		})
	}
	rec := printWith(t, "fine", []string{"/gone/prints"}, evidence.DefaultBudget())
	if rec.Valid() || rec.Invalid[0].Code != "reader_missing" || !strings.Contains(rec.Invalid[0].Text, "bring /gone/prints of version 2.1") {
		t.Errorf("%s: %v", rec.Validation, rec.Invalid)
	}
}

func TestACaptureIsBlockedWhereItsProgramIsMissing(t *testing.T) {
	task, _ := attempt(t, "")
	p := home(t, task)
	require := func(argv ...string) (string, error) {
		return RequireProgram(t.Context(), p, printer{}, &program.Program{Host: &environment.Host{Path: "/usr/bin:/bin"}}, argv)
	}
	if version, err := require(install(t, "v2.1")); err != nil || version != "2.1" {
		t.Errorf("%q %v", version, err)
	}
	for name, argv := range map[string][]string{"gone": {"/gone/prints"}, "of no version": {install(t, "hello")}, "not named": nil} {
		_, err := require(argv...)
		var blocked *graph.BlockedError
		if err == nil || name != "not named" && !errors.As(err, &blocked) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
