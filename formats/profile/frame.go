package profile

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"net/url"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/internal/digest"
)

// Tri is a fact that a producer may leave unsaid.
type Tri uint8

// The values of a Tri.
const (
	Unsaid Tri = iota
	No
	Yes
)

// Opt is a number that may be missing. The zero value is missing; zero itself is Some(0).
type Opt struct {
	n  int64
	ok bool
}

// Some is a number that is there.
func Some(n int64) Opt { return Opt{n, true} }

// Frame is one place in a program, as the producer names it. An empty string is a missing value.
type Frame struct {
	Language   string
	Function   string
	Module     string // module, package or mapped object
	File       string // as the producer wrote it; File below makes it project-relative
	Line       Opt
	Column     Opt
	Address    uint64
	HasAddress bool
	BuildID    string
	Inlined    Tri
	// Synthetic marks a frame that stands for no code: "[unknown]", "(idle)", "(garbage collector)".
	Synthetic bool
}

// Unknown is the frame of a sample whose stack the producer could not walk. Its weight is real.
var unknown = Frame{Function: "[unknown]", Synthetic: true}

// File is name relative to root, with slashes, where it is an absolute path (or a file URL) below root;
// otherwise it is name as the producer wrote it.
func File(root, name string) string {
	p := name
	if strings.HasPrefix(p, "file://") {
		u, err := url.Parse(p)
		if err != nil || (u.Host != "" && u.Host != "localhost") {
			return name
		}
		p = u.Path
	}
	if root == "" || !path.IsAbs(p) || !path.IsAbs(root) {
		return name
	}
	p, root = path.Clean(p), path.Clean(root)
	if root != "/" {
		root += "/"
	}
	if rel, ok := strings.CutPrefix(p, root); ok && rel != "" {
		return rel
	}
	return name
}

// symbolization is complete where a function and its file are known, absent where no function is.
func (f *Frame) symbolization() string {
	switch {
	case f.Function == "":
		return "absent"
	case f.Synthetic || f.File == "":
		return "partial"
	}
	return "complete"
}

// validUTF8 replaces what is no UTF-8 in the frame's names, and says whether there was any: tables
// hold text, and one bad byte in a gigabyte of frames must not cost the rest.
func (f *Frame) validUTF8() (changed bool) {
	for _, s := range []*string{&f.Language, &f.Function, &f.Module, &f.File, &f.BuildID} {
		if !utf8.ValidString(*s) {
			*s, changed = strings.ToValidUTF8(*s, "\uFFFD"), true
		}
	}
	return changed
}

// id is the frame's identity: see the package documentation.
func (f *Frame) id() digest.Digest {
	t := newText("flameox frame 1")
	t.add(f.Language)
	t.add(f.Function)
	t.add(f.Module)
	t.add(f.File)
	t.add(f.Line.text())
	t.add(f.Column.text())
	address := ""
	if f.HasAddress {
		address = strconv.FormatUint(f.Address, 10)
	}
	t.add(address)
	t.add(f.BuildID)
	t.add([]string{"", "false", "true"}[f.Inlined])
	t.add(f.symbolization())
	return digest.Of(t.h)
}

func (f *Frame) row(id string) evidence.Frame {
	r := evidence.Frame{
		Frame:         id,
		Language:      present(f.Language),
		Function:      present(f.Function),
		Module:        present(f.Module),
		File:          present(f.File),
		Line:          f.Line.pointer(),
		Column:        f.Column.pointer(),
		BuildID:       present(f.BuildID),
		Symbolization: f.symbolization(),
	}
	if f.HasAddress {
		r.Address = &f.Address
	}
	if f.Inlined != Unsaid {
		yes := f.Inlined == Yes
		r.Inlined = &yes
	}
	return r
}

func (o Opt) text() string {
	if !o.ok {
		return ""
	}
	return strconv.FormatInt(o.n, 10)
}

func (o Opt) pointer() *int64 {
	if !o.ok {
		return nil
	}
	return &o.n
}

func present(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// text hashes length-prefixed text, so that no two lists of texts hash alike.
type text struct {
	h   hash.Hash
	len [8]byte
}

func newText(domain string) *text {
	t := &text{h: sha256.New()}
	t.add(domain)
	return t
}

func (t *text) add(s string) {
	binary.BigEndian.PutUint64(t.len[:], uint64(len(s)))
	t.h.Write(t.len[:])
	t.h.Write([]byte(s))
}
