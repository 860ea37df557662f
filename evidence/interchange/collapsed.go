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
	names := safeNames(p.Frames)
	changed := map[uint32]bool{}
	stacks := make([]*Sample, 0, len(p.Samples))
	for i := range p.Samples {
		s := &p.Samples[i]
		if s.Weights[p.Primary] == 0 {
			continue
		}
		stacks = append(stacks, s)
		for _, f := range s.Path {
			if names.changed[f] {
				changed[f] = true
			}
		}
	}
	if n := len(changed); n > 0 {
		losses = append(losses, Loss{fmt.Sprintf("semicolons and control characters stand for something else in this format: they are colons and spaces now, in this many names: %d", n)})
	}
	slices.SortFunc(stacks, func(x, y *Sample) int { return names.compare(x.Path, y.Path) })
	out := bufio.NewWriterSize(w, 64<<10)
	for i := 0; i < len(stacks); {
		path, weight := stacks[i].Path, int64(0)
		for ; i < len(stacks) && names.compare(path, stacks[i].Path) == 0; i++ {
			weight = callgraph.Add(weight, stacks[i].Weights[p.Primary])
		}
		for j, f := range path {
			if j > 0 {
				out.WriteByte(';')
			}
			out.WriteString(names.texts[names.of[f]])
		}
		out.WriteString(" " + strconv.FormatInt(weight, 10) + "\n")
	}
	if err := out.Flush(); err != nil {
		return nil, fmt.Errorf("write collapsed stacks: %w", err)
	}
	return losses, nil
}

// lineNames are the names of frames as they stand in a line.
type lineNames struct {
	texts   []string
	of      []uint32 // index in texts, by frame: frames that differ otherwise may have one name
	changed []bool   // by frame
}

func safeNames(frames []*callgraph.Frame) *lineNames {
	n := &lineNames{of: make([]uint32, len(frames)), changed: make([]bool, len(frames))}
	at := map[string]uint32{}
	for i, f := range frames {
		// A semicolon would be two frames, and a line break two stacks.
		name := strings.ReplaceAll(one(f.Name()), ";", ":")
		n.changed[i] = name != f.Name()
		k, ok := at[name]
		if !ok {
			k = uint32(len(n.texts))
			at[name] = k
			n.texts = append(n.texts, name)
		}
		n.of[i] = k
	}
	return n
}

// compare orders two paths as the texts of their lines, without making those. Equal names mean equal text so far; of two that differ, and neither of
// which has a semicolon in it, the text is decided in the names or right behind the shorter.
func (n *lineNames) compare(x, y []uint32) int {
	for i := range min(len(x), len(y)) {
		a, b := n.of[x[i]], n.of[y[i]]
		if a == b {
			continue
		}
		s, t := n.texts[a], n.texts[b]
		switch {
		case strings.HasPrefix(t, s):
			return behind(len(x)-1-i, t[len(s)])
		case strings.HasPrefix(s, t):
			return -behind(len(y)-1-i, s[len(t)])
		}
		return strings.Compare(s, t)
	}
	return len(x) - len(y)
}

// behind compares what stands behind a name that left more frames follow, nothing or a semicolon, with the byte that goes on in the other's place.
func behind(left int, other byte) int {
	if left == 0 {
		return -1
	}
	return int(';') - int(other)
}
