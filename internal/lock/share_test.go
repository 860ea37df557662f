package lock

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// helperMode says what a helper process does with the lock at helperEnv.
const helperMode = "LOCK_TEST_MODE"

// helperMain is what a helper process does; it says "held" when it has what it wants and then stays.
func helperMain(mode, path string) {
	os.Setenv(MeasureEnv, path)
	var err error
	switch mode {
	case "attend":
		_, err = Attend(Reader{At: time.Now(), Pid: os.Getpid(), Command: "helper"})
	case "share":
		_, err = ShareMeasure(context.Background(), Holder{Command: "sharer"})
	case "measure":
		fmt.Println("waits") // or holds at once
		_, err = AcquireMeasure(context.Background(), Holder{Command: "measurer"})
	case "short shares": // several of these overlap nearly always
		fmt.Println("held")
		for {
			l, err := ShareMeasure(context.Background(), Holder{Command: "short"})
			if err != nil {
				os.Exit(1)
			}
			time.Sleep(50 * time.Millisecond)
			l.Release()
		}
	case "short measurements":
		fmt.Println("held")
		for {
			l, err := AcquireMeasure(context.Background(), Holder{Command: "short"})
			if err != nil {
				os.Exit(1)
			}
			time.Sleep(20 * time.Millisecond)
			l.Release()
		}
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("held")
	time.Sleep(time.Minute)
	os.Exit(0)
}

// start starts a helper and returns its output, line by line.
func start(t *testing.T, mode, path string) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), helperEnv+"="+path, helperMode+"="+mode)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return cmd, bufio.NewReader(out)
}

func says(t *testing.T, out *bufio.Reader, want string) {
	t.Helper()
	if line, err := out.ReadString('\n'); line != want+"\n" {
		t.Fatalf("the helper said %q, %v; want %q", line, err, want)
	}
}

// helper starts a process that has what it wants.
func helper(t *testing.T, mode, path string) *exec.Cmd {
	t.Helper()
	cmd, out := start(t, mode, path)
	says(t, out, "held")
	return cmd
}

