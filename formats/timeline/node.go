package timeline

import (
	"math"

	"github.com/flameox/flameox/evidence"
)

// node is a stack of slices in one phase on one track.
type node struct {
	parent uint32 // noNode for none
	frame  uint32
	phase  Text
	track  Track
	depth  uint32
	outer  bool // its frame is in no node above
	self   int64
	count  int64
}

const noNode = math.MaxUint32

type nodeKey struct {
	parent, frame uint32
	phase         Text
	track         Track
}

type frameKey struct {
	name, category, file Text
	line                 int64
	hasLine              bool
}

// child is the node of a slice below another one.
func (n *nest) child(above uint32, o *open) (uint32, error) {
	fk := frameKey{name: o.name, category: o.category, file: o.file, line: o.line, hasLine: o.has&hasLine != 0}
	f, ok := n.frameAt[fk]
	if !ok {
		if err := n.room(96); err != nil {
			return 0, err
		}
		f = uint32(len(n.frames))
		n.frames = append(n.frames, fk)
		n.frameAt[fk] = f
	}
	k := nodeKey{parent: above, frame: f, phase: o.phase, track: n.track}
	at, ok := n.nodeAt[k]
	if ok {
		return at, nil
	}
	if err := n.room(112); err != nil {
		return 0, err
	}
	at = uint32(len(n.nodes))
	d := node{parent: above, frame: f, phase: o.phase, track: n.track, outer: true}
	if above != noNode {
		d.depth = n.nodes[above].depth + 1
	}
	for p := above; p != noNode; p = n.nodes[p].parent {
		if n.nodes[p].frame == f {
			d.outer = false
			break
		}
	}
	n.nodes = append(n.nodes, d)
	n.nodeAt[k] = at
	return at, nil
}

// room accounts for memory that a new frame or stack takes.
func (n *nest) room(bytes int64) error {
	t := &n.c.texts
	if t.bytes += bytes; t.bytes > t.most && t.most > 0 {
		return &evidence.BudgetError{What: "bytes of memory for distinct stacks", Table: "stacks", Limit: t.most}
	}
	return nil
}
