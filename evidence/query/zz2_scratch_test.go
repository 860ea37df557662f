//go:build cgo

package query

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"
	"path/filepath"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/evidence/publish"
	"github.com/flameox/flameox/internal/digest"
)

func TestScratchPub(t *testing.T) {
	root := t.TempDir()
	var d publish.Desired
	var runs []evidence.Run
	const N = 2000
	for i := range N {
		r := row(i, "a", true)
		f := fmt.Sprintf("/tmp/evbig/store/%d/measurements.parquet", i)
		b, err := os.ReadFile(f)
		if err != nil { t.Fatal(err) }
		d.Parts = append(d.Parts, publish.Part{Run: r.Run, Table: "measurements", Provider: "pyperf", Path: f, Digest: digest.Sum(b)})
		runs = append(runs, r)
	}
	d.Runs, d.Load, _ = publish.Rows(runs)
	p := publish.New(filepath.Join(root, "evidence"), time.Now)
	start := time.Now()
	rep, err := p.Publish(context.Background(), d)
	fmt.Printf("publish %v %+v %v\n", time.Since(start)/N, rep, err)
}
