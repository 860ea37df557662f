// Package digest is the one content identity of flameox: a SHA-256, printed
// as 64 lower-case hexadecimal digits and shortened to six where a person reads it.
//
// It never decides what is hashed; packages that do say so in their own documentation.
package digest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
)

// Digest is a SHA-256. The zero value means "no digest".
type Digest [sha256.Size]byte

// Sum is the digest of b.
func Sum(b []byte) Digest { return sha256.Sum256(b) }

// SumString is the digest of s.
func SumString(s string) Digest { return sha256.Sum256([]byte(s)) }

// SumReader is the digest and the length in bytes of everything in r.
func SumReader(r io.Reader) (Digest, int64, error) {
	h := sha256.New()
	n, err := io.Copy(h, r)
	return Of(h), n, err
}

// Of is the digest that h, a SHA-256, has reached.
func Of(h hash.Hash) (d Digest) {
	h.Sum(d[:0])
	return d
}

// Parse reads 64 lower-case hexadecimal digits.
func Parse(s string) (d Digest, err error) {
	if len(s) != 2*len(d) {
		return Digest{}, fmt.Errorf("digest %q has %d characters, want %d hexadecimal digits", s, len(s), 2*len(d))
	}
	for i := 0; i < len(s); i++ {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return Digest{}, fmt.Errorf("digest %q has the character %q, want lower-case hexadecimal digits", s, c)
		}
	}
	_, err = hex.Decode(d[:], []byte(s))
	return d, err
}

// IsZero says that there is no digest.
func (d Digest) IsZero() bool { return d == Digest{} }

// String is all 64 digits, or "" for the zero digest.
func (d Digest) String() string {
	if d.IsZero() {
		return ""
	}
	return hex.EncodeToString(d[:])
}

// Short is the first six digits: enough to tell two versions of one file apart.
func (d Digest) Short() string {
	if d.IsZero() {
		return ""
	}
	return hex.EncodeToString(d[:3])
}

// MarshalText writes what String returns.
func (d Digest) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what MarshalText writes; an empty text is the zero digest.
func (d *Digest) UnmarshalText(b []byte) (err error) {
	if len(b) == 0 {
		*d = Digest{}
		return nil
	}
	*d, err = Parse(string(b))
	return err
}
