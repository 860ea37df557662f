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

func TestSharedHoldersExcludeOnlyWhoMeasures(t *testing.T) {
	t.Setenv(MeasureEnv, filepath.Join(t.TempDir(), "m"))
	h := Holder{Command: "test"}
	a, err := TryShareMeasure(h)
	if err != nil {
		t.Fatal(err)
	}
	b, err := TryShareMeasure(h)
	if err != nil {
		t.Fatalf("two cannot share: %v", err)
	}
	if Held(MeasurePath()) {
		t.Error("a shared lock counts as a measurement")
	}
	if _, err := TryAcquireMeasure(h); err == nil {
		t.Error("something was measured beside shared work")
	}
	a.Release()
	b.Release()
	m, err := TryAcquireMeasure(h)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Release()
	if !Held(MeasurePath()) {
		t.Error("a measurement is not seen")
	}
	if _, err := TryShareMeasure(h); err == nil {
		t.Error("shared work ran beside a measurement")
	}
}
