package store

import (
	"context"
	"fmt"
	"os"

	"github.com/flameox/flameox/evidence/shred"
	"github.com/flameox/flameox/internal/ijson"
	"github.com/flameox/flameox/internal/vfs"
	"github.com/flameox/flameox/measure/store/keys"
)

// rebuild makes the index from the rows.
func (b *batch) rebuild(ctx context.Context) error {
	orders := map[string]keys.Digest{}
	for _, f := range b.snap.files {
		for g := range f.Groups() {
			if err := ctx.Err(); err != nil {
				return err
			}
			c, err := read(f, g, "producer.name", "ingest_key", "payload_sha256", "attempt_key", "attempt_signature", "store_project", "coordinates.quantity.name",
				"coordinates.quantity.unit", "work_order_ref", "work_order")
			if err != nil {
				return err
			}
			for i := range f.GroupRows(g) {
				t := func(k int) string { s, _ := c[k].Text(i); return s }
				b.added = append(b.added, keys.Pair{Name: keys.Of("result", t(0), t(1)), Value: keys.Of(t(2))}, keys.Pair{Name: keys.Of("attempt", t(3)), Value: keys.Of(t(4))})
				b.units[t(5)+"\x00"+t(6)] = t(7)
				if ref := t(8); ref != "" && c[9].Bytes(i) == nil {
					orders[ref] = wanted
				} else if ref != "" && orders[ref] != wanted {
					orders[ref] = attached
				}
			}
		}
	}
	for ref, at := range orders {
		b.added = append(b.added, keys.Pair{Name: keys.Of("order", ref), Value: at})
	}
	err := b.index.Save(b.added, map[string]any{"units": b.units}, b.snap.state())
	b.added = nil
	return err
}

// read reads columns of a row group.
func read(f *shred.File, g int, paths ...string) ([]*shred.Column, error) {
	out := make([]*shred.Column, len(paths))
	for i, path := range paths {
		var err error
		if out[i], err = f.Read(g, path); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// migrate writes the rows of a file again, from their documents, with every column as this version derives it.
func (p *Snapshot) migrate(f *shred.File, dir string) (_ *shred.File, err error) {
	temp, err := os.CreateTemp(dir, "flameox-store-")
	if err != nil {
		return nil, fmt.Errorf("bring the store's columns up to date: %w", err)
	}
	defer temp.Close()
	p.temps = append(p.temps, temp.Name())
	w, err := shred.NewWriter(temp, p.store.layout.fields, p.store.layout.meta)
	if err != nil {
		return nil, err
	}
	buffer := shred.NewBuffer(p.store.layout.fields)
	for g := range f.Groups() {
		c, err := read(f, g, "document", "work_order", "work_order_ref", "ingested_at")
		if err != nil {
			return nil, err
		}
		for i := range f.GroupRows(g) {
			doc, err := ijson.Object(c[0].Bytes(i))
			if err != nil {
				return nil, &Changed{f.Path, fmt.Sprintf("row %d has a document that is no strict JSON: %v", i, err)}
			}
			r, err := derive(doc, p.store.now())
			if err != nil {
				return nil, &Changed{f.Path, fmt.Sprintf("row %d: %v", i, err)}
			}
			if t, ok := c[3].Int(i); ok {
				r.columns["ingested_at"] = micros(t)
			}
			if ref, ok := c[2].Text(i); ok {
				r.columns["work_order_ref"] = ref
			}
			if order := c[1].Bytes(i); order != nil {
				r.columns["work_order"] = shred.Raw(order)
			}
			if err := buffer.Add(r.columns); err != nil {
				return nil, &Changed{f.Path, fmt.Sprintf("row %d: %v", i, err)}
			}
			if buffer.Rows() >= groupRows || buffer.Bytes() >= groupBytes {
				if err := w.Write(buffer); err != nil {
					return nil, err
				}
				buffer.Reset()
			}
		}
	}
	if err := w.Write(buffer); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return shred.Open(temp.Name())
}

var osFS = vfs.OS{}
