package gc

import (
	"errors"
	"fmt"
	"strings"

	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/graph/cas"
	"github.com/flameox/flameox/internal/digest"
)

// Reason is why a run keeps its artifacts.
type Reason string

// The reasons, the first that is true counts.
const (
	Pinned      Reason = "pinned"
	Current     Reason = "current"     // it stands for a stage of a configuration
	Young       Reason = "young"       // younger than store.keep
	Measurement Reason = "measurement" // it cannot be made again, and measurements were not asked for
)

// Remakes says whether running the stage again gives the same artifacts: of what is computed, not of what was measured, and not of an
// import, whose file may be gone.
func Remakes(s *cache.Summary) bool {
	return s.Nature == "pure" && !strings.HasPrefix(s.Kind, "import.")
}

// keep says of every run why it keeps its artifacts, "" where it does not.
func keep(recs *cache.Records, o *Options, pins []Pin) map[string]Reason {
	out := map[string]Reason{}
	pinned := map[string]bool{}
	for _, p := range pins {
		pinned[p.Run] = true
	}
	// A pin keeps the evidence whole: the capture with what was extracted from it, whichever of them was named.
	for _, l := range recs.Links() {
		if pinned[l.Run] || pinned[l.Extraction] {
			out[l.Run], out[l.Extraction] = Pinned, Pinned
		}
	}
	for _, s := range recs.All() {
		switch {
		case pinned[s.Run]:
			out[s.Run] = Pinned
		case out[s.Run] != "":
		case o.Current[s.Run]:
			out[s.Run] = Current
		case s.Started.After(o.Now.Add(-o.Keep)):
			out[s.Run] = Young
		case !o.Measurements && !Remakes(s):
			out[s.Run] = Measurement
		}
	}
	return out
}

// marker collects the blobs that a run consists of.
type marker struct {
	store *cas.Store
	trees map[digest.Digest][]digest.Digest
}

// blobs are the blobs that a run refers to: outputs, and the trees that its key was made of.
func (m *marker) blobs(s *cache.Summary) ([]digest.Digest, error) {
	var out []digest.Digest
	tree := func(root digest.Digest) error {
		list, err := m.tree(root)
		out = append(out, list...)
		return err
	}
	for _, o := range s.Outputs {
		out = append(out, o.Digest)
		if o.Tree {
			if err := tree(o.Digest); err != nil {
				return nil, fmt.Errorf("run %s, %s: %w", s.Run, o.Name, err)
			}
		}
	}
	rec, err := s.Record()
	if err != nil {
		return out, nil // fsck says so; its outputs are known
	}
	for _, f := range rec.Manifest.Facets {
		for _, e := range f.Entries {
			if d, err := digest.Parse(e.Value); e.Tree && err == nil {
				if err := tree(d); err != nil {
					return nil, fmt.Errorf("run %s, %s: %w", s.Run, e.Name, err)
				}
			}
		}
	}
	return out, nil
}

// tree lists the blobs of a tree. One of which a directory is missing or damaged is lost as a whole, so nothing of it is worth keeping for it; one that
// cannot be read at the moment is an error.
func (m *marker) tree(root digest.Digest) ([]digest.Digest, error) {
	if list, ok := m.trees[root]; ok {
		return list, nil
	}
	dirs, err := m.store.TreeDirs(root)
	var files []cas.File
	if err == nil {
		files, err = m.store.ReadTree(root)
	}
	list := []digest.Digest{root}
	var blob *cas.BlobError
	switch {
	case errors.As(err, &blob) && blob.Err != nil:
		return nil, fmt.Errorf("what the tree %s holds is not known, so nothing can be collected: %w", root.Short(), err)
	case err == nil:
		list = dirs
		for i := range files {
			list = append(list, files[i].Digest)
		}
	case blob != nil:
		list = append(list, blob.Digest) // what is needed to know more
	}
	m.trees[root] = list
	return list, nil
}
