package runner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/flameox/flameox/internal/ijson"
	"github.com/flameox/flameox/measure/document"
	"github.com/flameox/flameox/measure/facts"
	"github.com/flameox/flameox/measure/harness"
)

// collectorLimit is the time of a collector that states none.
const collectorLimit = 60 * time.Second

// collect runs one collector, and holds what it found against what was declared.
func (p *prepared) collect(ctx context.Context, name string, c map[string]any) error {
	s := p.context
	found, output, err := p.observe(ctx, name, c)
	if err != nil && ctx.Err() != nil {
		return err
	}
	fail := func(format string, args ...any) error {
		text := fmt.Sprintf(format, args...)
		if c["on_fail"] != "warn" {
			return &Refusal{Field: "collectors." + name, Text: text}
		}
		s.warn(CollectorMismatch)
		s.note(name, text)
		return nil
	}
	declared, verifies := p.declared(c)
	if err != nil {
		s.warn(CollectorFailed)
		s.note(name, err.Error())
		if verifies {
			return fail("what it should verify is not known: %v", err)
		}
		return nil
	}
	sum := sha256.Sum256(output)
	entry := maps.Clone(found)
	entry["sha256"] = hex.EncodeToString(sum[:])
	s.system[name] = entry
	s.sources[systemAt+name] = "collector"
	s.collected = append(s.collected, collected{name, output})
	for _, d := range declared {
		if missing := facts.Missing(found, d.facts); len(missing) > 0 {
			if err := fail("%s says that %s is %s, and the collector found %s", d.whose, strings.Join(missing, "."), at(d.facts, missing), at(found, missing)); err != nil {
				return err
			}
		}
	}
	return nil
}

// at spells the value below a path of names.
func at(m map[string]any, path []string) string {
	v := document.At(m, path...)
	if v == nil {
		return "nothing"
	}
	b, err := ijson.Canonical(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

type declaration struct {
	whose string
	facts map[string]any
}

// declared are the facts that a collector verifies, and whether it is one that verifies.
func (p *prepared) declared(c map[string]any) (list []declaration, verifies bool) {
	if c["verify"] == "how_built" {
		// As a text it is for people, and never checked.
		if m, ok := document.At(p.order, "target", "how_built").(map[string]any); ok {
			list = append(list, declaration{"how_built of the target", m})
		}
	}
	if m, ok := c["expect"].(map[string]any); ok {
		list = append(list, declaration{"expect of the collector", m})
	}
	return list, c["verify"] != nil || c["expect"] != nil
}

// observe runs the command of a collector and returns the facts that it printed, and all of its output.
func (p *prepared) observe(ctx context.Context, name string, c map[string]any) (found map[string]any, output []byte, err error) {
	var argv []string
	list, _ := c["command"].([]any)
	for _, a := range list {
		argument, _ := a.(string)
		argv = append(argv, strings.ReplaceAll(argument, "{root}", p.opts.Root))
	}
	limit := collectorLimit
	if f, ok := c["timeout_s"].(float64); ok {
		limit = time.Duration(f * float64(time.Second))
	}
	stdout, stderr := filepath.Join(p.place.Scratch, "collector.stdout"), filepath.Join(p.place.Scratch, "collector.stderr")
	exit, err := p.place.Start(ctx, harness.Command{Argv: argv, Dir: p.runnable.Dir, Stdout: stdout, Stderr: stderr, Timeout: limit})
	if err != nil {
		return nil, nil, err
	}
	if how := exit.How(); how != "" {
		if text, err := os.ReadFile(stderr); err == nil && len(text) > 0 {
			how += ": " + harness.LastLine(text)
		}
		return nil, nil, fmt.Errorf("the collector %s failed: %s", name, how)
	}
	if output, err = os.ReadFile(stdout); err != nil {
		return nil, nil, err
	}
	all, err := ijson.Object(output)
	if err != nil {
		return nil, nil, fmt.Errorf("the collector %s did not print one JSON object: %w", name, err)
	}
	summary, there := all["summary"]
	if !there {
		return all, output, nil
	}
	found, ok := summary.(map[string]any)
	if !ok {
		return nil, nil, fmt.Errorf("the summary of the collector %s is no object", name)
	}
	return found, output, nil
}
