package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/flameox/flameox/measure/harness"
)

// Init writes a file that states what applies without one, for a harness. It overwrites nothing, and gives the file's absolute path.
func Init(dir string, about harness.About) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, FileName)
	if _, err := os.Stat(filepath.Join(dir, "flameox.hcl")); err == nil {
		return "", fmt.Errorf("flameox.hcl lies in %s, and only one of them can say how a project measures: declare comparisons there, or write %s elsewhere with --dir", dir, FileName)
	}
	var quantity string
	if len(about.Quantities) > 0 {
		quantity = about.Quantities[0].Name
	}
	if _, ok := about.Quantity(DefaultQuantity); ok {
		quantity = DefaultQuantity
	}
	// A struct, for the order of the keys.
	text, err := json.MarshalIndent(struct {
		Version  string         `json:"schema_version"`
		Adapter  any            `json:"adapter"`
		Timeouts Timeouts       `json:"timeouts"`
		Paths    Paths          `json:"paths"`
		Compare  map[string]any `json:"compare"`
	}{
		Version: "benchx/config/0.1.0",
		Adapter: struct {
			Name       string         `json:"name"`
			Quantities []string       `json:"quantities"`
			Precision  map[string]any `json:"precision"`
		}{about.Name, []string{quantity}, about.Defaults.Document()},
		Timeouts: Timeouts{DefaultCase, DefaultOrder},
		Paths:    Paths{DefaultStore, DefaultResults},
		Compare:  map[string]any{"k": DefaultK, "min_rounds": DefaultRounds},
	}, "", "  ")
	if err != nil {
		return "", fmt.Errorf("write %s: %w", path, err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	switch {
	case errors.Is(err, fs.ErrExist):
		return "", fmt.Errorf("%s is there already and is left as it is: edit it, or delete it first", path)
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("write %s: there is no folder %s", path, dir)
	case err != nil:
		return "", fmt.Errorf("write the project's file: %w", err)
	}
	_, err = f.Write(append(text, '\n'))
	if err = errors.Join(err, f.Close()); err != nil {
		return "", fmt.Errorf("write %s: %w", path, err)
	}
	return path, nil
}
