package session

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/flameox/flameox/internal/pattern"
	"github.com/flameox/flameox/measure/config"
	"github.com/flameox/flameox/measure/document"
	"github.com/flameox/flameox/measure/harness"
	"github.com/flameox/flameox/measure/runner"
)

// Flags are what a command line says about measuring; zero values say nothing.
type Flags struct {
	Adapter, Suite, Filter string
	Cases                  []string // exact names
	Quantities             string   // separated by commas
	Variables              []string // NAME=VALUE
	Precision              Precision
	Project                string
	NoProject              bool
	RunKey, Out, SourceURI string
	NoBuild                bool
	CaseTimeout            *float64
}

// Settings are everything that orders are made of but their sides.
type Settings struct {
	Config     *config.Config
	Harness    harness.About
	Adapter    config.Value[string]
	Suite      config.Value[string]
	Filter     string
	Cases      []string
	Quantities config.Value[[]string]
	Precision  Resolved
	Variables  map[string]any // of the environment
	Project    config.Value[string]
	Case       config.Value[float64] // seconds
	Order      config.Value[float64] // seconds
	RunKey     string
	Out        string // absolute
	SourceURI  string
	NoBuild    bool
}

// Command is what a run key begins with where none was given.
type Command string

// The commands that make orders.
const (
	Bench   Command = "bench"
	Compare Command = "compare"
)

var (
	variable = pattern.Lazy{Expr: `^[A-Za-z_][A-Za-z0-9_]*$`}
	token    = pattern.Lazy{Expr: `^\S+$`}
)

// Resolve puts flags over the file over what is built in. dir is what relative paths of flags start from.
func Resolve(c *config.Config, f Flags, command Command, dir string, now time.Time) (*Settings, error) {
	s := &Settings{Config: c, Filter: f.Filter, Cases: f.Cases, SourceURI: f.SourceURI, NoBuild: f.NoBuild}
	if err := s.adapter(f); err != nil {
		return nil, err
	}
	var err error
	if s.Precision, err = ResolvePrecision(s.Harness, c.Adapter.Precision, f.Precision); err != nil {
		return nil, err
	}
	switch s.Suite = config.Pick("--suite", f.Suite, c.Adapter.Suite, ""); {
	case !s.Suite.Set():
		return nil, missing("suite", "--suite NAME", "adapter.suite")
	case f.Filter != "" && len(f.Cases) > 0:
		return nil, fmt.Errorf("the case %s and --filter %s both select cases: give exact names, or the filter", f.Cases[0], f.Filter)
	}
	if s.Quantities, err = quantities(f.Quantities, c.Adapter.Quantities); err != nil {
		return nil, err
	}
	if s.Variables, err = variables(c.Variables, f.Variables); err != nil {
		return nil, err
	}
	switch {
	case f.NoProject && f.Project != "":
		return nil, fmt.Errorf("--project %s and --no-project exclude each other", f.Project)
	case f.NoProject:
		s.Project = config.Value[string]{}
	default:
		s.Project = config.Pick("--project", f.Project, c.Project, "")
	}
	if s.Project.Set() && !token.MatchString(s.Project.Value) {
		return nil, fmt.Errorf("--project %q has white space, and a project's name has none", s.Project.Value)
	}
	said := 0.0
	if f.CaseTimeout != nil {
		if said = *f.CaseTimeout; !(said > 0) {
			return nil, fmt.Errorf("--case-timeout %v must be more than 0 seconds", said)
		}
	}
	s.Case = config.Pick("--case-timeout", said, c.Timeouts.Case, config.DefaultCase)
	s.Order = config.Pick("", 0, c.Timeouts.Order, config.DefaultOrder)
	return s, s.place(f, command, dir, now)
}

func (s *Settings) adapter(f Flags) error {
	file := s.Config.Adapter.Name
	if f.Adapter != "" && file != "" && f.Adapter != file {
		return fmt.Errorf("--adapter %s: %s names %s as adapter.name, and its suite and precision belong to that; use another project file, or leave the flag out", f.Adapter, s.Config.File, file)
	}
	s.Adapter = config.Pick("--adapter", f.Adapter, file, config.DefaultAdapter)
	h, ok := runner.HarnessNamed(s.Adapter.Value)
	if !ok {
		return fmt.Errorf("--adapter %s: there is no such adapter; there are %s", s.Adapter.Value, strings.Join(runner.Names(), ", "))
	}
	s.Harness = h.About()
	return nil
}

// missing is a required setting that nothing gives.
func missing(what, flag, key string) error {
	return fmt.Errorf("no %s is given: say %s, or set %s in %s", what, flag, key, config.FileName)
}

