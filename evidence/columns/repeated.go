package columns

import (
	"bytes"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"
)

// repeated writes required text columns in which a whole buffer is one text: the artifact, the provider, a
// unit. The column writer would look the text up in its dictionary once a row; after the first buffer its
// place there is known, and the places can be written directly. The bytes are the same.
type repeated struct {
	known map[int]entry // by Parquet column, of the open row group
	ones  []int32       // scratch: one place, again and again
}

type entry struct {
	text  parquet.ByteArray
	place int32
}

// dictionary is what arrow-go's dictionary encoders have beside the interface that it exports.
type dictionary interface {
	NumEntries() int
	AddRawSize(int64)
}

func (r *repeated) write(cw file.ColumnChunkWriter, column int, texts []parquet.ByteArray) error {
	bw, ok := cw.(*file.ByteArrayColumnChunkWriter)
	if !ok {
		return errNoText
	}
	dict, ok := cw.CurrentEncoder().(dictionary)
	if !ok { // no dictionary, or another one than is known here
		_, err := bw.WriteBatch(texts, nil, nil)
		return err
	}
	e, seen := r.known[column]
	if !seen || !bytes.Equal(e.text, texts[0]) {
		before := dict.NumEntries()
		if _, err := bw.WriteBatch(texts, nil, nil); err != nil {
			return err
		}
		if dict, ok := cw.CurrentEncoder().(dictionary); ok && dict.NumEntries() == before+1 {
			if r.known == nil {
				r.known = map[int]entry{}
			}
			r.known[column] = entry{bytes.Clone(texts[0]), int32(before)}
		}
		return nil
	}
	if stats, ok := cw.PageStatistics().(*metadata.ByteArrayStatistics); ok && stats != nil {
		stats.Update(texts[:1], 0)
		stats.IncNumValues(int64(len(texts) - 1))
	}
	// Pages end by the size of the texts, not of the places.
	dict.AddRawSize(int64(len(texts)) * int64(len(e.text)+4))
	places := r.places(e.place, len(texts))
	data := array.NewData(arrow.PrimitiveTypes.Int32, len(places),
		[]*memory.Buffer{nil, memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(places))}, nil, 0, 0)
	defer data.Release()
	indices := array.NewInt32Data(data)
	defer indices.Release()
	return bw.WriteDictIndices(indices, nil, nil)
}

func (r *repeated) places(place int32, n int) []int32 {
	if len(r.ones) < n || r.ones[0] != place {
		r.ones = make([]int32, max(n, chunkRows))
		for i := range r.ones {
			r.ones[i] = place
		}
	}
	return r.ones[:n]
}
