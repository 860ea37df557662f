package publish

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/evidence/columns"
)

// builder makes one generation under a temporary name and switches to it. Every change of the file system
// goes through step, where a test can make it fail.
type builder struct {
	p        *Publisher
	ctx      context.Context
	root     string // where generations lie
	tmp      string // the generation being made
	number   int64
	oldest   int64
	segments int // written so far, for their names
	report   *Report
	set      set       // identity of what is in it so far
	left     []LeftOut // that could not be read while it was written
	made     []string  // directories to sync
}

func (b *builder) step(op, path string) error {
	if b.p.fault == nil {
		return nil
	}
	return b.p.fault(op, path)
}

func (b *builder) sync(f *os.File) error {
	if b.p.noSync {
		return nil
	}
	return f.Sync()
}

func generationName(n int64) string { return fmt.Sprintf("gen-%08d", n) }

// begin chooses the number of the new generation, deletes what has expired, and makes the directory.
func (p *Publisher) begin(ctx context.Context, old *Generation, report *Report) (*builder, error) {
	b := &builder{p: p, ctx: ctx, root: p.dir + ".d", report: report}
	b.tmp = filepath.Join(b.root, "new")
	if err := os.MkdirAll(b.root, 0o755); err != nil {
		return nil, err
	}
	if info, err := os.Lstat(p.dir); err == nil && info.Mode()&os.ModeSymlink == 0 {
		return nil, fmt.Errorf("%s is in the way: it is not the link that flameox makes; move it away", p.dir)
	}
	var err error
	if old != nil {
		b.number, b.oldest, err = old.Number+1, old.m.Oldest, nil
	} else {
		b.number, b.oldest, err = b.scan()
	}
	if err != nil {
		return nil, err
	}
	if old != nil {
		b.expire(old.Number)
	}
	// A generation of this number was made by a publication that died before it switched: nobody has seen it.
	for _, stale := range []string{b.tmp, filepath.Join(b.root, generationName(b.number))} {
		if err := b.step("remove", stale); err != nil {
			return nil, err
		}
		if err := os.RemoveAll(stale); err != nil {
			return nil, err
		}
	}
	for _, dir := range []string{b.tmp, filepath.Join(b.tmp, "parts")} {
		if err := b.mkdir(dir); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// scan finds the numbers of the generations on disk where no manifest says them.
func (b *builder) scan() (next, oldest int64, err error) {
	entries, err := os.ReadDir(b.root)
	if err != nil {
		return 0, 0, err
	}
	next = 1
	for _, e := range entries {
		var n int64
		if _, err := fmt.Sscanf(e.Name(), "gen-%d", &n); err != nil || generationName(n) != e.Name() {
			continue
		}
		if oldest == 0 || n < oldest {
			oldest = n
		}
		next = max(next, n+1)
	}
	// A link whose generation was lost names a number that must not come back with other content.
	if target, err := os.Readlink(b.p.dir); err == nil {
		var n int64
		if _, err := fmt.Sscanf(filepath.Base(target), "gen-%d", &n); err == nil {
			next = max(next, n+1)
		}
	}
	if oldest == 0 {
		oldest = next
	}
	return next, oldest, nil
}

// expire deletes generations that were replaced long enough ago. A generation was replaced when the next one
// was created. It looks at the oldest only, so that it costs the same however many there are.
func (b *builder) expire(current int64) {
	now := b.p.now()
	for b.oldest < current {
		dir := filepath.Join(b.root, generationName(b.oldest))
		next, err := os.ReadFile(filepath.Join(b.root, generationName(b.oldest+1), "manifest.json"))
		if err == nil {
			if m, err := parseManifest(next); err == nil && now.Sub(m.Created) < keepOld {
				return
			}
		} else if info, err := os.Stat(dir); err == nil && now.Sub(info.ModTime()) < keepOld {
			return // the next one was lost: go by the directory's own age
		}
		if b.step("expire", dir) != nil || os.RemoveAll(dir) != nil {
			return // the next publication tries again
		}
		b.oldest++
		b.report.Expired++
	}
}

func (b *builder) mkdir(dir string) error {
	if err := b.step("mkdir", dir); err != nil {
		return err
	}
	b.made = append(b.made, dir)
	return os.Mkdir(dir, 0o755)
}

// link shares an immutable file of an older generation; where the file system has no hard links it is copied.
func (b *builder) link(from, to string) error {
	if err := b.step("link", to); err != nil {
		return err
	}
	err := os.Link(from, to)
	if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist) {
		return err
	}
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	return b.create(to, func(w io.Writer) error {
		_, err := io.Copy(w, src)
		return err
	})
}

// create writes a new read-only file and syncs it.
func (b *builder) create(path string, write func(io.Writer) error) error {
	if err := b.step("create", path); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o444)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 64<<10)
	err = write(w)
	if err == nil {
		err = w.Flush()
	}
	if err == nil {
		err = b.sync(f)
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

func (b *builder) writeJSON(path string, v any) error {
	return b.create(path, func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		return e.Encode(v)
	})
}

// empty leaves a file without rows, so that a glob over the table finds its columns.
func (b *builder) empty(def *evidence.Table, schema *columns.Schema, old *Generation) error {
	to := filepath.Join(b.tmp, def.Name, emptySegment+".parquet")
	if old != nil {
		from := old.path(def.Name, emptySegment)
		if _, err := os.Stat(from); err == nil {
			return b.link(from, to)
		}
	}
	return b.create(to, func(out io.Writer) error {
		w, err := columns.NewWriter(out, schema, map[string]string{columns.MetaTable: def.Name})
		if err != nil {
			return err
		}
		return w.Close()
	})
}

// commit makes the generation durable, gives it its name, and switches the link.
func (b *builder) commit(m *manifest) error {
	if err := b.writeJSON(filepath.Join(b.tmp, "manifest.json"), m); err != nil {
		return err
	}
	for i := len(b.made) - 1; i >= 0; i-- {
		if err := b.syncDir(b.made[i]); err != nil {
			return err
		}
	}
	dir := filepath.Join(b.root, generationName(b.number))
	if err := b.step("rename", dir); err != nil {
		return err
	}
	if err := os.Rename(b.tmp, dir); err != nil {
		return err
	}
	if err := b.syncDir(b.root); err != nil {
		return err
	}
	link := filepath.Join(b.root, "link")
	if err := os.Remove(link); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := b.step("symlink", link); err != nil {
		return err
	}
	// Relative to where the link will be, so that the workspace can be moved.
	if err := os.Symlink(filepath.Join(filepath.Base(b.root), generationName(b.number)), link); err != nil {
		return err
	}
	if err := b.step("switch", b.p.dir); err != nil {
		return err
	}
	if err := os.Rename(link, b.p.dir); err != nil {
		return err
	}
	return b.syncDir(filepath.Dir(b.p.dir))
}

// abandon removes what a failed publication made. What it cannot remove the next one does.
func (b *builder) abandon() {
	if strings.HasPrefix(b.tmp, b.root) {
		os.RemoveAll(b.tmp)
	}
}

func (b *builder) syncDir(dir string) error {
	if err := b.step("syncdir", dir); err != nil {
		return err
	}
	if b.p.noSync {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	// Some file systems refuse to sync a directory and need it not.
	if err := d.Sync(); err != nil && !errors.Is(err, fs.ErrInvalid) && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}
