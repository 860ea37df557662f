package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/flameox/flameox/evidence/shred"
	"github.com/flameox/flameox/measure/document"
	"github.com/flameox/flameox/measure/store/keys"
)

func micros(t int64) string { return time.UnixMicro(t).UTC().Format(time.RFC3339Nano) }

// Publish brings what was taken in into the file. A reader sees the old file or the new one. Where nothing is to be done, nothing is written.
func (s *Store) Publish(ctx context.Context) (err error) {
	if n, err := s.segments(); err != nil {
		return err
	} else if waiting, err := s.waiting(); err != nil || len(n) == 0 && len(waiting) == 0 {
		return err
	}
	l, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer l.Release()
	b, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer b.end()
	orders, err := b.wantedOrders()
	if err != nil {
		return err
	}
	if len(b.snap.pending) == 0 && len(orders) == 0 {
		return errors.Join(b.forget(), s.sweep(folded(b.snap.base)))
	}
	f := &fold{batch: b, orders: orders}
	defer f.close()
	return f.run()
}

// waiting are the work orders that were kept for later, by reference.
func (s *Store) waiting() ([]string, error) {
	list, err := filepath.Glob(filepath.Join(s.dir, "workorder-*.json"))
	if err != nil {
		return nil, err
	}
	var out []string
	for _, path := range list {
		out = append(out, "sha256:"+strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), "workorder-"), ".json"))
	}
	return out, nil
}

// wantedOrders are those for which rows wait.
func (b *batch) wantedOrders() (map[string]shred.Raw, error) {
	waiting, err := b.s.waiting()
	if err != nil {
		return nil, err
	}
	out := map[string]shred.Raw{}
	for _, ref := range waiting {
		if at, ok, err := b.index.Get(keys.Of("order", ref)); err != nil {
			return nil, err
		} else if !ok || at != wanted {
			continue
		}
		text, err := os.ReadFile(b.s.orderPath(ref))
		if err != nil {
			return nil, fmt.Errorf("read a work order that was kept: %w", err)
		}
		// Only the very order: somebody may have written into the folder.
		order, err := document.Read(document.OrderKind, text)
		if err != nil {
			continue
		}
		if hash, err := document.OrderHash(order); err == nil && hash == ref {
			out[ref] = text
		}
	}
	return out, nil
}

// fold is one publishing under way.
type fold struct {
	*batch
	orders map[string]shred.Raw
	made   []*shred.File // written here, to be copied from and removed
	dead   []string
}

func (f *fold) close() {
	for _, m := range f.made {
		m.Close()
	}
	for _, path := range f.dead {
		os.Remove(path)
	}
}

func (f *fold) run() error {
	var parts []shred.Part
	for _, file := range f.snap.files {
		_, same, err := f.s.complete(file)
		if err != nil {
			return err
		}
		if !same {
			// Another program's spelling of the same columns: written again, since row groups are copied as they are.
			made, err := f.snap.migrate(file, f.s.dir)
			if err != nil {
				return err
			}
			f.made = append(f.made, made)
			file = made
		}
		for g := range file.Groups() {
			part := shred.Part{File: file, Group: g}
			if len(f.orders) > 0 {
				if part, err = f.attachAll(part); err != nil {
					return err
				}
			}
			parts = append(parts, part)
		}
	}
	parts, err := f.merge(parts)
	if err != nil {
		return err
	}
	return f.write(parts)
}

// attachAll writes a row group again where rows of it want one of the orders.
func (f *fold) attachAll(p shred.Part) (shred.Part, error) {
	may := false
	for ref := range f.orders {
		may = may || p.File.May(p.Group, "work_order_ref", ref)
	}
	if !may {
		return p, nil
	}
	c, err := read(p.File, p.Group, "work_order_ref", "work_order")
	if err != nil {
		return p, err
	}
	fill := map[int]shred.Raw{}
	for i := range p.File.GroupRows(p.Group) {
		if ref, ok := c[0].Text(i); ok && c[1].Bytes(i) == nil && f.orders[ref] != nil {
			fill[i] = f.orders[ref]
		}
	}
	if len(fill) == 0 {
		return p, nil
	}
	made, err := f.rewrite([]shred.Part{p}, fill)
	return shred.Part{File: made}, err
}

