package reference

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/flameox/flameox/lang"
)

func sample() []lang.BlockType {
	type options struct {
		Of    lang.Refs `arg:"of" kinds:"thing" doc:"what is looked at" facet:"inputs"`
		From  lang.Ref  `arg:"from,optional" kinds:"thing" doc:"where it begins" facet:"inputs"`
		Grade string    `arg:"grade" default:"\"A\"" doc:"how well" facet:"exempt: shown only"`
	}
	return []lang.BlockType{
		{Type: "thing", Labels: []string{"name"}, Doc: "A thing.", Schemas: map[string]*lang.Schema{"": {
			Tokens: []lang.Attr{{Name: "dir", Type: cty.String, Doc: "its folder"}},
		}}},
		{Type: "look", Labels: []string{"way", "name"}, Doc: "Looks.", Schemas: map[string]*lang.Schema{
			"near": {Doc: "Looks closely.", Options: &options{}, Stage: true, Measurement: true,
				Results: []lang.Attr{{Name: "wall.median", Type: cty.Number, Doc: "in ns"}},
				Nested:  map[string]lang.Schema{"lens": {Doc: "a lens", Options: &struct{}{}}}},
			"far": {Stage: true},
		}},
	}
}

func TestABlockIsDescribedAsItIsRegistered(t *testing.T) {
	d := Of(sample())
	if got := d.Kinds("look"); !slices.Equal(got, []string{"far", "near"}) {
		t.Errorf("the kinds of look are %v", got)
	}
	b := d.Find("look", "near")[0]
	if got := b.Header(); got != `look "near" "<name>"` {
		t.Errorf("the header is %s", got)
	}
	by := map[string]Argument{}
	for _, a := range b.Arguments {
		by[a.Name] = a
	}
	if a := by["of"]; a.Arity != All || !a.Required || a.Facet != "inputs" || a.Exempt != "" || a.Common {
		t.Errorf("of is %+v", a)
	}
	if a := by["from"]; a.Arity != One || a.Required || !slices.Equal(a.Kinds, []string{"thing"}) {
		t.Errorf("from is %+v", a)
	}
	if a := by["grade"]; a.Default != `"A"` || a.Facet != "" || a.Exempt != "shown only" {
		t.Errorf("grade is %+v", a)
	}
	if a := by["attempts"]; !a.Common || a.Type != "whole number" {
		t.Errorf("attempts is %+v", a)
	}
	if len(b.Results) != 1 || b.Results[0].Type != "number" || len(b.Nested) != 1 {
		t.Errorf("results %+v, nested %+v", b.Results, b.Nested)
	}
	if far := d.Find("look", "far")[0]; far.Doc != "Looks." || slices.ContainsFunc(far.Arguments, func(a Argument) bool { return a.Name == "attempts" }) {
		t.Errorf("far is %+v", far)
	}
}

// complaint is the detail of the diagnostics about a configuration, one a line.
func complaint(t *testing.T, src string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "flameox.hcl"), []byte(src), 0o644); err != nil {
		t.Fatal(err)
	}
	_, diags := lang.Load(dir, lang.NewRegistry(), lang.Input{Open: func(p string) (fs.File, error) { return os.Open(p) }})
	var text strings.Builder
	for _, d := range diags {
		fmt.Fprintf(&text, "%s: %s\n", d.Summary, d.Detail)
	}
	return text.String()
}

var quoted = regexp.MustCompile(`"([a-z_]+)"`)

// The language lists what a block accepts when it refuses an argument. That list and the description are the same.
func TestTheBlocksOfEveryConfigurationAreDescribedAsTheLanguageHasThem(t *testing.T) {
	for _, b := range meta() {
		labels := strings.Repeat(` "x"`, len(b.Labels))
		check := func(what, src string, args []Argument) {
			t.Helper()
			text := complaint(t, src)
			i := strings.Index(text, "Known are")
			if i < 0 {
				t.Errorf("%s: no list of what is known in %q", what, text)
				return
			}
			var known, described []string
			line, _, _ := strings.Cut(text[i:], "\n")
			for _, m := range quoted.FindAllStringSubmatch(line, -1) {
				known = append(known, m[1])
			}
			for _, a := range args {
				described = append(described, a.Name)
				if missing := strings.Contains(text, fmt.Sprintf("needs the argument %q", a.Name)); missing != a.Required {
					t.Errorf("%s: %s is required: the language says %v", what, a.Name, missing)
				}
			}
			slices.Sort(known)
			slices.Sort(described)
			if !slices.Equal(known, described) {
				t.Errorf("%s has %v, and is described with %v", what, known, described)
			}
		}
		if len(b.Arguments) > 0 {
			check(b.Type, b.Type+labels+" {\n  zzzzzzzzzz = 1\n}\n", b.Arguments)
		}
		for _, n := range b.Nested {
			check(b.Type+"."+n.Type, b.Type+labels+" {\n  "+n.Type+" {\n    zzzzzzzzzz = 1\n  }\n}\n", n.Arguments)
			twice := complaint(t, b.Type+labels+" {\n  "+n.Type+" {}\n  "+n.Type+" {}\n}\n")
			if repeated := !strings.Contains(twice, "Duplicate declaration"); repeated != n.Repeated {
				t.Errorf("%s.%s may be repeated: the language says %v", b.Type, n.Type, repeated)
			}
		}
		if got := complaint(t, b.Type+` "a" "b" {}`+"\n"); !strings.Contains(got, "Wrong labels") {
			t.Errorf("%s with two labels is %q", b.Type, got)
		}
		twice := complaint(t, strings.Repeat(b.Type+labels+" {}\n", 2))
		if once := len(b.Labels) == 0 && strings.Contains(twice, "Duplicate declaration"); once != b.Once {
			t.Errorf("%s may be there once: the language says %v", b.Type, once)
		}
	}
	// And there is no block beside them.
	if got := complaint(t, "zzzzzzzzzz {}\n"); !strings.Contains(got, "Unknown block type") {
		t.Errorf("an unknown block is %q", got)
	}
}

func TestDefaultsOfTheBlocksOfEveryConfigurationAreThoseOfTheLanguage(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "flameox.hcl"), []byte("variable \"v\" { default = 1 }\noutput \"o\" { value = 1 }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	c, diags := lang.Load(dir, lang.NewRegistry(), lang.Input{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	x, _ := c.Expand()
	if c.Settings.StoreKeep.Hours() != 90*24 || c.Variables[0].Sensitive || x.Outputs[0].Sensitive {
		t.Errorf("keep %s, variable sensitive %v, output sensitive %v", c.Settings.StoreKeep, c.Variables[0].Sensitive, x.Outputs[0].Sensitive)
	}
}