func quantities(flag string, file []string) (config.Value[[]string], error) {
	if flag == "" {
		if len(file) > 0 {
			return config.Value[[]string]{Value: file, From: config.FromFile}, nil
		}
		return config.Value[[]string]{Value: []string{config.DefaultQuantity}, From: config.FromDefault}, nil
	}
	var out []string
	for name := range strings.SplitSeq(flag, ",") {
		if name = strings.TrimSpace(name); name == "" || slices.Contains(out, name) {
			return config.Value[[]string]{}, fmt.Errorf("--quantity %s names nothing between two commas, or one quantity twice: separate different names by commas", flag)
		}
		out = append(out, name)
	}
	return config.Value[[]string]{Value: out, From: "--quantity"}, nil
}

func variables(file map[string]string, flags []string) (map[string]any, error) {
	out := map[string]any{}
	for name, v := range file {
		out[name] = v
	}
	said := map[string]bool{}
	for _, text := range flags {
		name, v, ok := strings.Cut(text, "=")
		switch {
		case !ok || !variable.MatchString(name):
			return nil, fmt.Errorf("-e %s is not NAME=VALUE", text)
		case said[name]:
			return nil, fmt.Errorf("-e sets %s twice", name)
		case strings.ContainsRune(v, 0):
			return nil, fmt.Errorf("-e %s: a variable cannot hold a zero byte", name)
		}
		said[name], out[name] = true, v
	}
	return out, nil
}

// place settles the run key, and where results go.
func (s *Settings) place(f Flags, command Command, dir string, now time.Time) error {
	s.RunKey = f.RunKey
	if s.RunKey == "" {
		s.RunKey = NewRunKey(command, now)
	}
	if !token.MatchString(s.RunKey) {
		return fmt.Errorf("--run-key %q has white space, and a run key has none", s.RunKey)
	}
	name := strings.ReplaceAll(s.RunKey, "/", "_")
	if name == "." || name == ".." || strings.ContainsRune(name, 0) {
		return fmt.Errorf("--run-key %q cannot name a folder", s.RunKey)
	}
	s.Out = filepath.Join(s.Config.ResultsPath(), name)
	if f.Out != "" {
		s.Out = f.Out
		if !filepath.IsAbs(s.Out) {
			s.Out = filepath.Join(dir, s.Out)
		}
	}
	return nil
}

// NewRunKey is a run key that no other call has: the second would do for one person, and two calls may start in the same.
func NewRunKey(command Command, now time.Time) string {
	b := make([]byte, 2)
	rand.Read(b) //nolint:errcheck // it never fails
	return fmt.Sprintf("%s-%s-%s", command, now.UTC().Format("20060102T150405Z"), hex.EncodeToString(b))
}

// Work orders say who asked.
const requester = "flameox"

// order is the document for one side; round and slot are left out where negative.
func (s *Settings) order(side *Side, filter string, round, slot int) (map[string]any, error) {
	suite := map[string]any{"adapter": s.Adapter.Value, "suite": s.Suite.Value}
	if filter != "" {
		suite["filter"] = filter
	}
	asked := make([]any, len(s.Quantities.Value))
	plan := make([]any, len(asked))
	for i, q := range s.Quantities.Value {
		asked[i] = q
		plan[i] = map[string]any{"id": fmt.Sprintf("p%d", i), "case": "*", "quantity": q}
	}
	o := map[string]any{
		"schema_version": "benchx/work-order/0.1.0", "work_order_id": newURN(), "state": "resolved",
		"suites": []any{suite}, "quantities": asked, "target": side.target, "precision": s.Precision.Document,
		"timeouts": map[string]any{"case_s": s.Case.Value, "order_s": s.Order.Value}, "run_key": s.RunKey,
		"requester": map[string]any{"kind": "workbench", "name": requester}, "plan": plan,
	}
	if s.Project.Set() {
		o["project"] = s.Project.Value
	}
	if len(s.Variables) > 0 {
		o["environment_variables"] = s.Variables
	}
	if len(s.Config.Collectors) > 0 {
		o["collectors"] = maps.Clone(s.Config.Collectors)
	}
	if side.benchmark != nil {
		o["benchmark"] = side.benchmark
	}
	if len(side.labels) > 0 {
		o["labels"] = side.labels
	}
	if round >= 0 {
		o["round"] = float64(round)
	}
	if slot >= 0 {
		o["slot"] = float64(slot)
	}
	o = document.WithoutBlankText(o)
	if err := document.Validate(document.OrderKind, o); err != nil {
		return nil, fmt.Errorf("the order for %s cannot be made: %w", side.Name, err)
	}
	return o, nil
}

// newURN is a random UUID (RFC 9562, version 4) as a URN.
func newURN() string {
	b := make([]byte, 16)
	rand.Read(b) //nolint:errcheck // it never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
