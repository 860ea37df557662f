// Package pins reads and writes flameox.lock.hcl, which says which locks an experiment was made with: for every lock file of an
// environment what it locks, and what it was made from. A lock that was edited, or whose input was, is noticed by it.
//
// Nothing but the command lock writes the file. Blocks that it does not know are kept as they are.
package pins

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/vfs"
)

// Name is the file's, beside the configuration.
const Name = "flameox.lock.hcl"

// maxSize is the size in bytes above which the file is not read.
const maxSize = 4 << 20

// Pin is what is known of one lock file.
type Pin struct {
	Kind   string        // of the environment: "python"
	Digest digest.Digest // of what is locked, not of how the file is laid out
	Inputs digest.Digest // of what it was made from; zero where a person made it
	Tool   string        // that made it: "pip 23.2.1"; "" where a person did
}

// File is the pins of one configuration.
type File struct {
	path string
	file *hclwrite.File
	pins map[string]Pin
}

// Read reads the pins beside the configuration in dir. A missing file has none.
func Read(dir string) (*File, error) {
	f := &File{path: filepath.Join(dir, Name), file: hclwrite.NewEmptyFile(), pins: map[string]Pin{}}
	info, err := os.Stat(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err == nil && info.Size() > maxSize {
		return nil, fmt.Errorf("read %s: it has %d bytes, which no file of pins has; restore it, or remove it and run `flameox lock`", Name, info.Size())
	}
	src, rerr := os.ReadFile(f.path)
	if err = errors.Join(err, rerr); err != nil {
		return nil, fmt.Errorf("read %s: %w", Name, err)
	}
	return f, f.parse(src)
}

func (f *File) parse(src []byte) error {
	file, diags := hclwrite.ParseConfig(src, Name, hcl.InitialPos)
	if diags.HasErrors() {
		return fmt.Errorf("read %s: %w; restore it, or remove it and run `flameox lock`", Name, diags)
	}
	f.file = file
	for _, b := range file.Body().Blocks() {
		if b.Type() != "lock" || len(b.Labels()) != 2 {
			continue
		}
		p := Pin{Kind: b.Labels()[0], Tool: text(b, "tool")}
		for _, d := range []struct {
			name string
			to   *digest.Digest
		}{{"sha256", &p.Digest}, {"inputs", &p.Inputs}} {
			s := text(b, d.name)
			if s == "" && d.name == "inputs" {
				continue
			}
			var err error
			if *d.to, err = digest.Parse(s); err != nil {
				return fmt.Errorf("read %s: %s of lock %q: %w; restore it, or remove the block and run `flameox lock`", Name, d.name, b.Labels()[1], err)
			}
		}
		f.pins[b.Labels()[1]] = p
	}
	return nil
}

// text is an argument that is a plain string, or "".
func text(b *hclwrite.Block, name string) string {
	a := b.Body().GetAttribute(name)
	if a == nil {
		return ""
	}
	tokens := a.Expr().BuildTokens(nil)
	if len(tokens) != 3 { // quote, text, quote
		return ""
	}
	return string(tokens[1].Bytes)
}

// Of is the pin of a lock file, named relative to the configuration.
func (f *File) Of(lock string) (Pin, bool) {
	p, ok := f.pins[lock]
	return p, ok
}

// Set pins a lock file.
func (f *File) Set(lock string, p Pin) {
	body := f.file.Body()
	var b *hclwrite.Block
	for _, have := range body.Blocks() {
		if l := have.Labels(); have.Type() == "lock" && len(l) == 2 && l[1] == lock {
			b = have
			b.SetLabels([]string{p.Kind, lock})
		}
	}
	if b == nil {
		if len(body.Blocks()) == 0 && len(body.Attributes()) == 0 && len(body.BuildTokens(nil)) == 0 {
			body.AppendUnstructuredTokens(hclwrite.Tokens{{Bytes: []byte("# Written by `flameox lock`. Keep it under version control.\n")}})
		}
		body.AppendNewline()
		b = body.AppendNewBlock("lock", []string{p.Kind, lock})
	}
	set := func(name, value string) {
		if value == "" {
			b.Body().RemoveAttribute(name)
			return
		}
		b.Body().SetAttributeValue(name, cty.StringVal(value))
	}
	set("sha256", p.Digest.String())
	inputs := ""
	if !p.Inputs.IsZero() {
		inputs = p.Inputs.String()
	}
	set("inputs", inputs)
	set("tool", p.Tool)
	f.pins[lock] = p
}

// Write puts the file in place, whole or not at all.
func (f *File) Write(fsys vfs.FS) error {
	if err := vfs.WriteFile(fsys, f.path, hclwrite.Format(f.file.Bytes()), 0o644, true); err != nil {
		return fmt.Errorf("write %s: %w", Name, err)
	}
	return nil
}
