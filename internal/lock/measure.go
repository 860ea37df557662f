package lock

import (
	"context"
	"os"
)

// MeasureEnv names the environment variable that moves the machine's measuring lock. It is for tests, which must not
// wait for a real measurement on the same machine. Whoever sets it gives up the exclusion.
const MeasureEnv = "FLAMEOX_MEASURE_LOCK"

// measurePath is fixed, not below TMPDIR or XDG_RUNTIME_DIR: those differ between users, and two users who
// measure at once spoil both measurements. A container with a /tmp of its own has a lock of its own.
const measurePath = "/tmp/flameox-measure.lock"

// Every user of the machine must be able to open and lock the file.
var shared = mode{perm: 0o666, exact: true}

// MeasurePath is the file of the machine's measuring lock.
func MeasurePath() string {
	if p := os.Getenv(MeasureEnv); p != "" {
		return p
	}
	return measurePath
}

// AcquireMeasure takes the one lock under which measurements run on this machine, whatever the user and the workspace, and waits
// for it until ctx ends.
func AcquireMeasure(ctx context.Context, h Holder) (*Lock, error) {
	return acquire(ctx, MeasurePath(), h, shared)
}

// TryShareMeasure takes the measuring lock beside others that share it, for work that must not run while something is measured, or
// returns a *HeldError. Who measures waits until nobody shares it.
func TryShareMeasure(h Holder) (*Lock, error) {
	m := shared
	m.share = true
	return try(MeasurePath(), h, m)
}

// ShareMeasure is TryShareMeasure that waits until ctx ends.
func ShareMeasure(ctx context.Context, h Holder) (*Lock, error) {
	m := shared
	m.share = true
	return acquire(ctx, MeasurePath(), h, m)
}

// TryAcquireMeasure takes the measuring lock now or returns a *HeldError.
func TryAcquireMeasure(h Holder) (*Lock, error) { return try(MeasurePath(), h, shared) }
