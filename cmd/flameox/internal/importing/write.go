package importing

import (
	"errors"
	"fmt"
	"io/fs"
	"mime"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/providers/otlp"
	"github.com/flameox/flameox/stages/workspace"
)

// configFile is the file that blocks are added to.
const configFile = "flameox.hcl"

// formatOf is the format of a media type. Parameters and case say nothing.
func formatOf(known *providers.Registry, mediaType string) (string, error) {
	t, _, err := mime.ParseMediaType(mediaType)
	var all, of []string
	for _, e := range known.Formats() {
		own, _, _ := mime.ParseMediaType(e.MediaType)
		if err == nil && own == t {
			of = append(of, e.Name)
		}
		if !slices.Contains(all, own) {
			all = append(all, own)
		}
	}
	// OTLP's has another name, too.
	if name, err := otlp.FormatOf(mediaType); err == nil && len(of) == 0 {
		of = []string{name}
	}
	switch len(of) {
	case 0:
		return "", fmt.Errorf("no format has the media type %q (known: %s, application/protobuf)", mediaType, strings.Join(all, ", "))
	case 1:
		return of[0], nil
	}
	return "", fmt.Errorf("a file of the media type %q may be %s; say which with -format", mediaType, strings.Join(of, " or "))
}

// write adds the blocks behind everything else in the configuration's own file. A file that cannot be parsed stays as it is: what is added could be
// read as a part of something else.
func write(w *workspace.Workspace, text string) (string, error) {
	name := filepath.Join(w.Project.Root, filepath.FromSlash(w.Project.Dir), configFile)
	old, err := os.ReadFile(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return "", fmt.Errorf("add to %s: %w", configFile, err)
	default:
		if _, diags := hclsyntax.ParseConfig(old, configFile, hcl.InitialPos); diags.HasErrors() {
			return "", fmt.Errorf("add to %s: it has errors (%s), and stays as it is; `flameox validate` shows them", configFile, diags[0].Summary)
		}
	}
	end := "\n"
	if strings.Contains(string(old), "\r\n") {
		end = "\r\n"
	}
	add := text
	if len(old) > 0 {
		add = "\n" + add
		if old[len(old)-1] != '\n' {
			add = "\n" + add
		}
	}
	add = strings.ReplaceAll(add, "\n", end)
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return "", fmt.Errorf("add to %s: %w", configFile, err)
	}
	_, err = f.WriteString(add)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		// Half a block would make the whole configuration unreadable.
		return "", errors.Join(fmt.Errorf("add to %s: %w", configFile, err), os.Truncate(name, int64(len(old))))
	}
	return configFile, nil
}