// rewrite makes one row group of several. fill are work orders for rows of the first.
func (f *fold) rewrite(parts []shred.Part, fill map[int]shred.Raw) (*shred.File, error) {
	buffer := shred.NewBuffer(f.s.layout.fields)
	for _, p := range parts {
		if err := p.File.Rewrite(p.Group, buffer); err != nil {
			return nil, err
		}
	}
	if len(fill) > 0 {
		if err := buffer.Fill("work_order", fill); err != nil {
			return nil, err
		}
	}
	temp, err := os.CreateTemp(f.s.dir, "writing-")
	if err != nil {
		return nil, fmt.Errorf("write the store: %w", err)
	}
	defer temp.Close()
	f.dead = append(f.dead, temp.Name())
	w, err := shred.NewWriter(temp, f.s.layout.fields, f.s.layout.meta)
	if err != nil {
		return nil, err
	}
	if err := w.Write(buffer); err != nil {
		return nil, fmt.Errorf("write the store: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("write the store: %w", err)
	}
	made, err := shred.Open(temp.Name())
	if err != nil {
		return nil, err
	}
	f.made = append(f.made, made)
	return made, nil
}

// perTier is how many small row groups of about one size there may be.
const perTier = 8

// merge makes one of the last row groups while there are many of about one size. Results keep their order.
func (f *fold) merge(parts []shred.Part) ([]shred.Part, error) {
	for {
		rows, bytes, n := 0, int64(0), 0
		best := 0
		for n < len(parts) {
			p := parts[len(parts)-n-1]
			r, size := p.File.GroupRows(p.Group), p.File.GroupBytes(p.Group)
			if rows+r > groupRows || bytes+size > groupBytes || n >= perTier && r > 2*rows {
				break
			}
			if rows, bytes, n = rows+r, bytes+size, n+1; n >= perTier {
				best = n
			}
		}
		if best == 0 {
			return parts, nil
		}
		at := len(parts) - best
		made, err := f.rewrite(parts[at:], nil)
		if err != nil {
			return nil, err
		}
		parts = append(parts[:at:at], shred.Part{File: made})
	}
}

// write puts the new file in the place of the old one.
func (f *fold) write(parts []shred.Part) (err error) {
	last := folded(f.snap.base)
	if n := len(f.snap.pending); n > 0 {
		last = f.snap.pending[n-1]
	}
	meta := maps.Clone(f.s.layout.meta)
	meta[metaFolded] = strconv.Itoa(last)
	temp, err := os.CreateTemp(f.s.dir, "writing-")
	if err != nil {
		return fmt.Errorf("write the store: %w", err)
	}
	defer func() {
		temp.Close()
		if err != nil {
			os.Remove(temp.Name())
		}
	}()
	if err := shred.Assemble(temp, f.s.layout.fields, meta, parts); err != nil {
		return fmt.Errorf("write the store: %w", err)
	}
	mode := os.FileMode(0o644)
	if info, err := os.Stat(f.s.path); err == nil {
		mode = info.Mode().Perm()
	}
	if err := temp.Chmod(mode); err != nil {
		return fmt.Errorf("write the store: %w", err)
	}
	if err := temp.Sync(); err != nil {
		return fmt.Errorf("write the store: %w", err)
	}
	now, err := shred.Open(temp.Name())
	if err != nil {
		return fmt.Errorf("read the store that was written: %w", err)
	}
	defer now.Close()
	if now.Rows() != f.snap.Rows() {
		return fmt.Errorf("write the store: it would have %d results instead of %d", now.Rows(), f.snap.Rows())
	}
	for ref := range f.orders {
		f.added = append(f.added, keys.Pair{Name: keys.Of("order", ref), Value: attached})
	}
	if err := f.index.Save(f.added, map[string]any{"units": f.units}, f.snap.state(), now.Footer); err != nil {
		return err
	}
	if err := f.unchanged(); err != nil {
		return err
	}
	if err := os.Rename(temp.Name(), f.s.path); err != nil {
		return fmt.Errorf("put the new store in the place of the old one: %w", err)
	}
	if err := osFS.SyncDir(filepath.Dir(f.s.path)); err != nil {
		return fmt.Errorf("put the new store in the place of the old one: %w", err)
	}
	return errors.Join(f.forget(), f.s.sweep(last))
}

// forget removes work orders that every row which refers to them has.
func (b *batch) forget() error {
	waiting, err := b.s.waiting()
	if err != nil {
		return err
	}
	for _, ref := range waiting {
		if at, ok, err := b.index.Get(keys.Of("order", ref)); err != nil {
			return err
		} else if ok && at == attached {
			os.Remove(b.s.orderPath(ref))
		}
	}
	return nil
}

// unchanged makes sure that no program without our lock wrote the file meanwhile.
func (f *fold) unchanged() error {
	file, err := f.s.openFile()
	if err != nil {
		return err
	}
	if file != nil {
		defer file.Close()
	}
	if (file == nil) != (f.snap.base == nil) || file != nil && file.Footer != f.snap.base.Footer {
		return fmt.Errorf("the store %s was written by another program meanwhile; its rows and what was taken in are both kept. Run the command again", f.s.path)
	}
	return nil
}

// sweep removes segments that the file holds, and what a process that died was writing. Its caller has the lock.
func (s *Store) sweep(last int) error {
	numbers, err := s.segments()
	if err != nil {
		return err
	}
	for _, n := range numbers {
		if n <= last {
			os.Remove(filepath.Join(s.dir, segmentName(n)))
		}
	}
	list, err := filepath.Glob(filepath.Join(s.dir, "*writing-*"))
	if err != nil {
		return err
	}
	temp, err := filepath.Glob(filepath.Join(s.dir, "flameox-store-*"))
	if err != nil {
		return err
	}
	for _, path := range append(list, temp...) {
		os.Remove(path)
	}
	return nil
}
