package graph

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/internal/lock"
)

func limitations(rec *cache.Record) string {
	var out []string
	for _, n := range rec.Limitations {
		out = append(out, n.Code+": "+n.Text)
	}
	return strings.Join(out, "\n")
}

// record is what one measurement says of who read while do ran.
func (b *bench) record(do func()) string {
	b.t.Helper()
	m := b.node("m", Measurement, &fakeStage{do: func(*Task, *cache.Record) error { do(); return nil }})
	g := b.graph(m)
	b.apply(g, Selection{Replace: patterns(b.t, "m")})
	rec, err := b.plan(g, Selection{}).Of(m).Records[0].Record()
	if err != nil {
		b.t.Fatal(err)
	}
	return limitations(rec)
}

func TestReadersBesideAMeasurementAreOnItsRecordAndOthersAreNot(t *testing.T) {
	b := newBench(t)
	attend := func(command string, quiet bool) *lock.Attendance {
		a, err := lock.Attend(lock.Reader{At: b.now, Pid: os.Getpid(), Command: command, Quiet: quiet})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	attend("flameox done", false).Close()
	long := attend("flameox long", false)
	got := b.record(func() { attend("flameox plan", true).Close() })
	for _, want := range []string{
		fmt.Sprintf("overlap: flameox long (pid %d) was running when it began, at normal priority", os.Getpid()),
		fmt.Sprintf("overlap: flameox plan (pid %d) ran beside it, at the lowest priority", os.Getpid()),
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not on record:\n%s", want, got)
		}
	}
	if strings.Contains(got, "done") || strings.Count(got, "\n") != 1 {
		t.Errorf("more is on record than ran beside it:\n%s", got)
	}
	long.Close()
	if got := b.record(func() {}); got != "" {
		t.Errorf("nobody ran beside it, and on record is %s", got)
	}
	// Not exclusive: nothing is watched.
	x := b.node("x", Pure, &fakeStage{do: func(*Task, *cache.Record) error { attend("flameox plan", false); return nil }})
	g := b.graph(x)
	b.apply(g, Selection{})
	if rec, err := b.plan(g, Selection{}).Of(x).Records[0].Record(); err != nil || len(rec.Limitations) != 0 {
		t.Errorf("a pure stage has %v, %v", rec.Limitations, err)
	}
}

// TestWhatLiesInTheWayOfTheListIsSaidAndNeverWaitedFor puts into the shared folder what another user could put there.
func TestWhatLiesInTheWayOfTheListIsSaidAndNeverWaitedFor(t *testing.T) {
	for name, put := range map[string]func(path string) error{
		"a pipe":   func(path string) error { return unix.Mkfifo(path, 0o666) },
		"a link":   func(path string) error { return os.Symlink(filepath.Join(filepath.Dir(path), "elsewhere"), path) },
		"a folder": func(path string) error { return os.Mkdir(path, 0o755) },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			elsewhere := filepath.Join(filepath.Dir(lock.ReadersPath()), "elsewhere")
			if err := os.WriteFile(elsewhere, nil, 0o666); err != nil {
				t.Fatal(err)
			}
			if err := put(lock.ReadersPath()); err != nil {
				t.Fatal(err)
			}
			got := b.record(func() { lock.Attend(lock.Reader{At: b.now, Pid: 1, Command: "flameox plan"}) })
			if !strings.Contains(got, "others may have read beside it") || !strings.Contains(got, lock.ReadersPath()) {
				t.Errorf("on record is %q", got)
			}
			if s, err := os.ReadFile(elsewhere); err != nil || len(s) > 0 {
				t.Errorf("the link was followed: %q, %v", s, err)
			}
		})
	}
}

func TestManyReadersMakeAShortRecordThatSaysSo(t *testing.T) {
	b := newBench(t)
	got := b.record(func() {
		for range 500 {
			a, err := lock.Attend(lock.Reader{At: b.now, Pid: 7, Command: "flameox " + strings.Repeat("x", 1<<20), Quiet: true})
			if err != nil {
				t.Fatal(err)
			}
			a.Close()
		}
	})
	if len(got) > 8<<10 || !strings.Contains(got, "overlap: 484 more readers ran beside it") {
		t.Errorf("on record are %d bytes:\n%s", len(got), got)
	}
}
