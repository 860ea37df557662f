package ijson

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Canonical is the RFC 8785 text of a value: members sorted by UTF-16 code units, numbers as ECMAScript prints them, nothing escaped that need not be. An
// error is a value that JSON has not, such as an infinite number.
func Canonical(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("writing JSON: %w", err)
	}
	text := jsontext.Value(b)
	if err := text.Canonicalize(); err != nil {
		return nil, fmt.Errorf("writing canonical JSON: %w", err)
	}
	return text, nil
}

// Sum is the SHA-256, in lower-case hex, of prefix and the canonical text of v. The prefix keeps digests of different kinds of documents apart.
func Sum(prefix string, v any) (string, error) {
	b, err := Canonical(v)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	h.Write([]byte(prefix))
	h.Write(b)
	return hex.EncodeToString(h.Sum(nil)), nil
}
