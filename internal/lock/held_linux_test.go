package lock

import (
	"path/filepath"
	"testing"
)

func TestHeldAsksWithoutTouchingTheLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l")
	if Held(path) {
		t.Error("a lock that nobody ever took is held")
	}
	l, err := TryAcquire(path, Holder{Command: "test"})
	if err != nil {
		t.Fatal(err)
	}
	if !Held(path) {
		t.Error("a held lock is not seen")
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	if Held(path) {
		t.Error("a released lock is held")
	}
	if _, err := TryAcquire(path, Holder{Command: "test"}); err != nil {
		t.Errorf("asking kept the lock: %v", err)
	}
}
