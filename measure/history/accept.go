package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/flameox/flameox/internal/vfs"
)

// Acceptance says that the level of a series from a revision on is what is wanted: histories are judged anew from there.
type Acceptance struct {
	Series   string    `json:"series"`
	Revision string    `json:"revision"`
	Note     string    `json:"note,omitempty"`
	At       time.Time `json:"at"`
}

// annotations is the file. It is meant to be committed: it is what a team decided.
type annotations struct {
	SchemaVersion string       `json:"schema_version"`
	Accepted      []Acceptance `json:"accepted"`
}

const annotationsVersion = "flameox/annotations/v1"

// AnnotationsFile is where a project's acceptances are.
func AnnotationsFile(root string) string { return filepath.Join(root, ".benchx", "annotations.json") }

// ReadAccepted reads a project's acceptances; none where the file is missing.
func ReadAccepted(root string) ([]Acceptance, error) {
	path := AnnotationsFile(root)
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("read what was accepted: %w", err)
	}
	var a annotations
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&a); err != nil {
		return nil, fmt.Errorf("read what was accepted: %s is not what `flameox history -accept` writes: %w", path, err)
	}
	if a.SchemaVersion != annotationsVersion {
		return nil, fmt.Errorf("read what was accepted: %s has schema_version %q, and this version reads %q", path, a.SchemaVersion, annotationsVersion)
	}
	return a.Accepted, nil
}

// Accept adds an acceptance, or puts it in the place of that of the same series and revision.
func Accept(root string, a Acceptance) error {
	list, err := ReadAccepted(root)
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(x Acceptance) bool { return x.Series == a.Series && x.Revision == a.Revision })
	b, err := json.MarshalIndent(annotations{annotationsVersion, append(list, a)}, "", "  ")
	if err != nil {
		return err
	}
	path := AnnotationsFile(root)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("keep what was accepted: %w", err)
	}
	if err := vfs.WriteFile(vfs.OS{}, path, append(b, '\n'), 0o644, true); err != nil {
		return fmt.Errorf("keep what was accepted: %w", err)
	}
	return nil
}

// Revision is the one revision of the history that begins with prefix.
func (d *Document) Revision(prefix string) (string, error) {
	var found []string
	for _, p := range d.Points {
		if p.Judged && strings.HasPrefix(p.Revision, prefix) && !slices.Contains(found, p.Revision) {
			found = append(found, p.Revision)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return "", fmt.Errorf("%d revisions of the history begin with %q: %s; write more of the one that you mean", len(found), prefix, strings.Join(found, ", "))
	}
	return "", fmt.Errorf("no point of the history that is judged has a revision that begins with %q", prefix)
}
