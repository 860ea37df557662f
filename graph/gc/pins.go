package gc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/flameox/flameox/graph/cas"
	"github.com/flameox/flameox/internal/vfs"
)

const (
	pinsFormat = "flameox pins 1"
	maxPins    = 64 << 20 // bytes
)

// Pin keeps what a run left, and the evidence that was made of it, for as long as it is there.
type Pin struct {
	Run     string    `json:"run"`              // 26 characters
	Address string    `json:"address"`          // that the run had when it was pinned
	Reason  string    `json:"reason,omitempty"` // in the words of who pinned it
	When    time.Time `json:"when"`             // UTC
}

type pinsFile struct {
	Format string `json:"format"`
	Pins   []Pin  `json:"pins"`
}

func pinsPath(dir string) string { return filepath.Join(dir, "pins.json") }

// Pins are the pins of the store at dir, oldest first; none where the file is not there. A file that cannot be understood is an error:
// taking it for empty would give up what somebody asked to keep.
func Pins(fsys vfs.FS, dir string) ([]Pin, error) {
	b, err := vfs.ReadFile(fsys, pinsPath(dir), maxPins)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the pins: %w", err)
	}
	var f pinsFile
	if err := strict(b, &f); err != nil || f.Format != pinsFormat {
		if err == nil {
			err = fmt.Errorf("its format is %q, want %q", f.Format, pinsFormat)
		}
		return nil, fmt.Errorf("read the pins %s: %w; use the flameox that wrote it, or correct the file, or move it away, which unpins every run", pinsPath(dir), err)
	}
	return f.Pins, nil
}

// SetPins replaces the pins, durably. The caller holds the lock of the pins.
func SetPins(fsys vfs.FS, dir string, pins []Pin) error {
	b, err := json.MarshalIndent(pinsFile{Format: pinsFormat, Pins: slices.Clip(append([]Pin{}, pins...))}, "", "  ")
	if err == nil {
		err = vfs.MkdirAll(fsys, dir, 0o755)
	}
	if err == nil {
		err = vfs.WriteFile(fsys, pinsPath(dir), append(b, '\n'), 0o644, true)
	}
	return cas.Explain("write the pins", err)
}

// LockPins keeps other writers of the pins away until it is closed.
func LockPins(fsys vfs.FS, dir string) (interface{ Close() error }, error) {
	if err := vfs.MkdirAll(fsys, filepath.Join(dir, "lock"), 0o755); err != nil {
		return nil, cas.Explain("write the pins", err)
	}
	l, err := fsys.Lock(filepath.Join(dir, "lock", "pins"), vfs.Exclusive, time.Minute)
	if err != nil {
		return nil, fmt.Errorf("write the pins: %w", err)
	}
	return l, nil
}

// strict reads one JSON document and nothing after it.
func strict(b []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return err
	}
	if rest := strings.TrimSpace(string(b[dec.InputOffset():])); rest != "" {
		return errors.New("something follows the document")
	}
	return nil
}
