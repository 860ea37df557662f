package reads

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"

	"github.com/flameox/flameox/internal/digest"
)

// The bytes are in docs/formats/recorded-plan.md. Two sections have a checksum each: what is needed to say that nothing moved and
// what the answer was, and what is needed where something did. The second is read only then.
const (
	magic      = "flameox reads 1\n"
	headerSize = 16 + 2*(8+4)
	maxSection = 1 << 30
	blockPaths = 256 // paths that a block of them has at most; blocks are looked at independently
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// errNoRecord is all that is said of bytes that are no record: the answer is made anew, and nobody needs to know why.
var errNoRecord = errors.New("no record of reads")

// hard is a path of which everything on the way is looked at.
type hard struct {
	dir    int // index of its folder
	base   string
	sum    sum
	link   bool
	target string // where a link ends; "" where it ends nowhere
	end    sum    // of the target
}

// place is a folder by name and by where it really is; "" where it is nowhere.
type place struct{ name, real string }

// contents is the decoded first section but for the paths below folders, which are looked at as they are.
type contents struct {
	salt          [16]byte
	question      digest.Digest
	after, before int64 // nanoseconds since 1970: the answer stands after the one and before the other
	env           []string
	envSum        digest.Digest
	places        []place
	hard          []hard
	roots         []string
	blocks        []block
	body          []byte
}

// block is some paths below one folder: each as the number of bytes it shares with the one before and the rest, then a sum for each. Where a
// directory has several, they are names in it, so that the way to it is gone once and not for each.
type block struct {
	root  int
	dir   string // below the root; "" for paths that begin there
	first int    // number of its first path
	n     int
	names []byte
	sums  []byte
}

func salted(salt [16]byte, parts ...string) digest.Digest {
	h := sha256.New()
	h.Write(salt[:])
	var n [8]byte
	for _, p := range parts {
		binary.LittleEndian.PutUint64(n[:], uint64(len(p)))
		h.Write(n[:])
		h.Write([]byte(p))
	}
	return digest.Of(h)
}

// envSum is over names and values, set or not, in the order of the names.
func envSum(salt [16]byte, names []string, environ map[string]string) digest.Digest {
	var parts []string
	for _, n := range names {
		v, set := environ[n]
		if set {
			v = "=" + v
		}
		parts = append(parts, n, v)
	}
	return salted(salt, parts...)
}

// writer appends numbers and texts.
type writer struct{ b []byte }

func (w *writer) num(n int)      { w.b = binary.AppendUvarint(w.b, uint64(n)) }
func (w *writer) u64(n uint64)   { w.b = binary.LittleEndian.AppendUint64(w.b, n) }
func (w *writer) text(s string)  { w.num(len(s)); w.b = append(w.b, s...) }
func (w *writer) bytes(b []byte) { w.num(len(b)); w.b = append(w.b, b...) }
func (w *writer) texts(s []string) {
	w.num(len(s))
	for _, t := range s {
		w.text(t)
	}
}

// reader takes apart what writer wrote. After anything that does not fit, bad is true and everything is zero.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) fail() { r.b, r.bad = nil, true }

// num is a number of at most max.
func (r *reader) num(max int) int {
	n, size := binary.Uvarint(r.b)
	if size <= 0 || n > uint64(max) {
		r.fail()
		return 0
	}
	r.b = r.b[size:]
	return int(n)
}

func (r *reader) take(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.fail()
		return nil
	}
	b := r.b[:n:n]
	r.b = r.b[n:]
	return b
}

