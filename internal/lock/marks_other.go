//go:build !linux

package lock

import (
	"errors"
	"os"
)

// Elsewhere there are no marks: a lock excludes as it does on Linux, and nothing is known of who holds it or waits.
func markShared(*os.File, int64, int64) error { return errors.ErrUnsupported }
func markAlone(*os.File, int64, int64) error  { return errors.ErrUnsupported }
func unmark(*os.File, int64, int64)           {}

func marked(*os.File, int64, int64) (lo, hi int64, ok bool) { return 0, 0, false }
