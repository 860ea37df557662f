package cache

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

const (
	segmentMagic  = "flameox runs 1\n\n"
	segmentFamily = "flameox runs "
	segmentHeader = int64(len(segmentMagic))

	// No JSON text holds the byte 0xf1 followed by these, because that is not UTF-8.
	frameMagic  = "\xf1oxj"
	frameHeader = 32
	// maxPayload keeps a broken length from claiming the rest of the file.
	maxPayload = 256 << 20

	kindRecord byte = 1
	kindLink   byte = 2
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// frame is one record or link as it lies in a segment.
type frame struct {
	off     int64 // of its header in the segment
	kind    byte
	last    bool   // of its batch
	index   uint32 // in its batch
	batch   int64  // offset of the first frame of its batch
	payload []byte // nil where its checksum does not fit
	head    [frameHeader]byte
}

func (f *frame) end() int64 {
	return f.off + frameHeader + int64(binary.LittleEndian.Uint32(f.head[8:]))
}

// appendFrame writes a frame that will lie at the offset off.
func appendFrame(b []byte, kind byte, last bool, index uint32, batch int64, payload []byte) []byte {
	le := binary.LittleEndian
	var h [frameHeader]byte
	copy(h[:], frameMagic)
	h[4] = kind
	if last {
		h[5] = 1
	}
	le.PutUint32(h[8:], uint32(len(payload)))
	le.PutUint32(h[12:], index)
	le.PutUint64(h[16:], uint64(batch))
	le.PutUint32(h[24:], crc32.Checksum(payload, castagnoli))
	le.PutUint32(h[28:], crc32.Checksum(h[:28], castagnoli))
	return append(append(b, h[:]...), payload...)
}

// parseHeader reads the header at the beginning of b, which lies at off.
func parseHeader(b []byte, off int64) (f frame, ok bool) {
	le := binary.LittleEndian
	if len(b) < frameHeader || string(b[:4]) != frameMagic || crc32.Checksum(b[:28], castagnoli) != le.Uint32(b[28:]) {
		return f, false
	}
	copy(f.head[:], b)
	f.off, f.kind, f.last = off, b[4], b[5]&1 != 0
	f.index, f.batch = le.Uint32(b[12:]), int64(le.Uint64(b[16:]))
	return f, le.Uint32(b[8:]) <= maxPayload && f.batch >= segmentHeader && f.batch <= off && (f.index == 0) == (f.batch == off)
}

// parseFrame reads the frame at the beginning of b, which lies at off. Its payload is nil where the checksum does not
// fit. It is not ok where there is no header or b ends before the frame does.
func parseFrame(b []byte, off int64) (f frame, ok bool) {
	f, ok = parseHeader(b, off)
	if !ok || f.end()-off > int64(len(b)) {
		return f, false
	}
	payload := b[frameHeader : f.end()-off]
	if crc32.Checksum(payload, castagnoli) == binary.LittleEndian.Uint32(f.head[24:]) {
		f.payload = payload
	}
	return f, true
}

// span is a part of a segment that cannot be read.
type span struct {
	off, len int64
	why      string
}

// scan reads the frames in b, which lies at the offset base of a segment and begins at a batch. It returns the whole frames of what was
// committed, the parts between them that are corrupt, and the offset at which an unfinished batch begins, which is the end of b where there is none.
//
// A batch is finished when its last frame is whole. In one that is finished a frame can only be bad because the disk lost
// it, so the others count; one that is not finished never happened.
func scan(b []byte, base int64) (frames []frame, bad []span, end int64) {
	var all []frame
	for pos := 0; pos < len(b); {
		off := base + int64(pos)
		if f, ok := parseFrame(b[pos:], off); ok {
			if f.payload == nil {
				bad = append(bad, span{off, f.end() - off, "the checksum of its payload does not fit"})
			}
			all = append(all, f)
			pos = int(f.end() - base)
			continue
		}
		next := pos + resync(b[pos+1:], off+1) + 1
		bad = append(bad, span{off, int64(next - pos), "there is no frame"})
		pos = next
	}
	end = base
	if n := len(all); n > 0 {
		switch tail := &all[n-1]; {
		case tail.last && tail.payload != nil:
			end = tail.end()
		default:
			end = max(tail.batch, base)
		}
	}
	for i := range all {
		if all[i].off < end && all[i].payload != nil {
			frames = append(frames, all[i])
		}
	}
	for i, s := range bad {
		if s.off >= end {
			bad = bad[:i]
			break
		}
	}
	return frames, bad, end
}

// resync is the distance to the next header in b, or len(b).
func resync(b []byte, off int64) int {
	for pos := 0; ; {
		i := bytes.Index(b[pos:], []byte(frameMagic))
		if i < 0 {
			return len(b)
		}
		pos += i
		if _, ok := parseHeader(b[pos:], off+int64(pos)); ok {
			return pos
		}
		pos++
	}
}

// checkSegment reads the header of a segment. None at all is fine: its first append did not happen.
func checkSegment(path string, head []byte) (whole bool, err error) {
	switch {
	case string(head) == segmentMagic:
		return true, nil
	case len(head) == len(segmentMagic) && string(head[:len(segmentFamily)]) == segmentFamily && head[len(segmentFamily)] > '1' && head[len(segmentFamily)] <= '9':
		return false, fmt.Errorf("read the journal %s: it has version %c of the format, and this flameox knows version 1; use a newer flameox", path, head[len(segmentFamily)])
	}
	return false, nil
}
