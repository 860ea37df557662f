package graph

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flameox/flameox/internal/lock"
)

// TestWordOfReadersIsNeverWaitedFor puts into the shared folder what another user could put there. A call that waits
// for it shows as a test that does not end, so each has a moment.
func TestWordOfReadersIsNeverWaitedFor(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s := &Store{Now: func() time.Time { return now }}
	for name, put := range map[string]func(path string) error{
		"nothing": func(string) error { return nil },
		"a pipe":  func(path string) error { return unix.Mkfifo(path, 0o666) },
		"a link": func(path string) error {
			to := filepath.Join(filepath.Dir(path), "elsewhere")
			if err := os.WriteFile(to, nil, 0o666); err != nil {
				return err
			}
			return os.Symlink(to, path)
		},
		"a folder": func(path string) error { return os.Mkdir(path, 0o755) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			t.Setenv(lock.MeasureEnv, filepath.Join(dir, "measure"))
			if err := put(readersPath()); err != nil {
				t.Fatal(err)
			}
			done := make(chan int)
			go func() {
				s.leaveWord("flameox plan")
				done <- len(s.overlaps(now))
			}()
			want := 0
			if name == "nothing" {
				want = 1
			}
			select {
			case got := <-done:
				if got != want {
					t.Errorf("%d readers on record, want %d", got, want)
				}
			case <-time.After(10 * time.Second):
				t.Fatal("it waits for what lies in the way")
			}
			if b, err := os.ReadFile(filepath.Join(dir, "elsewhere")); err == nil && len(b) > 0 {
				t.Errorf("the link was followed: %q", b)
			}
		})
	}
	t.Run("an earlier one does not count", func(t *testing.T) {
		t.Setenv(lock.MeasureEnv, filepath.Join(t.TempDir(), "measure"))
		s.leaveWord("flameox plan")
		if got := s.overlaps(now.Add(time.Second)); len(got) != 0 {
			t.Errorf("on record: %v", got)
		}
	})
}
