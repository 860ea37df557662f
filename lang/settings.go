package lang

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// Settings is the flameox block.
type Settings struct {
	RequiredVersion string
	Project         string
	Source          string
	Env             []string // environment variables that expressions may read
	StorePath       string   // "" where the store's place is the usual one
	StoreKeep       time.Duration
	Range           hcl.Range // of the whole block; zero where there is none
	defaults        defaultArgs
}

const defaultKeep = 90 * 24 * time.Hour

type settingsArgs struct {
	RequiredVersion string   `arg:"required_version,optional" doc:"versions of flameox that can read this, such as \">= 0.3, < 1.0\""`
	Project         string   `arg:"project,optional" doc:"name of the project in results"`
	Source          string   `arg:"source,optional" doc:"where the project's source is published"`
	Env             []string `arg:"env,optional" doc:"environment variables that env(\"NAME\") may read"`
}

type storeArgs struct {
	Path string        `arg:"path,optional" doc:"directory of the store, relative to the configuration"`
	Keep time.Duration `arg:"keep" default:"\"90d\"" doc:"how long runs are kept"`
}

// defaultArgs are values of stages' arguments where a stage does not give its own.
type defaultArgs struct {
	Attempts  *int              `arg:"attempts" doc:"how many valid attempts there must be"`
	Exclusive *bool             `arg:"exclusive" doc:"whether nothing else may run meanwhile"`
	Reuse     *string           `arg:"reuse" doc:"\"auto\", \"never\" or an age"`
	Sensitive string            `arg:"sensitive,optional" doc:"who may see the artifacts"`
	Labels    map[string]string `arg:"labels,optional" doc:"names and values to select and group results by; a stage's own are added to them"`
}

var settingsSchema = sync.OnceValue(func() *schema {
	return mustCompile(&Schema{Doc: "settings", Options: &settingsArgs{}, Nested: map[string]Schema{
		"store":    {Doc: "where results are kept", Options: &storeArgs{}},
		"defaults": {Doc: "values of stages' arguments where a stage does not give its own", Options: &defaultArgs{}},
	}})
})

// loadSettings reads the flameox block. It is read before anything else, so its values are literal.
func (c *Config) loadSettings(blocks []*hclsyntax.Block, in Input) {
	if len(blocks) == 0 {
		return
	}
	for _, b := range blocks[1:] {
		c.report(errorAt(sumDuplicate, b.DefRange(), "The flameox block may be there once, and is already declared at %s.", place(blocks[0].DefRange())))
	}
	b := blocks[0]
	c.Settings.Range = b.Range()
	if !c.goodLabels(b, nil) {
		return
	}
	n := &node{Block: &Block{Type: b.Type, Labels: []string{""}, Range: b.DefRange()}, sch: settingsSchema(), src: b}
	c.structure(n)
	var s settingsArgs
	c.literals(&n.main, &s)
	store := storeArgs{Keep: defaultKeep}
	for _, nb := range n.nested {
		if nb.name == "store" {
			c.literals(nb, &store)
			continue
		}
		c.literals(nb, &c.Settings.defaults)
		var m Meta
		for _, a := range nb.args {
			if d := checkMeta(&m, metaArgs{Attempts: c.Settings.defaults.Attempts, Reuse: c.Settings.defaults.Reuse, Sensitive: c.Settings.defaults.Sensitive}, a); d != nil {
				c.report(d)
			}
		}
	}
	c.Settings.RequiredVersion, c.Settings.Project, c.Settings.Source, c.Settings.Env = s.RequiredVersion, s.Project, s.Source, s.Env
	c.Settings.StorePath, c.Settings.StoreKeep = store.Path, store.Keep
	if a := b.Body.Attributes["required_version"]; a != nil && s.RequiredVersion != "" {
		ok, err := versionFits(in.Version, s.RequiredVersion)
		switch {
		case err != nil:
			c.report(errorAt(sumInvalidValue, a.Expr.Range(), "%s. Write for example \">= 0.3, < 1.0\" or \"~> 0.3\".", capital(err.Error())))
		case !ok:
			c.report(errorAt(sumVersion, a.Expr.Range(), "This is flameox %s, and the configuration needs %s. Install a version that fits, or change required_version.", in.Version, s.RequiredVersion))
		}
	}
}

// literals decodes arguments that mention nothing into the struct that dst points to.
func (c *Config) literals(b *body, dst any) {
	v := reflect.ValueOf(dst).Elem()
	for _, a := range b.args {
		if info := c.analyse(a.attr.Expr, nil, scopeSettings); info.broken {
			continue
		}
		val, diags := c.budget.Value(a.attr.Expr, nil)
		if diags.HasErrors() {
			c.report(fromHCL(sumExpression, diags, "", false)...)
			continue
		}
		if err := assign(v.Field(a.f.index), a.f, val); err != nil {
			c.report(valueError(a.attr.Expr, a.f.name, err))
		}
	}
}

// versionFits says whether version satisfies every constraint. An empty version satisfies all, and a development
// version, which has no number, too.
func versionFits(version, constraints string) (bool, error) {
	have, err := parseVersion(version)
	known := err == nil
	fits := true
	for part := range strings.SplitSeq(constraints, ",") {
		part = strings.TrimSpace(part)
		op := part[:len(part)-len(strings.TrimLeft(part, "<>=!~"))]
		text := strings.TrimSpace(part[len(op):])
		want, err := parseVersion(text)
		if err != nil {
			return false, fmt.Errorf("the constraint %q is not an operator and a version", part)
		}
		cmp := compareVersions(have, want)
		var ok bool
		switch op {
		case "", "=":
			ok = cmp == 0
		case "!=":
			ok = cmp != 0
		case ">":
			ok = cmp > 0
		case ">=":
			ok = cmp >= 0
		case "<":
			ok = cmp < 0
		case "<=":
			ok = cmp <= 0
		case "~>": // the last part that is written may grow
			last := max(strings.Count(text, "."), 1) - 1
			ok = cmp >= 0
			for i := 0; i <= last && i < len(want); i++ {
				ok = ok && have[i] == want[i]
			}
		default:
			return false, fmt.Errorf("the operator %q is none of =, !=, >, >=, <, <= and ~>", op)
		}
		fits = fits && ok
	}
	return fits || !known, nil
}

// parseVersion reads up to three numbers with dots, with or without a leading v. What follows a - or + does not count.
func parseVersion(s string) (v [3]int, err error) {
	s = strings.TrimPrefix(s, "v")
	if i := strings.IndexAny(s, "-+"); i >= 0 {
		s = s[:i]
	}
	parts := strings.Split(s, ".")
	if len(parts) > 3 {
		return v, fmt.Errorf("%q has more than three parts", s)
	}
	for i, p := range parts {
		if v[i], err = strconv.Atoi(p); err != nil || v[i] < 0 {
			return v, fmt.Errorf("%q is not a version", s)
		}
	}
	return v, nil
}

func compareVersions(a, b [3]int) int {
	for i := range a {
		if a[i] != b[i] {
			if a[i] < b[i] {
				return -1
			}
			return 1
		}
	}
	return 0
}