func (r *reader) u64() uint64 {
	if b := r.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (r *reader) text() string  { return string(r.take(r.num(len(r.b)))) }
func (r *reader) bytes() []byte { return r.take(r.num(len(r.b))) }

func (r *reader) texts() (out []string) {
	for range r.num(len(r.b)) {
		out = append(out, r.text())
	}
	return out
}

func (r *reader) digest() (d digest.Digest) {
	copy(d[:], r.take(len(d)))
	return d
}

func (c *contents) encode() []byte {
	w := &writer{}
	w.b = append(append(w.b, c.salt[:]...), c.question[:]...)
	w.u64(uint64(c.after))
	w.u64(uint64(c.before))
	w.texts(c.env)
	w.b = append(w.b, c.envSum[:]...)
	w.num(len(c.places))
	for _, p := range c.places {
		w.text(p.name)
		w.text(p.real)
	}
	w.num(len(c.hard))
	for _, h := range c.hard {
		w.num(h.dir)
		w.text(h.base)
		w.u64(uint64(h.sum))
		if h.link {
			w.num(1)
			w.text(h.target)
			w.u64(uint64(h.end))
		} else {
			w.num(0)
		}
	}
	w.texts(c.roots)
	w.num(len(c.blocks))
	for _, b := range c.blocks {
		w.num(b.root)
		w.text(b.dir)
		w.num(b.n)
		w.bytes(b.names)
		w.b = append(w.b, b.sums...)
	}
	w.bytes(c.body)
	return w.b
}

func decode(b []byte) (*contents, error) {
	r := &reader{b: b}
	c := &contents{}
	copy(c.salt[:], r.take(16))
	c.question = r.digest()
	c.after, c.before = int64(r.u64()), int64(r.u64())
	c.env = r.texts()
	c.envSum = r.digest()
	c.places = make([]place, 0, min(r.peek(), 1024))
	for range r.num(len(r.b)) {
		c.places = append(c.places, place{r.text(), r.text()})
	}
	for range r.num(len(r.b)) {
		h := hard{dir: r.num(max(len(c.places)-1, 0)), base: r.text(), sum: sum(r.u64())}
		if r.num(1) == 1 {
			h.link, h.target, h.end = true, r.text(), sum(r.u64())
		}
		c.hard = append(c.hard, h)
	}
	c.roots = r.texts()
	paths := 0
	for range r.num(len(r.b)) {
		b := block{root: r.num(max(len(c.roots)-1, 0)), dir: r.text(), first: paths, n: r.num(blockPaths)}
		b.names = r.bytes()
		b.sums = r.take(8 * b.n)
		paths += b.n
		c.blocks = append(c.blocks, b)
	}
	c.body = r.bytes()
	if r.bad || len(r.b) > 0 || len(c.hard) > 0 && len(c.places) == 0 || len(c.blocks) > 0 && len(c.roots) == 0 {
		return nil, errNoRecord
	}
	return c, nil
}

// peek is the next number without taking it; 0 where there is none.
func (r *reader) peek() int {
	n, size := binary.Uvarint(r.b)
	if size <= 0 || n > uint64(len(r.b)) {
		return 0
	}
	return int(n)
}

// encodeBlocks puts sorted names in one folder into blocks.
func encodeBlocks(root int, dir string, names []string, sums []sum) (out []block) {
	for len(names) > 0 {
		n := min(len(names), blockPaths)
		b := block{root: root, dir: dir, n: n}
		before := ""
		for i, name := range names[:n] {
			shared := 0
			for shared < len(before) && shared < len(name) && before[shared] == name[shared] {
				shared++
			}
			b.names = binary.AppendUvarint(b.names, uint64(shared))
			b.names = binary.AppendUvarint(b.names, uint64(len(name)-shared))
			b.names = append(b.names, name[shared:]...)
			b.sums = binary.LittleEndian.AppendUint64(b.sums, uint64(sums[i]))
			before = name
		}
		out = append(out, b)
		names, sums = names[n:], sums[n:]
	}
	return out
}

// each calls fn with every path of the block and its sum, until it says no. The name is valid during the call only, and a NUL byte is behind it. It returns
// false where the block is damaged.
func (b *block) each(buf []byte, fn func(i int, name []byte, s sum) bool) bool {
	names := b.names
	name := buf[:0]
	for i := range b.n {
		shared, size := binary.Uvarint(names)
		if size <= 0 || shared > uint64(len(name)) {
			return false
		}
		names = names[size:]
		rest, size := binary.Uvarint(names)
		if size <= 0 || rest > uint64(len(names)-size) {
			return false
		}
		name = append(append(name[:shared], names[size:size+int(rest)]...), 0)
		name = name[:len(name)-1]
		names = names[size+int(rest):]
		if !fn(i, name, sum(binary.LittleEndian.Uint64(b.sums[8*i:]))) {
			return true
		}
	}
	return len(names) == 0
}

// pack puts the two sections behind a header.
func pack(first, second []byte) []byte {
	b := make([]byte, 0, headerSize+len(first)+len(second))
	b = append(b, magic...)
	for _, s := range [][]byte{first, second} {
		b = binary.LittleEndian.AppendUint64(b, uint64(len(s)))
		b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(s, castagnoli))
	}
	return slices.Concat(b, first, second)
}
