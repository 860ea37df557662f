//go:build !linux

package shred

import "os"

func kernelCopy(_, _ *os.File, _, _ int64) (int64, error) { return 0, nil }
