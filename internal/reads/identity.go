package reads

import (
	"math/bits"

	"github.com/flameox/flameox/internal/vfs"
)

// sum stands for everything that lstat says of a path: 64 bits of a mix of identity and mode. It is compared and never inverted.
type sum uint64

// The sums of paths of which there is no identity. Others are never as small.
const (
	doubt     sum = 0 // it could not be looked at, for a reason that may be another one next time: it is never the same
	absent    sum = 1
	firstFree sum = 4096 // errnoSum is below
)

// errnoSum is the sum of a path that could not be looked at: as long as the system says the same, the answer is the same.
func errnoSum(errno int) sum { return sum(min(max(errno, 0), 4000) + 2) }

func sumOf(id vfs.Identity, mode uint32) sum {
	h := mix(uint64(id.Size)^0x9e3779b97f4a7c15, uint64(id.MtimeNS)^0xe7037ed1a0b428db)
	h = mix(h^uint64(id.CtimeNS), 0x8ebc6af09c88c6e3^id.Ino)
	h = mix(h^id.Dev, uint64(mode)^0x589965cc75374cc3)
	if s := sum(h); s >= firstFree {
		return s
	}
	return firstFree
}

// mix multiplies to 128 bits and folds, as wyhash does.
func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo ^ a
}
