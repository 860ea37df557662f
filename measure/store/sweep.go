package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Sweep is the documents of a path: of a folder its *.json and nothing below it, work orders first, since results refer to them; of a file the file.
func Sweep(path string) ([]Input, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("look for results: %w", err)
	}
	if !info.IsDir() {
		return []Input{{Name: path}}, nil
	}
	list, err := os.ReadDir(path)
	if err != nil {
		return nil, fmt.Errorf("look for results: %w", err)
	}
	var orders, results []Input
	var below []string
	for _, e := range list {
		switch name := e.Name(); {
		case e.IsDir():
			if inner, err := filepath.Glob(filepath.Join(path, name, "*.json")); err == nil && len(inner) > 0 && name != "artifacts" && name != "orders" {
				below = append(below, name)
			}
		case !strings.HasSuffix(name, ".json"):
		case strings.HasPrefix(name, "workorder-"):
			orders = append(orders, Input{Name: filepath.Join(path, name)})
		default:
			results = append(results, Input{Name: filepath.Join(path, name)})
		}
	}
	if len(orders)+len(results) > 0 {
		return append(orders, results...), nil
	}
	if len(below) > 0 {
		slices.Sort(below)
		return nil, fmt.Errorf("look for results: %s has no *.json itself, and folders of runs below it have: name one or several of them, such as %s", path, filepath.Join(path, below[0]))
	}
	return nil, fmt.Errorf("look for results: %s has no *.json", path)
}

// Throwaway is a store of the documents of a path that is gone when it is closed, as a comparison of results needs that were delivered nowhere.
func Throwaway(ctx context.Context, path string) (_ *Store, _ Report, remove func() error, err error) {
	inputs, err := Sweep(path)
	if err != nil {
		return nil, Report{}, nil, err
	}
	dir, err := os.MkdirTemp("", "flameox-results-")
	if err != nil {
		return nil, Report{}, nil, fmt.Errorf("make a store for %s: %w", path, err)
	}
	remove = func() error { return os.RemoveAll(dir) }
	s, err := Open(filepath.Join(dir, "store.parquet"))
	var report Report
	if err == nil {
		report, err = s.Ingest(ctx, inputs)
	}
	if err != nil {
		return nil, report, nil, errors.Join(err, remove())
	}
	return s, report, remove, nil
}
