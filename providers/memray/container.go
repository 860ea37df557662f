package memray

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/providers"
)

// The codes of refusals.
const (
	EmptyFile    = "payload_empty"
	NotACapture  = "not_a_memray_capture"
	Truncated    = "payload_truncated"
	NotClosed    = "capture_not_closed"
	Incompatible = "incompatible_capture_version"
	Unreadable   = "capture_unreadable"
	ReaderBroke  = "reader_broke_off"
	ReaderOther  = "reader_version"
	NoReader     = "reader_missing"
	InputBudget  = providers.InputBudget
	MemoryBudget = providers.MemoryBudget
	RowBudget    = "row_budget"
	Overflow     = providers.Overflow
	TooMuch      = providers.TooMuch
)

func limitation(code, format string, args ...any) evidence.Limitation {
	return evidence.Limitation{Code: code, Text: fmt.Sprintf(format, args...)}
}

var (
	captureMagic = []byte("memray\x00")
	frameMagic   = []byte{0x04, 0x22, 0x4D, 0x18} // of LZ4
)

// headSize is how far the magic of a capture is searched: a compressed block begins with a few bytes of its own.
const headSize = 64

// detect looks at the first bytes: memray's magic, as it is or as the first literal of a compressed frame.
func detect(head []byte) bool {
	head = head[:min(len(head), headSize)]
	return bytes.HasPrefix(head, captureMagic) || bytes.HasPrefix(head, frameMagic) && bytes.Contains(head, captureMagic)
}

// Formats is memray's format under the provider's name.
func (Provider) Formats() []providers.Format {
	return []providers.Format{{Name: "memray", MediaType: MediaType, Role: Role, Detect: detect}}
}

// container is what can be known of a capture without memray.
type container struct {
	compressed bool // in a frame, which a process writes that closes its capture
	whole      bool // the frame has its end
}

// open looks at the outside of a capture.
func open(a providers.Artifact) (container, error) {
	if a.Size == 0 {
		return container{}, providers.Refuse(EmptyFile, "%s has no bytes: the process ended before memray wrote anything", a.Name)
	}
	f, err := a.Open()
	if err != nil {
		return container{}, err
	}
	defer f.Close()
	r, ok := f.(io.ReaderAt)
	if !ok {
		return container{}, fmt.Errorf("reading %s: the payload is no file that can be read at an offset", a.Name)
	}
	return look(r, a.Name, a.Size)
}

func look(r io.ReaderAt, name string, size int64) (container, error) {
	head := make([]byte, min(headSize, size))
	if _, err := r.ReadAt(head, 0); err != nil && err != io.EOF {
		return container{}, err
	}
	if !detect(head) {
		return container{}, providers.Refuse(NotACapture, "%s does not begin as a capture of memray does", name)
	}
	if !bytes.HasPrefix(head, frameMagic) {
		return container{}, nil
	}
	return container{compressed: true, whole: wholeFrames(r, size)}, nil
}

// wholeFrames says whether a file of size bytes is nothing but whole LZ4 frames: header, blocks of stated length, and a mark at the end.
// Blocks are skipped and not looked into.
func wholeFrames(r io.ReaderAt, size int64) bool {
	var buf [6]byte
	at := int64(0)
	field := func(n int64) []byte {
		if at+n > size {
			return nil
		}
		if _, err := r.ReadAt(buf[:n], at); err != nil && err != io.EOF {
			return nil
		}
		at += n
		return buf[:n]
	}
	for at < size {
		h := field(6)
		if h == nil || !bytes.HasPrefix(h, frameMagic) || h[4]>>6 != 1 {
			return false
		}
		flags := h[4]
		at++ // the header's checksum
		if flags&0x08 != 0 {
			at += 8 // the size of the content
		}
		if flags&0x01 != 0 {
			at += 4 // the number of a dictionary
		}
		for {
			word := field(4)
			if word == nil {
				return false
			}
			n := int64(binary.LittleEndian.Uint32(word) &^ (1 << 31)) // the bit is set where a block is stored as it is
			if n == 0 {
				break
			}
			if flags&0x10 != 0 {
				n += 4 // the block's checksum
			}
			at += n
		}
		if flags&0x04 != 0 {
			at += 4 // the content's checksum
		}
	}
	return at == size
}
