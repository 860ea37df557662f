package cache

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/vfs"
)

// A payload comes from a journal that anybody may have written to: behind the checksum of a frame a record must be refused or be safe to use, and a
// record that is kept must be read again as it was.
func FuzzDecodeRecord(f *testing.F) {
	good := []byte(`{"run":"01HZZZZZZZZZZZZZZZZZZZZZZZ","revision":1,"key":"` + digest.SumString("k").String() + `","address":"a","outputs":[{"name":"o","digest":"` + digest.SumString("o").String() + `","size":1}]}`)
	if _, err := decodeRecord(good); err != nil {
		f.Fatalf("the seed is refused: %v", err)
	}
	f.Add(good)
	f.Add([]byte(`{"run":"x"}`))
	f.Add([]byte(`{"run":"01HZZZZZZZZZZZZZZZZZZZZZZZ","provider":"p","extraction":"01HZZZZZZZZZZZZZZZZZZZZZZZ"}`))
	f.Add([]byte(`{"run":"01HZZZZZZZZZZZZZZZZZZZZZZZ","revision":1,"key":"` + digest.SumString("k").String() + `","manifest":{"facets":null},"outputs":[{}]}`))
	f.Fuzz(func(t *testing.T, payload []byte) {
		if l, err := decodeLink(payload); err == nil && (l.Run == "" || l.Extraction == "") {
			t.Fatalf("a link to nothing: %+v", l)
		}
		rec, err := decodeRecord(payload)
		if err != nil {
			return
		}
		rec.Valid()
		rec.Manifest.Key()
		r, err := Open(t.TempDir(), vfs.OS{}, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if err := r.Commit(nil, []*Record{rec}, nil); err != nil {
			return // refused, with a reason
		}
		sum, err := r.Run(rec.Run)
		if err != nil {
			t.Fatalf("a record that was kept is not found: %v", err)
		}
		again, err := sum.Record()
		if err != nil {
			t.Fatalf("a record that was kept is not read: %v", err)
		}
		a, errA := json.Marshal(rec)
		b, errB := json.Marshal(again)
		if errA != nil || errB != nil || string(a) != string(b) {
			t.Fatalf("kept %s\nread %s", a, b)
		}
	})
}
