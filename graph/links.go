package graph

import "github.com/flameox/flameox/graph/cache"

// link remembers which runs the node's results are the evidence of, where the store does not know it yet.
func (a *applier) link(d *Decision) {
	var links []cache.Link
	for i, action := range d.actions {
		if action.For == "" || len(d.slots[i].records) == 0 {
			continue
		}
		links = append(links, cache.Link{Run: action.For, Provider: action.Provider, Extraction: d.slots[i].records[0].Run})
	}
	a.links[d.Node] = links
}

// commitLinks makes the links of this apply those of the store. Where several nodes claim to be the evidence of one run by the
// same provider, the last in the order of the graph is: were each to be it in turn, every apply would change what is published.
func (a *applier) commitLinks() error {
	known := map[[2]string]string{}
	for _, l := range a.store.Cache.Links() {
		known[[2]string{l.Run, l.Provider}] = l.Extraction
	}
	last := map[[2]string]*Node{}
	for _, n := range a.g.Nodes {
		for _, l := range a.links[n] {
			last[[2]string{l.Run, l.Provider}] = n
		}
	}
	var missing []cache.Link
	for _, n := range a.g.Nodes {
		for _, l := range a.links[n] {
			if at := [2]string{l.Run, l.Provider}; last[at] == n && known[at] != l.Extraction {
				missing = append(missing, l)
			}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return a.store.Cache.Commit(nil, nil, missing)
}
