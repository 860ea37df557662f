package bundle

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/graph/cas"
	"github.com/flameox/flameox/graph/facet"
	"github.com/flameox/flameox/internal/address"
	"github.com/flameox/flameox/internal/digest"
)

// ReadOptions bound an import.
type ReadOptions struct {
	Now  time.Time
	Room int64 // bytes that the store may take; a bundle that announces more is refused
}

// Imported is what an import brought.
type Imported struct {
	Format  int           `json:"format"`         // 1
	Bundle  digest.Digest `json:"bundle"`         // SHA-256 of its manifest
	Host    string        `json:"host,omitempty"` // that wrote it, as it calls itself
	Created time.Time     `json:"created"`        // UTC
	Runs    []string      `json:"runs"`           // that are new here
	Known   int           `json:"known"`          // runs that were here already
	Blobs   int           `json:"blobs"`          // in the bundle
	Bytes   int64         `json:"bytes"`          // of them
	LeftOut []LeftOut     `json:"left_out"`       // what its writer was asked for and left out
}

// Read imports a bundle, as a whole or not at all. The caller holds the apply lock of the workspace.
func Read(ctx context.Context, store *cas.Store, recs *cache.Records, r io.Reader, o ReadOptions) (*Imported, error) {
	z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(128<<20), zstd.WithDecoderMaxMemory(256<<20))
	if err != nil {
		return nil, fmt.Errorf("it is not compressed with zstd: %w", err)
	}
	defer z.Close()
	return readTar(ctx, store, recs, z, o)
}

func readTar(ctx context.Context, store *cas.Store, recs *cache.Records, z io.Reader, o ReadOptions) (*Imported, error) {
	x := &reader{t: tar.NewReader(z), store: store, recs: recs, now: o.Now}
	if err := x.head(o.Room); err != nil {
		return nil, err
	}
	if err := recs.Refresh(); err != nil {
		return nil, err
	}
	if err := x.records(); err != nil {
		return nil, err
	}
	batch := store.NewBatch()
	defer batch.Discard()
	for _, b := range x.m.Blobs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := x.blob(batch, b); err != nil {
			return nil, err
		}
	}
	if _, err := x.t.Next(); !errors.Is(err, io.EOF) {
		return nil, x.broken("more is in it than its manifest says", err)
	}
	// To the end, for its checksum; what hides behind the archive is not unpacked.
	if n, err := io.CopyN(io.Discard, z, 1); n > 0 || !errors.Is(err, io.EOF) {
		return nil, x.broken("something follows the archive", err)
	}
	// Blobs without a record are nothing anybody sees.
	if err := batch.Sync(); err != nil {
		return nil, err
	}
	if err := x.trees(); err != nil {
		return nil, err
	}
	if len(x.news)+len(x.links) > 0 {
		if err := recs.Commit(nil, x.news, x.links); err != nil {
			return nil, err
		}
	}
	return x.out, nil
}

type reader struct {
	t     *tar.Reader
	store *cas.Store
	recs  *cache.Records
	now   time.Time
	m     *Manifest
	has   map[digest.Digest]bool
	news  []*cache.Record
	links []cache.Link
	out   *Imported
}

func (x *reader) broken(what string, err error) error {
	if err == nil || errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("it is damaged or was changed: %s; nothing was imported", what)
	}
	return fmt.Errorf("it is damaged or was cut short: %s: %w; nothing was imported", what, err)
}

// entry is the next entry, which must be the one that is expected.
func (x *reader) entry(name string, size int64) error {
	h, err := x.t.Next()
	if err != nil {
		return x.broken("the entry "+name+" is missing", err)
	}
	// A sparse file is a few bytes that read as any number of zeros.
	for k := range h.PAXRecords {
		if k != "size" {
			return x.broken(fmt.Sprintf("the entry %q has the extension %q", h.Name, k), nil)
		}
	}
	if h.Name != name || h.Typeflag != tar.TypeReg || size >= 0 && h.Size != size || h.Size > maxManifest && size < 0 {
		return x.broken(fmt.Sprintf("where the file %s should be is %q, of %d bytes and type %q", name, h.Name, h.Size, h.Typeflag), nil)
	}
	return nil
}

func (x *reader) head(room int64) error {
	if err := x.entry(manifestName, -1); err != nil {
		return err
	}
	b, err := io.ReadAll(io.LimitReader(x.t, maxManifest))
	if err != nil {
		return x.broken("its manifest", err)
	}
	if x.m, err = parseManifest(b); err != nil {
		return err
	}
	if need := x.m.Bytes() + x.m.Records.Size; need > room {
		return fmt.Errorf("it holds %d bytes when unpacked, and there is room for %d; free space where the store is, or export fewer runs", need, room)
	}
	x.has = make(map[digest.Digest]bool, len(x.m.Blobs))
	for _, b := range x.m.Blobs {
		x.has[b.Digest] = true
	}
	x.out = &Imported{
		Format: 1, Bundle: digest.Sum(b), Host: x.m.Host, Created: x.m.Created, Runs: []string{}, Blobs: len(x.m.Blobs), Bytes: x.m.Bytes(), LeftOut: x.m.LeftOut,
	}
	if x.out.LeftOut == nil {
		x.out.LeftOut = []LeftOut{}
	}
	return nil
}

