package runner

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/flameox/flameox/graph/broker"
	"github.com/flameox/flameox/measure/document"
	"github.com/flameox/flameox/measure/facts"
	"github.com/flameox/flameox/measure/harness"
	"github.com/flameox/flameox/measure/source"
)

// prepared is an order that can be applied.
type prepared struct {
	order     map[string]any
	hash      string
	opts      Options
	harness   harness.Harness
	about     harness.About
	precision harness.Precision
	place     harness.Place
	runnable  harness.Runnable
	cases     []Case
	recorded  []string // names of variables that may be recorded
	subject   source.Identity
	uri       string // of the source, as the order has it
	benchmark suiteOf
	context   *surroundings
	limit     time.Duration // of a case
	close     func()
}

// suiteOf is where the code of the benchmarks lives.
type suiteOf struct {
	source.Identity
	apart bool // from the subject's checkout
}

func prepare(ctx context.Context, order map[string]any, opts Options) (*prepared, error) {
	p := &prepared{opts: opts, close: func() {}}
	if err := p.read(order); err != nil {
		return nil, err
	}
	scratch, err := os.MkdirTemp("", "flameox-run-")
	if err != nil {
		return nil, fmt.Errorf("prepare the order: %w", err)
	}
	b, own := opts.Broker, func() {}
	if b == nil {
		b = broker.New(broker.Options{Store: "measure"})
		own = func() { _ = b.Close() } // the supervisor notices by itself
	}
	p.close = func() { own(); os.RemoveAll(scratch) }
	p.place.Scratch, p.place.Start = scratch, p.starter(b)
	for _, step := range []func(context.Context) error{p.locate, p.identify, p.surround, p.list} {
		if err := step(ctx); err != nil {
			p.close()
			return nil, err
		}
	}
	return p, nil
}

// deferred are fields of an order whose feature is not there: ignoring one would measure something else than was asked for.
var deferred = []string{"environment_policy", "build", "components", "schedule"}

// read holds the order against what the harness can do, without looking at the machine.
func (p *prepared) read(order map[string]any) error {
	if err := document.Validate(document.OrderKind, order); err != nil {
		return &Refusal{Text: "the work order is refused: " + err.Error()}
	}
	order = document.WithoutBlankText(order)
	hash, err := document.OrderHash(order)
	if err != nil {
		return &Refusal{Text: "the work order is refused: " + err.Error()}
	}
	p.order, p.hash = order, hash
	text := func(path ...string) string { s, _ := document.At(order, path...).(string); return s }
	if text("state") != "resolved" {
		return harness.Refuse("state", "the order is a draft; only a resolved one is run")
	}
	for _, name := range deferred {
		if _, there := order[name]; there {
			return harness.Refuse(name, "this part of a work order is deferred: it cannot be applied yet, so the order is not run; leave it out")
		}
	}
	suites, _ := order["suites"].([]any)
	if len(suites) != 1 {
		return harness.Refuse("suites", "the order has %d suites, and one is run at a time; write an order for each", len(suites))
	}
	for _, name := range []string{"include", "exclude", "parameters"} {
		if _, there := p.suite()[name]; there {
			return harness.Refuse("suites."+name, "this is deferred; select cases by filter")
		}
	}
	adapter, _ := p.suite()["adapter"].(string)
	h, ok := HarnessNamed(adapter)
	if !ok {
		return harness.Refuse("suites.adapter", "there is no adapter %q; there are %s", adapter, strings.Join(Names(), ", "))
	}
	p.harness, p.about = h, h.About()
	switch kind := text("target", "kind"); {
	case kind == "artifact":
		return harness.Refuse("target.kind", "targets that are artifacts are deferred; unpack it, and name it as a build or a working_tree")
	case kind != p.about.TargetKind:
		return harness.Refuse("target.kind", "%s measures a target of kind %s, and this is one of kind %s", adapter, p.about.TargetKind, kind)
	}
	p.place.Path = filepath.Clean(text("target", "path"))
	p.place.Suite, _ = p.suite()["suite"].(string)
	return p.readRest()
}

