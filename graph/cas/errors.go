package cas

import (
	"errors"
	"fmt"
	"syscall"
)

// Explain says what a failed operation on the store's disk means for the person.
func Explain(what string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("%s: %w; nothing was committed: free space there or move the store with store.path", what, err)
	case errors.Is(err, syscall.EROFS), errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
		return fmt.Errorf("%s: %w; the store must be writable by you", what, err)
	case errors.Is(err, syscall.EIO):
		return fmt.Errorf("%s: %w; nothing was committed: the disk failed, look at the kernel's log", what, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}
