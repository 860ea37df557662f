package cache

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"time"

	"github.com/flameox/flameox/internal/digest"
)

// Summary is what a plan and a list of runs need of a record, without decoding it. It does not change.
type Summary struct {
	Run        string
	Revision   int
	Experiment string
	Address    string
	Kind       string
	Nature     string
	Key        digest.Digest
	Generation int
	Attempt    int
	Execution  Execution
	Capture    Capture
	Validation Validation
	State      string
	Started    time.Time     // UTC
	Wall       time.Duration // monotonic
	Host       string        // its name
	HostClass  digest.Digest // of the class of the host: equal classes, equal digests; zero where none was recorded
	Outputs    []Output

	owner   *Records
	segment uint32
	offset  int64 // of the frame
	size    int   // of its payload, bytes
}

// Valid says whether the run may be reused.
func (s *Summary) Valid() bool { return s.Validation == ValidationPassed }

// Record reads the whole record.
func (s *Summary) Record() (*Record, error) { return s.owner.read(s) }

func summarize(rec *Record) *Summary {
	return &Summary{
		Run: rec.Run, Revision: rec.Revision, Experiment: rec.Experiment, Address: rec.Address, Kind: rec.Kind, Nature: rec.Nature,
		Key: rec.Key, Generation: rec.Generation, Attempt: rec.Attempt,
		Execution: rec.Execution, Capture: rec.Capture, Validation: rec.Validation, State: rec.State,
		Started: rec.Started.UTC(), Wall: time.Duration(rec.WallNS), Host: rec.Host.Name,
		HostClass: ClassDigest(rec.Host.Class), Outputs: rec.Outputs,
	}
}

// ClassDigest is the digest of a host class; zero for an empty one.
func ClassDigest(class map[string]string) digest.Digest {
	if len(class) == 0 {
		return digest.Digest{}
	}
	names := make([]string, 0, len(class))
	for n := range class {
		names = append(names, n)
	}
	sort.Strings(names)
	var b bytes.Buffer
	for _, n := range names {
		fmt.Fprintf(&b, "%d:%s%d:%s", len(n), n, len(class[n]), class[n])
	}
	return digest.Sum(b.Bytes())
}

// decodeRecord reads a payload. What is written by a newer version may have more fields.
func decodeRecord(payload []byte) (*Record, error) {
	rec := new(Record)
	if err := json.Unmarshal(payload, rec); err != nil {
		return nil, fmt.Errorf("it is not the JSON of a record: %w", err)
	}
	return rec, checkRecord(rec)
}

// checkRecord refuses what the index cannot hold.
func checkRecord(rec *Record) error {
	if _, err := parseRunID(rec.Run); err != nil {
		return err
	}
	const most = 1 << 31
	switch {
	case rec.Revision < 1 || rec.Revision >= most:
		return fmt.Errorf("run %s has the revision %d, want 1 or more", rec.Run, rec.Revision)
	case rec.Generation < 0 || rec.Generation >= most || rec.Attempt < 0 || rec.Attempt >= most:
		return fmt.Errorf("run %s has the generation %d and the attempt %d, want 0 or more", rec.Run, rec.Generation, rec.Attempt)
	case rec.Key.IsZero():
		return fmt.Errorf("run %s has no key", rec.Run)
	}
	for _, o := range rec.Outputs {
		if o.Digest.IsZero() || o.Size < 0 {
			return fmt.Errorf("run %s: the output %q has no digest or a negative size", rec.Run, o.Name)
		}
	}
	return nil
}

func decodeLink(payload []byte) (l Link, err error) {
	if err := json.Unmarshal(payload, &l); err != nil {
		return l, fmt.Errorf("it is not the JSON of a link: %w", err)
	}
	if l.Run == "" || l.Provider == "" || l.Extraction == "" {
		return l, errors.New("a link without run, provider or extraction")
	}
	return l, nil
}
