package importing

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/urfave/cli/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/flameox/flameox/cmd/flameox/internal/cmdline"
	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/internal/flags"
	"github.com/flameox/flameox/internal/view"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/stages/workspace"
)

// Document is what import prints with -json.
type Document struct {
	Format    int    `json:"format_version"`
	File      string `json:"file"`              // as it was named
	Path      string `json:"path"`              // of the file, relative to the configuration
	As        string `json:"format"`            // label of the import
	MediaType string `json:"media_type"`        // of the format
	Provider  string `json:"provider"`          // that reads it
	Detected  bool   `json:"detected"`          // by content; otherwise it was declared
	Import    string `json:"import"`            // address
	Extract   string `json:"extract"`           // address
	Block     string `json:"block"`             // text of both blocks
	Written   string `json:"written,omitempty"` // file that the blocks were added to
}

// Command is the command import.
func Command() *cli.Command {
	return &cli.Command{
		Name: "import", Usage: "write the block that brings an existing file in", ArgsUsage: "FILE",
		Description: "What the file is follows from how it begins, never from its name; where that is nothing or several things, give -format. OTLP is always declared, with -format or with the media type it was sent with. " +
			"The block is printed, and with -write added to flameox.hcl. `flameox apply` then keeps the file unchanged, validates it whole, and extracts its rows. What the capture of an imported file covered is not known.\n\n" +
			"Examples:\n" +
			"  flameox import old.txt\n" +
			"  flameox import old.txt -name before -write",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "format", Usage: "the file is of `FILEFORMAT`, whatever it looks like"},
			&cli.StringFlag{Name: "media-type", Usage: "the file was sent as `TYPE`, such as application/x-protobuf"},
			&cli.StringFlag{Name: "name", Usage: "call the blocks `NAME`; after the file where it is not given"},
			&cli.BoolFlag{Name: "write", Usage: "add the blocks to flameox.hcl"},
			cmdline.JSONFlag,
		},
		Action: run,
	}
}

func run(c *cli.Context) error {
	if c.NArg() != 1 {
		return flags.Usage(c, "import takes one file")
	}
	file := c.Args().First()
	head, err := begin(file)
	if err != nil {
		return err
	}
	w, err := cmdline.Open(c)
	if err != nil {
		return err
	}
	rel, err := below(w, file)
	if err != nil {
		return err
	}
	entry, detected, err := choose(c, file, head)
	if err != nil {
		return err
	}
	name, err := named(c, w, entry, file)
	if err != nil {
		return err
	}
	doc := Document{
		Format: 1, File: file, Path: rel, As: entry.Name, MediaType: entry.MediaType, Provider: entry.Importer.Name(), Detected: detected,
		Import: "import." + entry.Name + "." + name, Extract: "extract." + entry.Importer.Name() + "." + name,
	}
	doc.Block = block(entry, name, rel)
	if c.Bool("write") {
		if doc.Written, err = write(w, doc.Block); err != nil {
			return err
		}
	}
	if c.Bool("json") {
		return cmdline.JSON(c, doc)
	}
	what := "by its content"
	if !detected {
		what = "as declared"
		if by := cmdline.Providers().Detect(head); entry.Detect != nil && len(by) > 0 && !slices.ContainsFunc(by, func(e providers.Entry) bool { return e.Name == entry.Name }) {
			fmt.Fprintf(c.App.ErrWriter, "Warning: by its content %s is %s; it is declared as %s, and applying says whether it can be read so.\n", view.Lines(file), list(by, "or"), entry.Name)
		}
	}
	fmt.Fprintf(c.App.ErrWriter, "%s is %s, %s.\n", view.Lines(file), entry.Name, what)
	if doc.Written != "" {
		fmt.Fprintf(c.App.Writer, "Added %s and %s to %s.\nNext: flameox apply -target %s\n", doc.Import, doc.Extract, view.Lines(doc.Written), view.ShellQuote(doc.Extract))
		return nil
	}
	fmt.Fprint(c.App.Writer, doc.Block)
	fmt.Fprintf(c.App.ErrWriter, "\nNothing is written. -write adds it to %s.\n", configFile)
	return nil
}

// headBytes is how much of a file detection sees.
const headBytes = 64 << 10

// begin reads how a file begins.
func begin(file string) ([]byte, error) {
	f, err := evidence.OpenPayload(file)
	if err != nil {
		var failed *os.PathError
		if errors.As(err, &failed) {
			return nil, fmt.Errorf("look at %s: %w", file, failed.Err)
		}
		return nil, fmt.Errorf("look at %s: %w; name the file itself", file, err)
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, headBytes))
	if err != nil {
		return nil, fmt.Errorf("look at %s: %w", file, err)
	}
	if len(head) == 0 {
		return nil, fmt.Errorf("%s has no bytes: what was to write it ended before it did", file)
	}
	return head, nil
}

