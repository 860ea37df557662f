package fault

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/loopback"
	"github.com/flameox/flameox/stages/kind"
	"github.com/flameox/flameox/stages/program"
)

// proxyName is the name of the one proxy that each program has.
const proxyName = "flameox"

// RoleConfiguration is the role of the artifact that says what stood: the proxy and its toxics as they were asked for, as they were, and how it was taken away.
const RoleConfiguration = "experiment_configuration"

// What became of a proxy.
const (
	removed = "removed" // nothing listens any more
	failed  = "failed"  // it could not be taken away by itself; its program was ended
	ended   = "ended"   // its program had ended before
)

// Start is StartOn without a server below.
func (p *prepared) Start(ctx context.Context, t *graph.Task, every time.Duration) (kind.RunningLease, error) {
	return p.StartOn(ctx, t, every, nil)
}

// StartOn starts the program of the proxy, makes the proxy, and puts its toxics in.
func (p *prepared) StartOn(ctx context.Context, t *graph.Task, every time.Duration, below kind.RunningLease) (kind.RunningLease, error) {
	to := p.upstream
	if below != nil {
		host, _ := below.Value("host")
		port, ok := below.Value("port")
		if !ok {
			return nil, fmt.Errorf("%s has no port to forward to", p.on.Address())
		}
		if host == "localhost" { // the proxy resolves nothing
			host = "127.0.0.1"
		}
		to = net.JoinHostPort(host, port)
	}
	if p.port != 0 && loopback.Taken(p.port) {
		return nil, &kind.LeaseError{Code: "not_started", Text: fmt.Sprintf("something listens at port %d already: end it, or set port = 0 for a free one", p.port)}
	}
	running, err := p.proxy.Start(ctx, t, every)
	if running == nil || err != nil {
		return running, err
	}
	base, _ := running.Value("url")
	l := &lease{RunningLease: running, p: p, api: newAPI(base), receipt: receipt{Schema: 1, Fault: p.address, Scenario: p.scenario, Origin: string(p.origin)}}
	if err := l.set(ctx, to); err != nil {
		if ctx.Err() != nil {
			return l, ctx.Err()
		}
		return l, &kind.LeaseError{Code: "not_ready", Text: err.Error()}
	}
	return l, nil
}

// receipt is the artifact.
type receipt struct {
	Schema     int    `json:"schema"`
	Fault      string `json:"fault"`
	Scenario   string `json:"scenario,omitempty"`
	Version    string `json:"version"`    // that the program says of itself
	Origin     string `json:"origin"`     // of the program: published, managed, unmanaged
	Executable string `json:"executable"` // SHA-256
	Asked      Proxy  `json:"asked"`
	Stood      *Proxy `json:"stood,omitempty"`  // before the attempt
	Before     *Proxy `json:"before,omitempty"` // right before it was taken away
	Cleanup    string `json:"cleanup"`
	Problem    string `json:"problem,omitempty"` // of the cleanup
}

// lease is a proxy that stands for one attempt.
type lease struct {
	kind.RunningLease // the program of the proxy
	p                 *prepared
	api               *api
	receipt           receipt
	host, port        string
}

// set makes the proxy. It is disabled, where nothing is to listen, once its port is known: the port is what the client is given.
func (l *lease) set(ctx context.Context, to string) error {
	r := &l.receipt
	r.Executable = executableOf(l.p.proxy.Facts())
	var err error
	if r.Version, err = l.api.version(ctx); err != nil {
		return err
	}
	if r.Version != release && r.Version != fromSource {
		return fmt.Errorf("its program says that it is Toxiproxy %q, and faults are made with %s: install that, or name its program in toxiproxy", r.Version, release)
	}
	r.Asked = Proxy{Name: proxyName, Listen: "127.0.0.1:" + strconv.Itoa(l.p.port), Upstream: to, Enabled: true, Toxics: l.p.toxics}
	made, err := l.api.create(ctx, Proxy{Name: proxyName, Listen: r.Asked.Listen, Upstream: to, Enabled: true})
	if err != nil {
		return err
	}
	if l.host, l.port, err = net.SplitHostPort(made.Listen); err != nil {
		return fmt.Errorf("the proxy says that it listens at %q: %w", made.Listen, err)
	}
	for _, t := range l.p.toxics {
		if err := l.api.add(ctx, proxyName, t); err != nil {
			return err
		}
	}
	if l.p.off {
		r.Asked.Enabled, r.Asked.Listen = false, made.Listen
		// An update has to repeat where it listens, or it would be given another port.
		if err := l.api.do(ctx, "POST", "/proxies/"+proxyName, Proxy{Name: proxyName, Listen: made.Listen, Upstream: to}, nil, 200); err != nil {
			return err
		}
	}
	stood, err := l.api.show(ctx, proxyName)
	if err != nil {
		return err
	}
	r.Stood = &stood
	return l.differs(&stood)
}

// differs says where a proxy is not what was asked for: a name that the interface does not know it ignores.
func (l *lease) differs(stood *Proxy) error {
	asked := &l.receipt.Asked
	if stood.Enabled != asked.Enabled || stood.Upstream != asked.Upstream || len(stood.Toxics) != len(asked.Toxics) {
		return fmt.Errorf("the proxy is %+v, and %+v was asked for", *stood, *asked)
	}
	for _, t := range asked.Toxics {
		same := slices.ContainsFunc(stood.Toxics, func(s Toxic) bool {
			return s.Type == t.Type && s.Stream == t.Stream && s.Toxicity == t.Toxicity && canonical(s.Attributes) == canonical(t.Attributes)
		})
		if !same {
			return fmt.Errorf("its toxic %s is not as it was asked for: %+v of %+v", t.Type, t, stood.Toxics)
		}
	}
	return nil
}

