package cmdline

import (
	"encoding/json"
	"os"

	"github.com/hashicorp/hcl/v2"
	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/internal/view"
	"github.com/flameox/flameox/lang/render"
)

// View is what standard output can show, and what the global flags ask for.
func View(c *cli.Context) view.Options {
	o := view.Detect(os.Stdout, os.Getenv)
	if c.Bool("no-color") {
		o.Color = false
	}
	if c.Bool("ascii") {
		o.ASCII = true
	}
	return o
}

// Diagnostics prints diagnostics of the configuration to standard error.
func Diagnostics(c *cli.Context, diags hcl.Diagnostics, files map[string]*hcl.File) {
	o := view.Detect(os.Stderr, os.Getenv)
	render.Text(c.App.ErrWriter, diags, files, render.Options{
		Color: o.Color && !c.Bool("no-color"), Width: o.Width, ASCII: o.ASCII || c.Bool("ascii"),
	})
}

// JSON prints a document.
func JSON(c *cli.Context, v any) error {
	enc := json.NewEncoder(c.App.Writer)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// IsFile says whether a path names a regular file.
func IsFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
