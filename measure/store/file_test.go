package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flameox/flameox/evidence/shred"
	"github.com/flameox/flameox/measure/document"
	"github.com/flameox/flameox/measure/identity"
)

// foreign writes documents as another program would: only the columns that keep accepts, changed by change.
func foreign(t *testing.T, path string, in []Input, change func([]shred.Field) []shred.Field) {
	t.Helper()
	l, err := columns()
	if err != nil {
		t.Fatal(err)
	}
	fields := change(append([]shred.Field{}, l.fields...))
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := shred.NewWriter(f, fields, nil)
	if err != nil {
		t.Fatal(err)
	}
	b := shred.NewBuffer(fields)
	for _, x := range in {
		doc, rejected := document.ReadResult(x.Text)
		if rejected != nil {
			t.Fatal(rejected)
		}
		r, err := derive(doc, reopen(t, path).now())
		if err != nil {
			t.Fatal(err)
		}
		r.columns["extra"] = "x"
		for _, f := range fields {
			if f.Name == "store_project" && f.Kind == shred.Int {
				r.columns["store_project"] = 7.0
			}
		}
		if err := b.Add(r.columns); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func without(names ...string) func([]shred.Field) []shred.Field {
	return func(list []shred.Field) (out []shred.Field) {
		for _, f := range list {
			if !strings.Contains(" "+strings.Join(names, " ")+" ", " "+f.Name+" ") {
				out = append(out, f)
			}
		}
		return out
	}
}

func TestAStoreThatLacksColumnsIsReadAndTakesMoreIn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.parquet")
	foreign(t, path, inputs(t, 0, 5), without("points", "slot", "round", "ingested_at", "quality", "comparison_fingerprint"))
	s := reopen(t, path)
	if n := len(all(t, s)); n != 5 {
		t.Fatalf("%d results are read", n)
	}
	snap, err := s.Read()
	if err != nil {
		t.Fatal(err)
	}
	l, err := snap.Series(t.Context(), identity.Default(), "", "")
	snap.Close()
	if err != nil || len(l.Series) != 2 || l.Series[0].Points != 5 {
		t.Errorf("%+v, %v", l, err)
	}
	if left, err := os.ReadDir(filepath.Join(filepath.Dir(path), ".benchx")); err == nil {
		t.Errorf("reading wrote %v", left)
	}
	take(t, s, inputs(t, 3, 8), "ingested 3, duplicate 2")
	if n := len(all(t, reopen(t, path))); n != 8 {
		t.Errorf("%d results", n)
	}
}

func TestAFileOfOtherColumnsIsAnErrorAndLeftAsItIs(t *testing.T) {
	rename := func(old, new string, kind shred.Kind) func([]shred.Field) []shred.Field {
		return func(list []shred.Field) []shred.Field {
			for i := range list {
				if list[i].Name == old {
					list[i].Name, list[i].Kind, list[i].Required = new, kind, false
				}
			}
			return list
		}
	}
	for name, c := range map[string]struct {
		change func([]shred.Field) []shred.Field
		want   string
	}{
		"a column of another type": {func(l []shred.Field) []shred.Field {
			return append(without("store_project")(l), shred.Field{Name: "store_project", Kind: shred.Int})
		}, "store_project (int64 instead of string)"},
		"a column of a newer version": {func(l []shred.Field) []shred.Field { return append(l, shred.Field{Name: "extra", Kind: shred.Text}) }, "newer one wrote it: extra"},
		"no documents":                {rename("document", "doc", shred.Text), "without a column document"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "store.parquet")
			foreign(t, path, inputs(t, 0, 2), c.change)
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			s := reopen(t, path)
			for _, try := range []func() error{func() error { _, err := s.Read(); return err }, func() error { _, err := s.Ingest(t.Context(), inputs(t, 2, 3)); return err }} {
				err := try()
				var changed *Changed
				if !errors.As(err, &changed) || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%v", err)
				}
			}
			if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
				t.Errorf("the file was written: %v", err)
			}
		})
	}
}

func TestAFileThatIsNoParquetIsAnErrorAndLeftAsItIs(t *testing.T) {
	for _, content := range []string{"", "hello", strings.Repeat("x", 100) + "PAR1", "PAR1" + strings.Repeat("\x00", 40) + "\xff\xff\xff\x7fPAR1"} {
		path := filepath.Join(t.TempDir(), "store.parquet")
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		s := reopen(t, path)
		if _, err := s.Read(); !errors.Is(err, shred.ErrCorrupt) {
			t.Errorf("%q: %v", content, err)
		}
		if _, err := s.Ingest(t.Context(), inputs(t, 0, 1)); !errors.Is(err, shred.ErrCorrupt) {
			t.Errorf("%q: %v", content, err)
		}
		if after, err := os.ReadFile(path); err != nil || string(after) != content {
			t.Errorf("%q was written: %v", content, err)
		}
	}
}

func TestTheFileStaysWholeWhateverTheBatches(t *testing.T) {
	s := newStore(t)
	n := 0
	for _, size := range []int{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 3, 100, 1, 2, 50, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1} {
		var in []Input
		for range size {
			in = append(in, input(t, fmt.Sprint(n), result(n, float64(n), nil)))
			n++
		}
		take(t, s, in, fmt.Sprintf("ingested %d, duplicate 0", size))
	}
	for i, r := range all(t, s) {
		if text(r.Document, "ingest_key") != fmt.Sprintf("r:w:wall-time:slot-%d", i) || r.Row != i {
			t.Fatalf("row %d is %s", i, text(r.Document, "ingest_key"))
		}
	}
	snap, err := s.Read()
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	if g := len(snap.groups()); g > 3*perTier || snap.Rows() != n {
		t.Errorf("%d rows in %d row groups", snap.Rows(), g)
	}
}

func TestTheIndexCanBeDeletedAndTheFileReplaced(t *testing.T) {
	s := newStore(t)
	take(t, s, inputs(t, 0, 10), "ingested 10, duplicate 0")
	small, err := os.ReadFile(s.Path())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(Beside(s.Path())); err != nil {
		t.Fatal(err)
	}
	take(t, s, append(inputs(t, 5, 12), input(t, "x", result(1, 7, nil))), "ingested 2, duplicate 5, rejected 1 (idempotency-conflict)")
	// An older copy put back: what it has not is new again.
	if err := os.WriteFile(s.Path(), small, 0o644); err != nil {
		t.Fatal(err)
	}
	take(t, s, inputs(t, 8, 12), "ingested 2, duplicate 2")
	if err := os.Remove(s.Path()); err != nil {
		t.Fatal(err)
	}
	take(t, s, inputs(t, 0, 3), "ingested 3, duplicate 0")
}

func TestALinkedStoreStaysALink(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "real"), 0o755); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(dir, "real", "store.parquet")
	take(t, reopen(t, to), inputs(t, 0, 1), "ingested 1, duplicate 0")
	link := filepath.Join(dir, "link.parquet")
	if err := os.Symlink(to, link); err != nil {
		t.Fatal(err)
	}
	take(t, reopen(t, link), inputs(t, 1, 2), "ingested 1, duplicate 0")
	if n := len(all(t, reopen(t, to))); n != 2 {
		t.Errorf("%d results behind the link", n)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode().Type() != os.ModeSymlink {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}