// Value is where the proxy listens.
func (l *lease) Value(attribute string) (string, bool) {
	switch attribute {
	case "url":
		return "http://" + net.JoinHostPort(l.host, l.port), true
	case "host":
		return l.host, true
	case "port":
		return l.port, true
	}
	return "", false
}

// Release takes the proxy away, ends its program, and keeps what stood.
func (l *lease) Release(t *graph.Task, rec *cache.Record) (kind.Sampled, error) {
	l.takeAway()
	kept := l.keep(t, rec)
	sampled, err := l.RunningLease.Release(t, rec)
	return sampled, errors.Join(kept, err)
}

// takeAway removes the proxy. The context of the attempt may have ended; it is not asked.
func (l *lease) takeAway() {
	ctx, cancel := context.WithTimeout(context.Background(), apiTimeout)
	defer cancel()
	r := &l.receipt
	select {
	case <-l.Ended():
		r.Cleanup = ended
		return
	default:
	}
	r.Cleanup = failed
	if r.Stood == nil { // it never stood as it should; its program is ended anyway
		r.Problem = "it was not made"
		return
	}
	before, err := l.api.show(ctx, proxyName)
	if err == nil {
		r.Before = &before
		err = l.api.remove(ctx, proxyName)
	}
	if err == nil && loopback.Connect(ctx, net.JoinHostPort(l.host, l.port)) == nil {
		err = errors.New("something still listens where it listened")
	}
	if err != nil {
		r.Problem = err.Error()
		return
	}
	r.Cleanup = removed
}

// keep adds to the record what stood: the configuration, the rows, and what limits them.
func (l *lease) keep(t *graph.Task, rec *cache.Record) error {
	r := &l.receipt
	note := func(code, format string, args ...any) {
		rec.Limitations = append(rec.Limitations, cache.Note{Code: code, Text: l.p.address + ": " + fmt.Sprintf(format, args...)})
	}
	switch l.p.origin {
	case unmanaged:
		note("fault_unmanaged", "its program is what this machine has (%s, SHA-256 %s), not what the release %s published", r.Version, r.Executable, release)
	case managed:
		note("fault_unqualified", "its program (%s, SHA-256 %s) is from no archive that the release %s published", r.Version, r.Executable, release)
	}
	if l.p.on == nil {
		note("existing_server", "what listens at %s was not started by flameox: what it is, and what else it did, is not known, so this is exploratory", l.p.upstream)
	}
	if l.p.stochastic() {
		note("fault_stochastic", "a toxic is drawn for each connection: one attempt says nothing of how often")
	}
	if r.Cleanup != removed {
		note("fault_cleanup", "the proxy was not taken away by itself (%s): its program was ended", strings.TrimSpace(r.Cleanup+" "+r.Problem))
	}
	if r.Before != nil && l.differs(r.Before) != nil {
		rec.Fail("fault_changed", l.p.address+": "+l.differs(r.Before).Error()+" when it was taken away")
	}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetIndent("", "  ")
	if err := e.Encode(r); err != nil {
		return err
	}
	sum, err := t.Batch.PutBytes(text.Bytes())
	if err != nil {
		return fmt.Errorf("keep what %s was: %w", l.p.address, err)
	}
	rec.Outputs = append(rec.Outputs, cache.Output{
		Name: l.p.address + ".json", Role: RoleConfiguration, MediaType: "application/json", Digest: sum, Size: int64(text.Len()),
	})
	if r.Stood == nil {
		return nil
	}
	return l.rows(t, rec, sum)
}

// rows are one for each toxic, or one that says that there was none.
func (l *lease) rows(t *graph.Task, rec *cache.Record, of digest.Digest) error {
	dir := filepath.Join(t.Dir, "rows-"+l.p.address)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	r := &l.receipt
	row := evidence.Fault{
		Fault: l.p.address, Listen: net.JoinHostPort(l.host, l.port), Upstream: r.Asked.Upstream, Version: r.Version, Executable: r.Executable, Cleanup: r.Cleanup,
	}
	if l.p.scenario != "" {
		row.Scenario = &l.p.scenario
	}
	var rows []evidence.Fault
	for _, x := range r.Asked.Toxics {
		attributes := canonical(x.Attributes)
		row.Type, row.Stream, row.Toxicity, row.Attributes = &x.Type, &x.Stream, &x.Toxicity, &attributes
		rows = append(rows, row)
	}
	if l.p.off {
		off := down
		row.Type = &off
	}
	if len(rows) == 0 {
		rows = append(rows, row)
	}
	sink := evidence.NewSink(dir, evidence.FileMeta{Artifact: of, Provider: "flameox", ProviderVersion: version}, evidence.DefaultBudget())
	for i := range rows {
		if err := sink.Faults.Put(&rows[i]); err != nil {
			return fmt.Errorf("keep the rows of %s: %w", l.p.address, err)
		}
	}
	parts, err := sink.Close()
	if err != nil {
		return fmt.Errorf("keep the rows of %s: %w", l.p.address, err)
	}
	from := len(rec.Outputs)
	if err := program.PutParts(t, rec, parts); err != nil {
		return err
	}
	for i := range rec.Outputs[from:] { // a session may have several faults, and an output one name
		rec.Outputs[from+i].Name = l.p.address + "." + rec.Outputs[from+i].Name
	}
	return nil
}
