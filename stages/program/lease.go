package program

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/broker"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/graph/facet"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/host"
	"github.com/flameox/flameox/stages/kind"
)

// causeLeaseEnded is why we ended a program whose server had ended: it would wait for it to no end.
const causeLeaseEnded = "server_ended"

// farewell is how long a program may go on after its server has ended, to say what it saw.
const farewell = time.Second

// prepareLeases resolves the leases that the command uses and puts what they are into the identity facet.
func (p *Prepared) prepareLeases(ctx context.Context, in *graph.Results, list []kind.Lease) error {
	p.identity = p.program.identity()
	p.leases, p.order = map[kind.Lease]kind.PreparedLease{}, list
	for i, l := range list {
		prepared, err := l.Prepare(ctx, in)
		if err != nil {
			return fmt.Errorf("%s: %w", l.Address(), err)
		}
		p.leases[l] = prepared
		for _, e := range prepared.Facts() {
			e.Note = l.Address() + " " + cmp.Or(e.Note, e.Name) // people know it by its name, and keys do not
			e.Name = leasePrefix + strconv.Itoa(i+1) + " " + e.Name
			p.identity.Entries = append(p.identity.Entries, e)
		}
	}
	return nil
}

// leases are those of one attempt that stand.
type leases struct {
	p         *Prepared
	running   map[kind.Lease]kind.RunningLease
	contended *host.Contended // what others used meanwhile; nil where that is not known
}

// startLeases makes every lease stand, one after the other. One that cannot leaves a record that is not valid; release what is returned in any case.
func (p *Prepared) startLeases(ctx context.Context, t *graph.Task, rec *cache.Record) (*leases, error) {
	s := &leases{p: p, running: map[kind.Lease]kind.RunningLease{}}
	if t.Node.Exclusive { // nothing of ours runs beside a measurement but what it asks for
		var keep []digest.Digest
		for _, l := range p.leases {
			keep = append(keep, l.Key())
		}
		if err := p.program.project.Shared.Keep(keep...); err != nil {
			return s, err
		}
	}
	for _, l := range p.order {
		running, err := s.start(ctx, t, l)
		if running != nil {
			s.running[l] = running
		}
		var cannot *kind.LeaseError
		switch {
		case ctx.Err() != nil:
			rec.Execution = cache.ExecutionCancelled
			rec.Fail("cancelled", "flameox was interrupted while "+l.Address()+" was started")
			return s, nil
		case errors.As(err, &cannot):
			rec.Fail("server_"+cannot.Code, l.Address()+": "+cannot.Text)
			return s, nil
		case err != nil:
			return s, err
		}
	}
	return s, nil
}

// start makes one lease stand, over the one below it where it has one.
func (s *leases) start(ctx context.Context, t *graph.Task, l kind.Lease) (kind.RunningLease, error) {
	every := s.p.program.session.Every(l)
	over, ok := s.p.leases[l].(kind.PreparedOver)
	if !ok {
		return s.p.leases[l].Start(ctx, t, every)
	}
	return over.StartOn(ctx, t, every, s.running[l.(kind.Over).On()])
}

// values are what the leases' tokens stand for.
func (s *leases) values() map[string]string {
	out := map[string]string{}
	for name, t := range s.p.program.tokens {
		if running := s.running[t.Lease]; t.Lease != nil && running != nil {
			if v, ok := running.Value(name[strings.LastIndexByte(name, '.')+1:]); ok {
				out[name] = v
			}
		}
	}
	return out
}

// watch ends the context soon after any lease has ended. lost ends the watching and says whether one had.
func (s *leases) watch(parent context.Context) (ctx context.Context, lost func() bool) {
	ctx, cancel := context.WithCancel(parent)
	for _, l := range s.running {
		go func() {
			select {
			case <-ctx.Done():
			case <-l.Ended():
				select {
				case <-ctx.Done():
				case <-time.After(farewell):
					cancel()
				}
			}
		}()
	}
	return ctx, func() bool {
		cancel()
		if parent.Err() != nil {
			return false
		}
		for _, l := range s.running {
			select {
			case <-l.Ended():
				return true
			default:
			}
		}
		return false
	}
}

// release ends the leases, the last first, and adds to the record what they left.
func (s *leases) release(t *graph.Task, rec *cache.Record) (out []kind.Sampled, err error) {
	for i := len(s.p.order) - 1; i >= 0; i-- {
		running := s.running[s.p.order[i]]
		if running == nil {
			continue
		}
		sampled, e := running.Release(t, rec)
		err = errors.Join(err, e)
		if sampled.Result != nil {
			out = append(out, sampled)
		}
	}
	return out, err
}

