package cache

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flameox/flameox/internal/vfs"
)

// journal commits n batches of the given size and returns the runs, batch by batch.
func journal(t *testing.T, dir string, n, size int) (*Records, [][]string) {
	t.Helper()
	r := open(t, dir)
	var out [][]string
	for range n {
		var recs []*Record
		var names []string
		for range size {
			rec := record(r, "k")
			recs = append(recs, rec)
			names = append(names, rec.Run+"/1")
		}
		commit(t, r, recs...)
		out = append(out, names)
	}
	return r, out
}

func TestAJournalCutAnywhereHasWholeBatchesOnly(t *testing.T) {
	dir := t.TempDir()
	r, batches := journal(t, dir, 3, 3)
	whole, _ := os.ReadFile(r.segmentPath(1))
	for cut := 0; cut < len(whole); cut += 83 {
		at := t.TempDir()
		os.Mkdir(filepath.Join(at, "runs"), 0o755)
		os.WriteFile(filepath.Join(at, "runs", "00000001.journal"), whole[:cut], 0o644)
		r := open(t, at)
		got := runsOf(r.All())
		if len(got)%3 != 0 || !slices.Equal(got, slices.Concat(batches...)[:len(got)]) {
			t.Fatalf("cut at %d of %d: %d runs", cut, len(whole), len(got))
		}
		rec := record(r, "k")
		commit(t, r, rec)
		again := open(t, at)
		if want := append(got, rec.Run+"/1"); !slices.Equal(runsOf(again.All()), want) {
			t.Fatalf("cut at %d: after the next append %v, want %v", cut, runsOf(again.All()), want)
		}
		if p, err := again.CheckJournal(); err != nil || len(p) != 0 {
			t.Fatalf("cut at %d: after the next append %v, %v", cut, p, err)
		}
	}
}

func TestATornTailIsKeptInQuarantine(t *testing.T) {
	dir := t.TempDir()
	r, _ := journal(t, dir, 2, 1)
	f, _ := os.OpenFile(r.segmentPath(1), os.O_WRONLY|os.O_APPEND, 0)
	f.WriteString("half a frame")
	f.Close()
	again := open(t, dir)
	if p, err := again.CheckJournal(); err != nil || len(p) != 1 || p[0].Kind != TornTail || p[0].Length != 12 {
		t.Fatalf("%+v, %v", p, err)
	}
	commit(t, again, record(again, "k"))
	list, _ := filepath.Glob(filepath.Join(dir, "quarantine", "journal-*"))
	if len(list) != 2 { // and its note
		t.Fatalf("quarantine has %v", list)
	}
	for _, p := range list {
		if b, _ := os.ReadFile(p); !strings.HasSuffix(p, ".json") && string(b) != "half a frame" {
			t.Fatalf("%s: %q", p, b)
		}
	}
	if n := len(open(t, dir).All()); n != 3 {
		t.Fatalf("%d runs", n)
	}
}

func TestAFrameThatRotsCostsThatFrameAlone(t *testing.T) {
	dir := t.TempDir()
	r, batches := journal(t, dir, 3, 3)
	all := slices.Concat(batches...)
	whole, _ := os.ReadFile(r.segmentPath(1))
	frames, _, _ := scan(whole[segmentHeader:], segmentHeader)
	for i, f := range frames[:len(frames)-1] {
		for _, at := range []int64{0, 9, 30, f.end() - f.off - 1} {
			dir := t.TempDir()
			os.Mkdir(filepath.Join(dir, "runs"), 0o755)
			b := slices.Clone(whole)
			b[f.off+at] ^= 0x20
			os.WriteFile(filepath.Join(dir, "runs", "00000001.journal"), b, 0o644)
			r := open(t, dir)
			want := slices.Delete(slices.Clone(all), i, i+1)
			if got := runsOf(r.All()); !slices.Equal(got, want) {
				t.Fatalf("frame %d, byte %d: %d runs, want %d", i, at, len(got), len(want))
			}
			p, err := r.CheckJournal()
			if err != nil || len(p) != 1 || p[0].Kind != CorruptFrame || p[0].Offset != f.off || p[0].Length != f.end()-f.off {
				t.Fatalf("frame %d, byte %d: %+v, %v", i, at, p, err)
			}
			commit(t, r, record(r, "k"))
			if got := runsOf(open(t, dir).All()); len(got) != len(want)+1 {
				t.Fatalf("frame %d, byte %d: after an append %d runs", i, at, len(got))
			}
		}
	}
}