func (x *reader) records() error {
	if err := x.entry(recordsName, x.m.Records.Size); err != nil {
		return err
	}
	b, err := io.ReadAll(x.t)
	if err != nil {
		return x.broken("its records", err)
	}
	if digest.Sum(b) != x.m.Records.Digest {
		return x.broken("its records do not have the digest that the manifest gives", nil)
	}
	runs := map[string]int{}   // newest revision in the bundle
	fresh := map[string]bool{} // runs that are not here
	var links []cache.Link
	for n, text := range bytes.SplitAfter(b, []byte("\n")) {
		if len(text) == 0 {
			continue
		}
		var l line
		if err := strict(text, &l); err != nil {
			return fmt.Errorf("line %d of its records cannot be read: %w; nothing was imported. If a newer flameox wrote it, use that", n+1, err)
		}
		switch {
		case l.Record != nil && l.Link == nil:
			if err := x.record(l.Record, runs, fresh); err != nil {
				return err
			}
		case l.Link != nil && l.Record == nil:
			links = append(links, *l.Link)
		default:
			return x.broken(fmt.Sprintf("line %d of its records is neither a record nor a link", n+1), nil)
		}
	}
	if len(runs) != x.m.Runs {
		return x.broken(fmt.Sprintf("it has %d runs, and its manifest says %d", len(runs), x.m.Runs), nil)
	}
	x.out.Known = len(runs) - len(fresh)
	known := map[[2]string]bool{}
	for _, l := range x.recs.Links() {
		known[[2]string{l.Run, l.Provider}] = true
	}
	for _, l := range links {
		if runs[l.Run] == 0 || runs[l.Extraction] == 0 {
			return x.broken("it has a link of run "+l.Run+" to run "+l.Extraction+", and not both runs", nil)
		}
		// What is the evidence of a run here stays so.
		if !known[[2]string{l.Run, l.Provider}] {
			x.links = append(x.links, l)
		}
	}
	return nil
}

// record takes over one revision of a run, or passes over it where it is here.
func (x *reader) record(rec *cache.Record, runs map[string]int, fresh map[string]bool) error {
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("the record of run %s in it %s; nothing was imported", rec.Run, fmt.Sprintf(format, args...))
	}
	if rec.Revision != runs[rec.Run]+1 {
		return refuse("has revision %d where %d should be", rec.Revision, runs[rec.Run]+1)
	}
	runs[rec.Run] = rec.Revision
	if err := rec.Manifest.Valid(); err != nil {
		return refuse("cannot be checked: %v", err)
	}
	if k := rec.Manifest.Key(); k != rec.Key {
		return refuse("claims the key %s, and what it was made of gives %s", rec.Key.Short(), k.Short())
	}
	if rec.Action != facet.Attempt(rec.Key, rec.Generation, rec.Attempt) {
		return refuse("claims the action %s, which is not that of attempt %d", rec.Action.Short(), rec.Attempt)
	}
	if _, err := address.Parse(rec.Address); err != nil {
		return refuse("has the address %q: %v", rec.Address, err)
	}
	for _, o := range rec.Outputs {
		if !x.has[o.Digest] {
			return refuse("has the artifact %s, which is not in the bundle", o.Name)
		}
	}
	here := x.recs.Revisions(rec.Run)
	if len(here) >= rec.Revision {
		old, err := here[rec.Revision-1].Record()
		if err != nil {
			return fmt.Errorf("compare run %s with the one that is here: %w", rec.Run, err)
		}
		if same, err := equal(old, rec); err != nil || !same {
			return refuse("is not the one that is here, and a record is never overwritten")
		}
		return nil
	}
	if len(here) == 0 && !fresh[rec.Run] {
		fresh[rec.Run] = true
		x.out.Runs = append(x.out.Runs, rec.Run)
	}
	if rec.Origin == nil {
		rec.Origin = &cache.Origin{Host: x.m.Host, Bundle: x.out.Bundle, Imported: x.now.UTC()}
	}
	x.news = append(x.news, rec)
	return nil
}

// equal compares two records; through which bundle they came does not count.
func equal(a, b *cache.Record) (bool, error) {
	x, y := *a, *b
	x.Origin, y.Origin = nil, nil
	p, err := json.Marshal(&x)
	if err != nil {
		return false, err
	}
	q, err := json.Marshal(&y)
	return bytes.Equal(p, q), err
}

func (x *reader) blob(batch *cas.Batch, b Blob) error {
	if err := x.entry(blobPrefix+b.Digest.String(), b.Size); err != nil {
		return err
	}
	d, n, err := batch.Put(x.t)
	if err != nil {
		return fmt.Errorf("unpack blob %s: %w; nothing was imported", b.Digest.Short(), err)
	}
	if d != b.Digest || n != b.Size {
		return x.broken(fmt.Sprintf("the blob %s has the digest %s", b.Digest, d), nil)
	}
	return nil
}

// trees makes sure that every directory among the outputs can be laid out.
func (x *reader) trees() error {
	for _, rec := range x.news {
		for _, o := range rec.Outputs {
			if !o.Tree {
				continue
			}
			if p, err := x.store.LookTree(o.Digest); err != nil || p != cas.Present {
				return x.broken(fmt.Sprintf("the directory %s of run %s is not whole", o.Name, rec.Run), err)
			}
		}
	}
	return nil
}

// hashing hashes what is read through it.
type hashing struct {
	r io.Reader
	h hash.Hash
}

func newHashing(r io.Reader) *hashing { return &hashing{r: r, h: sha256.New()} }

func (h *hashing) Read(b []byte) (int, error) {
	n, err := h.r.Read(b)
	h.h.Write(b[:n])
	return n, err
}

func (h *hashing) sum() digest.Digest { return digest.Of(h.h) }
