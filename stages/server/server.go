package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/facet"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/loopback"
	"github.com/flameox/flameox/internal/token"
	"github.com/flameox/flameox/lang"
	"github.com/flameox/flameox/stages/kind"
	"github.com/flameox/flameox/stages/program"
)

// version is raised whenever the way in which servers are run changes what is measured against them.
const version = 1

// selfPort is the token of the port that a server is to listen on.
const selfPort = "self_port"

// SelfPort is that token as it stands in a command.
func SelfPort() string { return token.Make(selfPort) }

// Kind is the block `server "<name>"`.
type Kind struct{}

// Options of a server.
type Options struct {
	Command     []string          `arg:"command,optional" doc:"the program and its arguments; self_port is the port it must listen on, at 127.0.0.1" facet:"command"`
	Existing    string            `arg:"existing_local,optional" doc:"instead of a command: the address of a server of this machine that runs already, such as \"http://127.0.0.1:8000\"; what is measured against it is exploratory" facet:"identity"`
	Environment lang.Ref          `arg:"environment,optional" kinds:"environment" doc:"where it runs; without it nothing but PATH is taken from the caller" facet:"executables"`
	Target      lang.Ref          `arg:"target,optional" kinds:"target" doc:"what is measured" facet:"identity"`
	Cwd         string            `arg:"cwd" default:"\".\"" doc:"working directory, relative to the configuration" facet:"command"`
	Env         map[string]string `arg:"env,optional" doc:"environment variables" facet:"command"`
	Sources     []string          `arg:"sources,optional" doc:"the files it reads, as of a workload" facet:"inputs"`
	Port        int               `arg:"port" default:"0" doc:"where it listens; 0 for a free port, which keeps others out of its way" facet:"definition"`
	Lease       string            `arg:"lease" default:"\"fresh\"" doc:"fresh: started for each stage; shared: one serves all stages of an apply that use it, with the state they leave in it; its processes are not sampled" facet:"definition"`
	Grace       time.Duration     `arg:"grace" default:"\"10s\"" doc:"time between asking it to end and killing it, at most 60s" facet:"exempt: ends a run, does not change what it computes"`
	OutputLimit lang.Bytes        `arg:"output_limit" default:"\"64MiB\"" doc:"of its standard output and error together; beyond it the server is ended" facet:"exempt: ends a run, does not change what it computes"`
	MemoryLimit lang.Bytes        `arg:"memory_limit,optional" doc:"resident memory of all its processes; beyond it the server is ended" facet:"exempt: ends a run, does not change what it computes"`
}

// Ready is the nested block `ready`.
type Ready struct {
	HTTP    string        `arg:"http,optional" doc:"a path, such as \"/health\", that answers with a status of 2xx when the server is ready; without it a connection is enough" facet:"definition"`
	Timeout time.Duration `arg:"timeout" default:"\"60s\"" doc:"after this the attempt has failed" facet:"exempt: ends a run, does not change what it computes"`
}

// Server is a declared server.
type Server struct {
	address  string
	program  *program.Program // nil for an existing one
	existing *url.URL
	options  *Options
	ready    Ready
	project  *kind.Project
}

var tokens = []lang.Attr{
	{Name: "url", Type: cty.String, Doc: "the server's address, http://127.0.0.1:PORT"},
	{Name: "host", Type: cty.String, Doc: "the host in it"},
	{Name: "port", Type: cty.String, Doc: "the port in it"},
}

// BlockType describes the block.
func (Kind) BlockType() lang.BlockType {
	return lang.BlockType{
		Type: "server", Labels: []string{"name"},
		Doc: "A server that stands while others measure it.",
		Schemas: map[string]*lang.Schema{"": {
			Doc: "A server: started before a stage whose command holds one of its tokens, asked until it is ready, sampled beside the stage, ended after it. " +
				"Its logs are kept with the stage's artifacts.",
			Options: &Options{},
			Nested:  map[string]lang.Schema{"ready": {Doc: "when the server can be measured", Options: &Ready{}}},
			Tokens:  tokens,
			Own:     append([]lang.Attr{{Name: selfPort, Type: cty.String, Doc: "the port to listen on"}}, program.OutToken...),
			Stage:   true,
		}},
	}
}

// Compile makes a definition node whose tokens are a lease.
func (Kind) Compile(inst *lang.Instance, c *kind.Compiler) (*kind.Compiled, error) {
	ready := lang.Defaults(&Ready{}).(*Ready)
	if r, ok := inst.Nested["ready"].(*Ready); ok {
		ready = r
	}
	s, err := New(inst.Address().String(), inst.Options.(*Options), *ready, c)
	if err != nil {
		return nil, err
	}
	node := c.Node(inst, graph.Definition, nil)
	node.Lease = s.existing == nil
	out := &kind.Compiled{Node: node, Value: s, Tokens: map[string]kind.Token{}}
	for _, t := range tokens {
		out.Tokens[t.Name] = kind.Token{Lease: s}
	}
	return out, nil
}

