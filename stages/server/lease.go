package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/broker"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/graph/facet"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/loopback"
	"github.com/flameox/flameox/internal/tail"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/stages/kind"
	"github.com/flameox/flameox/stages/program"
)

// prepared is a server of which everything is known that enters a key.
type prepared struct {
	server  *Server
	program *program.Prepared // nil for an existing one
	key     digest.Digest
	pool    digest.Digest // key, and which of several blocks that say the same: each is a server of its own
	facts   []facet.Entry
}

func (p *prepared) Facts() []facet.Entry { return p.facts }
func (p *prepared) Key() digest.Digest   { return p.pool }

// Start starts the server, or takes the one that stands, and waits until it is ready.
func (p *prepared) Start(ctx context.Context, t *graph.Task, every time.Duration) (kind.RunningLease, error) {
	if p.program == nil {
		return p.existing(ctx)
	}
	if err := p.program.KeepSources(t); err != nil {
		return nil, err
	}
	if !p.server.Shared() {
		proc, err := p.launch(ctx, t, filepath.Join(t.Dir, "server-"+p.pool.Short()), t.Mark+"."+p.pool.Short(), every)
		if proc == nil {
			return nil, err
		}
		return &lease{p: p, proc: proc}, err
	}
	var failed *process // its log says why
	standing, err := p.server.project.Shared.Get(p.pool, func() (kind.Standing, error) {
		run := t.Store.Cache.NewRunID()
		proc, err := p.launch(ctx, t, filepath.Join(t.Store.Dir, "tmp", run), t.Store.Broker.Mark(run), every)
		if err != nil {
			failed = proc
		}
		return proc, err
	})
	if failed != nil {
		return &lease{p: p, proc: failed}, err
	}
	if err != nil {
		return nil, err
	}
	proc := standing.(*process)
	return &lease{p: p, proc: proc, shared: true, use: proc.uses.Add(1), from: proc.sizes()}, nil
}

// process is a server that was started.
type process struct {
	place
	dir  string
	proc *program.Process
	end  context.CancelFunc
	uses atomic.Int64 // attempts that it served, where it is shared
}

// launch starts the server in a private folder and waits until it is ready. Where it does not become so the error is a *kind.LeaseError; the process,
// if it is not nil, is to be stopped.
func (p *prepared) launch(ctx context.Context, t *graph.Task, dir, mark string, every time.Duration) (proc *process, err error) {
	at, err := p.server.listen()
	if err != nil {
		return nil, err
	}
	defer func() {
		if proc == nil {
			os.RemoveAll(dir)
		}
	}()
	for _, d := range []string{"out", "home", "tmp"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			return nil, fmt.Errorf("make the server's folder: %w", err)
		}
	}
	// An interrupt ends what is measured first, then its server.
	run, end := context.WithCancel(context.WithoutCancel(ctx))
	started, err := p.program.Launch(ctx, run, t, dir, mark, every, map[string]string{selfPort: at.port})
	if err != nil {
		end()
		return nil, err
	}
	proc = &process{place: at, dir: dir, proc: started, end: end}
	return proc, p.server.await(ctx, at, proc.Ended(), func() string {
		how := proc.died(t) + " before it was ready"
		if res := proc.proc.Result; res != nil && res.Exit == 0 {
			how += "; a server must stay in the foreground"
		}
		return how
	})
}

// Ended is closed when the process has ended. What it left behind, which may still answer, is being ended then.
func (r *process) Ended() <-chan struct{} { return r.proc.Exited }

// Stop ends it and removes its folder. What cannot be removed is left: the next apply tries again.
func (r *process) Stop() error {
	r.end()
	<-r.proc.Done
	os.RemoveAll(r.dir)
	return nil
}

// died says how it ended, for the record of an attempt.
func (r *process) died(t *graph.Task) string {
	<-r.proc.Done
	res := r.proc.Result
	last := ""
	if t.Level != cache.Sensitive {
		last = lastWords(filepath.Join(r.dir, "stderr"))
	}
	if last != "" {
		last = ": " + last
	}
	switch {
	case res == nil:
		return fmt.Sprintf("could not be started: %v", r.proc.Err)
	case res.Cause == broker.CauseOutputLimit:
		return "wrote more than its output_limit and was ended"
	case res.Cause == broker.CauseMemoryLimit:
		return "used more memory than its memory_limit and was ended"
	case res.Signal != "":
		return "was killed by " + res.Signal + last
	}
	return fmt.Sprintf("exited %d%s", res.Exit, last)
}

var streams = []string{program.RoleStdout, program.RoleStderr}

// sizes are how much of each stream is written.
func (r *process) sizes() map[string]int64 {
	out := map[string]int64{}
	for _, s := range streams {
		if info, err := os.Stat(filepath.Join(r.dir, s)); err == nil {
			out[s] = info.Size()
		}
	}
	return out
}

// lease is a server that stands for one attempt.
type lease struct {
	p      *prepared
	proc   *process
	shared bool
	use    int64            // of a shared server, from 1
	from   map[string]int64 // where the attempt's part of a shared server's streams begins
}

func (l *lease) Value(attribute string) (string, bool) { return l.proc.value(attribute) }
func (l *lease) Ended() <-chan struct{}                { return l.proc.Ended() }