// heldBy waits until an attempt to take the measuring lock fails as it should.
func heldBy(t *testing.T, try func(Holder) (*Lock, error), as func(*HeldError) bool) *HeldError {
	t.Helper()
	var held *HeldError
	for range 400 {
		l, err := try(Holder{Command: "asker"})
		l.Release()
		if errors.As(err, &held) && as(held) {
			return held
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("it never became so: %v", held)
	return nil
}

func TestAllWhoShareAreNamedAndTheKilledAreNot(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m")
	t.Setenv(MeasureEnv, path)
	a, b, c := helper(t, "share", path), helper(t, "share", path), helper(t, "share", path)
	pids := func(e *HeldError) []int {
		out := []int{e.Pid}
		for _, p := range e.Others {
			out = append(out, p.Pid)
		}
		slices.Sort(out)
		return out
	}
	want := func(cmds ...*exec.Cmd) {
		t.Helper()
		var list []int
		for _, c := range cmds {
			list = append(list, c.Process.Pid)
		}
		slices.Sort(list)
		held := heldBy(t, TryAcquireMeasure, func(e *HeldError) bool { return slices.Equal(pids(e), list) })
		for _, pid := range list {
			if !strings.Contains(held.Error(), fmt.Sprint("pid ", pid)) {
				t.Errorf("%q does not name %d", held, pid)
			}
		}
	}
	want(a, b, c)
	for _, cmd := range []*exec.Cmd{a, c} { // the first and the last
		cmd.Process.Kill()
		cmd.Wait()
	}
	want(b)
	d := helper(t, "share", path)
	want(b, d)
	b.Process.Kill()
	b.Wait()
	want(d)
	d.Process.Kill()
	d.Wait()
	l, err := TryAcquireMeasure(Holder{})
	if err != nil {
		t.Fatal(err)
	}
	l.Release()
	if st, err := os.Stat(path); err != nil || st.Size() != 0 {
		t.Errorf("the last one left %d bytes, %v", st.Size(), err)
	}
}

func TestAMessageAboutManyHoldersIsShort(t *testing.T) {
	t.Setenv(MeasureEnv, filepath.Join(t.TempDir(), "m"))
	for range places + 6 {
		l, err := TryShareMeasure(Holder{Command: strings.Repeat("long\x1b ", 1000)})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Release()
	}
	var held *HeldError
	if _, err := TryAcquireMeasure(Holder{}); !errors.As(err, &held) || len(held.Others) != places-1 {
		t.Fatalf("%d others, want %d", len(held.Others), places-1)
	}
	if s := held.Error(); len(s) > 4<<10 || strings.Contains(s, "\x1b") || !strings.Contains(s, "61 more") || !strings.Contains(s, "perhaps others") {
		t.Errorf("%d bytes: %q", len(s), s)
	}
	if st, err := os.Stat(MeasurePath()); err != nil || st.Size() > places*placeSize {
		t.Errorf("the file has %d bytes, %v", st.Size(), err)
	}
}

func TestWhoWaitsToMeasureKeepsNewSharersOutAndIsNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m")
	t.Setenv(MeasureEnv, path)
	sharer := helper(t, "share", path)
	waiter, out := start(t, "measure", path)
	says(t, out, "waits")
	held := heldBy(t, TryShareMeasure, func(e *HeldError) bool { return e.Free && len(e.Waiters) == 1 })
	if held.Waiters[0].Pid != waiter.Process.Pid || held.Pid != sharer.Process.Pid || !strings.Contains(held.Error(), "measurer") {
		t.Errorf("%v", held)
	}
	if Held(path) {
		t.Error("waiting counts as measuring")
	}
	// A killed waiter keeps nobody out.
	waiter.Process.Kill()
	waiter.Wait()
	l, err := TryShareMeasure(Holder{})
	if err != nil {
		t.Fatalf("the gate of a killed waiter is closed: %v", err)
	}
	l.Release()
	// And one whose sharers are killed gets the lock.
	_, out = start(t, "measure", path)
	says(t, out, "waits")
	sharer.Process.Kill()
	says(t, out, "held")
	if !Held(path) {
		t.Error("the measurement is not seen")
	}
}

func TestAMeasurementIsNotStarvedBySharersThatOverlap(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m")
	t.Setenv(MeasureEnv, path)
	for range 4 {
		helper(t, "short shares", path)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for range 3 {
		l, err := AcquireMeasure(ctx, Holder{Command: "measurer"})
		if err != nil {
			t.Fatal(err)
		}
		l.Release()
		time.Sleep(time.Millisecond)
	}
}

func TestSharersAreNotStarvedByMeasurementsThatFollowOneAnother(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m")
	t.Setenv(MeasureEnv, path)
	for range 3 {
		helper(t, "short measurements", path)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for range 3 {
		l, err := ShareMeasure(ctx, Holder{Command: "sharer"})
		if err != nil {
			t.Fatal(err)
		}
		l.Release()
	}
}

func TestAStoppedSharerThatWaitsHoldsNoMeasurementUp(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m")
	t.Setenv(MeasureEnv, path)
	m, err := TryAcquireMeasure(Holder{})
	if err != nil {
		t.Fatal(err)
	}
	cmd, _ := start(t, "share", path)
	for range 400 {
		if noted(m.f, markTurn) {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	if !noted(m.f, markTurn) {
		t.Fatal("the sharer does not wait")
	}
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	m.Release()
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	l, err := AcquireMeasure(ctx, Holder{})
	if err != nil {
		t.Fatal(err)
	}
	l.Release()
	if d := time.Since(began); d > 5*time.Second {
		t.Errorf("it took %s", d)
	}
}

func TestAskingNeverMakesWhoTakesTheLockFail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m")
	t.Setenv(MeasureEnv, path)
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
				Held(path)
			}
		}
	}()
	for range 300 {
		l, err := TryAcquireMeasure(Holder{})
		if err != nil {
			t.Fatalf("the question was taken for a holder: %v", err)
		}
		if !Held(path) {
			t.Fatal("a measurement is not seen")
		}
		l.Release()
	}
	close(stop)
	<-done
}