func TestACommittedLastFrameThatRotsIsToldFromATornOne(t *testing.T) {
	dir := t.TempDir()
	r, _ := journal(t, dir, 20, 1)
	r.Close()
	p := r.segmentPath(1)
	b, _ := os.ReadFile(p)
	b[len(b)-5] ^= 1
	os.WriteFile(p, b, 0o644)
	again := open(t, dir) // the state file knows that it was committed
	last := again.All()[19]
	if _, err := last.Record(); err == nil || !strings.Contains(err.Error(), last.Run) {
		t.Fatalf("a damaged record: %v", err)
	}
	problems, err := again.CheckJournal()
	if err != nil || len(problems) == 0 || problems[0].Kind != CorruptFrame {
		t.Fatalf("%+v, %v", problems, err)
	}
	commit(t, again, record(again, "k"))
	if len(again.All()) != 21 {
		t.Fatal(len(again.All()))
	}
}

func TestADamagedSegmentHeaderLosesNothing(t *testing.T) {
	dir := t.TempDir()
	r, _ := journal(t, dir, 3, 1)
	b, _ := os.ReadFile(r.segmentPath(1))
	copy(b, "XXXX")
	os.WriteFile(r.segmentPath(1), b, 0o644)
	again := open(t, dir)
	if len(again.All()) != 3 {
		t.Fatal(len(again.All()))
	}
	if p, err := again.CheckJournal(); err != nil || len(p) != 1 || p[0].Kind != CorruptFrame {
		t.Fatalf("%+v, %v", p, err)
	}
}

func TestAReaderNoticesThatWhatItReadWasTakenBack(t *testing.T) {
	dir := t.TempDir()
	r, _ := journal(t, dir, 2, 1)
	p := r.segmentPath(1)
	before, _ := os.ReadFile(p)
	doomed := record(r, "doomed")
	commit(t, r, doomed)
	reader := open(t, dir)
	// The writer's sync failed, it cut its batch off, and another wrote a longer one there.
	os.WriteFile(p, before, 0o644)
	w := open(t, dir)
	x, y := record(w, "k"), record(w, "k")
	commit(t, w, x, y)
	if err := reader.Refresh(); err != nil {
		t.Fatal(err)
	}
	if len(reader.Lookup(doomed.Key)) != 0 || len(reader.All()) != 4 {
		t.Fatalf("%v", runsOf(reader.All()))
	}
}

func TestAFullSegmentIsFollowedByANewOne(t *testing.T) {
	dir := t.TempDir()
	r, _ := journal(t, dir, 2, 2)
	r.segs[0].covered = maxSegment // as if it were
	s, err := r.target()
	if err != nil || s.number != 2 {
		t.Fatalf("%+v, %v", s, err)
	}
	r.segs = r.segs[:1]
	p := r.segmentPath(1)
	b, _ := os.ReadFile(p)
	os.WriteFile(filepath.Join(dir, "runs", "00000002.journal"), nil, 0o644)
	w := open(t, dir)
	x := record(w, "k")
	commit(t, w, x)
	if after, _ := os.ReadFile(p); !bytes.Equal(b, after) {
		t.Fatal("the first segment changed")
	}
	again := open(t, dir)
	if len(again.All()) != 5 || again.All()[4].segment != 2 {
		t.Fatalf("%v", runsOf(again.All()))
	}
	if rec, err := again.All()[4].Record(); err != nil || rec.Run != x.Run {
		t.Fatal(err)
	}
	os.Remove(p)
	third := open(t, dir)
	if p, err := third.CheckJournal(); err != nil || len(p) != 1 || p[0].Kind != MissingSegment {
		t.Fatalf("%+v, %v", p, err)
	}
}

