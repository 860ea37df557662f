package v8profile

import "slices"

// Members of a node of a heap profile that may stand once.
const (
	hasFrame = 1 << iota
	hasSize
	hasKids
	hasID
)

// tree reads the nodes of a heap profile, which stand in each other: a parent comes before its children in Nodes.
func (p *parser) tree() {
	if p.r.Kind() == 'n' {
		p.r.Skip()
		return
	}
	var had []int // members by open node
	parent := int32(-1)
	begin := func() bool {
		p.p.Nodes = append(p.p.Nodes, Node{Frame: -1, Parent: parent})
		p.ids = append(p.ids, 0)
		parent, had = int32(len(p.p.Nodes)-1), append(had, 0)
		return p.r.Open('{')
	}
	if !begin() {
		return
	}
	first := true // no member of the open node was read
	for p.r.Err() == nil {
		depth := len(had) - 1
		if p.r.Close('}') {
			if had[depth]&(hasFrame|hasSize|hasKids) != hasFrame|hasSize|hasKids {
				p.incomplete(had[depth])
				return
			}
			p.noID = p.noID || had[depth]&hasID == 0
			parent, had = p.p.Nodes[parent].Parent, had[:depth]
			if depth == 0 {
				return
			}
			// Behind a child comes another, or the end of the list.
			if p.r.Close(']') {
				first = false
				continue
			}
			if p.r.Open(',') && begin() {
				first = true
			}
			continue
		}
		if !first && !p.r.Open(',') {
			return
		}
		first = false
		name := p.r.Text()
		if !p.r.Open(':') {
			return
		}
		bit := map[string]int{"callFrame": hasFrame, "selfSize": hasSize, "children": hasKids, "id": hasID}[name]
		if had[depth]&bit != 0 {
			p.refuse(Contradiction, "the profile contradicts itself: a node has %s twice", name)
			return
		}
		had[depth] |= bit
		n := &p.p.Nodes[parent]
		switch name {
		case "callFrame":
			n.Frame = p.frame()
		case "selfSize":
			n.Size = p.amount("selfSize")
		case "id":
			p.ids[parent] = p.r.Int()
		case "children":
			if p.r.Open('[') && !p.r.Close(']') {
				begin()
				first = true
			}
		default:
			p.r.Skip()
		}
	}
}

func (p *parser) incomplete(had int) {
	if had&(hasFrame|hasSize) == 0 {
		p.refuse(Legacy, "the profile is in the form that Chrome wrote until 2016 and Node until version 10 (its nodes stand in each other and have no callFrame), which nothing here reads; write it again with a Node that is maintained")
		return
	}
	p.refuse(NotAProfile, "a node lacks callFrame, selfSize or children, so it is none of a heap profile of V8")
}

func (p *parser) heap() error {
	out := &p.p
	if len(p.samples) != len(p.sized) {
		return refuse(NotAProfile, "the profile has the head of a heap profile and the samples of a CPU profile")
	}
	if p.noID {
		if slices.ContainsFunc(p.ids, func(id int64) bool { return id != 0 }) || len(p.samples) > 0 {
			return refuse(Contradiction, "the profile contradicts itself: some of its nodes have an id and some have none")
		}
		return nil
	}
	for i, id := range p.ids {
		if _, taken := p.at[id]; taken {
			return refuse(Contradiction, "the profile contradicts itself: two nodes have the id %d", id)
		}
		p.at[id] = int32(i)
	}
	out.HeapSamples = make([]HeapSample, len(p.samples))
	for i, id := range p.samples {
		node, ok := p.at[id]
		if !ok {
			node = -1 // V8 itself writes samples of nodes that it has dropped from the tree
		}
		out.HeapSamples[i] = HeapSample{node, p.sized[i]}
	}
	return nil
}
