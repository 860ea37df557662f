package publish

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/flameox/flameox/evidence"
)

// Export copies the generation's tables to dir/<table>/<segment>.parquet: an ordinary data set that depends
// on nothing of the workspace. tables narrows it; nil is all. dir must not exist or be empty, so that a glob
// over it is right, too. Whether the rows may leave the machine is the caller's question.
func (g *Generation) Export(ctx context.Context, dir string, tables []string) (files int, err error) {
	if tables == nil {
		for _, t := range g.m.Tables {
			tables = append(tables, t.Name)
		}
	}
	for _, name := range tables {
		if g.m.table(name) == nil {
			return 0, fmt.Errorf("exporting evidence: there is no table %q", name)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("exporting evidence: %w", err)
	}
	if len(entries) > 0 {
		return 0, fmt.Errorf("exporting evidence: %s is not empty; name a new directory", dir)
	}
	for _, name := range tables {
		from := g.Files(name)
		if len(from) == 0 {
			if _, known := evidence.Lookup(name); !known {
				continue
			}
			from = []string{g.path(name, emptySegment)}
		}
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			return files, fmt.Errorf("exporting evidence: %w", err)
		}
		for _, f := range from {
			if err := ctx.Err(); err != nil {
				return files, err
			}
			if err := copyFile(f, filepath.Join(dir, name, filepath.Base(f))); err != nil {
				return files, fmt.Errorf("exporting evidence: %w", err)
			}
			files++
		}
	}
	return files, nil
}

// copyFile copies rather than links: what is exported may be changed by its new owner.
func copyFile(from, to string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	if cerr := dst.Close(); err == nil {
		err = cerr
	}
	return err
}
