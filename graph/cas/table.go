package cas

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"iter"
	"path/filepath"
	"slices"

	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/vfs"
)

// A table is a file of remembered stats: cas/index by digest, cache/stat by path. It is used as it lies in
// memory, without being decoded: loading 100,000 rows costs a read, a checksum and one pass to find where each bucket of
// hashes starts. docs/formats/caches.md has the bytes.
type table struct {
	raw    []byte // rows, sorted by hash
	text   []byte
	n      int
	saves  uint32
	starts []uint32 // of bucket b; len is a power of two, plus one
	shift  uint
}

// row is one remembered stat.
type row struct {
	Identity
	Digest  digest.Digest
	read    int64  // when the content was hashed, nanoseconds since 1970
	used    uint32 // of a path: the save in which it was last asked for
	durable bool   // of a blob: its name survives a power loss
}

// keyed is a row on its way to a file.
type keyed struct {
	hash uint32
	path string
	row
}

const (
	tableHeader = 16 + 4 + 4 + 4 + 4 // magic, saves, rows, bytes of text, zero
	rowSize     = 104
	maxTable    = 1 << 31
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// loadTable is empty where the file is missing, of another version or broken.
func loadTable(fsys vfs.FS, path, magic string) *table {
	b, err := vfs.ReadFile(fsys, path, maxTable)
	if err == nil {
		var t *table
		if t, err = parseTable(magic, b); err == nil {
			return t
		}
	}
	return &table{starts: []uint32{0, 0}, shift: 32}
}

func parseTable(magic string, b []byte) (*table, error) {
	if len(b) < tableHeader+4 || string(b[:16]) != magic {
		return nil, errors.New("it is not a table of this kind and version")
	}
	le := binary.LittleEndian
	body := b[:len(b)-4]
	if crc32.Checksum(body, castagnoli) != le.Uint32(b[len(b)-4:]) {
		return nil, errors.New("the checksum does not fit")
	}
	n, textLen := uint64(le.Uint32(b[20:])), uint64(le.Uint32(b[24:]))
	if tableHeader+n*rowSize+textLen != uint64(len(body)) || le.Uint32(b[28:]) != 0 {
		return nil, errors.New("its length does not fit its header")
	}
	t := &table{saves: le.Uint32(b[16:]), n: int(n)}
	t.raw = body[tableHeader : tableHeader+n*rowSize]
	t.text = body[tableHeader+n*rowSize:]
	bits := uint(0)
	for 1<<bits < t.n {
		bits++
	}
	t.shift = 32 - bits
	t.starts = make([]uint32, (1<<bits)+1)
	last, b0 := uint32(0), uint64(0)
	for i := range t.n {
		r := t.raw[i*rowSize:]
		h := le.Uint32(r)
		off, size := uint64(le.Uint32(r[4:])), uint64(le.Uint32(r[8:]))
		if h < last || off+size > textLen {
			return nil, fmt.Errorf("row %d is out of order or points outside", i)
		}
		last = h
		for ; b0 < uint64(h)>>t.shift; b0++ {
			t.starts[b0+1] = uint32(i)
		}
	}
	for ; b0+1 < uint64(len(t.starts)); b0++ {
		t.starts[b0+1] = uint32(t.n)
	}
	return t, nil
}

// bucket are the rows whose hash is h.
func (t *table) bucket(h uint32) iter.Seq[int] {
	return func(yield func(int) bool) {
		b := uint64(h) >> t.shift
		for i := int(t.starts[b]); i < int(t.starts[b+1]); i++ {
			if binary.LittleEndian.Uint32(t.raw[i*rowSize:]) == h && !yield(i) {
				return
			}
		}
	}
}

func (t *table) digest(i int) digest.Digest {
	return digest.Digest(t.raw[i*rowSize+72 : i*rowSize+104])
}

func (t *table) path(i int) []byte {
	r := t.raw[i*rowSize:]
	off, n := binary.LittleEndian.Uint32(r[4:]), binary.LittleEndian.Uint32(r[8:])
	return t.text[off : off+n]
}

// pathIn is path as a part of text, a copy of t.text.
func (t *table) pathIn(text string, i int) string {
	r := t.raw[i*rowSize:]
	off, n := binary.LittleEndian.Uint32(r[4:]), binary.LittleEndian.Uint32(r[8:])
	return text[off : off+n]
}

func (t *table) hash(i int) uint32 { return binary.LittleEndian.Uint32(t.raw[i*rowSize:]) }

func (t *table) row(i int) (r row) {
	b, le := t.raw[i*rowSize:(i+1)*rowSize], binary.LittleEndian
	r.used = le.Uint32(b[12:])
	r.durable = le.Uint32(b[16:])&1 != 0
	r.read = int64(le.Uint64(b[24:]))
	r.Size = int64(le.Uint64(b[32:]))
	r.MtimeNS = int64(le.Uint64(b[40:]))
	r.CtimeNS = int64(le.Uint64(b[48:]))
	r.Dev = le.Uint64(b[56:])
	r.Ino = le.Uint64(b[64:])
	copy(r.Digest[:], b[72:])
	return r
}

// order is the order of rows in a file.
func (a *keyed) order(b *keyed) int {
	if c := cmp.Compare(a.hash, b.hash); c != 0 {
		return c
	}
	if c := cmp.Compare(a.path, b.path); c != 0 {
		return c
	}
	return bytes.Compare(a.Digest[:], b.Digest[:])
}

// encodeTable writes the rows of a table, which are in order, and added ones, which it sorts.
func encodeTable(magic string, saves uint32, old, added []keyed) []byte {
	slices.SortFunc(added, func(a, b keyed) int { return a.order(&b) })
	rows := make([]*keyed, 0, len(old)+len(added))
	for len(old) > 0 || len(added) > 0 {
		if len(added) == 0 || len(old) > 0 && old[0].order(&added[0]) < 0 {
			rows, old = append(rows, &old[0]), old[1:]
		} else {
			rows, added = append(rows, &added[0]), added[1:]
		}
	}
	text := 0
	for i := range rows {
		text += len(rows[i].path)
	}
	le := binary.LittleEndian
	b := make([]byte, 0, tableHeader+len(rows)*rowSize+text+4)
	b = append(b, magic...)
	b = le.AppendUint32(b, saves)
	b = le.AppendUint32(b, uint32(len(rows)))
	b = le.AppendUint32(b, uint32(text))
	b = le.AppendUint32(b, 0)
	off := uint32(0)
	for i := range rows {
		r := rows[i]
		flags := uint32(0)
		if r.durable {
			flags = 1
		}
		b = le.AppendUint32(b, r.hash)
		b = le.AppendUint32(b, off)
		b = le.AppendUint32(b, uint32(len(r.path)))
		b = le.AppendUint32(b, r.used)
		b = le.AppendUint32(b, flags)
		b = le.AppendUint32(b, 0)
		b = le.AppendUint64(b, uint64(r.read))
		b = le.AppendUint64(b, uint64(r.Size))
		b = le.AppendUint64(b, uint64(r.MtimeNS))
		b = le.AppendUint64(b, uint64(r.CtimeNS))
		b = le.AppendUint64(b, r.Dev)
		b = le.AppendUint64(b, r.Ino)
		b = append(b, r.Digest[:]...)
		off += uint32(len(r.path))
	}
	for i := range rows {
		b = append(b, rows[i].path...)
	}
	return le.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// CheckCaches says of each file of remembered stats in the store below dir whether it would be used. One that is missing is no
// problem; nor is one that is broken, except that files are hashed again.
func CheckCaches(dir string, fsys vfs.FS) map[string]error {
	out := map[string]error{}
	for path, magic := range map[string]string{
		filepath.Join(dir, "cas", "index"): indexMagic, filepath.Join(dir, "cache", "stat"): statMagic,
	} {
		b, err := vfs.ReadFile(fsys, path, maxTable)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			_, err = parseTable(magic, b)
		}
		if err != nil {
			out[path] = err
		}
	}
	return out
}