// below is the file relative to the configuration. One outside the project cannot be an import: nobody else would have it.
func below(w *workspace.Workspace, file string) (string, error) {
	abs, err := filepath.Abs(file)
	if err == nil {
		var dir string
		if dir, err = filepath.EvalSymlinks(filepath.Dir(abs)); err == nil {
			abs = filepath.Join(dir, filepath.Base(abs))
		}
	}
	if err != nil {
		return "", fmt.Errorf("find %s: %w", file, err)
	}
	in, err := filepath.Rel(w.Project.Root, abs)
	if err != nil || !filepath.IsLocal(in) {
		return "", fmt.Errorf("%s lies outside the project %s, and an import has to be found by everybody who has the project: copy it there", file, w.Project.Root)
	}
	rel, err := filepath.Rel(filepath.Join(w.Project.Root, filepath.FromSlash(w.Project.Dir)), abs)
	if err != nil {
		return "", fmt.Errorf("find %s: %w", file, err)
	}
	return filepath.ToSlash(rel), nil
}

// choose is the format that was declared, or the only one that claims the content.
func choose(c *cli.Context, file string, head []byte) (providers.Entry, bool, error) {
	known := cmdline.Providers()
	declared := c.String("format")
	if t := c.String("media-type"); c.IsSet("media-type") {
		of, err := formatOf(known, t)
		if err != nil {
			return providers.Entry{}, false, err
		}
		if declared != "" && declared != of {
			return providers.Entry{}, false, flags.Usage(c, "-format is %s, and a file of -media-type %s is %s; give one of them", declared, t, of)
		}
		declared = of
	}
	if declared != "" || c.IsSet("format") {
		e, err := known.Importer(declared)
		return e, false, err
	}
	found := known.Detect(head)
	switch len(found) {
	case 1:
		return found[0], true, nil
	case 0:
		var tried, never []string
		for _, e := range known.Formats() {
			if e.Detect != nil {
				tried = append(tried, e.Name)
			} else {
				never = append(never, e.Name)
			}
		}
		hint := ""
		if bytes.Contains(head, []byte(`"resourceSpans"`)) {
			hint = "; it speaks of resourceSpans, as OTLP in JSON does"
		}
		return providers.Entry{}, false, fmt.Errorf("%s begins like no format that is known by its content (tried: %s); never detected, and to be declared with -format, are %s%s", file, strings.Join(tried, ", "), strings.Join(never, ", "), hint)
	}
	return providers.Entry{}, false, fmt.Errorf("%s could be %s by its content; say which with -format", file, list(found, "or"))
}

func list(entries []providers.Entry, last string) string {
	var names []string
	for _, e := range entries {
		names = append(names, e.Name)
	}
	if len(names) == 1 {
		return names[0]
	}
	return strings.Join(names[:len(names)-1], ", ") + " " + last + " " + names[len(names)-1]
}

// named is what the blocks are called: as asked for, or after the file, and then so that no other block is.
func named(c *cli.Context, w *workspace.Workspace, e providers.Entry, file string) (string, error) {
	taken := map[string]bool{}
	for _, f := range w.Config.Files {
		collect(f, taken)
	}
	used := func(name string) bool {
		return taken["import."+e.Name+"."+name] || taken["extract."+e.Importer.Name()+"."+name]
	}
	if name := c.String("name"); c.IsSet("name") {
		switch {
		case !hclsyntax.ValidIdentifier(name):
			return "", flags.Usage(c, "-name is %q; give letters, digits, - and _, and begin with a letter", name)
		case used(name):
			return "", fmt.Errorf("there is an import or an extraction of %s called %s already; give another -name", e.Name, name)
		}
		return name, nil
	}
	name := identifier(path.Base(filepath.ToSlash(file)))
	for n, first := 2, name; used(name); n++ {
		name = fmt.Sprintf("%s_%d", first, n)
	}
	return name, nil
}

// identifier makes a name of a file's: without its last ending, and with _ for what no name can have.
func identifier(file string) string {
	if ext := path.Ext(file); ext != file {
		file = strings.TrimSuffix(file, ext)
	}
	name := strings.Map(func(r rune) rune {
		if r < 0x80 && (r == '-' || r == '_' || r >= '0' && r <= '9' || r|0x20 >= 'a' && r|0x20 <= 'z') {
			return r
		}
		return '_'
	}, file)
	if name = strings.Trim(name, "_-"); !hclsyntax.ValidIdentifier(name) {
		name = strings.TrimSuffix("file_"+name, "_")
	}
	return name
}

// collect adds the addresses of a file's imports and extractions.
func collect(f *hcl.File, taken map[string]bool) {
	body, ok := f.Body.(*hclsyntax.Body)
	if !ok {
		return
	}
	for _, b := range body.Blocks {
		if (b.Type == "import" || b.Type == "extract") && len(b.Labels) == 2 {
			taken[b.Type+"."+b.Labels[0]+"."+b.Labels[1]] = true
		}
	}
}

// block is the text of the import and of the extraction that reads it.
func block(e providers.Entry, name, rel string) string {
	f := hclwrite.NewEmptyFile()
	im := f.Body().AppendNewBlock("import", []string{e.Name, name})
	im.Body().SetAttributeValue("path", cty.StringVal(rel))
	if _, ok := e.Importer.(providers.Extractor); ok {
		f.Body().AppendNewline()
		ex := f.Body().AppendNewBlock("extract", []string{e.Importer.Name(), name})
		ex.Body().SetAttributeTraversal("from", hcl.Traversal{hcl.TraverseRoot{Name: "import"}, hcl.TraverseAttr{Name: e.Name}, hcl.TraverseAttr{Name: name}})
	}
	return string(f.Bytes())
}