// New is the server that a block declares, or that a stage kind starts on its own behalf: address is what people know it by.
func New(address string, o *Options, ready Ready, c *kind.Compiler) (*Server, error) {
	s := &Server{address: address, options: o, project: c.Project, ready: ready}
	if err := s.check(); err != nil {
		return nil, err
	}
	if o.Existing != "" {
		var err error
		if s.existing, err = loopback.Parse(o.Existing); err != nil {
			return nil, fmt.Errorf("existing_local: %w", err)
		}
	} else {
		p, err := program.New(program.Declared{
			Command: o.Command, Cwd: o.Cwd, Env: o.Env, Sources: o.Sources, Environment: o.Environment, Target: o.Target,
			Timeout: 24 * time.Hour, Grace: o.Grace, OutputLimit: int64(o.OutputLimit), MemoryLimit: int64(o.MemoryLimit),
		}, c)
		if err != nil {
			return nil, err
		}
		if l := p.Session().Leases; len(l) > 0 {
			return nil, fmt.Errorf("it uses %s: a server cannot stand on another server. Start both from one command", l[0].Address())
		}
		s.program = p
	}
	return s, nil
}

func (s *Server) check() error {
	o := s.options
	if o.Existing != "" {
		// Nothing else would have an effect, and none of it would be in a key.
		given, defaults := reflect.ValueOf(*o), reflect.ValueOf(*lang.Defaults(&Options{}).(*Options))
		for i := range given.NumField() {
			name, _, _ := strings.Cut(given.Type().Field(i).Tag.Get("arg"), ",")
			if name != "existing_local" && name != "command" && !reflect.DeepEqual(given.Field(i).Interface(), defaults.Field(i).Interface()) {
				return fmt.Errorf("it has existing_local and %s: flameox does not start it, so %s would change nothing; take it out", name, name)
			}
		}
	}
	if u, err := url.Parse("http://127.0.0.1" + s.ready.HTTP); s.ready.HTTP != "" && (err != nil || u.Host != "127.0.0.1") {
		return fmt.Errorf("ready.http is %q: give a path that begins with /, without spaces and broken escapes", s.ready.HTTP)
	}
	switch {
	case o.Existing == "" && len(o.Command) == 0:
		return errors.New("it has neither command nor existing_local: give the program to start, or the address of a server that runs already")
	case o.Existing != "" && len(o.Command) > 0:
		return errors.New("it has both command and existing_local: a server that is started is no existing one")
	case o.Lease != "fresh" && o.Lease != "shared":
		return fmt.Errorf("lease is %q: give \"fresh\" or \"shared\"", o.Lease)
	case o.Port < 0 || o.Port > 65535:
		return fmt.Errorf("port is %d: give 1 to 65535, or 0 for a free one", o.Port)
	case s.ready.Timeout <= 0 || s.ready.Timeout > time.Hour:
		return fmt.Errorf("ready.timeout is %s: give more than 0 and at most 1h", s.ready.Timeout)
	}
	return nil
}

// Shared says that one serves several stages.
func (s *Server) Shared() bool { return s.options.Lease == "shared" }

// Address is the server's.
func (s *Server) Address() string { return s.address }

// Prepare resolves and hashes the server's program.
func (s *Server) Prepare(ctx context.Context, in *graph.Results) (kind.PreparedLease, error) {
	p := &prepared{server: s}
	if s.existing != nil {
		p.facts = []facet.Entry{{Name: "existing", Value: s.existing.String()}}
		return p, nil
	}
	var err error
	if p.program, err = s.program.Prepare(ctx, in, nil); err != nil {
		return nil, err
	}
	p.program.FixSources() // they enter the keys of its users, under other names
	definition := kind.Definition("server", version, s.options, &s.ready)
	manifest := p.program.Manifest(definition)
	p.key = manifest.Key()
	p.pool = digest.SumString(s.address + "\x00" + p.key.String())
	for _, f := range append(p.program.Facets(), definition) {
		for _, e := range f.Entries {
			e.Name = string(f.Name) + " " + e.Name
			p.facts = append(p.facts, e)
		}
	}
	return p, nil
}

// place is where a server listens.
type place struct{ host, port string }

func (p place) value(attribute string) (string, bool) {
	switch attribute {
	case "url":
		return "http://" + p.hostport(), true
	case "host":
		return p.host, true
	case "port":
		return p.port, true
	}
	return "", false
}

func (p place) hostport() string { return net.JoinHostPort(p.host, p.port) }

// listen is the place at which a server that is started has to listen.
func (s *Server) listen() (place, error) {
	port := s.options.Port
	if port == 0 {
		var err error
		if port, err = loopback.FreePort(); err != nil {
			return place{}, err
		}
	} else if loopback.Taken(port) { // else who listens there would be measured for it
		return place{}, &kind.LeaseError{Code: "not_started", Text: fmt.Sprintf("something listens at port %d already: end it, or set port = 0 for a free one", port)}
	}
	return place{"127.0.0.1", strconv.Itoa(port)}, nil
}
