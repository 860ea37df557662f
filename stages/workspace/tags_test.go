package workspace_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/flameox/flameox/graph/facet"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/providers/command"
	"github.com/flameox/flameox/providers/gobench"
	"github.com/flameox/flameox/providers/memray"
	"github.com/flameox/flameox/providers/node"
	"github.com/flameox/flameox/providers/pprof"
	"github.com/flameox/flameox/providers/pyperf"
	"github.com/flameox/flameox/stages"
)

// Every option of every block, nested ones too, says which facet of a key it enters, or why it enters none.
func TestEveryOptionOfEveryBlockSaysWhatItDoesToKeys(t *testing.T) {
	reg := providers.New(command.Provider{}, gobench.Provider{}, memray.Provider{}, node.Provider{}, pprof.Provider{}, pyperf.Provider{})
	seen := 0
	check := func(block string, options any) {
		if options == nil {
			return
		}
		ot := reflect.TypeOf(options).Elem()
		for i := range ot.NumField() {
			field := ot.Field(i)
			arg, _, _ := strings.Cut(field.Tag.Get("arg"), ",")
			tag := field.Tag.Get("facet")
			if reason, exempt := strings.CutPrefix(tag, "exempt: "); !(exempt && reason != "") && !slices.Contains(facet.Order, facet.Name(tag)) {
				t.Errorf("%s: %s has the facet tag %q: name a facet, or exempt with the reason", block, arg, tag)
			}
			if arg == "" || field.Tag.Get("doc") == "" {
				t.Errorf("%s: the field %s has no name or no documentation", block, field.Name)
			}
			seen++
		}
	}
	for _, k := range stages.Kinds(reg) {
		bt := k.BlockType()
		for label, s := range bt.Schemas {
			check(bt.Type+" "+label, s.Options)
			for name, nested := range s.Nested {
				check(bt.Type+" "+label+" "+name, nested.Options)
			}
		}
	}
	if seen < 140 {
		t.Errorf("only %d options were looked at", seen)
	}
}
