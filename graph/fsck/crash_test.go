package fsck_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/internal/vfs"
	"github.com/flameox/flameox/internal/vfs/faultfs"
)

// helper starts the test binary as a writer. It returns what it acknowledged once it has ended.
func helper(t *testing.T, dir string, life time.Duration) []*ack {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], dir)
	cmd.Env = append(os.Environ(), "FLAMEOX_FSCK_HELPER=writer")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var acks []*ack
	started := false
	for sc := bufio.NewScanner(out); sc.Scan(); {
		line := sc.Text()
		runs, ok := strings.CutPrefix(line, "ack ")
		if !ok {
			t.Errorf("the writer said %q", line)
			continue
		}
		acks = append(acks, &ack{runs: strings.Fields(runs), done: true})
		if !started {
			started = true
			time.AfterFunc(life, func() { cmd.Process.Kill() })
		}
	}
	cmd.Wait()
	return acks
}

func TestAWriterKilledAtAnyInstantLosesNothingItAcknowledged(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	rounds := 20
	if testing.Short() {
		rounds = 5
	}
	var acks []*ack
	for round := range rounds {
		life := time.Duration(rand.Int64N(int64(40 * time.Millisecond)))
		acks = append(acks, helper(t, dir, life)...)
		if err := verify(dir, acks); err != nil {
			t.Fatalf("round %d, killed %s after its first commit: %v", round, life, err)
		}
	}
	t.Logf("%d acknowledged commits over %d kills", len(acks), rounds)
}

func TestTwoProcessesAppendAtOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	parts := make(chan []*ack)
	for range 2 {
		go func() { parts <- helper(t, dir, 300*time.Millisecond) }()
	}
	a, b := <-parts, <-parts
	if err := verify(dir, append(a, b...)); err != nil {
		t.Fatal(err)
	}
	if len(a) < 2 || len(b) < 2 {
		t.Fatalf("%d and %d commits: they did not run at once", len(a), len(b))
	}
	recs, err := cache.Open(dir, vfs.OS{}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	// They took turns.
	order := map[string]int{}
	for i, s := range recs.All() {
		order[s.Run] = i
	}
	if order[b[0].runs[0]] > order[a[len(a)-1].runs[0]] && order[a[0].runs[0]] > order[b[len(b)-1].runs[0]] {
		t.Error("one came wholly before the other")
	}
	t.Logf("%d and %d commits", len(a), len(b))
}

// script is a sequence of commits that takes every way through the store. It returns the commits in order, up to the first error.
func script(dir string, f *faultfs.FS) (acks []*ack, err error) {
	big := make([]byte, 1<<20+100)
	steps := [][][]byte{
		{[]byte("one")},
		{[]byte("a"), []byte("b"), []byte("c"), []byte("d"), []byte("e")}, // enough for one sync of everything
		{[]byte("one"), []byte("f")},                                      // of which one is there
		{big},
		{[]byte("b"), big, []byte("g")},
	}
	var w *workspace
	for i, contents := range steps {
		if i == 0 || i == 3 { // another process
			if w != nil {
				if err := w.close(); err != nil {
					return acks, err
				}
			}
			if w, err = openWorkspace(dir, f); err != nil {
				return acks, err
			}
		}
		a := &ack{}
		acks = append(acks, a)
		if err := w.commit(a, contents...); err != nil {
			return acks, err
		}
		a.ops = f.Ops()
	}
	if err := w.recs.Rebuild(); err != nil { // writes the state file
		return acks, err
	}
	return acks, w.close()
}

// memoryDir is a directory in memory where there is one: a modelled disk needs no real one, and thousands of images are written.
func memoryDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "flameox-fsck-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { vfs.RemoveAll(vfs.OS{}, dir) })
	return dir
}

func newFault(t *testing.T) (string, *faultfs.FS) {
	t.Helper()
	root := memoryDir(t)
	f, err := faultfs.New(root)
	if err != nil {
		t.Fatal(err)
	}
	return root, f
}

func TestAPowerLossAfterAnyOperationLosesNothingAcknowledged(t *testing.T) {
	for _, noSyncFS := range []bool{false, true} {
		t.Run(fmt.Sprintf("syncfs=%v", !noSyncFS), func(t *testing.T) {
			root, f := newFault(t)
			f.NoSyncFS = noSyncFS
			dir := filepath.Join(root, "store")
			acks, err := script(dir, f)
			if err != nil {
				t.Fatal(err)
			}
			images := 0
			stride := 1
			if testing.Short() {
				stride = 7
			}
			for n := 0; n <= f.Ops(); n += stride {
				for seed := range uint64(4) {
					if seed > 1 {
						seed += uint64(n) * 10
					}
					at, err := os.MkdirTemp(root, "image")
					if err != nil {
						t.Fatal(err)
					}
					if err := f.Image(n, seed, at); err != nil {
						t.Fatal(err)
					}
					then := make([]*ack, len(acks))
					for i, a := range acks {
						then[i] = &ack{runs: a.runs, links: a.links, done: a.ops > 0 && a.ops <= n}
					}
					if err := verify(filepath.Join(at, "store"), then); err != nil {
						t.Fatalf("after %d operations, seed %d: %v\nlast operations:\n%s", n, seed, err, strings.Join(f.Log()[max(0, n-12):n], "\n"))
					}
					images++
					vfs.RemoveAll(vfs.OS{}, at)
				}
			}
			t.Logf("%d operations, %d images", f.Ops(), images)
		})
	}
}

