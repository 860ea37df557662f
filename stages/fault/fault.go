package fault

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/facet"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/lang"
	"github.com/flameox/flameox/stages/kind"
	"github.com/flameox/flameox/stages/server"
)

// version is raised whenever the way in which faults are made changes what is measured through them.
const version = 1

// baseline is the scenario without a toxic.
const baseline = "baseline"

// mostScenarios is how many scenarios one block may have, baseline aside.
const mostScenarios = 64

// Kind is the block `fault "<name>"`.
type Kind struct{}

// Options of a fault.
type Options struct {
	Server    lang.Ref `arg:"server,optional" kinds:"server" doc:"the server that the way leads to, which is started first; either this or upstream" facet:"identity"`
	Upstream  string   `arg:"upstream,optional" doc:"instead of a server: the address of this machine that the way leads to, an IP literal with a port, such as 127.0.0.1:5432; what is measured over it is exploratory" facet:"identity"`
	Scenario  string   `arg:"scenario,optional" doc:"the scenario of this instance, one of an axis: matrix.scenario. baseline has no toxic; without it every toxic of the block acts" facet:"exempt: selects; the toxics that act are in the key"`
	Toxiproxy string   `arg:"toxiproxy" default:"\"toxiproxy-server\"" doc:"the program of Toxiproxy 2.12.0: a managed one, tool.NAME.path, or what PATH has under a name" facet:"executables"`
	Port      int      `arg:"port" default:"0" doc:"where the proxy listens; 0 for a free port" facet:"identity"`
}

// Fault is a declared fault. It is a lease.
type Fault struct {
	address  string
	on       *server.Server // nil where upstream is given
	upstream string
	scenario string
	port     int
	toxics   []Toxic
	off      bool
	proxy    *server.Server // the program of the proxy
	origin   origin
}

var tokens = []lang.Attr{
	{Name: "url", Type: cty.String, Doc: "where the proxy listens, http://127.0.0.1:PORT: give it to the client in place of the server's"},
	{Name: "host", Type: cty.String, Doc: "the host in it"},
	{Name: "port", Type: cty.String, Doc: "the port in it"},
}

// BlockType describes the block.
func (Kind) BlockType() lang.BlockType {
	nested := map[string]lang.Schema{down: {Doc: "that nothing listens: connections are refused", Options: &Down{}}}
	for _, t := range toxicTypes {
		nested[t.name] = lang.Schema{Doc: t.doc, Options: t.merged().Options}
	}
	return lang.BlockType{
		Type: "fault", Labels: []string{"name"},
		Doc: "Disturbs the way to a server while others measure it.",
		Schemas: map[string]*lang.Schema{"": {
			Doc: "A proxy between a stage and a server, with toxics: latency, limits, broken connections. It stands for each attempt of a stage whose command holds one " +
				"of its tokens. What is not to be disturbed goes through it, too: the scenario baseline, and a block without toxics. " +
				"The rows are in the table faults, under the runs of that stage.",
			Options: &Options{}, Nested: nested, Tokens: tokens, Stage: true,
		}},
	}
}

// Compile makes a definition node whose tokens are a lease.
func (Kind) Compile(inst *lang.Instance, c *kind.Compiler) (*kind.Compiled, error) {
	o := inst.Options.(*Options)
	f := &Fault{address: inst.Address().String(), scenario: o.Scenario, port: o.Port}
	var err error
	if f.on, err = kind.Value[*server.Server](c, o.Server); err != nil {
		return nil, err
	}
	if err := f.where(o); err != nil {
		return nil, err
	}
	var named map[string]bool
	if f.toxics, f.off, named, err = toxics(inst, o.Scenario); err != nil {
		return nil, err
	}
	switch {
	case len(named) > mostScenarios:
		return nil, fmt.Errorf("its toxics name %d scenarios: at most %d", len(named), mostScenarios)
	case f.off && len(f.toxics) > 0:
		return nil, fmt.Errorf("%s and %s act in the same scenario: where nothing listens nothing passes", down, f.toxics[0].Type)
	case o.Scenario != "" && o.Scenario != baseline && len(f.toxics) == 0 && !f.off:
		return nil, fmt.Errorf("no toxic is in the scenario %q: name it in one, or call it %q", o.Scenario, baseline)
	}
	f.origin = originOf(c, o.Toxiproxy)
	ready := server.Ready{HTTP: "/version", Timeout: 20 * time.Second}
	f.proxy, err = server.New(f.address, &server.Options{
		Command: []string{o.Toxiproxy, "-host", "127.0.0.1", "-port", server.SelfPort()}, Cwd: ".", Sources: []string{}, Lease: "fresh",
		Env:   map[string]string{"LOG_LEVEL": "info"}, // it writes lines for every connection otherwise, while that is measured
		Grace: 2 * time.Second, OutputLimit: 64 << 20,
	}, ready, c)
	if err != nil {
		return nil, err
	}
	node := c.Node(inst, graph.Definition, nil)
	node.Lease = true
	out := &kind.Compiled{Node: node, Value: f, Tokens: map[string]kind.Token{}}
	for _, t := range tokens {
		out.Tokens[t.Name] = kind.Token{Lease: f}
	}
	return out, nil
}

