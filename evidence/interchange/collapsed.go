package interchange

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/flameox/flameox/evidence/callgraph"
)

// WriteCollapsed writes the primary metric as lines of frames, root to leaf with semicolons between them, and a weight: what flame graph scripts read.
// Lines are in the order of their text.
func WriteCollapsed(w io.Writer, p *Profile) ([]Loss, error) {
	if err := p.positive("the collapsed format", p.Primary); err != nil {
		return nil, err
	}
	losses := p.labelled("the collapsed format")
	if len(p.Metrics) > 1 {
		losses = append(losses, Loss{fmt.Sprintf("only %s is written: the collapsed format holds one metric", p.Metrics[p.Primary].Name)})
	}
	changed := map[*callgraph.Frame]bool{}
	names := map[*callgraph.Frame]string{}
	sums := map[string]int64{}
	var b strings.Builder
	for _, s := range p.Samples {
		if s.Weights[p.Primary] == 0 {
			continue
		}
		b.Reset()
		for i, f := range s.Frames {
			name, ok := names[f]
			if !ok {
				// A semicolon would be two frames, and a line break two stacks.
				if name = strings.ReplaceAll(one(f.Name()), ";", ":"); name != f.Name() {
					changed[f] = true
				}
				names[f] = name
			}
			if i > 0 {
				b.WriteByte(';')
			}
			b.WriteString(name)
		}
		sums[b.String()] = callgraph.Add(sums[b.String()], s.Weights[p.Primary])
	}
	if n := len(changed); n > 0 {
		losses = append(losses, Loss{fmt.Sprintf("semicolons and control characters stand for something else in this format: they are colons and spaces now, in this many names: %d", n)})
	}
	lines := make([]string, 0, len(sums))
	for stack := range sums {
		lines = append(lines, stack)
	}
	slices.Sort(lines)
	out := bufio.NewWriter(w)
	for _, stack := range lines {
		out.WriteString(stack + " " + strconv.FormatInt(sums[stack], 10) + "\n")
	}
	if err := out.Flush(); err != nil {
		return nil, fmt.Errorf("write collapsed stacks: %w", err)
	}
	return losses, nil
}