func TestAPayloadThatHoldsTheMagicDoesNotMislead(t *testing.T) {
	inner := appendFrame(nil, kindLink, true, 0, segmentHeader, []byte(`{"run":"a","provider":"b","extraction":"c"}`))
	b := appendFrame(nil, kindRecord, true, 0, segmentHeader, inner)
	frames, bad, end := scan(b, segmentHeader)
	if len(frames) != 1 || len(bad) != 0 || end != segmentHeader+int64(len(b)) {
		t.Fatalf("%d frames, %v, %d", len(frames), bad, end)
	}
	b[frameHeader+40] ^= 1 // the payload rots: its header still says where the next frame is
	if frames, _, _ = scan(append(b, appendFrame(nil, kindLink, true, 0, segmentHeader+int64(len(b)), []byte("{}"))...), segmentHeader); len(frames) != 1 {
		t.Fatalf("%d frames", len(frames))
	}
}

func TestFramesOfUnknownKindsAreSkippedAndTold(t *testing.T) {
	dir := t.TempDir()
	r, _ := journal(t, dir, 1, 1)
	p := r.segmentPath(1)
	b, _ := os.ReadFile(p)
	b = appendFrame(b, 77, true, 0, int64(len(b)), []byte("new"))
	os.WriteFile(p, b, 0o644)
	again := open(t, dir)
	commit(t, again, record(again, "k"))
	if len(open(t, dir).All()) != 2 {
		t.Fatal("lost a record")
	}
	if p, err := again.CheckJournal(); err != nil || len(p) != 1 || p[0].Kind != UnknownFrame {
		t.Fatalf("%+v, %v", p, err)
	}
}

func FuzzScan(f *testing.F) {
	one := appendFrame(nil, kindRecord, true, 0, segmentHeader, []byte(`{"run":"x"}`))
	two := appendFrame(slices.Clone(one), kindLink, false, 0, segmentHeader+int64(len(one)), []byte(`{}`))
	three := appendFrame(slices.Clone(two), kindLink, true, 1, segmentHeader+int64(len(one)), []byte(`{"a":2}`))
	f.Add(one, 3)
	f.Add(two, 40)
	f.Add(three, 50)
	f.Add([]byte(strings.Repeat(frameMagic, 20)), 0)
	f.Fuzz(func(t *testing.T, b []byte, cut int) {
		frames, bad, end := scan(b, segmentHeader)
		if end < segmentHeader || end > segmentHeader+int64(len(b)) {
			t.Fatalf("end %d of %d bytes", end, len(b))
		}
		last := segmentHeader
		for _, fr := range frames {
			if fr.off < last || fr.end() > end || fr.payload == nil {
				t.Fatalf("frame at %d to %d, after %d, end %d", fr.off, fr.end(), last, end)
			}
			last = fr.end()
		}
		for _, s := range bad {
			if s.len <= 0 || s.off < segmentHeader || s.off >= end {
				t.Fatalf("bad %+v, end %d", s, end)
			}
		}
		// What follows garbage is found, and an append after the end stands whatever was before it.
		tail := appendFrame(slices.Clone(b[:end-segmentHeader]), kindLink, true, 0, end, []byte("tail"))
		got, _, end2 := scan(tail, segmentHeader)
		if len(got) != len(frames)+1 || string(got[len(got)-1].payload) != "tail" || end2 != segmentHeader+int64(len(tail)) {
			t.Fatalf("%d frames, then %d", len(frames), len(got))
		}
	})
}

func FuzzParseState(f *testing.F) {
	dir := f.TempDir()
	r, err := Open(dir, vfs.OS{}, time.Now)
	if err != nil {
		f.Fatal(err)
	}
	for i := range 3 {
		if err := r.Commit(nil, []*Record{record(r, fmt.Sprint(i))}, []Link{{"a", "b", "c"}}); err != nil {
			f.Fatal(err)
		}
	}
	f.Add(r.encodeState())
	f.Add([]byte(stateMagic))
	f.Add(append([]byte(stateMagic), bytes.Repeat([]byte{0xff}, 64)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		parseState(b)
		if len(b) < 4 {
			return
		}
		body := b[:len(b)-4]
		sealed := binary.LittleEndian.AppendUint32(slices.Clone(body), crc32.Checksum(body, castagnoli))
		if st, err := parseState(sealed); err == nil {
			for i := range st.all {
				_ = st.all[i].Run + st.all[i].Address
			}
		}
	})
}
