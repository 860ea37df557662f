package graph

import (
	"fmt"
	"maps"
	"strings"

	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/graph/cas"
	"github.com/flameox/flameox/internal/digest"
)

// isLost says whether any artifact of r is missing or damaged; an error, that one could not be read. What is known is remembered by artifact;
// what could not be read is asked for again.
func (p *Planner) isLost(r *cache.Summary) (bool, error) {
	for _, o := range r.Outputs {
		if o.Registered() { // what was appended later is no part of the result
			continue
		}
		lost, ok := p.lost[o.Digest]
		if !ok {
			var err error
			if lost, err = p.store.lookFor(o); err != nil {
				return false, fmt.Errorf("artifact %s of run %s: %w", o.Name, r.Run, err)
			}
			p.lost[o.Digest] = lost
		}
		if lost {
			return true, nil
		}
	}
	return false, nil
}

// found forgets what is known to be lost, so that it is looked for again.
func (p *Planner) found() {
	maps.DeleteFunc(p.lost, func(_ digest.Digest, lost bool) bool { return lost })
}

// Lost says whether the blob, or any file of the tree, is known to be missing or damaged. One that cannot be read at the moment is
// not lost: who reads it gets the error.
func (s *Store) Lost(o cache.Output) bool {
	lost, err := s.lookFor(o)
	return lost && err == nil
}

// lookFor is Lost that says why nothing is known.
func (s *Store) lookFor(o cache.Output) (lost bool, err error) {
	var p cas.Presence
	if o.Tree {
		p, err = s.CAS.LookTree(o.Digest)
	} else {
		p, err = s.CAS.Look(o.Digest)
	}
	return p != cas.Present, err
}

// unread blocks a node of whose results one could not be read. To run it again would cost a measurement that may be there.
func unread(n *Node, err error) *BlockedError {
	return &BlockedError{
		Why: "whether its result stands is not known, because it could not be read: " + err.Error(),
		Do:  fmt.Sprintf("make it readable (permissions, open files, the disk: see the kernel's log) and try again, or run it anew with -replace=%s", quoted(n.Address.String())),
	}
}

// quoted is s as a shell takes it for one word; an address with axes holds brackets and quotation marks.
func quoted(s string) string {
	if strings.ContainsAny(s, "[]\"'=*? ") {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	return s
}

// refuse blocks a node of which it is not known what stands for it. One that is excluded stays so; what stands on it is told.
func (p *Planner) refuse(d *Decision, err error) {
	d.slots, d.Records, d.Have, d.Reasons = nil, nil, 0, nil
	delete(p.results.records, d.Node)
	d.unread = unread(d.Node, err)
	if d.State != Excluded {
		d.State, d.Block = Blocked, d.unread
	}
}
