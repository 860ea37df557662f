package cache

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flameox/flameox/graph/cas"
	"github.com/flameox/flameox/internal/vfs"
)

// BenchmarkCommit makes a record with two small blobs durable, as a finished stage does, from so many stages at once.
func BenchmarkCommit(b *testing.B) {
	for _, stages := range []int{1, 2, 8, 32} {
		b.Run(fmt.Sprint(stages), func(b *testing.B) {
			dir := b.TempDir()
			store, err := cas.Open(dir, vfs.OS{})
			if err != nil {
				b.Fatal(err)
			}
			r, err := Open(dir, vfs.OS{}, time.Now)
			if err != nil {
				b.Fatal(err)
			}
			var n atomic.Int64
			b.SetParallelism(stages) // of the one CPU that -cpu 1 gives
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					batch := store.NewBatch()
					rec := record(r, fmt.Sprint(n.Add(1)))
					rec.Outputs = nil
					for _, name := range []string{"stdout", "manifest"} {
						d, err := batch.PutBytes(fmt.Append(nil, name, n.Load()))
						if err != nil {
							b.Error(err)
							return
						}
						rec.Outputs = append(rec.Outputs, Output{Name: name, Digest: d, Size: 1})
					}
					if err := r.Commit(batch, []*Record{rec}, nil); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}
