package host

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/graph/facet"
	machine "github.com/flameox/flameox/internal/host"
	"github.com/flameox/flameox/internal/suggest"
	"github.com/flameox/flameox/lang"
	"github.com/flameox/flameox/stages/kind"
)

// Mismatch is the code of the note on an attempt after which the machine was not of the declared class.
const Mismatch = "host_mismatch"

// Kind is the block `host "<name>"`.
type Kind struct{}

// Options of a host.
type Options struct {
	Class map[string]string `arg:"class" doc:"what a machine has to be, by the names that flameox host prints: { \"cpu.model\" = \"AMD EPYC 7763\", \"cpu.logical\" = \"2\" }. A fact that is not named may be anything" facet:"host_class"`
}

// Declared is a class of machine. It is immutable.
type Declared struct {
	Address string            // "host.bench"
	Class   map[string]string // at least one fact, by the names of internal/host
}

// BlockType describes the block.
func (Kind) BlockType() lang.BlockType {
	return lang.BlockType{
		Type: "host", Labels: []string{"name"},
		Doc: "A declared class of machine.",
		Schemas: map[string]*lang.Schema{"": {
			Doc: "A class of machine, by the facts that matter. A measurement with `on` has these in its key in place of all that is known of the machine, " +
				"runs only where they hold, and is not valid where they no longer hold after it.",
			Options: &Options{},
			Stage:   true,
		}},
	}
}

// Compile checks the facts and makes an identity node.
func (Kind) Compile(inst *lang.Instance, c *kind.Compiler) (*kind.Compiled, error) {
	class := inst.Options.(*Options).Class
	if len(class) == 0 {
		return nil, fmt.Errorf("class names no fact, so it would be every machine; name at least one of %s", strings.Join(machine.ClassNames(), ", "))
	}
	for _, name := range slices.Sorted(maps.Keys(class)) {
		if err := check(name, class[name]); err != nil {
			return nil, err
		}
	}
	return &kind.Compiled{
		Node:  c.Node(inst, graph.Identity, nil),
		Value: &Declared{Address: inst.Address().String(), Class: class},
	}, nil
}

// check refuses what no machine can be.
func check(name, value string) error {
	if names := machine.ClassNames(); !slices.Contains(names, name) {
		text := fmt.Sprintf("class has %q, which is no fact of a class of machine", name)
		if near := suggest.Nearest(name, names); near != "" {
			text += fmt.Sprintf("; did you mean %q?", near)
		}
		return fmt.Errorf("%s (known: %s)", text, strings.Join(names, ", "))
	}
	if strings.TrimSpace(value) != value || value == "" {
		return fmt.Errorf("class says %s = %q; give the text as `flameox host` prints it there, without white space around it", name, value)
	}
	if machine.IsCount(name) {
		if n, err := strconv.ParseUint(value, 10, 32); err != nil || n == 0 || strconv.FormatUint(n, 10) != value {
			return fmt.Errorf("class says %s = %q; give a whole number from 1, such as %q", name, value, "16")
		}
	}
	return nil
}

// Facet is the class of a measurement on the declared hosts.
func (d *Declared) Facet() facet.Facet {
	f := facet.Facet{Name: facet.HostClass}
	for _, name := range slices.Sorted(maps.Keys(d.Class)) {
		f.Add(name, d.Class[name])
	}
	return f
}

// Differ lists, by name, the facts in which a machine is not of the class. A fact that the machine does not tell differs.
func (d *Declared) Differ(class map[string]string) (out []facet.Change) {
	for _, name := range slices.Sorted(maps.Keys(d.Class)) {
		if class[name] != d.Class[name] {
			out = append(out, facet.Change{Facet: facet.HostClass, Name: name, Old: d.Class[name], New: class[name]})
		}
	}
	return out
}

// Blocked says why a machine of another class cannot measure; nil where it is of the class.
func (d *Declared) Blocked(class map[string]string) *graph.BlockedError {
	differ := d.Differ(class)
	if len(differ) == 0 {
		return nil
	}
	return &graph.BlockedError{
		Why: fmt.Sprintf("the machine is not of the class %s: %s", d.Address, Sentence(differ)),
		Do:  "apply on one that is, and bring the results here with `flameox bundle`",
	}
}

// Verify makes the record of an attempt invalid where the machine, as it was seen after the run, is not of the class.
func (d *Declared) Verify(rec *cache.Record, observed map[string]string) {
	if differ := d.Differ(observed); len(differ) > 0 {
		rec.Validation = cache.ValidationFailed
		rec.Invalid = append(rec.Invalid, cache.Note{Code: Mismatch, Text: fmt.Sprintf("after the run the machine was not of the class %s: %s", d.Address, Sentence(differ))})
	}
}

// Sentence says how a machine differs from what was declared.
func Sentence(differ []facet.Change) string {
	parts := make([]string, len(differ))
	for i, ch := range differ {
		is := "does not tell " + ch.Name
		if ch.New != "" {
			is = ch.Name + " is " + ch.New
		}
		parts[i] = fmt.Sprintf("%s, declared is %s", is, ch.Old)
	}
	return strings.Join(parts, "; ")
}
