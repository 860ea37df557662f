package bundle

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/internal/digest"
)

const (
	format       = "flameox bundle 1"
	manifestName = "bundle.json"
	recordsName  = "records.jsonl"
	blobPrefix   = "blobs/"

	maxManifest = 256 << 20 // bytes
	maxRecords  = 1 << 30
)

// Manifest is the first entry of a bundle.
type Manifest struct {
	Format  string    `json:"format"`
	Created time.Time `json:"created"`        // UTC
	Host    string    `json:"host,omitempty"` // that wrote it, as it calls itself
	Flameox string    `json:"flameox"`        // version that wrote it
	Runs    int       `json:"runs"`
	Records Blob      `json:"records"`  // the second entry
	Blobs   []Blob    `json:"blobs"`    // the other entries, in the order of digests
	LeftOut []LeftOut `json:"left_out"` // what was asked for and is not in it
}

// Blob is an announced entry.
type Blob struct {
	Digest digest.Digest `json:"digest"`
	Size   int64         `json:"size"` // bytes
}

// LeftOut is a run that was asked for and is not in the bundle.
type LeftOut struct {
	Run     string `json:"run"`
	Address string `json:"address"`
	Why     string `json:"why"` // a clause
}

// Bytes is the size of all blobs, before compression.
func (m *Manifest) Bytes() (n int64) {
	for _, b := range m.Blobs {
		n += b.Size
	}
	return n
}

// line is one line of the records: a record or a link.
type line struct {
	Record *cache.Record `json:"record,omitempty"`
	Link   *cache.Link   `json:"link,omitempty"`
}

func parseManifest(b []byte) (*Manifest, error) {
	m := new(Manifest)
	var head struct{ Format string }
	if err := json.Unmarshal(b, &head); err != nil {
		return nil, fmt.Errorf("its manifest is not JSON: %w", err)
	}
	if head.Format != format {
		return nil, fmt.Errorf("its format is %q, and this flameox reads %q", head.Format, format)
	}
	if err := strict(b, m); err != nil {
		return nil, fmt.Errorf("its manifest cannot be read: %w", err)
	}
	var total int64
	for i, x := range m.Blobs {
		if x.Digest.IsZero() || x.Size < 0 || i > 0 && bytes.Compare(m.Blobs[i-1].Digest[:], x.Digest[:]) >= 0 {
			return nil, fmt.Errorf("blob %d of its manifest has no digest or a negative size, or is there twice or out of order", i)
		}
		if total += x.Size; total < 0 {
			return nil, errors.New("the sizes in its manifest do not fit 63 bits")
		}
	}
	if m.Records.Size < 0 || m.Records.Size > maxRecords {
		return nil, fmt.Errorf("its records have %d bytes, more than the limit of %d", m.Records.Size, maxRecords)
	}
	return m, nil
}

// strict reads one JSON document of known fields and nothing after it: a field that this version does not know would be lost.
func strict(b []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return err
	}
	if len(bytes.TrimSpace(b[dec.InputOffset():])) > 0 {
		return errors.New("something follows the document")
	}
	return nil
}
