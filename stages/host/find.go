package host

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/graph/facet"
	machine "github.com/flameox/flameox/internal/host"
	"github.com/flameox/flameox/internal/suggest"
)

// Machine is one that records were made on, or this one.
type Machine struct {
	Name  string
	Class map[string]string
	Runs  int    // records of it; 0 of this one where it has none
	Run   string // the newest of them
}

// Seen lists the machines that records were made on, the one of the newest record first. A machine whose class changed is listed once for each.
func Seen(all []*cache.Summary) ([]*Machine, error) {
	type id struct{ name, class string }
	by := map[id]*Machine{}
	var list []*Machine
	for _, r := range slices.Backward(all) {
		if r.HostClass.IsZero() || r.Host == "" {
			continue
		}
		at := id{r.Host, r.HostClass.String()}
		if m := by[at]; m != nil {
			m.Runs++
			continue
		}
		rec, err := r.Record()
		if err != nil {
			return nil, fmt.Errorf("look for machines in run %s: %w", r.Run, err)
		}
		by[at] = &Machine{Name: r.Host, Class: rec.Host.Class, Runs: 1, Run: r.Run}
		list = append(list, by[at])
	}
	return list, nil
}

// Choose finds the machine that name means: a declared host, as host.bench or bench, or the name of a machine among those seen, of which the newest
// class counts. Of a declared host it is the one class of machine that was seen and fits. here is this machine; it fits as well as any.
func Choose(name string, declared []*Declared, seen []*Machine, here *Machine) (*Machine, error) {
	var blocks []*Declared
	for _, d := range declared {
		if d.Address == name || strings.TrimPrefix(d.Address, "host.") == name {
			blocks = append(blocks, d)
		}
	}
	i := slices.IndexFunc(seen, func(m *Machine) bool { return m.Name == name })
	switch {
	case len(blocks) > 0 && i >= 0:
		return nil, fmt.Errorf("%s is a block and the name of a machine that runs were made on; write %s for the block, or give the block another name", name, blocks[0].Address)
	case len(blocks) > 0:
		return blocks[0].choose(append([]*Machine{here}, seen...))
	case i >= 0:
		return seen[i], nil
	case name == here.Name:
		return here, nil
	}
	var known []string
	for _, d := range declared {
		known = append(known, d.Address)
	}
	for _, m := range seen {
		known = append(known, m.Name)
	}
	known = append(known, here.Name)
	slices.Sort(known)
	text := fmt.Sprintf("no host block and no machine that runs were made on is called %q", name)
	if near := suggest.Nearest(name, known); near != "" {
		text += fmt.Sprintf("; did you mean %q?", near)
	}
	return nil, fmt.Errorf("%s (known: %s)", text, strings.Join(slices.Compact(known), ", "))
}

// choose is the class of machine among those that fits. Keys of measurements without `on` hold every fact, so two classes that fit are two plans.
func (d *Declared) choose(machines []*Machine) (*Machine, error) {
	var fit []*Machine
	for _, m := range machines {
		if len(d.Differ(m.Class)) == 0 && !slices.ContainsFunc(fit, func(o *Machine) bool { return maps.Equal(o.Class, m.Class) }) {
			fit = append(fit, m)
		}
	}
	switch len(fit) {
	case 1:
		return fit[0], nil
	case 0:
		return nil, fmt.Errorf("no machine of the class %s is known here; apply on one, and bring its results with `flameox bundle`", d.Address)
	}
	var names []string
	for _, m := range fit {
		names = append(names, fmt.Sprintf("%s (%s)", m.Name, machine.Describe(m.Class, ", ")))
	}
	return nil, fmt.Errorf("machines of %d classes are %s: %s; name one of them with -host, or declare more facts", len(fit), d.Address, strings.Join(names, "; "))
}

// Fits says of a machine which of the declared classes it is, and how it differs from the others.
func Fits(declared []*Declared, class map[string]string) []Fit {
	out := make([]Fit, len(declared))
	for i, d := range declared {
		out[i] = Fit{Host: d.Address, Differs: d.Differ(class)}
	}
	return out
}

// Fit is how a machine stands to a declared class.
type Fit struct {
	Host    string
	Differs []facet.Change // Old is declared, New is the machine's; empty where it is of the class
}
