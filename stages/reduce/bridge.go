package reduce

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flameox/flameox/graph/broker"
)

// BridgeCommand is the hidden command that ShrinkRay runs over each candidate.
const BridgeCommand = "reduction-predicate"

// configVariable names the file that says what a bridge does.
const configVariable = "FLAMEOX_REDUCTION_CONFIG"

// unresolvedExit is what a bridge exits with where a candidate is neither interesting nor not. ShrinkRay records such a candidate, and reduces nothing from it.
const unresolvedExit = 101

// mostReceipt is the most bytes of a receipt.
const mostReceipt = 64 << 10

// Config is what a bridge does.
type Config struct {
	Predicate Predicate `json:"predicate"`
	Receipts  string    `json:"receipts"` // absolute folder, which exists
	Attempts  int       `json:"attempts"` // of which no more are made
}

// counter says how far a bridge has come. It is written before a candidate is tried and after its receipt lies there.
type counter struct {
	Started   int  `json:"started"`
	Done      int  `json:"done"`      // receipts
	Exhausted bool `json:"exhausted"` // a candidate was not tried, because attempts or time were used up
}

// The files beside the receipts.
const (
	lockName    = "lock"
	counterName = "counter.json"
)

func receiptName(n int) string { return fmt.Sprintf("attempt-%08d.json", n) }

// Serve is the bridge: args are the candidate alone. It returns the status to exit with: 0 for an interesting candidate, 1 for one that is not, 101
// else. The error is for people; it never comes with 0 or 1.
func Serve(ctx context.Context, args []string) (int, error) {
	if len(args) != 1 {
		return unresolvedExit, fmt.Errorf("%s takes one candidate, and is run by a reduction", BridgeCommand)
	}
	path := os.Getenv(configVariable)
	b, err := os.ReadFile(path)
	if err != nil {
		return unresolvedExit, fmt.Errorf("%s is run by a reduction, which says in %s what to do: %w", BridgeCommand, configVariable, err)
	}
	var c Config
	if err := json.Unmarshal(b, &c); err != nil {
		return unresolvedExit, fmt.Errorf("read %s: %w", path, err)
	}
	runs := broker.New(broker.Options{NoSupervisor: true}) // who started the bridge ends what it leaves
	defer runs.Close()
	return c.serve(ctx, runs, args[0])
}

// serve tries one candidate, alone, and leaves a receipt.
func (c *Config) serve(ctx context.Context, b *broker.Broker, candidate string) (int, error) {
	unlock, err := c.lock()
	if err != nil {
		return unresolvedExit, err
	}
	defer unlock()
	n, err := c.count()
	if err != nil {
		return unresolvedExit, err
	}
	if n.Started >= c.Attempts || !time.Now().Before(c.Predicate.Deadline) {
		n.Exhausted = true
		return unresolvedExit, c.write(counterName, n)
	}
	n.Started++
	if err := c.write(counterName, n); err != nil {
		return unresolvedExit, err
	}
	r, err := c.Predicate.try(ctx, b, b.Mark("candidate-"+strconv.Itoa(n.Started)), candidate)
	if err != nil {
		return unresolvedExit, err
	}
	// A bridge that was killed may have left its receipt and not counted it: receipts are never written over.
	for n.Done++; c.exists(receiptName(n.Done)); n.Done++ {
	}
	r.Attempt, r.Recorded = n.Done, time.Now().UTC()
	if err := c.write(receiptName(r.Attempt), r); err != nil {
		return unresolvedExit, err
	}
	if err := c.write(counterName, n); err != nil {
		return unresolvedExit, err
	}
	switch r.Classification {
	case interesting:
		return 0, nil
	case notInteresting:
		return 1, nil
	}
	return unresolvedExit, nil
}

// lock makes candidates wait for each other: what is measured in one is not disturbed by the next, and the count is right.
func (c *Config) lock() (unlock func() error, err error) {
	f, err := os.OpenFile(filepath.Join(c.Receipts, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the receipts: %w", err)
	}
	for {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("lock the receipts: %w", err)
	}
	return f.Close, nil
}

func (c *Config) count() (n counter, err error) {
	b, err := os.ReadFile(filepath.Join(c.Receipts, counterName))
	if errors.Is(err, fs.ErrNotExist) {
		return n, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &n)
	}
	if err != nil {
		return n, fmt.Errorf("read how many candidates were tried: %w", err)
	}
	return n, nil
}

func (c *Config) exists(name string) bool {
	_, err := os.Lstat(filepath.Join(c.Receipts, name))
	return err == nil
}

// write makes a file appear whole.
func (c *Config) write(name string, value any) error {
	b, err := json.Marshal(value)
	if err != nil {
		return err
	}
	path := filepath.Join(c.Receipts, name)
	if err := os.WriteFile(path+".new", b, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// receipts reads what a bridge left. gap says why that is not a whole account of it, or "".
func (c *Config) receipts() (list []Receipt, n counter, gap string, err error) {
	if n, err = c.count(); err != nil {
		return nil, n, "", err
	}
	entries, err := os.ReadDir(c.Receipts)
	if err != nil {
		return nil, n, "", fmt.Errorf("read the receipts: %w", err)
	}
	names := slices.DeleteFunc(entries, func(e fs.DirEntry) bool {
		return !strings.HasPrefix(e.Name(), "attempt-") || !strings.HasSuffix(e.Name(), ".json")
	})
	for i := range names {
		b, err := os.ReadFile(filepath.Join(c.Receipts, receiptName(i+1)))
		var r Receipt
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return list, n, fmt.Sprintf("there are %d receipts, and none of attempt %d", len(names), i+1), nil
		case err != nil:
			return nil, n, "", fmt.Errorf("read a receipt: %w", err)
		case len(b) > mostReceipt || json.Unmarshal(b, &r) != nil || r.Attempt != i+1:
			return list, n, fmt.Sprintf("the receipt of attempt %d is not as it was written", i+1), nil
		}
		list = append(list, r)
	}
	if len(list) != n.Done {
		return list, n, fmt.Sprintf("%d candidates were tried to the end, and there are %d receipts", n.Done, len(list)), nil
	}
	return list, n, "", nil
}
