package bundle_test

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/flameox/flameox/graph/bundle"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/graph/cas"
	"github.com/flameox/flameox/graph/facet"
	"github.com/flameox/flameox/graph/fsck"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/vfs"
	"github.com/flameox/flameox/internal/vfs/faultfs"
)

type store struct {
	t    testing.TB
	dir  string
	cas  *cas.Store
	recs *cache.Records
}

func open(t testing.TB, dir string, fsys vfs.FS) *store {
	t.Helper()
	blobs, err := cas.Open(dir, fsys)
	if err != nil {
		t.Fatal(err)
	}
	recs, err := cache.Open(dir, fsys, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return &store{t, dir, blobs, recs}
}

func newStore(t testing.TB) *store { return open(t, filepath.Join(t.TempDir(), "store"), vfs.OS{}) }

// run commits a run whose key is made of what, with content as output and in a tree.
func (s *store) run(what, content string, level cache.Sensitivity, inputs ...digest.Digest) *cache.Record {
	s.t.Helper()
	b := s.cas.NewBatch()
	defer b.Discard()
	f := facet.Facet{Name: facet.Inputs}
	f.Add("what", what)
	for i, d := range inputs {
		f.Add(fmt.Sprintf("upstream#%d", i), d.String())
	}
	m := facet.New(f)
	d, err := b.PutBytes([]byte(content))
	if err != nil {
		s.t.Fatal(err)
	}
	root, err := b.PutTree([]cas.File{{Path: "a/" + what, Digest: d, Size: int64(len(content))}})
	if err != nil {
		s.t.Fatal(err)
	}
	rec := &cache.Record{
		Run: s.recs.NewRunID(), Revision: 1, Address: "capture.x." + what, Kind: "capture.x", Nature: "pure", Key: m.Key(), Attempt: 1, Action: facet.Attempt(m.Key(), 0, 1), Manifest: m,
		Execution: cache.ExecutionSucceeded, Capture: cache.CaptureRegistered, Validation: cache.ValidationPassed, Started: time.Unix(1, 0).UTC(),
		Outputs: []cache.Output{
			{Name: "out", Digest: d, Size: int64(len(content)), Sensitivity: level},
			{Name: "tree", Digest: root, Size: int64(len(content)), Tree: true, Sensitivity: level},
		},
	}
	if err := s.recs.Commit(b, []*cache.Record{rec}, nil); err != nil {
		s.t.Fatal(err)
	}
	return rec
}

func (s *store) export(o bundle.WriteOptions) []byte {
	s.t.Helper()
	var b bytes.Buffer
	if _, err := bundle.Write(s.t.Context(), s.cas, s.recs, s.recs.All(), o, &b); err != nil {
		s.t.Fatal(err)
	}
	return b.Bytes()
}

func (s *store) read(b []byte) (*bundle.Imported, error) {
	return bundle.Read(s.t.Context(), s.cas, s.recs, bytes.NewReader(b), bundle.ReadOptions{Now: time.Unix(9, 0), Room: 1 << 30})
}

// untouched holds that nothing of an import can be seen.
func (s *store) untouched(why string) {
	s.t.Helper()
	again := open(s.t, s.dir, vfs.OS{})
	if n := len(again.recs.All()); n != 0 {
		s.t.Errorf("%s: %d runs came in", why, n)
	}
}

func TestWhatIsImportedIsWhatWasExported(t *testing.T) {
	a, b := newStore(t), newStore(t)
	up := a.run("up", "up content", "")
	down := a.run("down", "down content", "", up.Outputs[0].Digest)
	a.run("other", "other content", "")
	rows := a.run("rows", "rows content", "")
	if err := a.recs.Commit(nil, nil, []cache.Link{{Run: down.Run, Provider: "x", Extraction: rows.Run}}); err != nil {
		t.Fatal(err)
	}
	sum, err := a.recs.Run(down.Run)
	if err != nil {
		t.Fatal(err)
	}
	with := bundle.With(a.recs, []*cache.Summary{sum})
	var names []string
	for _, r := range with {
		names = append(names, r.Address)
	}
	if want := []string{"capture.x.up", "capture.x.down", "capture.x.rows"}; !slices.Equal(names, want) {
		t.Fatalf("with down come %v, want %v", names, want)
	}
	var file bytes.Buffer
	if _, err := bundle.Write(t.Context(), a.cas, a.recs, with, bundle.WriteOptions{Host: "here", Now: time.Unix(5, 0)}, &file); err != nil {
		t.Fatal(err)
	}
	in, err := b.read(file.Bytes())
	if err != nil || len(in.Runs) != 3 || in.Host != "here" {
		t.Fatal(in, err)
	}
	got, err := b.recs.Lookup(down.Key)[0].Record()
	if err != nil {
		t.Fatal(err)
	}
	if got.Origin == nil || got.Origin.Host != "here" || got.Origin.Bundle != in.Bundle || !got.Origin.Imported.Equal(time.Unix(9, 0)) {
		t.Errorf("the origin is %+v", got.Origin)
	}
	if links := b.recs.Links(); len(links) != 1 || links[0].Extraction != rows.Run {
		t.Errorf("the links are %+v", links)
	}
	got.Origin = nil
	p, _ := json.Marshal(got)
	q, _ := json.Marshal(down)
	if !bytes.Equal(p, q) {
		t.Errorf("the record changed on the way:\n%s\n%s", q, p)
	}
	if in, err = b.read(file.Bytes()); err != nil || len(in.Runs) != 0 || in.Known != 3 {
		t.Errorf("again: %+v, %v", in, err)
	}
	rep, err := fsck.Fsck(b.cas, b.recs, true)
	if err != nil || !rep.OK() || rep.Runs != 3 {
		t.Errorf("fsck: %+v, %v", rep, err)
	}
}

func TestTheSameRunsAreTheSameBytes(t *testing.T) {
	a := newStore(t)
	a.run("x", "x", "")
	a.run("y", "y", "")
	o := bundle.WriteOptions{Now: time.Unix(5, 0)}
	if !bytes.Equal(a.export(o), a.export(o)) {
		t.Error("two exports of one store differ")
	}
}

func TestWhatIsSensitiveOrLostIsLeftOutAndNamed(t *testing.T) {
	a := newStore(t)
	a.run("open", "open", "")
	secret := a.run("secret", "tell nobody", cache.Sensitive)
	lost := a.run("lost", "lost content", "")
	if _, err := a.cas.Quarantine(lost.Outputs[0].Digest, "the test loses it"); err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	m, err := bundle.Write(t.Context(), a.cas, a.recs, a.recs.All(), bundle.WriteOptions{}, &file)
	if err != nil {
		t.Fatal(err)
	}
	if len(m.LeftOut) != 2 || m.LeftOut[0].Run != secret.Run || m.LeftOut[0].Why != "it is sensitive" || m.LeftOut[1].Run != lost.Run || !strings.Contains(m.LeftOut[1].Why, "absent") {
		t.Errorf("left out: %+v", m.LeftOut)
	}
	if raw := unpack(t, file.Bytes()); bytes.Contains(raw, []byte("tell nobody")) {
		t.Error("the sensitive content is in the bundle")
	}
	m, err = bundle.Write(t.Context(), a.cas, a.recs, a.recs.All(), bundle.WriteOptions{Sensitive: true}, io.Discard)
	if err != nil || m.Runs != 2 || len(m.LeftOut) != 1 {
		t.Errorf("with what is sensitive: %+v, %v", m, err)
	}
}

func unpack(t testing.TB, b []byte) []byte {
	t.Helper()
	z, err := zstd.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	raw, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestARecordThatIsHereIsNeverOverwritten(t *testing.T) {
	a, b := newStore(t), newStore(t)
	rec := a.run("x", "x", "")
	file := a.export(bundle.WriteOptions{})
	other := *rec
	other.Version = "another"
	if err := b.recs.Commit(nil, []*cache.Record{&other}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := b.read(file); err == nil || !strings.Contains(err.Error(), "never overwritten") {
		t.Fatalf("the import says %v", err)
	}
	if all := b.recs.Revisions(rec.Run); len(all) != 1 {
		t.Errorf("there are %d revisions", len(all))
	}
	// A later revision of a run that is here is news, and a link that is here stays.
	c := newStore(t)
	if _, err := c.read(file); err != nil {
		t.Fatal(err)
	}
	next := *rec
	next.Revision = 2
	if err := a.recs.Commit(nil, []*cache.Record{&next}, []cache.Link{{Run: rec.Run, Provider: "p", Extraction: rec.Run}}); err != nil {
		t.Fatal(err)
	}
	mine := c.run("mine", "mine", "")
	if err := c.recs.Commit(nil, nil, []cache.Link{{Run: rec.Run, Provider: "p", Extraction: mine.Run}}); err != nil {
		t.Fatal(err)
	}
	in, err := c.read(a.export(bundle.WriteOptions{}))
	if err != nil || in.Known != 1 || len(c.recs.Revisions(rec.Run)) != 2 {
		t.Errorf("the second revision: %+v, %v", in, err)
	}
	if l := c.recs.Links(); len(l) != 1 || l[0].Extraction != mine.Run {
		t.Errorf("the links are %+v", l)
	}
}

// failingFrom fails every change from the n-th on.
func failingFrom(n int) func(faultfs.Op) error {
	return func(op faultfs.Op) error {
		if op.N >= n {
			return errors.New("injected")
		}
		return nil
	}
}

func TestKilledAtAnyInstantAnImportIsAllOrNothing(t *testing.T) {
	a := newStore(t)
	a.run("x", "content of x", "")
	a.run("y", "content of y", "")
	file := a.export(bundle.WriteOptions{})
	n := 0
	for done := false; !done; n++ {
		root := t.TempDir()
		fsys, err := faultfs.New(root)
		if err != nil {
			t.Fatal(err)
		}
		fsys.Inject = failingFrom(n)
		s := open(t, filepath.Join(root, "store"), fsys)
		_, err = s.read(file)
		done = err == nil
		again := open(t, s.dir, vfs.OS{})
		if runs := len(again.recs.All()); runs != 0 && runs != 2 || done && runs != 2 {
			t.Fatalf("killed at change %d: %d runs came in", n, runs)
		}
		if in, err := again.read(file); err != nil || len(in.Runs)+in.Known != 2 {
			t.Fatalf("killed at change %d, the next import: %+v, %v", n, in, err)
		}
		if rep, err := fsck.Fsck(again.cas, again.recs, true); err != nil || rep.Lost() || rep.Runs != 2 {
			t.Fatalf("killed at change %d: %+v, %v", n, rep, err)
		}
	}
	if n < 15 {
		t.Errorf("an import made %d changes; the test has not seen it", n)
	}
}

// entry is a file of a bundle made by hand.
type entry struct {
	header tar.Header
	body   []byte
}

func entries(t testing.TB, file []byte) (out []entry) {
	t.Helper()
	r := tar.NewReader(bytes.NewReader(unpack(t, file)))
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, entry{*h, b})
	}
}

func pack(t testing.TB, list []entry, behind []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z, err := zstd.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(z)
	for _, e := range list {
		h := e.header
		h.Size = int64(len(e.body))
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(e.body); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := z.Write(behind); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
