package fsck_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/graph/cas"
	"github.com/flameox/flameox/graph/fsck"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/vfs"
)

// TestMain turns the test binary into one of the processes that tests kill.
func TestMain(m *testing.M) {
	switch os.Getenv("FLAMEOX_FSCK_HELPER") {
	case "writer":
		writer(os.Args[1])
	case "fulldisk":
		fullDisk(os.Args[1])
	default:
		os.Exit(m.Run())
	}
}

// workspace is an opened store.
type workspace struct {
	store *cas.Store
	recs  *cache.Records
}

func openWorkspace(dir string, fsys vfs.FS) (*workspace, error) {
	store, err := cas.Open(dir, fsys)
	if err != nil {
		return nil, err
	}
	recs, err := cache.Open(dir, fsys, time.Now)
	return &workspace{store, recs}, err
}

func (w *workspace) close() error {
	return errors.Join(w.store.Close(), w.recs.Close())
}

// ack is a commit that was, or was not, acknowledged.
type ack struct {
	runs  []string
	links []cache.Link
	done  bool
	ops   int // changing operations when it was acknowledged
}

// commit stores contents, as outputs of one record each, and a tree of all of them as an output of the last.
func (w *workspace) commit(a *ack, contents ...[]byte) error {
	b := w.store.NewBatch()
	defer b.Discard()
	var recs []*cache.Record
	var files []cas.File
	for i, c := range contents {
		d, n, err := b.Put(bytes.NewReader(c))
		if err != nil {
			return err
		}
		files = append(files, cas.File{Path: fmt.Sprintf("d%d/f%d", i%2, i), Digest: d, Size: n})
		recs = append(recs, &cache.Record{
			Run: w.recs.NewRunID(), Revision: 1, Address: "capture.x.y", Key: digest.Sum(c), Attempt: 1,
			Execution: cache.ExecutionSucceeded, Capture: cache.CaptureRegistered, Validation: cache.ValidationPassed,
			Outputs: []cache.Output{{Name: "out", Digest: d, Size: n}},
		})
	}
	root, err := b.PutTree(files)
	if err != nil {
		return err
	}
	last := recs[len(recs)-1]
	last.Outputs = append(last.Outputs, cache.Output{Name: "tree", Digest: root, Tree: true})
	for _, r := range recs {
		a.runs = append(a.runs, r.Run)
	}
	a.links = []cache.Link{{Run: recs[0].Run, Provider: "p", Extraction: last.Run}}
	if err := w.recs.Commit(b, recs, a.links); err != nil {
		return err
	}
	a.done = true
	return nil
}

// verify holds a store, opened afresh, against the promises: what was acknowledged is there and whole, what was not is there
// and whole or not there at all.
func verify(dir string, acks []*ack) error {
	w, err := openWorkspace(dir, vfs.OS{})
	if err != nil {
		return err
	}
	links := map[cache.Link]bool{}
	for _, l := range w.recs.Links() {
		links[l] = true
	}
	for i, a := range acks {
		there := 0
		for _, run := range a.runs {
			s, err := w.recs.Run(run)
			if errors.Is(err, cache.ErrNoRun) {
				continue
			}
			if err != nil {
				return err
			}
			there++
			rec, err := s.Record()
			if err != nil {
				return err
			}
			for _, o := range rec.Outputs {
				if p := w.store.Verify(o.Digest); p != cas.Present {
					return fmt.Errorf("commit %d (acknowledged: %v): output %s of run %s is %s", i, a.done, o.Name, run, p)
				}
			}
		}
		for _, l := range a.links {
			if links[l] {
				there++
			}
		}
		whole := len(a.runs) + len(a.links)
		if there != whole && (a.done || there != 0) {
			return fmt.Errorf("commit %d (acknowledged: %v): %d of %d parts are there", i, a.done, there, whole)
		}
	}
	rep, err := fsck.Fsck(w.store, w.recs, true)
	if err != nil {
		return fmt.Errorf("fsck: %w", err)
	}
	for i := range rep.Problems {
		// A batch cut short is what a crash leaves; anything else would be damage.
		if p := &rep.Problems[i]; p.Code != fsck.JournalTorn && p.Code != fsck.StateStale && p.Code != fsck.CacheBroken {
			return fmt.Errorf("fsck: %s", p.Line())
		}
	}
	return nil
}

// writers is how many goroutines of a writer commit at once.
const writers = 3

// writer commits for ever, and says so after each commit.
func writer(dir string) {
	w, err := openWorkspace(dir, vfs.OS{})
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	for range writers - 1 {
		go w.write()
	}
	w.write()
}

func (w *workspace) write() {
	for i := 0; ; i++ {
		var contents [][]byte
		for range 1 + rand.IntN(6) {
			c := fmt.Appendf(nil, "%d %d %d", os.Getpid(), i, rand.Uint64())
			if rand.IntN(20) == 0 {
				c = append(c, make([]byte, 1100<<10)...)
			}
			contents = append(contents, c)
		}
		a := &ack{}
		if err := w.commit(a, contents...); err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		io.WriteString(os.Stdout, "ack "+strings.Join(a.runs, " ")+"\n")
		if i%10 == 9 {
			if err := w.close(); err != nil {
				fmt.Println("error", err)
				os.Exit(1)
			}
		}
	}
}
