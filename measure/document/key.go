package document

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/flameox/flameox/internal/ijson"
)

// OrderHash is what a result refers to its work order by: sha256: and the digest of the order's canonical text.
func OrderHash(order map[string]any) (string, error) {
	sum, err := ijson.Sum("", WithoutBlankText(order))
	if err != nil {
		return "", err
	}
	return "sha256:" + sum, nil
}

// WithoutBlankText is the order with the declared text of its target left out where it says nothing: absent, null, "" and white space are one spelling of
// the same, and must be one hash.
func WithoutBlankText(order map[string]any) map[string]any {
	target, ok := order["target"].(map[string]any)
	if !ok {
		return order
	}
	t := maps.Clone(target)
	for _, name := range []string{"how_built", "activation", "shell", "provider"} {
		switch v := t[name].(type) {
		case nil:
			delete(t, name)
		case string:
			if strings.TrimSpace(v) == "" {
				delete(t, name)
			}
		}
	}
	out := maps.Clone(order)
	out["target"] = t
	return out
}

// AttemptKey names one case of one run of an order. The same order run again gives the same keys, so that its results are refused as a conflict and never mixed.
func AttemptKey(orderHash string, index int) string {
	return fmt.Sprintf("urn:benchx:attempt:%.16s:%d", strings.TrimPrefix(orderHash, "sha256:"), index)
}

// IngestKey names a result within its producer. slot is negative where the order has none.
func IngestKey(runKey, workload string, parameters map[string]any, quantity string, slot int) (string, error) {
	key := percent(runKey) + ":" + percent(workload)
	if len(parameters) > 0 {
		b, err := ijson.Canonical(parameters)
		if err != nil {
			return "", err
		}
		key += "/" + percent(string(b))
	}
	key += ":" + percent(quantity)
	if slot >= 0 {
		key += ":slot-" + strconv.Itoa(slot)
	}
	return key, nil
}

// percent encodes everything that is not unreserved in a URI.
func percent(s string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || strings.IndexByte("-_.~", c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// Token makes a name that a harness gives into one without white space: % and white space are percent-encoded, so that no two names become one.
func Token(name string) string {
	var b strings.Builder
	for _, r := range name {
		if r == '%' || unicode.IsSpace(r) {
			b.WriteString(percent(string(r)))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// FileName is the name of a result's file: readable, and different for any two results.
func FileName(producer, ingestKey string) string {
	sum := sha256.Sum256([]byte(producer + "\x00" + ingestKey))
	name := strings.Map(func(r rune) rune {
		if r == '/' || r == ':' || r < 0x20 || r > 0x7e {
			return '_'
		}
		return r
	}, ingestKey)
	return fmt.Sprintf("%.180s-%s.json", name, hex.EncodeToString(sum[:6]))
}

// OrderFile is the name of the copy of an order that stands beside its results.
func OrderFile(orderHash string) string {
	return "workorder-" + strings.TrimPrefix(orderHash, "sha256:") + ".json"
}

// Keys are the names of an object's members in order.
func Keys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
