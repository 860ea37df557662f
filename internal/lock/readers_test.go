package lock

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func reader(command string) Reader {
	return Reader{At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Pid: 7, Command: command}
}

func attendAs(t *testing.T, command string) *Attendance {
	t.Helper()
	a, err := Attend(reader(command))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func commands(list []Reader) string {
	var out []string
	for _, r := range list {
		out = append(out, r.Command)
	}
	return strings.Join(out, " ")
}

// want checks what a watch saw.
func (b Beside) want(t *testing.T, before, during string, more int, unknown bool) {
	t.Helper()
	if commands(b.Before) != before || commands(b.During) != during || b.More != more || b.Unknown != unknown {
		t.Errorf("before %q, during %q, %d more, unknown %v; want %q, %q, %d, %v", commands(b.Before), commands(b.During), b.More, b.Unknown, before, during, more, unknown)
	}
}

func TestAKilledReaderIsNoLongerThere(t *testing.T) {
	t.Setenv(MeasureEnv, filepath.Join(t.TempDir(), "m"))
	cmd := helper(t, "attend", MeasurePath())
	WatchReaders().End().want(t, "helper", "", 0, false)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	WatchReaders().End().want(t, "", "", 0, false)
}

func TestReadersThatEndDuringTheWatchAreSeen(t *testing.T) {
	t.Setenv(MeasureEnv, filepath.Join(t.TempDir(), "m"))
	attendAs(t, "gone").Close()
	a, b := attendAs(t, "a"), attendAs(t, "b")
	w := WatchReaders()
	a.Close()
	attendAs(t, "c").Close()
	d := attendAs(t, "d")
	w.End().want(t, "a b", "c d", 0, false)
	b.Close()
	WatchReaders().End().want(t, "d", "", 0, false)
	d.Close()
}

// fill makes the list as long as size, of readers that are gone.
func fill(t *testing.T, size int64) {
	t.Helper()
	if err := os.WriteFile(ReadersPath(), []byte(strings.Repeat(strings.Repeat("x", 99)+"\n", int(size/100)+1)), 0o666); err != nil {
		t.Fatal(err)
	}
}

func size(t *testing.T) int64 {
	t.Helper()
	st, err := os.Stat(ReadersPath())
	if err != nil {
		t.Fatal(err)
	}
	return st.Size()
}

func TestTheListIsEmptiedOnlyWhileNobodyNeedsIt(t *testing.T) {
	t.Setenv(MeasureEnv, filepath.Join(t.TempDir(), "m"))
	fill(t, tidyReaders)
	l, err := TryAcquireMeasure(Holder{})
	if err != nil {
		t.Fatal(err)
	}
	attendAs(t, "a").Close()
	if size(t) < tidyReaders {
		t.Error("a reader emptied it while something was measured")
	}
	l.Release()
	b := attendAs(t, "b")
	if size(t) > mostLine {
		t.Errorf("a reader left %d bytes though nothing was measured and nobody read", size(t))
	}
	b.Close()
	c := attendAs(t, "c")
	old, err := os.OpenFile(ReadersPath(), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	old.WriteString(strings.Repeat("x", tidyReaders))
	old.Close()
	w := WatchReaders()
	if size(t) < tidyReaders {
		t.Error("it was emptied while somebody in it reads")
	}
	c.Close()
	w.End().want(t, "c", "", 0, false)
	w = WatchReaders()
	if size(t) != 0 {
		t.Errorf("who measures left %d bytes that nobody needs", size(t))
	}
	attendAs(t, "d").Close()
	w.End().want(t, "", "d", 0, false)
}

func TestAFullListSaysThatItIsNotWhole(t *testing.T) {
	t.Setenv(MeasureEnv, filepath.Join(t.TempDir(), "m"))
	l, err := TryAcquireMeasure(Holder{})
	if err != nil {
		t.Fatal(err)
	}
	w := WatchReaders()
	fill(t, mostReaders) // as many begin and end
	late := attendAs(t, "late")
	if size(t) > mostReaders+200 {
		t.Error("a full list grew")
	}
	if got := w.End(); !got.Unknown || len(got.During) != 0 {
		t.Errorf("it saw %d by name, unknown %v", len(got.During), got.Unknown)
	}
	// The next one knows that somebody is there who has no line.
	WatchReaders().End().want(t, "", "", 0, true)
	late.Close()
	l.Release()
	WatchReaders().End().want(t, "", "", 0, false)
}

func TestAListThatIsCutOrReplacedMeanwhileIsNotTrusted(t *testing.T) {
	for name, do := range map[string]func(path string) error{
		"cut":      func(path string) error { return os.Truncate(path, 0) },
		"removed":  os.Remove,
		"replaced": func(path string) error { os.Remove(path); return os.WriteFile(path, nil, 0o666) },
	} {
		t.Setenv(MeasureEnv, filepath.Join(t.TempDir(), "m"))
		attendAs(t, "a").Close()
		w := WatchReaders()
		if err := do(ReadersPath()); err != nil {
			t.Fatal(err)
		}
		if got := w.End(); !got.Unknown {
			t.Errorf("%s: nothing is said", name)
		}
		attendAs(t, "b").Close() // and it goes on
		WatchReaders().End().want(t, "", "", 0, false)
	}
}

func TestWhatAnyUserWroteIntoTheListIsCountedAndCleaned(t *testing.T) {
	t.Setenv(MeasureEnv, filepath.Join(t.TempDir(), "m"))
	w := WatchReaders()
	f, err := os.OpenFile(ReadersPath(), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.WriteString("garbage\n" + strings.Repeat("y", 9999) + "\n" + `{"pid":3,"command":"a\u001b[2J"}` + "\n")
	f.Close()
	w.End().want(t, "", "a?[2J", 2, false)
}

func TestMoreReadersThanAreNamedAreCounted(t *testing.T) {
	t.Setenv(MeasureEnv, filepath.Join(t.TempDir(), "m"))
	for range 40 {
		a := attendAs(t, "b")
		defer a.Close()
	}
	w := WatchReaders()
	for range 30 {
		attendAs(t, "d").Close()
	}
	got := w.End()
	if len(got.Before) != mostListed || len(got.During) != mostListed || got.More != 70-2*mostListed || got.Unknown {
		t.Errorf("%d before, %d during, %d more, unknown %v", len(got.Before), len(got.During), got.More, got.Unknown)
	}
}

func TestAReaderThatStoppedWhileJoiningHoldsNobodyUp(t *testing.T) {
	t.Setenv(MeasureEnv, filepath.Join(t.TempDir(), "m"))
	f, err := openReaders()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := markShared(f, markRegister, 1); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	WatchReaders().End().want(t, "", "", 0, true)
	if d := time.Since(began); d > 2*time.Second {
		t.Errorf("it took %s", d)
	}
}

func BenchmarkAttend(b *testing.B) {
	b.Setenv(MeasureEnv, filepath.Join(b.TempDir(), "m"))
	for b.Loop() {
		a, err := Attend(reader("flameox plan"))
		if err != nil {
			b.Fatal(err)
		}
		a.Close()
	}
}
