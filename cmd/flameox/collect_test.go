package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

const collectable = `
flameox {
  store { keep = "1ms" }
}
variable "round" { default = 0 }
build "b" {
  command = ["sh", "work.sh", out.dir, var.round, matrix.n]
  sources = ["work.sh"]
  outputs = ["o.txt"]
  matrix  = { n = range(1, 21) }
}
`

const worker = "echo round $2 stage $3 > $1/o.txt\n"

func TestACollectionKilledAtAnyInstantCanBeUndone(t *testing.T) {
	p := newProject(t, map[string]string{"flameox.hcl": collectable, "work.sh": worker})
	p.want(0, "apply", "-var", "round=0")
	p.want(0, "apply", "-var", "round=1")
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 15 {
		for _, args := range [][]string{{"gc", "-apply", "-var", "round=1"}, {"restore", "-all"}} {
			cmd, out := p.command(args...)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			select {
			case <-time.After(time.Duration(rng.Int64N(int64(150 * time.Millisecond)))):
				cmd.Process.Kill()
				<-ended
			case err := <-ended:
				if err != nil {
					t.Fatalf("flameox %s: %v\n%s", strings.Join(args, " "), err, out)
				}
			}
			// What the configuration stands on is always there.
			p.want(0, "plan", "-detailed-exitcode", "-var", "round=1")
			p.want(0, "fsck", "-full")
		}
	}
	p.want(0, "restore", "-all")
	p.want(0, "plan", "-detailed-exitcode", "-var", "round=0")
	if out := p.want(0, "fsck", "-full"); !strings.Contains(out, "0 problems") || strings.Contains(out, "gave artifacts up") {
		t.Errorf("after everything came back: %s", out)
	}
}

func TestACollectionBesideAppliesTakesNothingOfTheirs(t *testing.T) {
	p := newProject(t, map[string]string{"flameox.hcl": collectable, "work.sh": worker})
	p.want(0, "apply")
	var wg sync.WaitGroup
	var stop = make(chan struct{})
	collected, refused := 0, 0
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			switch code, out := p.run("gc", "-apply"); {
			case code == 0:
				collected++
			case strings.Contains(out, "only while nothing is applied"):
				refused++
			default:
				t.Errorf("gc exited %d:\n%s", code, out)
				return
			}
		}
	})
	for round := range 8 {
		for try := 0; ; try++ {
			code, out := p.run("apply", "-var", fmt.Sprintf("round=%d", round))
			if code == 0 {
				break
			}
			if !strings.Contains(out, "another apply is running") || try > 500 {
				t.Fatalf("apply exited %d:\n%s", code, out)
			}
			time.Sleep(2 * time.Millisecond)
		}
		// A collection between the two may take what this round made, for the configuration itself says round 0; it never leaves half of it.
		if code, out := p.run("plan", "-var", fmt.Sprintf("round=%d", round), "-detailed-exitcode"); code != 0 && !strings.Contains(out, "evidence lost") {
			t.Fatalf("round %d: plan exited %d:\n%s", round, code, out)
		}
	}
	close(stop)
	wg.Wait()
	t.Logf("%d collections, %d refused", collected, refused)
	if collected == 0 {
		t.Error("no collection got its turn")
	}
	p.want(0, "plan", "-detailed-exitcode")
	p.want(0, "fsck", "-full")
	p.want(0, "restore", "-all")
	for round := range 8 {
		p.want(0, "plan", "-detailed-exitcode", "-var", fmt.Sprintf("round=%d", round))
	}
	if out := p.want(0, "fsck", "-full"); !strings.Contains(out, "0 problems") {
		t.Error(out)
	}
}

func TestRecoverCutsATornBatchAndMakesTheStateAgain(t *testing.T) {
	p := newProject(t, map[string]string{"flameox.hcl": collectable, "work.sh": worker})
	p.want(0, "apply")
	journal, state := filepath.Join(p.dir, ".flameox/runs/00000001.journal"), filepath.Join(p.dir, ".flameox/state")
	p.want(0, "recover")
	whole, err := os.ReadFile(journal)
	if err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(state)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	random := make([]byte, 5000)
	for i := range random {
		random[i] = byte(rng.Uint32())
	}
	for _, broken := range [][]byte{nil, {}, good[:len(good)/2], random, append([]byte("flameox state 2\n"), random...)} {
		if broken == nil {
			os.Remove(state)
		} else if err := os.WriteFile(state, broken, 0o644); err != nil {
			t.Fatal(err)
		}
		tail := whole[len(whole)-300 : len(whole)-100]
		if err := os.WriteFile(journal, append(bytes.Clone(whole), tail...), 0o644); err != nil {
			t.Fatal(err)
		}
		out := p.want(0, "recover")
		if !strings.Contains(out, "200 B of a batch that was not written to its end were moved to") || !strings.Contains(out, ": 20 runs") {
			t.Errorf("recover says %s", out)
		}
		if now, err := os.ReadFile(journal); err != nil || !bytes.Equal(now, whole) {
			t.Errorf("the journal has %d bytes, had %d, %v", len(now), len(whole), err)
		}
		if now, err := os.ReadFile(state); err != nil || !bytes.Equal(now, good) {
			t.Errorf("the state file is not what it was: %v", err)
		}
		p.want(0, "fsck", "-full")
	}
	// What had been committed is not called a torn batch.
	if err := os.WriteFile(journal, whole[:len(whole)-50], 0o644); err != nil {
		t.Fatal(err)
	}
	if out := p.want(3, "recover"); !strings.Contains(out, "had been committed") {
		t.Errorf("recover says %s", out)
	}
}
