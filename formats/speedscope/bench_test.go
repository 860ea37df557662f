package speedscope

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// large is a sampled profile of about 20 MB.
func large() []byte {
	var b strings.Builder
	b.WriteString(`{"$schema":"` + Schema + `","shared":{"frames":[`)
	for i := range 2000 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"name":"function_%d","file":"/srv/app/module_%d.py","line":%d,"col":null}`, i, i%90, i)
	}
	b.WriteString(`]},"profiles":[{"type":"sampled","name":"t","unit":"seconds","startValue":0,"endValue":1,"samples":[`)
	const samples = 200_000
	for i := range samples {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('[')
		for d := range 20 {
			if d > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, "%d", (d*97+i/(21-d))%2000)
		}
		b.WriteByte(']')
	}
	b.WriteString(`],"weights":[0.01` + strings.Repeat(",0.01", samples-1) + `]}]}`)
	return []byte(b.String())
}

// BenchmarkRead reads a profile and goes through its samples; the second one is what encoding/json needs to hold the same document.
func BenchmarkRead(b *testing.B) {
	data := large()
	b.Run("own", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			f, err := Parse(data)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := f.Profiles[0].Walk(1<<16, func([]int32, int64) error { return nil }); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("encoding-json", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			var f struct {
				Shared   struct{ Frames []Frame }
				Profiles []struct {
					Samples [][]int32
					Weights []float64
				}
			}
			if err := json.Unmarshal(data, &f); err != nil {
				b.Fatal(err)
			}
		}
	})
}
