package bundle_test

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/flameox/flameox/graph/bundle"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/graph/facet"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/vfs"
)

// withRecords replaces the records of a bundle and makes its manifest fit them, as a forger would.
func withRecords(t testing.TB, list []entry, edit func(string) string) []entry {
	t.Helper()
	text := []byte(edit(string(list[1].body)))
	out := append([]entry{}, list...)
	out[1].body = text
	return withManifest(t, out, func(m *bundle.Manifest) {
		m.Records = bundle.Blob{Digest: digest.Sum(text), Size: int64(len(text))}
	})
}

func withManifest(t testing.TB, list []entry, edit func(*bundle.Manifest)) []entry {
	t.Helper()
	var m bundle.Manifest
	if err := json.Unmarshal(list[0].body, &m); err != nil {
		t.Fatal(err)
	}
	edit(&m)
	b, err := json.Marshal(&m)
	if err != nil {
		t.Fatal(err)
	}
	out := append([]entry{}, list...)
	out[0].body = b
	return out
}

func TestAForgedBundleChangesNothing(t *testing.T) {
	a := newStore(t)
	rec := a.run("x", "content of x", "")
	a.run("y", "content of y", "")
	good := entries(t, a.export(bundle.WriteOptions{Host: "here"}))
	last := len(good) - 1
	forge := func(edit func(r *cache.Record)) func() []entry {
		return func() []entry {
			return withRecords(t, good, func(text string) string {
				first, rest, _ := strings.Cut(text, "\n")
				var l struct{ Record *cache.Record }
				if err := json.Unmarshal([]byte(first), &l); err != nil {
					t.Fatal(err)
				}
				edit(l.Record)
				b, err := json.Marshal(map[string]any{"record": l.Record})
				if err != nil {
					t.Fatal(err)
				}
				return string(b) + "\n" + rest
			})
		}
	}
	set := func(i int, edit func(*entry)) func() []entry {
		return func() []entry {
			out := append([]entry{}, good...)
			out[i].body = bytes.Clone(out[i].body)
			edit(&out[i])
			return out
		}
	}
	for name, c := range map[string]struct {
		make func() []entry
		want string
	}{
		"a name that leads outside": {set(last, func(e *entry) { e.header.Name = "../../etc/x" }), `"../../etc/x"`},
		"an absolute name":          {set(2, func(e *entry) { e.header.Name = "/" + e.header.Name }), "should be"},
		"a symbolic link":           {set(2, func(e *entry) { e.header.Typeflag, e.header.Linkname, e.body = tar.TypeSymlink, "/etc/passwd", nil }), "should be"},
		"a hard link":               {set(2, func(e *entry) { e.header.Typeflag, e.header.Linkname, e.body = tar.TypeLink, "bundle.json", nil }), "should be"},
		"a sparse file": {set(0, func(e *entry) {
			e.header.PAXRecords, e.header.Format = map[string]string{"FLAMEOX.more": "1"}, tar.FormatPAX
		}), "has the extension"},
		"a directory":                {set(2, func(e *entry) { e.header.Typeflag, e.body = tar.TypeDir, nil }), "should be"},
		"other content of that size": {set(2, func(e *entry) { e.body[0] ^= 1 }), "has the digest"},
		"another size":               {set(2, func(e *entry) { e.body = append(e.body, 'x') }), "should be"},
		"other records":              {set(1, func(e *entry) { e.body[20] ^= 1 }), "do not have the digest"},
		"another version":            {set(0, func(e *entry) { e.body = bytes.Replace(e.body, []byte("bundle 1"), []byte("bundle 2"), 1) }), `"flameox bundle 2"`},
		"no manifest":                {func() []entry { return good[1:] }, "should be"},
		"an entry twice":             {func() []entry { return append(append(append([]entry{}, good[:3]...), good[2]), good[3:]...) }, "should be"},
		"an entry too many":          {func() []entry { return append(append([]entry{}, good...), good[last]) }, "more is in it"},
		"an entry missing":           {func() []entry { return good[:last] }, "is missing"},
		"entries in another order": {func() []entry {
			return append(append([]entry{}, good[:2]...), append([]entry{good[3], good[2]}, good[4:]...)...)
		}, "should be"},
		"another key":             {forge(func(r *cache.Record) { r.Key = digest.SumString("mine") }), "claims the key"},
		"another manifest":        {forge(func(r *cache.Record) { r.Manifest.Facets[0].Entries[0].Value = "mine" }), "claims the key"},
		"an unknown facet":        {forge(func(r *cache.Record) { r.Manifest.Facets[0].Name = "mine"; r.Key = r.Manifest.Key() }), "does not know"},
		"another action":          {forge(func(r *cache.Record) { r.Attempt = 7 }), "claims the action"},
		"a revision from nowhere": {forge(func(r *cache.Record) { r.Revision = 2 }), "has revision 2"},
		"no name of a run":        {forge(func(r *cache.Record) { r.Run = "../../x" }), "is not the name of a run"},
		"no address":              {forge(func(r *cache.Record) { r.Address = "\x1b[31m" }), "has the address"},
		"an artifact that is not in it": {forge(func(r *cache.Record) {
			r.Outputs = append(r.Outputs, cache.Output{Name: "more", Digest: digest.SumString("more"), Size: 4})
		}), "is not in the bundle"},
		"a file that claims to be a directory": {forge(func(r *cache.Record) { r.Outputs[0].Tree = true }), "is not whole"},
		"a negative attempt":                   {forge(func(r *cache.Record) { r.Attempt = -1; r.Action = facet.Attempt(r.Key, 0, -1) }), "attempt -1"},
		"a field that nobody knows": {func() []entry {
			return withRecords(t, good, func(s string) string { return strings.Replace(s, `{"record":{`, `{"record":{"news":1,`, 1) })
		}, "unknown field"},
		"a line that is neither":  {func() []entry { return withRecords(t, good, func(s string) string { return s + "{}\n" }) }, "neither a record nor a link"},
		"a line that is not JSON": {func() []entry { return withRecords(t, good, func(s string) string { return s + "x\n" }) }, "cannot be read"},
		"a record twice":          {func() []entry { return withRecords(t, good, func(s string) string { return s + s }) }, "has revision 1 where 2"},
		"a record missing": {func() []entry {
			return withRecords(t, good, func(s string) string { _, rest, _ := strings.Cut(s, "\n"); return rest })
		}, "it has 1 runs"},
		"a link to a run elsewhere": {func() []entry {
			return withRecords(t, good, func(s string) string {
				return s + fmt.Sprintf(`{"link":{"run":%q,"provider":"p","extraction":"01ARZ3NDEKTSV4RRFFQ69G5FAV"}}`, rec.Run) + "\n"
			})
		}, "not both runs"},
		"more than there is room for": {func() []entry { return withManifest(t, good, func(m *bundle.Manifest) { m.Blobs[0].Size = 1 << 40 }) }, "there is room for"},
		"sizes that overflow": {func() []entry {
			return withManifest(t, good, func(m *bundle.Manifest) { m.Blobs[0].Size, m.Blobs[1].Size = 1<<62, 1<<62 })
		}, "do not fit"},
		"a negative size": {func() []entry { return withManifest(t, good, func(m *bundle.Manifest) { m.Blobs[0].Size = -1 }) }, "negative size"},
		"a digest twice":  {func() []entry { return withManifest(t, good, func(m *bundle.Manifest) { m.Blobs[1] = m.Blobs[0] }) }, "twice"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			_, err := s.read(pack(t, c.make(), nil))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the import says %v, want %q", err, c.want)
			}
			s.untouched(name)
		})
	}
	s := newStore(t)
	if _, err := s.read(pack(t, good, nil)); err != nil {
		t.Errorf("the bundle that was not changed: %v", err)
	}
}

