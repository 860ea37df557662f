package kind

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/broker"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/graph/facet"
	"github.com/flameox/flameox/internal/digest"
)

// Lease is what stands beside a stage while the stage runs: a server. Its tokens have values only then.
type Lease interface {
	// Address names it for people.
	Address() string
	// Prepare resolves and hashes it. It starts nothing. The error may be a *graph.BlockedError.
	Prepare(ctx context.Context, in *graph.Results) (PreparedLease, error)
}

// PreparedLease is a lease of which everything is known that enters the key of who uses it.
type PreparedLease interface {
	// Facts identify it in the identity facet of its users.
	Facts() []facet.Entry
	// Key is what it stands under in a pool; zero where it never stands for longer than one stage.
	Key() digest.Digest
	// Start makes it stand and waits until it is ready. A *LeaseError says that it could not, which makes the attempt invalid; what it
	// left is Released all the same, where the returned lease is not nil.
	//
	// Its processes are sampled every so often; 0 for as often as is usual.
	Start(ctx context.Context, t *graph.Task, every time.Duration) (RunningLease, error)
}

// Over is a lease that may stand on another one, which stands before it and is ended after it: what disturbs the way to a server.
type Over interface {
	Lease
	// On is the lease below; nil where there is none.
	On() Lease
}

// PreparedOver is what an Over prepares.
type PreparedOver interface {
	PreparedLease
	// StartOn is Start over the lease below, which stands; nil where there is none.
	StartOn(ctx context.Context, t *graph.Task, every time.Duration, below RunningLease) (RunningLease, error)
}

// Demanding is a lease that not every stage can use.
type Demanding interface {
	Lease
	// Suits says why the stage cannot use it.
	Suits(n *graph.Node) error
}

// RunningLease stands.
type RunningLease interface {
	// Value is what one of its tokens stands for.
	Value(attribute string) (string, bool)
	// Ended is closed when it has ended by itself.
	Ended() <-chan struct{}
	// Release ends it, or gives it back. It adds what it left to the record, and why the attempt is not valid where it ended by itself.
	Release(t *graph.Task, rec *cache.Record) (Sampled, error)
}

// Sampled is what was seen of the processes of a lease; Result is nil where nothing was.
type Sampled struct {
	Subject string // whose processes they are
	Result  *broker.Result
}

// LeaseError says why a lease could not be had. It is a reason for an attempt not to be valid, not a failure of flameox.
type LeaseError struct {
	Code string // not_started, not_ready, exited
	Text string
}

func (e *LeaseError) Error() string { return e.Text }

// Pool holds what stands for longer than one stage: shared servers. The zero value is ready.
type Pool struct {
	mu sync.Mutex
	m  map[digest.Digest]Standing
}

// Standing is what a pool holds.
type Standing interface {
	// Ended is closed when it has ended by itself.
	Ended() <-chan struct{}
	// Stop ends it and waits.
	Stop() error
}

// Get is what stands under a key, or what start makes; two users that ask at once get the same.
func (p *Pool) Get(key digest.Digest, start func() (Standing, error)) (Standing, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.m[key]; s != nil {
		select {
		case <-s.Ended():
			s.Stop()
			delete(p.m, key)
		default:
			return s, nil
		}
	}
	s, err := start()
	if err != nil {
		return nil, err
	}
	if p.m == nil {
		p.m = map[digest.Digest]Standing{}
	}
	p.m[key] = s
	return s, nil
}

// Keep ends everything but what is named: nothing else may run beside a measurement.
func (p *Pool) Keep(keys ...digest.Digest) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	keep := map[digest.Digest]bool{}
	for _, k := range keys {
		keep[k] = true
	}
	var errs []error
	for k, s := range p.m {
		if !keep[k] {
			errs = append(errs, s.Stop())
			delete(p.m, k)
		}
	}
	return errors.Join(errs...)
}
