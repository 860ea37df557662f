package pprof

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"

	"github.com/google/pprof/profile"

	sum "github.com/flameox/flameox/formats/profile"
	"github.com/flameox/flameox/providers"
)

// The codes of refusals.
const (
	EmptyFile      = "payload_empty"
	Truncated      = "payload_truncated"
	Corrupt        = "payload_corrupt"
	NotAProfile    = "not_a_profile"
	NoSampleTypes  = "no_sample_types"
	InputBudget    = providers.InputBudget
	MemoryBudget   = providers.MemoryBudget
	Overflow       = providers.Overflow
	TooMuch        = providers.TooMuch
	SampleTypesDup = "sample_types_ambiguous"
)

// decoded is a profile and how it was written.
type decoded struct {
	*profile.Profile
	legacy bool
}

// decode reads a profile of at most limit bytes of memory once decoded. An error is a *providers.Refusal where the
// payload is at fault.
func decode(r io.Reader, limit int64) (decoded, error) {
	// An object of the decoded profile is never smaller than the bytes that describe it, so what is larger than
	// the limit need not be read to the end.
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	switch {
	case err != nil:
		return decoded{}, err
	case len(data) == 0:
		return decoded{}, providers.Refuse(EmptyFile, "the profile has no bytes: the process ended before it wrote it, or never stopped profiling")
	case int64(len(data)) > limit:
		return decoded{}, providers.Refuse(MemoryBudget, "the profile is larger than the %d bytes of memory that it may take; raise the extraction's memory budget", limit)
	}
	if isGzip(data) {
		if data, err = inflate(data, limit); err != nil {
			return decoded{}, err
		}
		if isGzip(data) {
			return decoded{}, providers.Refuse(NotAProfile, "the payload is compressed twice; decompress it once")
		}
	}
	if need := footprint(data); need > limit {
		return decoded{}, providers.Refuse(MemoryBudget, "the profile would take about %d bytes of memory and may take %d; raise the extraction's memory budget", need, limit)
	}
	if n := labelText(data); n > sum.MaxText {
		return decoded{}, providers.Refuse(TooMuch, "the labels of the profile's samples have %d bytes of text together, each counted as often as a sample refers to it, and may have %d; it is damaged, or its producer has to record fewer or shorter labels", n, int64(sum.MaxText))
	}
	return parse(data, protoShaped(data))
}

func isGzip(data []byte) bool { return len(data) >= 2 && data[0] == 0x1F && data[1] == 0x8B }

// inflate decompresses within the limit, whatever size the data pretends to have.
func inflate(data []byte, limit int64) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err == nil {
		data, err = io.ReadAll(io.LimitReader(z, limit+1))
	}
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		return nil, providers.Refuse(Truncated, "the profile's gzip data breaks off: the process ended while it was being written, or the file was cut")
	case err != nil:
		return nil, providers.Refuse(Corrupt, "the profile's gzip data is damaged: %v", err)
	case int64(len(data)) > limit:
		return nil, providers.Refuse(MemoryBudget, "the profile decompresses to more than the %d bytes of memory that it may take; raise the extraction's memory budget", limit)
	case len(data) == 0:
		return nil, providers.Refuse(EmptyFile, "the profile is an empty gzip file: the process ended before it wrote it")
	}
	return data, nil
}

// parse hands uncompressed data to the reader. The reader has no bounds of its own and reads formats of twenty years;
// a panic of its is a refusal of this one payload.
func parse(data []byte, shaped bool) (d decoded, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = providers.Refuse(Corrupt, "the profile makes pprof's reader fail: %v", r)
		}
	}()
	p, err := profile.ParseUncompressed(data)
	if err != nil {
		if shaped {
			return decoded{}, providers.Refuse(Truncated, "the profile begins as one and breaks off or is damaged (%v): the process ended while it was being written, or the file was cut", err)
		}
		if p, err = profile.ParseData(data); err != nil {
			return decoded{}, providers.Refuse(NotAProfile, "the payload is no profile in pprof's format nor in one of those that came before it: %v%s", err, unexpected(data))
		}
		d.legacy = true
	} else if err := p.CheckValid(); err != nil {
		return decoded{}, providers.Refuse(Corrupt, "the profile contradicts itself: %v", err)
	}
	if len(p.SampleType) == 0 {
		return decoded{}, providers.Refuse(NoSampleTypes, "the payload names no sample type, so its figures would have no meaning; it is no profile, or was cut")
	}
	if p.DropFrames != "" {
		// The reader looks every name up for every line of every location.
		var names int64
		for _, l := range p.Location {
			for _, line := range l.Line {
				if line.Function != nil {
					names += int64(len(line.Function.Name))
				}
			}
		}
		if names > sum.MaxText {
			return decoded{}, providers.Refuse(TooMuch, "the names of the profile's functions have %d bytes together, each counted as often as a line refers to it, and may have %d", names, int64(sum.MaxText))
		}
	}
	if err := p.RemoveUninteresting(); err != nil {
		return decoded{}, providers.Refuse(Corrupt, "the profile's own list of frames to drop is no regular expression: %v", err)
	}
	d.Profile = p
	return d, nil
}

