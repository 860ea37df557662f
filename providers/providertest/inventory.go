package providertest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/token"
	"github.com/flameox/flameox/providers"
)

// Inventory is a run that a Describer planned, with what it left and the document about it, in the way the engine makes it. The engine's own no-follow boundary is not part
// of it.
func Inventory(t testing.TB, d providers.Describer, options any, inv providers.Invocation, ran Ran, packages map[string]string) providers.Input {
	t.Helper()
	in := providers.Input{Exit: ran.Exit}
	err := filepath.WalkDir(ran.Out, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		name, err := filepath.Rel(ran.Out, path)
		if err != nil {
			return err
		}
		for _, o := range inv.Outputs {
			if ok, err := doublestar.Match(o.Path, filepath.ToSlash(name)); err != nil || !ok {
				if err != nil {
					return err
				}
				continue
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			in.Artifacts = append(in.Artifacts, providers.Artifact{Name: filepath.ToSlash(name), Role: o.Role, MediaType: o.MediaType, Digest: digest.Sum(data), Size: int64(len(data)), Path: path})
			return nil
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	left := providers.Left{Workload: "workload.test", Options: options, Invocation: inv, Succeeded: ran.Exit == 0, Exit: &ran.Exit, Outputs: in.Artifacts, Packages: packages}
	for _, a := range inv.Argv {
		left.Command = append(left.Command, token.Display(a))
	}
	doc, err := d.Describe(left)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), fmt.Sprintf("document-%d", len(in.Artifacts)))
	if err := os.WriteFile(path, doc.Content, 0o444); err != nil {
		t.Fatal(err)
	}
	in.Artifacts = append(in.Artifacts, providers.Artifact{Name: doc.Name, Role: doc.Role, MediaType: doc.MediaType, Digest: digest.Sum(doc.Content), Size: int64(len(doc.Content)), Path: path})
	return in
}
