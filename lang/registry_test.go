package lang

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"
)

func TestRegisterRefusesMistakesOfTheProgrammer(t *testing.T) {
	type ok struct {
		A string `arg:"a,optional" doc:"a" facet:"definition"`
	}
	with := func(options any) BlockType {
		return BlockType{Type: "x", Labels: []string{"name"}, Doc: "x", Schemas: map[string]*Schema{"": {Doc: "x", Options: options, Stage: true}}}
	}
	change := func(f func(*BlockType)) BlockType { b := with(&ok{}); f(&b); return b }
	for want, bt := range map[string]BlockType{
		"no argument can be a time.Time": with(&struct {
			A time.Time `arg:"a" doc:"a" facet:"definition"`
		}{}),
		"argument a is there twice": with(&struct {
			A string `arg:"a" doc:"a" facet:"definition"`
			B string `arg:"a" doc:"b" facet:"definition"`
		}{}),
		"has no doc tag": with(&struct {
			A string `arg:"a" facet:"definition"`
		}{}),
		"has no facet tag": with(&struct {
			A string `arg:"a" doc:"a"`
		}{}),
		"exemption without a reason": with(&struct {
			A string `arg:"a" doc:"a" facet:"exempt: "`
		}{}),
		"without an arg tag": with(&struct {
			A string `doc:"a" facet:"definition"`
		}{}),
		"arg option \"omitempty\"": with(&struct {
			A string `arg:"a,omitempty" doc:"a" facet:"definition"`
		}{}),
		"a string is written with quotes": with(&struct {
			A string `arg:"a" default:"auto" doc:"a" facet:"definition"`
		}{}),
		"must be a whole number": with(&struct {
			A int `arg:"a" default:"1.5" doc:"a" facet:"definition"`
		}{}),
		"a reference has no default": with(&struct {
			A Ref `arg:"a" default:"null" doc:"a" facet:"definition"`
		}{}),
		"kinds without a reference": with(&struct {
			A string `arg:"a" kinds:"x" doc:"a" facet:"definition"`
		}{}),
		"one that every stage has": with(&struct {
			A string `arg:"labels" doc:"a" facet:"definition"`
		}{}),
		"pointer to a struct":   with(ok{}),
		"registered twice":      with(&ok{}),
		"reserved":              change(func(b *BlockType) { b.Type = "locals" }),
		"labels must be":        change(func(b *BlockType) { b.Type = "y"; b.Labels = []string{"name", "kind"} }),
		"does not fit 1 labels": change(func(b *BlockType) { b.Type = "y"; b.Schemas = map[string]*Schema{"k": {}} }),
		"without doc or schema": change(func(b *BlockType) { b.Type = "y"; b.Schemas = nil }),
		"beginning of another": change(func(b *BlockType) {
			b.Type = "y"
			b.Schemas[""].Results = []Attr{{"a.b", cty.String, "x"}, {"a", cty.String, "x"}}
		}),
		"lower case words":         change(func(b *BlockType) { b.Type = "y"; b.Schemas[""].Tokens = []Attr{{"A b", cty.String, "x"}} }),
		"name of a block type":     change(func(b *BlockType) { b.Type = "y"; b.Schemas[""].Own = []Attr{{"x.dir", cty.String, "x"}} }),
		"may have only a doc":      change(func(b *BlockType) { b.Type = "y"; b.Schemas[""].Nested = map[string]Schema{"n": {Stage: true}} }),
		"a measurement is a stage": change(func(b *BlockType) { b.Type = "y"; b.Schemas[""].Stage = false; b.Schemas[""].Measurement = true }),
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, want) {
					t.Errorf("panic %q, want %q", got, want)
				}
			}()
			r := NewRegistry()
			r.Register(with(&ok{}))
			if want != "registered twice" {
				bt.Type = strings.Replace(bt.Type, "x", "z", 1)
			}
			r.Register(bt)
		}()
	}
}

func TestTypesAreListedInOrder(t *testing.T) {
	var names []string
	for _, b := range testRegistry().Types() {
		names = append(names, b.Type)
	}
	if !slices.IsSorted(names) || len(names) != 7 {
		t.Errorf("%v", names)
	}
}

func TestArgumentsAreDocumentedWithThoseOfEveryStage(t *testing.T) {
	find := func(list []Argument, name string) *Argument {
		for i := range list {
			if list[i].Name == name {
				return &list[i]
			}
		}
		return nil
	}
	capture := Arguments(&Schema{Doc: "x", Options: &captureOptions{}, Stage: true, Measurement: true})
	if a := find(capture, "processes"); a == nil || a.Default != "20" || a.Required || a.Type != "whole number" || a.Doc == "" {
		t.Errorf("%+v", a)
	}
	if a := find(capture, "workload"); a == nil || !a.Required || a.Kinds[0] != "workload" || a.Type != "reference" {
		t.Errorf("%+v", a)
	}
	plain := Arguments(&Schema{Doc: "x", Stage: true})
	for _, name := range append(slices.Clone(stageArgs), structural...) {
		if a := find(capture, name); a == nil || a.Doc == "" || a.Facet == "" {
			t.Errorf("%s of a measurement: %+v", name, a)
		}
		if got := find(plain, name) != nil; got == slices.Contains(measurementOnly, name) {
			t.Errorf("%s of a stage that is no measurement: %v", name, got)
		}
	}
	if got := Arguments(&Schema{Doc: "x"}); len(got) != 0 {
		t.Errorf("a block that is no stage: %v", got)
	}
}

func TestStageArgumentsAndTheirStructAgree(t *testing.T) {
	a, b := slices.Clone(stageArgs), slices.Clone(metaSchema().names)
	slices.Sort(a)
	slices.Sort(b)
	if !slices.Equal(a, b) {
		t.Errorf("%v and %v", a, b)
	}
}

func TestFunctionsAreListed(t *testing.T) {
	if f := Functions(); !slices.IsSorted(f) || !slices.Contains(f, "fileset") || !slices.Contains(f, "alltrue") {
		t.Errorf("%v", f)
	}
}