// Beside says whether a server stood beside a run.
func Beside(rec *cache.Record) bool {
	identity := rec.Manifest.Facet(facet.Identity)
	return identity != nil && slices.ContainsFunc(identity.Entries, func(e facet.Entry) bool { return strings.HasPrefix(e.Name, leasePrefix) })
}

// Process is a program that was started beside a stage.
type Process struct {
	Argv   []string       // with every token substituted but those of secrets
	Exited chan struct{}  // closed when it has exited; what it left behind may still have to be ended
	Done   chan struct{}  // closed when nothing of it is left
	Result *broker.Result // once Done is closed; nil where it was not started
	Err    error          // why not
}

// Launch starts the program in the background: in dir, which has out/, home/ and tmp/, under a mark of its own. values are what its own tokens stand
// for. Its processes are sampled every so often; 0 for as often as is usual. Ending ctx ends what has to be made ready for it; ending run ends the
// program.
func (p *Prepared) Launch(ctx, run context.Context, t *graph.Task, dir, mark string, every time.Duration, values map[string]string) (*Process, error) {
	if err := p.verify(ctx); err != nil {
		return nil, err
	}
	made := &cache.Record{Validation: cache.ValidationPassed}
	place, start, err := p.settle(ctx, t, made)
	if err != nil {
		return nil, err
	}
	if !made.Valid() {
		return nil, &kind.LeaseError{Code: "not_started", Text: made.Invalid[0].Text}
	}
	at := site{dir: dir, values: values}
	argv, env, err := p.substitute(t.Store, at, place, p.program.project.Secret)
	if err != nil {
		return nil, err
	}
	shown, _, err := p.substitute(t.Store, at, place, nameSecret)
	if err != nil {
		return nil, err
	}
	d := &p.program.Declared
	out := &Process{Argv: shown, Exited: make(chan struct{}), Done: make(chan struct{})}
	exited := sync.OnceFunc(func() { close(out.Exited) })
	go func() {
		defer close(out.Done)
		defer exited() // where it could not be started
		out.Result, out.Err = t.Store.Broker.Run(run, broker.Command{
			Argv: argv, Executable: start, Dir: filepath.Join(p.program.project.Root, filepath.FromSlash(p.program.Dir)), Env: env, Mark: mark,
			Stdout: filepath.Join(dir, "stdout"), Stderr: filepath.Join(dir, "stderr"),
			Grace: d.Grace, OutputLimit: d.OutputLimit, MemoryLimit: d.MemoryLimit, Staging: dir, SampleEvery: every, OnExit: exited,
		})
	}()
	return out, nil
}

// Spelled is a program as who starts it by himself needs it. Values of secrets are in it.
type Spelled struct {
	Argv, Env []string
	Dir       string
}

// Spell makes ready what the program needs, and says what would be started; its private folder is dir, which has out/, home/ and tmp/. An environment
// that cannot be made leaves a record that is not valid, and no program.
func (p *Prepared) Spell(ctx context.Context, t *graph.Task, rec *cache.Record, dir string) (*Spelled, error) {
	if err := p.verify(ctx); err != nil {
		return nil, err
	}
	place, start, err := p.settle(ctx, t, rec)
	if err != nil || !rec.Valid() {
		return nil, err
	}
	argv, env, err := p.substitute(t.Store, site{dir: dir}, place, p.program.project.Secret)
	if err != nil {
		return nil, err
	}
	if start != nil && start.Path != "" {
		argv[0] = start.Path
	}
	return &Spelled{Argv: argv, Env: env, Dir: filepath.Join(p.program.project.Root, filepath.FromSlash(p.program.Dir))}, nil
}

// Changed says what of the files that the key was made of is not as it was, for a sentence; "" where all are.
func (p *Prepared) Changed(ctx context.Context) string {
	if changed := p.changed(); changed != "" {
		return changed + " changed"
	}
	if changed := p.listChanged(ctx); changed != "" {
		return changed + " began or ceased to be an input"
	}
	if err := p.verifyPrograms(ctx); err != nil {
		return err.Error()
	}
	return ""
}

// KeepSources keeps the listing of the program's sources with an attempt whose key they are part of.
func (p *Prepared) KeepSources(t *graph.Task) error { return p.putSources(t) }

// Manifest is what identifies the program.
func (p *Prepared) Manifest(more ...facet.Facet) facet.Manifest {
	return facet.New(append(p.Facets(), more...)...)
}