// Fields of the message Profile, and whether each is a message or text (2) or a number (0).
var profileFields = map[uint64]uint64{1: 2, 2: 2, 3: 2, 4: 2, 5: 2, 6: 2, 7: 0, 8: 0, 9: 0, 10: 0, 11: 2, 12: 0, 13: 0, 14: 0, 15: 0}

// protoShaped says whether data, which may be the beginning of more, reads as a Profile: only its fields, with their wire
// types, and a sample type among them. Other protocols have messages as field 1 too, but not messages of two small numbers.
func protoShaped(data []byte) bool {
	seen := false
	for len(data) > 0 {
		tag, n := binary.Uvarint(data)
		if n <= 0 {
			return seen && len(data) < binary.MaxVarintLen64
		}
		data = data[n:]
		field, wire := tag>>3, tag&7
		want, known := profileFields[field]
		// Comments (13) are numbers in packed form too.
		if !known || (wire != want && (field != 13 || wire != 2)) {
			return false
		}
		v, n := binary.Uvarint(data)
		if n <= 0 {
			return seen && len(data) < binary.MaxVarintLen64
		}
		data = data[n:]
		if wire == 0 {
			continue
		}
		if v > uint64(len(data)) {
			return seen
		}
		if field == 1 {
			if !valueType(data[:v]) {
				return false
			}
			seen = true
		}
		data = data[v:]
	}
	return seen
}

// valueType says whether data is a ValueType: type and unit as indices of the string table.
func valueType(data []byte) bool {
	for len(data) > 0 {
		tag, n := binary.Uvarint(data)
		if n <= 0 || (tag != 1<<3 && tag != 2<<3) {
			return false
		}
		data = data[n:]
		v, n := binary.Uvarint(data)
		if n <= 0 || v > 1<<31 {
			return false
		}
		data = data[n:]
	}
	return true
}

// ofComment is what the reader takes for one comment, which may be one byte of a packed list: an index and a text, in
// slices that have grown by doubling.
const ofComment = 64

// footprint is about the memory that the reader takes for data, from above: an empty message of two bytes becomes an
// object of up to 200, and a byte of a packed list a word in two lists.
func footprint(data []byte) int64 {
	var total int64
	for len(data) > 0 {
		tag, n := binary.Uvarint(data)
		if n <= 0 {
			break
		}
		data = data[n:]
		if fixed := map[uint64]int{1: 8, 5: 4}[tag&7]; fixed > 0 {
			data = data[min(fixed, len(data)):]
			continue
		}
		v, n := binary.Uvarint(data)
		if n <= 0 {
			break
		}
		data = data[n:]
		if tag&7 == 0 {
			if tag>>3 == 13 {
				total += ofComment
			}
			continue
		}
		if tag&7 != 2 || v > uint64(len(data)) {
			break // no protocol buffer from here on, and the reader will stop too
		}
		switch tag >> 3 {
		case 2: // sample: locations and values
			total += 200 + 20*int64(v) + labelled(data[:v])
		case 4: // location: lines
			total += 120 + 20*int64(v)
		case 6: // string
			total += 48 + int64(v)
		case 13: // comments, packed
			total += ofComment * int64(v)
		default:
			total += 160 + int64(v)
		}
		data = data[v:]
	}
	return total
}

// labelled is what the labels of a sample take: up to three maps for the first, an entry for each other.
func labelled(sample []byte) (total int64) {
	for len(sample) > 0 {
		tag, n := binary.Uvarint(sample)
		if n <= 0 {
			break
		}
		sample = sample[n:]
		v, n := binary.Uvarint(sample)
		if n <= 0 {
			break
		}
		sample = sample[n:]
		if tag&7 != 2 {
			continue
		}
		if v > uint64(len(sample)) {
			break
		}
		sample = sample[v:]
		if tag>>3 != 3 {
			continue
		}
		if total == 0 {
			total = 1200
		}
		total += 60
	}
	return total
}