// Release ends the server, unless it is shared, and keeps its logs.
func (l *lease) Release(t *graph.Task, rec *cache.Record) (kind.Sampled, error) {
	select {
	case <-l.Ended():
		if len(rec.Invalid) == 0 || rec.Argv != nil { // else the attempt says already that it did not become ready
			rec.Validation = cache.ValidationFailed // said first, because how the program ended follows from it
			rec.Invalid = slices.Insert(rec.Invalid, 0, cache.Note{Code: "server_ended", Text: l.p.server.address + " " + l.proc.died(t) + " while it was measured"})
		}
	default:
	}
	if changed := l.p.program.Changed(context.Background()); changed != "" {
		rec.Fail("inputs_changed_during_run", changed+" while "+l.p.server.address+" ran")
	}
	sampled := kind.Sampled{}
	if !l.shared {
		l.proc.end()
		<-l.proc.proc.Done
		sampled = kind.Sampled{Subject: l.p.server.address, Result: l.proc.proc.Result}
	}
	if err := l.keepLogs(t, rec); err != nil {
		return sampled, err
	}
	if l.shared {
		rec.Limitations = append(rec.Limitations, cache.Note{Code: "shared_server", Text: fmt.Sprintf(
			"%s is shared: this was number %d of the attempts that it served, so what the earlier ones left in it may show; its processes were not sampled", l.p.server.address, l.use)})
		return sampled, nil
	}
	return sampled, l.proc.Stop()
}

func (l *lease) keepLogs(t *graph.Task, rec *cache.Record) error {
	for _, s := range streams {
		f, err := os.Open(filepath.Join(l.proc.dir, s))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("keep the log of %s: %w", l.p.server.address, err)
		}
		_, err = f.Seek(l.from[s], io.SeekStart)
		var d digest.Digest
		var n int64
		if err == nil {
			d, n, err = t.Batch.Put(f)
		}
		f.Close()
		if err != nil {
			return fmt.Errorf("keep the log of %s: %w", l.p.server.address, err)
		}
		rec.Outputs = append(rec.Outputs, cache.Output{
			Name: l.p.server.address + "." + s, Role: providers.RoleLog, MediaType: "text/plain; charset=utf-8", Digest: d, Size: n,
		})
	}
	return nil
}

// existing is the lease on a server that is not ours.
type existing struct {
	*prepared
	place
}

func (p *prepared) existing(ctx context.Context) (kind.RunningLease, error) {
	u := p.server.existing
	at := place{u.Hostname(), u.Port()}
	return &existing{p, at}, p.server.await(ctx, at, nil, nil)
}

func (e *existing) Value(attribute string) (string, bool) {
	if attribute == "url" {
		return strings.TrimSuffix(e.server.existing.String(), "/"), true
	}
	return e.value(attribute)
}
func (e *existing) Ended() <-chan struct{} { return nil }

func (e *existing) Release(_ *graph.Task, rec *cache.Record) (kind.Sampled, error) {
	rec.Limitations = append(rec.Limitations, cache.Note{Code: "existing_server", Text: e.server.address +
		" was not started by flameox: what it is, and what else it did, is not known, so this is exploratory"})
	var refused *loopback.Error
	if err := loopback.Connect(context.Background(), e.hostport()); rec.Valid() && errors.As(err, &refused) && refused.Kind == loopback.Refused {
		rec.Fail("server_ended", e.server.address+" ended while it was measured: nothing listens at "+e.hostport()+" any more")
	}
	return kind.Sampled{}, nil
}

// await asks until the server is ready. died is closed when it has ended, and how says in which way.
func (s *Server) await(ctx context.Context, at place, died <-chan struct{}, how func() string) error {
	deadline := time.NewTimer(s.ready.Timeout)
	defer deadline.Stop()
	base, _ := at.value("url")
	if s.existing != nil {
		base = strings.TrimSuffix(s.existing.String(), "/")
	}
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 250*time.Millisecond) {
		last := s.probe(ctx, base, at)
		if last == nil {
			select {
			case <-died: // somebody else answered
				last = errors.New("it had ended")
			default:
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-died:
			return &kind.LeaseError{Code: "exited", Text: how()}
		case <-deadline.C:
			return &kind.LeaseError{Code: "not_ready", Text: fmt.Sprintf("it was not ready after ready.timeout = %s: %v", s.ready.Timeout, last)}
		case <-time.After(pause):
		}
		if s.existing != nil && pause > 100*time.Millisecond {
			var refused *loopback.Error
			if errors.As(last, &refused) && refused.Kind == loopback.Refused {
				return &kind.LeaseError{Code: "not_ready", Text: fmt.Sprintf("nothing listens at %s: start it, or give a command", base)}
			}
		}
	}
}

// probe is nil when the server is ready.
func (s *Server) probe(ctx context.Context, base string, at place) error {
	if s.ready.HTTP == "" {
		return loopback.Connect(ctx, at.hostport())
	}
	a, err := loopback.Get(ctx, base+s.ready.HTTP)
	if err != nil {
		return err
	}
	if a.Status < 200 || a.Status > 299 {
		return fmt.Errorf("GET %s answers with status %d", s.ready.HTTP, a.Status)
	}
	return nil
}

// lastWords is the line of a file that says most of how its program ended.
func lastWords(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	return tail.Reason(tail.Lines(f, info.Size()))
}