func TestABundleCutShortOrLengthenedChangesNothing(t *testing.T) {
	a := newStore(t)
	a.run("x", strings.Repeat("content of x ", 20), "")
	file := a.export(bundle.WriteOptions{})
	s := newStore(t)
	for n := 0; n < len(file); n += 7 {
		if _, err := s.read(file[:n]); err == nil {
			t.Fatalf("the first %d bytes of %d were imported", n, len(file))
		}
		s.untouched(fmt.Sprintf("%d bytes", n))
	}
	if _, err := s.read(append(bytes.Clone(file), file...)); err == nil {
		t.Error("two bundles in one file were imported")
	}
	// A few kilobytes that unpack to a gigabyte behind the archive are not unpacked.
	began := time.Now()
	if _, err := s.read(pack(t, entries(t, file), make([]byte, 1<<30))); err == nil || time.Since(began) > time.Minute {
		t.Errorf("what follows the archive: %v, after %s", err, time.Since(began))
	}
	s.untouched("a bomb")
}

func FuzzABundleIsImportedWholeOrNotAtAll(f *testing.F) {
	a := newStore(f)
	a.run("x", "content of x", "")
	a.run("y", "content of y", "")
	raw := unpack(f, a.export(bundle.WriteOptions{Host: "here"}))
	f.Add(raw)
	f.Add(raw[:700])
	f.Add([]byte(strings.Repeat("\x00", 1024)))
	f.Fuzz(func(t *testing.T, b []byte) {
		s := newStore(t)
		if _, err := bundle.ReadTar(t.Context(), s.cas, s.recs, bytes.NewReader(b), bundle.ReadOptions{Room: 1 << 20}); err != nil {
			s.untouched(err.Error())
			return
		}
		again := open(t, s.dir, vfs.OS{})
		for _, r := range again.recs.All() {
			rec, err := r.Record()
			if err != nil || rec.Manifest.Key() != rec.Key {
				t.Fatalf("imported %+v, %v", rec, err)
			}
		}
	})
}
