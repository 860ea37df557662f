package publish

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/evidence/columns"
	"github.com/flameox/flameox/internal/digest"
)

// rewrite replaces the bytes of a stored file, as a bad disk does: its name stays.
func rewrite(t testing.TB, path string, b []byte) {
	t.Helper()
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

func contents(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// tryPublish publishes without the check that everything desired is there.
func (w *world) tryPublish() Report {
	w.t.Helper()
	r, err := w.p.Publish(context.Background(), w.all())
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// allBut is what a glob should show of the measurements without those of one run.
func (w *world) allBut(run string) (want []string) {
	for name, st := range w.desired {
		for _, p := range st.parts {
			if p.Table == "measurements" && name != run {
				for _, v := range rowsOf(w.t, []string{p.Path}, "provider", "value_int") {
					want = append(want, name+v)
				}
			}
		}
	}
	slices.Sort(want)
	return want
}

func TestADamagedPartIsLeftOutReportedAndPublishedWhenItIsRepaired(t *testing.T) {
	good := func(b []byte) []byte { return b }
	for name, c := range map[string]struct {
		damage func([]byte) []byte        // of the content
		other  func(t *testing.T, p Part) // something else than content
		why    string
	}{
		"a flipped byte of a page":     {damage: func(b []byte) []byte { b[len(b)/3] ^= 1; return b }, why: "is damaged"},
		"a flipped byte of the footer": {damage: func(b []byte) []byte { b[len(b)-20] ^= 0x40; return b }, why: "is damaged"},
		"truncated":                    {damage: func(b []byte) []byte { return b[:len(b)/2] }, why: "is damaged"},
		"empty":                        {damage: func([]byte) []byte { return nil }, why: "is damaged"},
		"gone":                         {damage: good, other: func(t *testing.T, p Part) { os.Remove(p.Path) }, why: "is not there"},
		"a FIFO": {damage: good, other: func(t *testing.T, p Part) {
			os.Remove(p.Path)
			if err := syscall.Mkfifo(p.Path, 0o644); err != nil {
				t.Skip(err)
			}
		}, why: "no regular file"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			for i := range 3 {
				w.set(i, 5, i*100)
			}
			bad := w.desired[runName(1)].parts[0]
			if bad.Table != "measurements" {
				t.Fatalf("the first part is of %s", bad.Table)
			}
			whole := contents(t, bad.Path)
			want := w.allBut(runName(1))
			rewrite(t, bad.Path, c.damage(bytes.Clone(whole)))
			if c.other != nil {
				c.other(t, bad)
			}
			r := w.tryPublish()
			if len(r.LeftOut) != 1 || !r.Changed || r.Added != 8 {
				t.Fatalf("report %+v", r)
			}
			l := r.LeftOut[0]
			if l.Run != bad.Run || l.Table != "measurements" || l.Provider != "gobench" || l.Digest != bad.Digest || !l.Lost {
				t.Errorf("left out %+v", l)
			}
			if text := l.String(); !strings.Contains(text, c.why) || !strings.Contains(text, "evidence lost") || !strings.Contains(text, bad.Run) {
				t.Errorf("it says %q", text)
			}
			if got := w.visible("measurements", "run", "provider", "value_int"); !slices.Equal(got, want) {
				t.Errorf("a glob shows %v, want %v", got, want)
			}
			if got := len(w.visible("runs", "run")); got != 3 {
				t.Errorf("%d rows of runs", got)
			}
			g, err := Pin(w.p.dir)
			if err != nil || !slices.EqualFunc(g.LeftOut(), r.LeftOut, LeftOut.same) {
				t.Errorf("the generation says %+v, %v", g.LeftOut(), err)
			}
			// The same again costs no generation, and says it again.
			w.p.fault = func(op, path string) error { return fmt.Errorf("%s %s was done for nothing", op, path) }
			if r := w.tryPublish(); r.Changed || len(r.LeftOut) != 1 {
				t.Errorf("report of the same again %+v", r)
			}
			w.p.fault = nil
			if c.other != nil {
				os.Remove(bad.Path)
				if err := os.WriteFile(bad.Path, whole, 0o444); err != nil {
					t.Fatal(err)
				}
			} else {
				rewrite(t, bad.Path, whole)
			}
			if r := w.publish(); r.Added != 1 || len(r.LeftOut) != 0 { // publish holds the view against everything desired
				t.Errorf("report after the repair %+v", r)
			}
			if g, _ := Pin(w.p.dir); len(g.LeftOut()) != 0 {
				t.Errorf("the generation still says %+v", g.LeftOut())
			}
		})
	}
}

// asStored makes a part of bytes that are what its digest says, whatever they are.
func (w *world) asStored(p Part, b []byte) Part {
	w.t.Helper()
	p.Path = filepath.Join(w.store, digest.Sum(b).String())
	p.Digest = digest.Sum(b)
	if err := os.WriteFile(p.Path, b, 0o444); err != nil {
		w.t.Fatal(err)
	}
	return p
}

func TestAPartWhoseStoredBytesFitNoTableIsLeftOutAndNotCalledLost(t *testing.T) {
	columnsOf := func(name string, cols ...columns.Column) []byte {
		s := &columns.Schema{Name: name, Columns: cols}
		var b bytes.Buffer
		w, err := columns.NewWriter(&b, s, map[string]string{columns.MetaTable: name})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	one := columnsOf("measurements", columns.Column{Name: "other", Type: columns.String})
	// A row, so that a file without row groups is not what is tested.
	withRow := func() []byte {
		s := &columns.Schema{Name: "measurements", Columns: []columns.Column{{Name: "other", Type: columns.String}}}
		buf := columns.NewBuffer(s)
		buf.Vector(0).String("x")
		buf.Row()
		var b bytes.Buffer
		w, err := columns.NewWriter(&b, s, map[string]string{columns.MetaTable: "measurements"})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(w.Write(buf), w.Close()); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}()
	for name, make := range map[string]func(w *world, p Part) Part{
		"no Parquet":            func(w *world, p Part) Part { return w.asStored(p, []byte("PAR1 nothing PAR1")) },
		"a page flipped before": func(w *world, p Part) Part { b := contents(t, p.Path); b[40] ^= 0xff; return w.asStored(p, b) },
		"columns of another":    func(w *world, p Part) Part { return w.asStored(p, withRow) },
		"columns, no row":       func(w *world, p Part) Part { return w.asStored(p, one) },
		"another table": func(w *world, p Part) Part {
			return w.asStored(p, contents(t, w.desired[runName(0)].parts[1].Path))
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			for i := range 3 {
				w.set(i, 5, i*100)
			}
			w.publish()
			st := w.desired[runName(1)]
			st.parts = slices.Clone(st.parts)
			st.parts[0] = make(w, st.parts[0])
			st.parts[0].From = "extract.gobench.sort"
			w.desired[runName(1)] = st
			r := w.tryPublish()
			if len(r.LeftOut) != 1 || r.LeftOut[0].Lost || r.LeftOut[0].Run != runName(1) {
				t.Fatalf("report %+v", r)
			}
			if text := r.LeftOut[0].String(); !strings.Contains(text, "-replace 'extract.gobench.sort'") {
				t.Errorf("it says %q", text)
			}
			// What it would have superseded is not shown in its stead.
			if got := w.visible("measurements", "run"); len(got) != 10 || slices.Contains(got, runName(1)) {
				t.Errorf("a glob shows %v", got)
			}
		})
	}
}

func TestAPartWithADamagedLastRowGroupIsLeftOutAsAWhole(t *testing.T) {
	w := newWorld(t)
	w.set(0, 5, 0)
	w.set(1, columns.GroupRows+1000, 0)
	p := w.desired[runName(1)].parts[0]
	b := contents(t, p.Path)
	in, err := columns.Open(p.Path)
	if err != nil {
		t.Fatal(err)
	}
	if in.Groups() < 2 {
		t.Fatalf("%d row groups", in.Groups())
	}
	in.Close()
	// The pages of the last group lie right before the footer; zeros where the last of them ends.
	footer := int(b[len(b)-8]) | int(b[len(b)-7])<<8 | int(b[len(b)-6])<<16
	for i := len(b) - 8 - footer - 60; i < len(b)-8-footer; i++ {
		b[i] = 0
	}
	st := w.desired[runName(1)]
	st.parts = slices.Clone(st.parts)
	st.parts[0] = w.asStored(p, b)
	w.desired[runName(1)] = st
	r := w.tryPublish()
	if len(r.LeftOut) != 1 {
		t.Fatalf("report %+v", r)
	}
	if got := w.visible("measurements", "run"); len(got) != 5 || slices.Contains(got, runName(1)) {
		t.Errorf("%d rows, of the damaged part, too", len(got))
	}
}

func TestAThousandBadPartsAreLookedAtOnceAndBlockNothing(t *testing.T) {
	w := newWorld(t)
	w.set(0, 5, 0)
	bad := w.asStored(Part{Table: "measurements", Provider: "gobench"}, []byte("PAR1 nothing PAR1"))
	d := w.all()
	for i := 1; i <= 1000; i++ {
		bad.Run = runName(i)
		d.Parts = append(d.Parts, bad)
	}
	creates := 0
	w.p.fault = func(op, path string) error {
		if op == "create" {
			creates++
		}
		return nil
	}
	start := time.Now()
	r, err := w.p.Publish(context.Background(), d)
	if err != nil || len(r.LeftOut) != 1000 || r.Added != 3 {
		t.Fatalf("%d left out, %+v", len(r.LeftOut), err)
	}
	if most := 2*len(evidence.Tables()) + 8; creates > most {
		t.Errorf("%d files were made, at most %d are needed", creates, most)
	}
	w.check()
	creates = 0
	if lines := r.Warnings(); len(lines) != 6 || !strings.Contains(lines[0], runName(1)) || !strings.Contains(lines[5], "995 parts more") {
		t.Errorf("it is told as %q", lines)
	}
	if r, err := w.p.Publish(context.Background(), d); err != nil || r.Changed || len(r.LeftOut) != 1000 || creates != 0 || len(r.Warnings()) != 1 {
		t.Errorf("the second time: changed %v, %d left out, %d files, %v", r.Changed, len(r.LeftOut), creates, err)
	}
	t.Logf("two publications took %s", time.Since(start))
}

func TestAnUnreadableRunsRowIsLeftOutUntilItCanBeRead(t *testing.T) {
	w := newWorld(t)
	for i := range 3 {
		w.set(i, 5, i*100)
	}
	broken := true
	desired := func() Desired {
		d := w.all()
		load := d.Load
		d.Load = func(run string) (*evidence.Run, error) {
			switch {
			case broken && run == runName(1):
				return nil, errors.New("the frame is damaged")
			case broken && run == runName(2):
				return load(runName(0))
			}
			return load(run)
		}
		return d
	}
	r, err := w.p.Publish(context.Background(), desired())
	if err != nil || len(r.LeftOut) != 2 || r.LeftOut[0].Table != "runs" || r.LeftOut[0].Run != runName(1) || r.LeftOut[1].Run != runName(2) {
		t.Fatalf("%+v, %v", r, err)
	}
	if !strings.Contains(r.LeftOut[0].String(), "the frame is damaged; `flameox fsck`") {
		t.Errorf("it says %q", r.LeftOut[0])
	}
	if got := w.visible("runs", "run"); !slices.Equal(got, []string{runName(0)}) {
		t.Errorf("runs %v", got)
	}
	if got := w.visible("measurements", "run"); len(got) != 15 {
		t.Errorf("%d measurements", len(got))
	}
	broken = false
	if r, err := w.p.Publish(context.Background(), desired()); err != nil || r.Added != 2 || len(r.LeftOut) != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	w.check()
}

func TestWhatNoViewCanHoldIsLeftOut(t *testing.T) {
	w := newWorld(t)
	w.set(1, 1, 0)
	w.set(2, 1, 0)
	good := w.all()
	for name, c := range map[string]struct {
		part Part
		left int
	}{
		"unknown table": {Part{Run: "r", Table: "nothing", Digest: digest.SumString("x")}, 1},
		"part of runs":  {Part{Run: "r", Table: "runs", Digest: digest.SumString("x")}, 1},
		"no run":        {Part{Table: "frames", Digest: digest.SumString("x")}, 1},
		"no digest":     {Part{Run: "r", Table: "frames"}, 1},
		"two parts":     {good.Parts[0], 2},
	} {
		d := good
		d.Parts = append(slices.Clone(good.Parts), c.part)
		r, err := w.p.Publish(context.Background(), d)
		if err != nil || len(r.LeftOut) != c.left {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		if got := w.visible("runs", "run"); len(got) != 2 {
			t.Errorf("%s: the runs are %v", name, got)
		}
		if r, err := w.p.Publish(context.Background(), d); err != nil || r.Changed || len(r.LeftOut) != c.left {
			t.Errorf("%s, again: %+v, %v", name, r, err)
		}
	}
	w.publish()
}

func TestAPublishedPartStaysVisibleWhenItsFileIsLost(t *testing.T) {
	w := newWorld(t)
	w.set(1, 5, 0)
	w.publish()
	before := w.visible("measurements", "run", "value_int")
	for _, p := range w.desired[runName(1)].parts {
		if err := os.Remove(p.Path); err != nil {
			t.Fatal(err)
		}
	}
	w.set(2, 5, 100)
	if r := w.tryPublish(); len(r.LeftOut) != 0 || r.Removed != 0 {
		t.Errorf("report %+v", r)
	}
	if got := w.visible("measurements", "run", "value_int"); len(got) != 10 || !slices.Contains(got, before[0]) {
		t.Errorf("a glob shows %v", got)
	}
}

func TestAnUpdateKeepsWhatIsLeftOutOfOtherRuns(t *testing.T) {
	w := newWorld(t)
	w.set(1, 5, 0)
	w.set(2, 5, 100)
	p := w.desired[runName(1)].parts[0]
	whole := contents(t, p.Path)
	rewrite(t, p.Path, whole[:50])
	w.tryPublish()
	w.set(3, 5, 200)
	if r := w.update(3); len(r.LeftOut) != 1 || r.LeftOut[0].Run != runName(1) {
		t.Errorf("report %+v", r)
	}
	rewrite(t, p.Path, whole)
	if r := w.update(1); len(r.LeftOut) != 0 || r.Added != 1 {
		t.Errorf("report %+v", r)
	}
	w.check()
	if r := w.publish(); r.Changed {
		t.Errorf("publishing what the updates made changed something: %+v", r)
	}
}

func TestAFileThatCannotBeReadNowIsNotCalledLost(t *testing.T) {
	w := newWorld(t)
	w.set(1, 5, 0)
	st := w.desired[runName(1)]
	whole := st.parts[0].Path
	// A path below a file: opening it fails, also for root, and says nothing of what is there.
	st.parts[0].Path = filepath.Join(whole, "x")
	r := w.tryPublish()
	if len(r.LeftOut) != 1 || r.LeftOut[0].Lost || !strings.Contains(r.LeftOut[0].String(), "make it readable") {
		t.Errorf("report %+v", r)
	}
	st.parts[0].Path = whole
	w.publish()
}
