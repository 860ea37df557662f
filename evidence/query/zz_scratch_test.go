//go:build cgo

package query

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/evidence/publish"
	"github.com/flameox/flameox/internal/digest"
)

func TestScratchBig(t *testing.T) {
	root := "/tmp/evbig"
	os.RemoveAll(root)
	os.MkdirAll(root+"/store", 0o755)
	var d publish.Desired
	var runs []evidence.Run
	start := time.Now()
	const N = 10000
	for i := range N {
		dir := fmt.Sprintf("%s/store/%d", root, i)
		os.Mkdir(dir, 0o755)
		r := row(i, fmt.Sprintf("capture.pyperf.sort[\"n=%d\"]", i%100), true)
		s := evidence.NewSink(dir, evidence.FileMeta{Artifact: digest.SumString(fmt.Sprint(i)), Provider: "pyperf", ProviderVersion: 1}, evidence.Budget{})
		for j := range 60 {
			s.Measurements.Put(&evidence.Measurement{Name: "pyperf.sort", Unit: "ns", ValueInt: ptr(int64(i*7919+j*104729) % 1000003), Aggregation: "sample", Scope: "workload", ValueIndex: int64(j), Dimensions: map[string]string{"k": "v"}})
		}
		files, err := s.Close()
		if err != nil { t.Fatal(err) }
		for _, f := range files {
			b, _ := os.ReadFile(f.Path)
			d.Parts = append(d.Parts, publish.Part{Run: r.Run, Table: f.Table, Provider: "pyperf", Path: f.Path, Digest: digest.Sum(b)})
			if i == 0 { fmt.Println("part bytes", f.Bytes) }
		}
		runs = append(runs, r)
	}
	fmt.Println("made", N, "parts", time.Since(start))
	d.Runs, d.Load, _ = publish.Rows(runs)
	p := publish.New(root+"/evidence", time.Now)
	start = time.Now()
	rep, err := p.Publish(context.Background(), d)
	fmt.Printf("publish %v %+v %v\n", time.Since(start), rep, err)
	start = time.Now()
	rep, err = p.Publish(context.Background(), d)
	fmt.Printf("again %v %+v %v\n", time.Since(start), rep, err)
	for range 3 {
		start = time.Now()
		db, err := Open(root+"/evidence", Options{})
		if err != nil { t.Fatal(err) }
		o := time.Since(start)
		var b bytes.Buffer
		err = db.Query(context.Background(), "SELECT run_address, count(*) AS n, median(value_int) AS med FROM measurements_runs WHERE run_valid GROUP BY ALL ORDER BY med DESC LIMIT 5", Table, &b)
		fmt.Println("open", o, "first answer", time.Since(start), err)
		if err := db.Query(context.Background(), "SELECT * FROM latest LIMIT 3", JSON, &b); err != nil { t.Fatal(err) }
		fmt.Println("latest", time.Since(start))
		db.Close()
	}
	// one more at a time
	start = time.Now()
	part := d.Parts[0]
	var bytesOut int64
	const M = 300
	for i := range M {
		name := fmt.Sprintf("01RUN%05d", N+i)
		part.Run = name
		r := runs[0]
		r.Run = name
		refs, load, _ := publish.Rows([]evidence.Run{r})
		rep, err := p.Update(context.Background(), publish.Desired{Parts: []publish.Part{part}, Runs: refs, Load: load}, []string{name})
		if err != nil { t.Fatal(err) }
		bytesOut += rep.Bytes
	}
	fmt.Println("update of one run at 10,000:", time.Since(start)/M, "bytes", bytesOut/M)
	g, _ := publish.Pin(root + "/evidence")
	for _, tb := range evidence.Tables() { fmt.Println(tb.Name, len(g.Files(tb.Name)), g.Rows(tb.Name)) }
	_ = filepath.Join
}
