package v8profile

import (
	"errors"
	"fmt"

	"github.com/flameox/flameox/formats/jsonscan"
)

// Kind is what a profile is of.
type Kind int

// The kinds of profile.
const (
	CPU Kind = iota + 1
	Heap
)

// String is the kind as users write it: cpu or heap.
func (k Kind) String() string {
	switch k {
	case CPU:
		return "cpu"
	case Heap:
		return "heap"
	}
	return "unknown"
}

// The codes of errors.
const (
	EmptyFile     = "payload_empty"
	Truncated     = "payload_truncated"
	NotJSON       = "payload_not_json"
	NotAProfile   = "not_a_profile"
	Legacy        = "legacy_format"
	Contradiction = "payload_contradictory"
)

// Error says why a payload is no profile that can be read.
type Error struct{ Code, Text string }

func (e *Error) Error() string { return e.Text }

func refuse(code, format string, args ...any) error {
	return &Error{code, fmt.Sprintf(format, args...)}
}

// CallFrame is a function as V8 names it. Line and Column are of its beginning, from 0, and -1 where there is none.
type CallFrame struct {
	Function string // empty where it has no name
	Script   string // id of the script within the isolate; "0" for what belongs to none
	URL      string
	Line     int64
	Column   int64
}

// Tick is a number of samples in one line of a node's function.
type Tick struct {
	Line  int64 // from 1
	Ticks int64
}

// Node is one place in the call tree.
type Node struct {
	Frame  int32 // of Profile.Frames
	Parent int32 // -1 for the root
	Hits   int64 // CPU: samples whose leaf it is
	Ticks  []Tick
	Size   int64 // heap: bytes that are live and were allocated by it, as V8 estimates them
}

// HeapSample is one record of allocations.
type HeapSample struct {
	Node int32 // -1 for a node that the profile does not have
	Size int64 // bytes
}

// Profile is one profile. Every index is valid and the nodes are a tree.
type Profile struct {
	Kind   Kind
	Frames []CallFrame
	Nodes  []Node
	Root   int32

	// Of a CPU profile. Times are microseconds of a clock that begins anywhere.
	Start, End int64
	HasHits    bool
	Samples    []int32 // node of each
	Deltas     []int64 // time since the sample before, of the first since Start; as many as Samples

	// Of a heap profile.
	HasSamples  bool
	HeapSamples []HeapSample

	first, next []int32 // first child and next sibling by node, -1 for none
}

// Parse reads a whole profile. An error is an *Error.
func Parse(data []byte) (*Profile, error) {
	if len(data) == 0 {
		return nil, refuse(EmptyFile, "the profile has no bytes: the process ended before it wrote it")
	}
	p := newParser(data)
	if p.r.Kind() != '{' {
		p.r.Skip() // says where it breaks off, or that it is no JSON
		p.r.Stop(refuse(NotAProfile, "the payload is JSON but no object, and so no profile of V8"))
	}
	p.r.Object(p.member)
	p.r.End()
	var bad *jsonscan.Error
	if err := p.r.Err(); errors.As(err, &bad) {
		code, hint := NotJSON, "the payload is no JSON document, and so no profile of V8"
		switch {
		case bad.Cut && p.known:
			code, hint = Truncated, "the profile breaks off: the process ended while it was being written, or the file was cut"
		case p.known:
			hint = "the profile is damaged, or in a form that is not known"
		}
		return nil, refuse(code, "%s (%v)", hint, bad)
	} else if err != nil {
		return nil, err
	}
	return p.finish()
}

// Walk visits every node, a parent before its children, with its depth: 0 for the root. It ends with the first error.
func (p *Profile) Walk(visit func(node int32, depth int) error) error {
	depth := 0
	for at := p.Root; ; {
		if err := visit(at, depth); err != nil {
			return err
		}
		if p.first[at] >= 0 {
			at = p.first[at]
			depth++
			continue
		}
		for p.next[at] < 0 {
			if at = p.Nodes[at].Parent; at < 0 {
				return nil
			}
			depth--
		}
		at = p.next[at]
	}
}

// link makes the lists of children of the nodes' parents, in the order of the nodes, and checks that the nodes are a tree.
func (p *Profile) link() error {
	p.Root = -1
	p.first, p.next = make([]int32, len(p.Nodes)), make([]int32, len(p.Nodes))
	for i := range p.Nodes {
		p.first[i], p.next[i] = -1, -1
	}
	for i := int32(len(p.Nodes)) - 1; i >= 0; i-- {
		parent := p.Nodes[i].Parent
		if parent >= 0 {
			p.next[i], p.first[parent] = p.first[parent], i
			continue
		}
		if p.Root >= 0 {
			return refuse(Contradiction, "the profile contradicts itself: at least two of its nodes have no parent, so they are no one call tree")
		}
		p.Root = i
	}
	if p.Root < 0 {
		return refuse(Contradiction, "the profile contradicts itself: each of its nodes has a parent, so its calls go round in a circle")
	}
	// With one parent each, nodes that cannot be reached from the root are those of circles.
	reached := 0
	if err := p.Walk(func(int32, int) error { reached++; return nil }); err != nil {
		return err
	}
	if reached != len(p.Nodes) {
		return refuse(Contradiction, "the profile contradicts itself: %d of its %d nodes call each other in a circle", len(p.Nodes)-reached, len(p.Nodes))
	}
	return nil
}
