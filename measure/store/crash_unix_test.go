//go:build unix

package store

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/flameox/flameox/internal/ijson"
)

const helperEnv = "FLAMEOX_STORE_TEST_INGEST"

// TestMain lets the test binary be a process that ingests batches one after the other until it is killed.
func TestMain(m *testing.M) {
	if spec := os.Getenv(helperEnv); spec != "" {
		path, name, _ := strings.Cut(spec, "=")
		if err := ingestForever(path, name); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// ingestForever says the number of each batch once it is durable, and again once it is published.
func ingestForever(path, name string) error {
	s, err := Open(path)
	if err != nil {
		return err
	}
	for n := 0; n < batches; n++ {
		if _, err := s.Ingest(context.Background(), batchOf(name, n)); err != nil {
			return err
		}
		fmt.Println(n)
		if n%3 == 2 {
			if err := s.Publish(context.Background()); err != nil {
				return err
			}
		}
	}
	return s.Publish(context.Background())
}

const batches, perBatch = 12, 5

func batchOf(name string, n int) []Input {
	var out []Input
	for i := range perBatch {
		k := n*perBatch + i
		b, err := ijson.Canonical(result(k, 1, map[string]any{"ingest_key": fmt.Sprintf("%s:%d", name, k), "attempt_key": fmt.Sprintf("%s:a:%d", name, k), "provenance/run_key": name}))
		if err != nil {
			panic(err) // the document is this file's
		}
		out = append(out, Input{Name: fmt.Sprint(k), Text: b})
	}
	return out
}

func process(t *testing.T, path, name string) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), helperEnv+"="+path+"="+name)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewReader(out)
}

func TestWhatWasTakenInSurvivesAnyKill(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	for round := range 4 {
		path := filepath.Join(t.TempDir(), "store.parquet")
		cmd, out := process(t, path, "run")
		// Killed at any moment after some batch: while the next is taken in, or while the file is written.
		said := 0
		for range 1 + r.IntN(batches-2) {
			if _, err := out.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
			said++
		}
		time.Sleep(time.Duration(r.IntN(30_000)) * time.Microsecond)
		if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		for {
			if _, err := out.ReadString('\n'); err != nil {
				break
			}
			said++
		}
		var exit *exec.ExitError
		if err := cmd.Wait(); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != -1) {
			t.Fatal(err)
		}
		s := reopen(t, path)
		// What was said to be durable is there, whole batches in order, and before anything is written again.
		there := len(all(t, s))
		if there < said*perBatch || there%perBatch != 0 {
			t.Fatalf("round %d: %d batches were taken in and %d results are there", round, said, there)
		}
		for n := range batches {
			ingest(t, s, batchOf("run", n), "")
		}
		publish(t, s)
		list := all(t, reopen(t, path))
		seen := map[string]bool{}
		for _, x := range list {
			seen[text(x.Document, "ingest_key")] = true
		}
		if len(list) != batches*perBatch || len(seen) != len(list) {
			t.Fatalf("round %d: %d results, %d different ones", round, len(list), len(seen))
		}
		left, err := os.ReadDir(Beside(path))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range left {
			if strings.Contains(e.Name(), "writing") || strings.HasPrefix(e.Name(), "segment") {
				t.Errorf("round %d: %s is left", round, e.Name())
			}
		}
	}
}

func TestProcessesThatIngestAtOnceLoseNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.parquet")
	var writers []*exec.Cmd
	var outs []*bufio.Reader
	for i := range 3 {
		cmd, out := process(t, path, fmt.Sprintf("run%d", i))
		writers, outs = append(writers, cmd), append(outs, out)
	}
	// Readers see whole batches all the time.
	stop := make(chan struct{})
	var reading sync.WaitGroup
	reading.Go(func() {
		for last := 0; ; {
			select {
			case <-stop:
				return
			default:
			}
			snap, err := reopen(t, path).Read()
			if err != nil {
				t.Error(err)
				return
			}
			n := snap.Rows()
			snap.Close()
			if n < last || n%perBatch != 0 {
				t.Errorf("%d results after %d", n, last)
				return
			}
			last = n
		}
	})
	for i, cmd := range writers {
		if _, err := io.Copy(io.Discard, outs[i]); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	reading.Wait()
	if n := len(all(t, reopen(t, path))); n != 3*batches*perBatch {
		t.Errorf("%d results", n)
	}
}
