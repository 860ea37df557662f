package bundle

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/graph/cas"
	"github.com/flameox/flameox/internal/digest"
)

// WriteOptions say how a bundle is written.
type WriteOptions struct {
	Sensitive bool   // also what is sensitive
	Host      string // what this machine is called
	Version   string // of flameox
	Now       time.Time
}

// Write writes the given runs, in the order of the journal, to w. Runs whose artifacts are not all there, and sensitive ones where they were not
// asked for, are left out and named in the manifest. An error means that what was written is no bundle.
func Write(ctx context.Context, store *cas.Store, recs *cache.Records, runs []*cache.Summary, o WriteOptions, w io.Writer) (*Manifest, error) {
	m := &Manifest{Format: format, Created: o.Now.UTC(), Host: o.Host, Flameox: o.Version, Blobs: []Blob{}, LeftOut: []LeftOut{}}
	var lines bytes.Buffer
	enc := json.NewEncoder(&lines)
	enc.SetEscapeHTML(false)
	blobs, in := map[digest.Digest]int64{}, map[string]bool{}
	for _, s := range runs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		why, err := collect(store, recs, s, o.Sensitive, enc, blobs)
		if err != nil {
			return nil, fmt.Errorf("export run %s: %w", s.Run, err)
		}
		if why != "" {
			m.LeftOut = append(m.LeftOut, LeftOut{Run: s.Run, Address: s.Address, Why: why})
			continue
		}
		in[s.Run] = true
		m.Runs++
	}
	for _, l := range recs.Links() {
		if in[l.Run] && in[l.Extraction] {
			if err := enc.Encode(line{Link: &l}); err != nil {
				return nil, err
			}
		}
	}
	if lines.Len() > maxRecords {
		return nil, fmt.Errorf("the records have %d bytes, more than the limit of %d; export fewer runs at once", lines.Len(), maxRecords)
	}
	m.Records = Blob{Digest: digest.Sum(lines.Bytes()), Size: int64(lines.Len())}
	for d, n := range blobs {
		m.Blobs = append(m.Blobs, Blob{Digest: d, Size: n})
	}
	slices.SortFunc(m.Blobs, func(a, b Blob) int { return bytes.Compare(a.Digest[:], b.Digest[:]) })
	return m, m.write(ctx, store, lines.Bytes(), w)
}

// collect writes the revisions of a run and notes its blobs, or says why the run is left out.
func collect(store *cas.Store, recs *cache.Records, s *cache.Summary, sensitive bool, enc *json.Encoder, blobs map[digest.Digest]int64) (why string, err error) {
	if isSensitive(s) && !sensitive {
		return "it is sensitive", nil
	}
	var full []*cache.Record
	for _, rev := range recs.Revisions(s.Run) {
		rec, err := rev.Record()
		if err != nil {
			return "its record cannot be read: " + err.Error(), nil
		}
		full = append(full, rec)
	}
	own := map[digest.Digest]int64{}
	for _, rec := range full {
		for _, o := range rec.Outputs {
			why, err := contents(store, o, own)
			if err != nil {
				return "", fmt.Errorf("artifact %s: %w", o.Name, err)
			}
			if why != "" {
				return fmt.Sprintf("its artifact %s %s", o.Name, why), nil
			}
		}
		// Which file of its input changed is for people to know. What is not there is no loss.
		for _, f := range rec.Manifest.Facets {
			for _, e := range f.Entries {
				if d, err := digest.Parse(e.Value); e.Tree && err == nil {
					explain(store, d, own)
				}
			}
		}
	}
	for _, rec := range full {
		if err := enc.Encode(line{Record: rec}); err != nil {
			return "", err
		}
	}
	for d, n := range own {
		blobs[d] = n
	}
	return "", nil
}

// contents notes the blobs of an artifact, or says what is wrong with it.
func contents(store *cas.Store, o cache.Output, into map[digest.Digest]int64) (string, error) {
	list := []digest.Digest{o.Digest}
	if o.Tree {
		p, err := store.LookTree(o.Digest)
		if err != nil {
			return "", err
		}
		if p != cas.Present {
			return "is " + p.String(), nil
		}
		files, err := store.ReadTree(o.Digest)
		if err != nil {
			return "", err
		}
		if list, err = store.TreeDirs(o.Digest); err != nil {
			return "", err
		}
		for i := range files {
			list = append(list, files[i].Digest)
		}
	}
	for _, d := range list {
		p, err := store.Look(d)
		if err != nil {
			return "", err
		}
		if p != cas.Present {
			return "is " + p.String(), nil
		}
		st, err := store.FS().Lstat(store.Path(d))
		if err != nil {
			return "", err
		}
		into[d] = st.Size
	}
	return "", nil
}

func explain(store *cas.Store, root digest.Digest, into map[digest.Digest]int64) {
	dirs, err := store.TreeDirs(root)
	if err != nil {
		return
	}
	for _, d := range dirs {
		if st, err := store.FS().Lstat(store.Path(d)); err == nil {
			into[d] = st.Size
		}
	}
}

func (m *Manifest) write(ctx context.Context, store *cas.Store, records []byte, w io.Writer) error {
	head, err := json.Marshal(m)
	if err != nil {
		return err
	}
	z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}
	t := tar.NewWriter(z)
	put := func(name string, size int64, r io.Reader) error {
		if err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o444, ModTime: time.Unix(0, 0)}); err != nil {
			return err
		}
		_, err := io.Copy(t, r)
		return err
	}
	err = put(manifestName, int64(len(head)), bytes.NewReader(head))
	if err == nil {
		err = put(recordsName, int64(len(records)), bytes.NewReader(records))
	}
	for _, b := range m.Blobs {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = m.blob(store, b, put)
		}
	}
	err = errors.Join(err, t.Close())
	return errors.Join(err, z.Close())
}

// blob copies one blob, and hashes it again on the way: what is exported must be what it says, also when the disk rots between.
func (m *Manifest) blob(store *cas.Store, b Blob, put func(string, int64, io.Reader) error) error {
	f, err := store.Open(b.Digest)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("blob %s disappeared while it was exported; repeat the export", b.Digest)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	h := newHashing(f)
	if err := put(blobPrefix+b.Digest.String(), b.Size, h); err != nil {
		return err
	}
	if h.sum() != b.Digest {
		return fmt.Errorf("blob %s changed while it was exported; `flameox fsck -full` looks at it", b.Digest)
	}
	return nil
}
