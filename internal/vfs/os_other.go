//go:build !linux

package vfs

import (
	"errors"
	"os"
)

func syncFS(string) error { return errors.ErrUnsupported }

func datasync(f *os.File) error { return f.Sync() }

func clone(_, _ *os.File) error { return errors.ErrUnsupported }

// BootID is "" where it cannot be known.
func BootID() string { return "" }