// where checks where the way leads to, and where it begins.
func (f *Fault) where(o *Options) error {
	switch {
	case (f.on == nil) == (o.Upstream == ""):
		return errors.New("give what the way leads to, either as server, or as upstream where it is not started by flameox")
	case o.Port < 0 || o.Port > 65535:
		return fmt.Errorf("port is %d: give 1 to 65535, or 0 for a free one", o.Port)
	case o.Upstream == "":
		return nil
	}
	host, port, err := net.SplitHostPort(o.Upstream)
	ip, bad := netip.ParseAddr(host)
	n, wrong := strconv.ParseUint(port, 10, 16)
	switch {
	case err != nil || bad != nil || wrong != nil || n == 0 || ip.Zone() != "":
		return fmt.Errorf("upstream is %q: give an IP literal of this machine and a port, such as 127.0.0.1:5432 or [::1]:5432", o.Upstream)
	case !ip.Unmap().IsLoopback():
		return fmt.Errorf("upstream is %q, which is not of this machine: faults are made on the loopback interface only, 127.0.0.1 or [::1]", o.Upstream)
	}
	f.upstream = net.JoinHostPort(ip.String(), strconv.FormatUint(n, 10))
	return nil
}

// Address is the fault's.
func (f *Fault) Address() string { return f.address }

// On is the server that the way leads to.
func (f *Fault) On() kind.Lease {
	if f.on == nil {
		return nil
	}
	return f.on
}

// stochastic says that what happens is drawn.
func (f *Fault) stochastic() bool {
	return slices.ContainsFunc(f.toxics, func(t Toxic) bool { return t.Toxicity < 1 })
}

// Suits says that one attempt says nothing of what is drawn.
func (f *Fault) Suits(n *graph.Node) error {
	if f.stochastic() && n.Attempts < 2 {
		return errors.New("one of its toxics has a toxicity below 1, and one attempt says nothing of what is drawn. Set attempts = 2 at least")
	}
	return nil
}

// prepared is a fault of which everything is known that enters a key.
type prepared struct {
	*Fault
	proxy kind.PreparedLease
	facts []facet.Entry
}

// Prepare resolves and hashes the program of the proxy.
func (f *Fault) Prepare(ctx context.Context, in *graph.Results) (kind.PreparedLease, error) {
	p := &prepared{Fault: f}
	var err error
	if p.proxy, err = f.proxy.Prepare(ctx, in); err != nil {
		return nil, unavailable(err)
	}
	add := func(name, value string) { p.facts = append(p.facts, facet.Entry{Name: name, Value: value}) }
	add("fault", strconv.Itoa(version))
	switch {
	case f.on != nil:
		// Of several servers beside a stage it has to be known which one the way leads to.
		below, err := f.on.Prepare(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.on.Address(), err)
		}
		add("upstream", digestOf(below.Facts()))
		p.facts[len(p.facts)-1].Note = "to " + f.on.Address()
	default:
		add("upstream", f.upstream)
	}
	if f.port != 0 {
		add("port", strconv.Itoa(f.port))
	}
	if f.off {
		add(down, "true")
	}
	for _, t := range f.toxics {
		add("toxic "+t.Type, fmt.Sprintf("%s %s %s", t.Stream, strconv.FormatFloat(t.Toxicity, 'g', -1, 64), canonical(t.Attributes)))
	}
	for _, e := range p.proxy.Facts() {
		e.Name = "toxiproxy " + e.Name
		p.facts = append(p.facts, e)
	}
	return p, nil
}

func digestOf(facts []facet.Entry) string {
	f := facet.Facet{Name: facet.Identity}
	for _, e := range facts {
		f.Add(e.Name, e.Value)
	}
	m := facet.New(f)
	return m.Key().String()
}

func (p *prepared) Facts() []facet.Entry { return p.facts }

// Key is nothing's: a fault never stands for longer than one stage.
func (p *prepared) Key() digest.Digest { return digest.Digest{} }
