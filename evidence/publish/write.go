package publish

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/evidence/columns"
)

// segmentWriter writes the segments of one table into a new generation.
type segmentWriter struct {
	b      *builder
	def    *evidence.Table
	schema *columns.Schema
	out    *columns.Buffer // of the published columns
	old    *columns.Buffer // of a segment's columns
	in     *partReader

	name    string
	file    *os.File
	buf     *bufio.Writer
	writer  *columns.Writer
	entries []partEntry
	done    []segment
}

// write makes one segment of a group, or several where it is larger than a segment may be.
func (w *segmentWriter) write(group []item, old *Generation) error {
	for i := range group {
		it := &group[i]
		if it.segment != nil {
			if err := w.copySegment(it, old); err != nil {
				return err
			}
			continue
		}
		for _, s := range it.fresh {
			if err := w.addFresh(s); err != nil {
				return err
			}
			if w.writer != nil && w.writer.Bytes() >= maxSegment {
				if err := w.finish(); err != nil {
					return err
				}
			}
		}
	}
	return w.finish()
}

func (w *segmentWriter) start() error {
	if w.writer != nil {
		return nil
	}
	w.name = fmt.Sprintf("%08d-%d", w.b.number, w.b.segments)
	w.b.segments++
	path := filepath.Join(w.b.tmp, w.def.Name, w.name+".parquet")
	if err := w.b.step("create", path); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o444)
	if err != nil {
		return err
	}
	w.file, w.buf, w.entries = f, bufio.NewWriterSize(f, 64<<10), nil
	w.writer, err = columns.NewWriter(w.buf, w.schema, map[string]string{columns.MetaTable: w.def.Name})
	return err
}

func (w *segmentWriter) flush() error {
	if w.out.Rows() == 0 {
		return nil
	}
	if err := w.b.step("write", w.file.Name()); err != nil {
		return err
	}
	err := w.writer.Write(w.out)
	w.out.Reset()
	return err
}

// finish ends the open segment.
func (w *segmentWriter) finish() error {
	if w.writer == nil {
		return nil
	}
	if err := w.flush(); err != nil {
		return err
	}
	if err := w.writer.Close(); err != nil {
		return err
	}
	if err := w.buf.Flush(); err != nil {
		return err
	}
	path := w.file.Name()
	if err := w.b.step("sync", path); err != nil {
		return err
	}
	if err := w.b.sync(w.file); err != nil {
		return err
	}
	if err := w.file.Close(); err != nil {
		return err
	}
	s := segment{Name: w.name, Rows: w.writer.Rows(), Bytes: w.writer.Bytes(), Parts: len(w.entries)}
	for i, e := range w.entries {
		if i == 0 || e.Run < s.First {
			s.First = e.Run
		}
		if e.Run > s.Last {
			s.Last = e.Run
		}
	}
	doc := partsDoc{Format: partsFormat, Parts: w.entries}
	if err := w.b.writeJSON(filepath.Join(w.b.tmp, "parts", w.def.Name+"."+w.name+".json"), doc); err != nil {
		return err
	}
	w.done = append(w.done, s)
	w.writer, w.file, w.buf = nil, nil, nil
	w.b.report.Segments++
	w.b.report.Bytes += s.Bytes
	return nil
}

// abandon closes what a failed publication left open.
func (w *segmentWriter) abandon() {
	if w.file != nil {
		w.file.Close()
	}
}

// copySegment copies what is kept of a segment.
func (w *segmentWriter) copySegment(it *item, old *Generation) error {
	path := old.path(w.def.Name, it.segment.Name)
	keep := it.keep
	if keep == nil {
		entries := it.entries
		if entries == nil {
			var err error
			if entries, err = old.parts(w.def.Name, it.segment); err != nil {
				return &viewError{err}
			}
		}
		keep = []slice{{0, it.segment.Rows, entries}}
	}
	r, err := columns.Open(path)
	if err != nil {
		return &viewError{err}
	}
	defer r.Close()
	if r.Rows() != it.segment.Rows {
		return &viewError{fmt.Errorf("%s has %d rows, not %d", path, r.Rows(), it.segment.Rows)}
	}
	if err := w.start(); err != nil {
		return err
	}
	if w.old == nil {
		w.old = columns.NewBuffer(w.schema)
	}
	var base int64 // first row of the row group, or of the piece of it that is held
	for g := range r.Groups() {
		end := base + r.GroupRows(g)
		if !slices.ContainsFunc(keep, func(k slice) bool { return max(k.from, base) < min(k.to, end) }) {
			base = end
			continue
		}
		var own error
		err := r.Each(g, w.old, func(b *columns.Buffer) error {
			end := base + int64(b.Rows())
			for _, k := range keep {
				if from, to := max(k.from, base), min(k.to, end); from < to {
					if own = w.pieces(b, int(from-base), int(to-base), nil); own != nil {
						return own
					}
				}
			}
			base = end
			return nil
		})
		if own != nil {
			return own
		}
		if err != nil {
			return &viewError{err}
		}
	}
	for _, k := range keep {
		w.entries = append(w.entries, k.parts...)
	}
	return nil
}

// pieces copies rows little by little, so that what is held at once stays small however large a row group is.
func (w *segmentWriter) pieces(src *columns.Buffer, from, to int, fill map[string]string) error {
	for from < to {
		next := min(from+512, to)
		if err := w.out.AppendRows(src, from, next, fill); err != nil {
			return err
		}
		if err := w.maybeFlush(); err != nil {
			return err
		}
		from = next
	}
	return nil
}

func (w *segmentWriter) maybeFlush() error {
	if w.out.Full() {
		return w.flush()
	}
	return nil
}

// addFresh appends a part, or a row of the runs table: all of it, or nothing where it cannot be read.
func (w *segmentWriter) addFresh(s source) error {
	if err := w.b.ctx.Err(); err != nil {
		return err
	}
	entry := partEntry{Run: s.run, Provider: s.provider, Digest: s.digest, Rows: 1}
	var bad *LeftOut
	var err error
	if w.def.Name == evidence.RunsTable {
		if bad = w.in.row(s, w.out); bad == nil {
			err = w.start()
		}
	} else {
		entry.Rows, bad, err = w.copyPart(s)
	}
	if err != nil {
		return err
	}
	if bad != nil {
		w.b.left = append(w.b.left, *bad)
		return nil
	}
	w.b.set.add(member(w.def.Name, s.key, s.digest))
	w.b.report.Added++
	w.entries = append(w.entries, entry)
	return w.maybeFlush()
}

func (w *segmentWriter) copyPart(s source) (int64, *LeftOut, error) {
	p, bad := w.in.open(s)
	if bad != nil {
		return 0, bad, nil
	}
	defer p.close()
	if err := w.start(); err != nil {
		return 0, nil, err
	}
	fill := map[string]string{"run": s.run}
	for g := range p.Groups() {
		var own error
		err := p.each(g, func(rows *columns.Buffer) error {
			own = w.pieces(rows, 0, rows.Rows(), fill)
			return own
		})
		if own != nil {
			return 0, nil, own
		}
		if err != nil {
			// It was read a moment ago, and rows of it may be written: nothing is published, and the next publication sees what it is.
			return 0, nil, fmt.Errorf("read %s again: %w", s.path, err)
		}
	}
	return p.Rows(), nil, nil
}