func TestEveryOperationMayFailAndTheStoreGoesOn(t *testing.T) {
	total := 0
	for _, noSyncFS := range []bool{false, true} {
		root, f := newFault(t)
		f.NoSyncFS = noSyncFS
		if _, err := script(filepath.Join(root, "store"), f); err != nil {
			t.Fatal(err)
		}
		total = max(total, f.Ops())
	}
	modes := []struct {
		name   string
		inject func(int, error) func(faultfs.Op) error
		stride int // a disk that stays full passes through the same states again and again
	}{{"once", faultfs.FailNth, 1}, {"full disk", faultfs.FailFrom, 4}}
	failed := 0
	for _, m := range modes {
		mode, inject := m.name, m.inject
		if testing.Short() {
			m.stride *= 5
		}
		for n := 0; n < total; n += m.stride {
			errno := []syscall.Errno{syscall.ENOSPC, syscall.EIO}[n%2]
			root, f := newFault(t)
			f.NoSyncFS = n%3 == 0
			f.Inject = inject(n, errno)
			dir := filepath.Join(root, "store")
			acks, err := script(dir, f)
			if err != nil {
				failed++
				if s := err.Error(); !strings.Contains(s, errno.Error()) {
					t.Fatalf("%s, operation %d: the error hides its cause: %v", mode, n, err)
				} else if !strings.Contains(s, ";") {
					t.Fatalf("%s, operation %d: the error does not say what to do: %v", mode, n, err)
				}
			}
			f.Inject = nil
			if err := verify(dir, acks); err != nil {
				t.Fatalf("%s, operation %d (%s): %v\n%s", mode, n, errno, err, strings.Join(f.Log()[:min(len(f.Log()), n+1)], "\n"))
			}
			w, err := openWorkspace(dir, f)
			if err != nil {
				t.Fatal(err)
			}
			a := &ack{}
			if err := w.commit(a, []byte("after"), []byte("one")); err != nil {
				t.Fatalf("%s, operation %d: the store is not usable afterwards: %v", mode, n, err)
			}
			if err := verify(dir, append(acks, a)); err != nil {
				t.Fatalf("%s, operation %d, after another commit: %v", mode, n, err)
			}
			vfs.RemoveAll(vfs.OS{}, root)
		}
	}
	t.Logf("%d operations, %d runs failed", total, failed)
}

func TestARealFullDisk(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], t.TempDir())
	cmd.Env = append(os.Environ(), "FLAMEOX_FSCK_HELPER=fulldisk")
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	if os.Getuid() != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWNS | syscall.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
		}
	}
	out, err := cmd.CombinedOutput()
	if err != nil && len(out) == 0 || strings.HasPrefix(string(out), "skip") {
		t.Skipf("a private mount namespace with a small tmpfs is not to be had here: %v %s", err, out)
	}
	if err != nil || !strings.HasPrefix(string(out), "ok") {
		t.Fatalf("%v: %s", err, out)
	}
	t.Logf("%s", out)
}

// fullDisk fills a tmpfs of 3 MiB through the store until it refuses, frees some space, and goes on.
func fullDisk(mount string) {
	die := func(err error) {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
	syscall.Mount("none", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, "")
	if err := syscall.Mount("flameox-test", mount, "tmpfs", 0, "size=3m"); err != nil {
		fmt.Println("skip: mount a tmpfs:", err)
		os.Exit(0)
	}
	ballast := filepath.Join(mount, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 512<<10), 0o644); err != nil {
		die(err)
	}
	dir := filepath.Join(mount, "store")
	w, err := openWorkspace(dir, vfs.OS{})
	if err != nil {
		die(err)
	}
	var acks []*ack
	var full error
	for i := 0; full == nil; i++ {
		a := &ack{}
		acks = append(acks, a)
		c := make([]byte, 100<<10)
		copy(c, fmt.Sprint(i))
		full = w.commit(a, c, fmt.Append(nil, i))
	}
	if s := full.Error(); !strings.Contains(s, "no space left") || !strings.Contains(s, "free space") {
		die(fmt.Errorf("the error is not clear: %w", full))
	}
	os.Remove(ballast)
	if err := verify(dir, acks); err != nil {
		die(err)
	}
	a := &ack{}
	if err := w.commit(a, []byte("after")); err != nil {
		die(fmt.Errorf("after space was freed: %w", err))
	}
	if err := verify(dir, append(acks, a)); err != nil {
		die(err)
	}
	fmt.Printf("ok: %d commits until the disk was full: %v\n", len(acks)-1, full)
}
