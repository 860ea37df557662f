package cache

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"math/bits"
	"strings"
	"time"
)

const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// runID is a ULID: 48 bits of milliseconds since 1970, 80 random bits.
type runID struct{ hi, lo uint64 }

// maxMS is where a time stops being one: the year 6429. Such an identity was made up and must not push ours.
const maxMS = 1 << 47

func (id runID) ms() uint64 { return id.hi >> 16 }

func (id runID) less(o runID) bool { return id.hi < o.hi || id.hi == o.hi && id.lo < o.lo }

func (id runID) String() string {
	var b [26]byte
	hi, lo := id.hi, id.lo
	for i := len(b) - 1; i >= 0; i-- {
		b[i] = crockford[lo&31]
		lo = lo>>5 | hi<<59
		hi >>= 5
	}
	return string(b[:])
}

func parseRunID(s string) (id runID, err error) {
	if len(s) != 26 || s[0] > '7' {
		return id, fmt.Errorf("%q is not the name of a run: want 26 characters, the first from 0 to 7", s)
	}
	for i := range len(s) {
		v := strings.IndexByte(crockford, s[i])
		if v < 0 {
			return id, fmt.Errorf("%q is not the name of a run: it has %q, want digits and capital letters without I, L, O, U", s, s[i])
		}
		id.hi = id.hi<<5 | id.lo>>59
		id.lo = id.lo<<5 | uint64(v)
	}
	return id, nil
}

// next is an identity above id: at the time now, or, where the clock says that no time has passed or that it
// went back, a random step above id, which another process that starts from the same id would not hit.
func (id runID) next(now time.Time) runID {
	var r [16]byte
	rand.Read(r[:]) // never fails
	lo, hi := binary.LittleEndian.Uint64(r[:8]), uint64(binary.LittleEndian.Uint16(r[8:]))
	ms := uint64(max(now.UnixMilli(), 0)) & (maxMS - 1)
	if ms > id.ms() {
		return runID{hi: ms<<16 | hi, lo: lo}
	}
	sum, carry := bits.Add64(id.lo, lo|1, 0)
	return runID{hi: id.hi + carry, lo: sum}
}