func (p *prepared) readRest() error {
	quantities, _ := p.order["quantities"].([]any)
	for _, q := range quantities {
		name, _ := q.(string)
		if _, ok := p.about.Quantity(name); !ok {
			var names []string
			for _, q := range p.about.Quantities {
				names = append(names, q.Name)
			}
			return harness.Refuse("quantities", "%s does not measure %s; it measures %s", p.about.Name, name, strings.Join(names, ", "))
		}
	}
	if _, there := p.order["benchmark"]; there && !p.about.SuiteIsFile {
		return harness.Refuse("benchmark", "the benchmarks of %s are part of its target, so the order cannot say that they come from elsewhere", p.about.Name)
	}
	parameters, _ := p.order["workload_parameters"].(map[string]any)
	variables := p.variables()
	for name := range parameters {
		if _, both := variables[name]; both {
			return harness.Refuse("workload_parameters", "%s is an environment variable of the order too; a name can be only one of them", name)
		}
	}
	if len(parameters) > 0 {
		return harness.Refuse("workload_parameters", "%s takes no parameters from outside; select the values of its benchmarks by filter", p.about.Name)
	}
	collectors := document.Keys(p.collectors())
	for _, name := range collectors {
		if slices.Contains(facts.Reserved, name) {
			return harness.Refuse("collectors."+name, "the facts called %s are the runner's own; call the collector something else", name)
		}
	}
	if len(collectors) > 0 && !p.opts.AllowCollectors {
		return harness.Refuse("collectors", "the order would run the commands of %s; allow that with --allow-collectors if you trust whoever wrote it", strings.Join(collectors, ", "))
	}
	precision, _ := p.order["precision"].(map[string]any)
	var err error
	if p.precision, err = p.about.Precision(precision); err != nil {
		return err
	}
	p.place.Precision = p.precision
	p.place.Env = merged(p.opts.environ(), variables)
	p.recorded = facts.Recorded(p.opts.environ(), p.about.Variables)
	p.limit, p.place.Limit = p.seconds("case_s"), p.seconds("order_s")
	return nil
}

func (p *prepared) seconds(name string) time.Duration {
	f, _ := document.At(p.order, "timeouts", name).(float64)
	const most = 1e9 // what a duration holds, with room
	return time.Duration(min(f, most) * float64(time.Second))
}

func (p *prepared) suite() map[string]any {
	suites, _ := p.order["suites"].([]any)
	suite, _ := suites[0].(map[string]any)
	return suite
}

func (p *prepared) variables() map[string]string {
	out := map[string]string{}
	m, _ := p.order["environment_variables"].(map[string]any)
	for name, v := range m {
		out[name], _ = v.(string)
	}
	return out
}

func (p *prepared) collectors() map[string]any {
	m, _ := p.order["collectors"].(map[string]any)
	return m
}

// merged is an environment with variables set in it, each name once.
func merged(environ []string, variables map[string]string) []string {
	at := map[string]int{}
	var out []string
	set := func(name, value string) {
		if i, there := at[name]; there {
			out[i] = name + "=" + value
			return
		}
		at[name] = len(out)
		out = append(out, name+"="+value)
	}
	for _, e := range environ {
		if name, value, ok := strings.Cut(e, "="); ok && name != "" {
			set(name, value)
		}
	}
	for _, name := range document.Keys(variables) {
		set(name, variables[name])
	}
	return out
}

func (p *prepared) locate(ctx context.Context) error {
	switch info, err := os.Stat(p.place.Path); {
	case err != nil:
		return harness.Refuse("target.path", "the target %s is not there: %v", p.place.Path, plain(err))
	case !info.IsDir():
		return harness.Refuse("target.path", "the target %s is no folder", p.place.Path)
	}
	var err error
	p.runnable, err = p.harness.Prepare(ctx, p.place)
	return err
}

// list finds the cases, and refuses a plan without any: a misspelled filter must not end as a success with no results.
func (p *prepared) list(ctx context.Context) error {
	filter, _ := p.suite()["filter"].(string)
	listed, err := p.harness.Cases(ctx, p.place, p.runnable, filter)
	if err != nil {
		return err
	}
	for _, c := range listed.Cases {
		if len(p.quantities(c)) > 0 {
			p.cases = append(p.cases, c)
		}
	}
	if len(p.cases) == 0 {
		return p.emptyPlan(filter, listed)
	}
	variables := p.variables()
	seen := map[string]bool{}
	for _, c := range p.cases {
		if seen[c.Text()] {
			return harness.Refuse("suites.suite", "%s lists %s twice, so its results could not be told apart", p.place.Suite, c.Text())
		}
		seen[c.Text()] = true
		for _, parameter := range c.Parameters {
			if _, both := variables[parameter.Name]; both {
				return harness.Refuse("environment_variables", "%s is a parameter of %s too; a result can record only one of them", parameter.Name, c.Name)
			}
		}
	}
	return nil
}

// shown are how many cases a refusal names.
const shown = 20

func (p *prepared) emptyPlan(filter string, listed harness.Listed) error {
	text := p.place.Suite + " has no benchmark to run"
	if filter != "" {
		text = fmt.Sprintf("no benchmark of %s is selected by the filter %q", p.place.Suite, filter)
	}
	if listed.Said != "" {
		text += fmt.Sprintf(" (it says: %s)", listed.Said)
	}
	if len(listed.Cases) > 0 {
		text += fmt.Sprintf(" that measures any of %v", p.order["quantities"])
	}
	if n := len(listed.All); n > 0 {
		text += "; there are " + strings.Join(listed.All[:min(n, shown)], ", ")
		if n > shown {
			text += fmt.Sprintf(", and %d more", n-shown)
		}
	}
	return &Refusal{Field: "suites.filter", Text: text}
}
