package broker

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flameox/flameox/graph/broker/internal/proc"
)

// helperEnv makes the test binary behave as one of the programs below.
const helperEnv = "BROKER_TEST_HELPER"

func TestMain(m *testing.M) {
	MaybeSupervise()
	if mode := os.Getenv(helperEnv); mode != "" {
		helper(mode)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// helper is a program to run: each does one thing that sh cannot do surely.
func helper(mode string) {
	switch mode {
	case "ignore-term":
		signal.Ignore(unix.SIGTERM)
		fmt.Println("ready")
		time.Sleep(time.Minute)
	case "allocate":
		// Touch 16 MiB every 10 ms, up to 2 GiB.
		var keep [][]byte
		for range 128 {
			b := make([]byte, 16<<20)
			for i := 0; i < len(b); i += 4096 {
				b[i] = 1
			}
			keep = append(keep, b)
			time.Sleep(10 * time.Millisecond)
		}
		fmt.Println(len(keep))
	case "flameox":
		// Like flameox: starts commands and is killed. Args: directory, script.
		b := New(Options{Store: os.Getenv("BROKER_TEST_STORE")})
		dir, script := os.Args[1], os.Args[2]
		b.Run(context.Background(), Command{Argv: []string{"/bin/sh", "-c", script}, Dir: dir, Env: testEnv(), Mark: b.Mark("a1")})
	default:
		fmt.Fprintln(os.Stderr, "unknown helper", mode)
		os.Exit(99)
	}
}

func testEnv(extra ...string) []string {
	return append([]string{"PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8"}, extra...)
}

// testBroker is a broker with a store of the test's own.
func testBroker(t testing.TB) *Broker {
	t.Helper()
	b := New(Options{Store: "test-" + strconv.Itoa(os.Getpid())})
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Errorf("close the broker: %v", err)
		}
	})
	return b
}

// shell is a command that runs a script.
func shell(t testing.TB, script string) Command {
	dir := t.TempDir()
	return Command{Argv: []string{"/bin/sh", "-c", script}, Dir: dir, Env: testEnv(), Stdout: filepath.Join(dir, "stdout"), Stderr: filepath.Join(dir, "stderr"), Grace: time.Second, Timeout: 20 * time.Second}
}

func must(t testing.TB, b *Broker, c Command) *Result {
	t.Helper()
	res, err := b.Run(t.Context(), c)
	if err != nil {
		t.Fatalf("run %q: %v", c.Argv, err)
	}
	return res
}

func content(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// awaitFile returns the numbers in a file as soon as it has n of them.
func awaitFile(t testing.TB, path string, n int) []int {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		b, _ := os.ReadFile(path)
		f := strings.Fields(string(b))
		if len(f) < n {
			continue
		}
		var out []int
		for _, s := range f {
			v, err := strconv.Atoi(s)
			if err != nil {
				t.Fatalf("%s holds %q", path, b)
			}
			out = append(out, v)
		}
		return out
	}
	t.Fatalf("%s does not have %d numbers after 10 s", path, n)
	return nil
}

// running says whether a process exists and has not exited.
func running(pid int) bool {
	var s proc.Stat
	return new(proc.Reader).Stat(pid, &s) == nil && !s.Dead()
}

// exists says whether a process has an entry, as zombies do.
func exists(pid int) bool {
	var s proc.Stat
	return new(proc.Reader).Stat(pid, &s) == nil
}
