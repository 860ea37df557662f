package graph

import (
	"slices"
	"testing"
)

func TestTwoNodesOfOneProviderDoNotTakeTurnsAsTheEvidenceOfARun(t *testing.T) {
	b := newBench(t)
	text, fine, coarse := "run", "fine", "coarse"
	source := b.node("source", Measurement, &fakeStage{input: &text})
	g := b.graph(source,
		b.node("coarse", Pure, &fakeStage{input: &coarse, each: true}, source),
		b.node("fine", Pure, &fakeStage{input: &fine, each: true}, source))
	last := g.Nodes[len(g.Nodes)-1]
	var first []string
	for i := range 4 {
		p, err := NewPlanner(b.store, g, Selection{})
		if err != nil {
			t.Fatal(err)
		}
		report, err := p.Apply(t.Context(), g, ApplyOptions{Parallelism: 1})
		if err != nil || report.Failed > 0 {
			t.Fatalf("apply %d: %+v %v", i, report, err)
		}
		var now []string
		for _, l := range b.store.Cache.Links() {
			now = append(now, l.Run+" "+l.Extraction)
		}
		if i == 0 {
			first = now
			if want := b.store.Cache.At(last.Address.String())[0].Run; len(now) != 1 || b.store.Cache.Links()[0].Extraction != want {
				t.Fatalf("links %v, want the one to %s, of the last node %s", now, want, last.Address)
			}
		} else if !slices.Equal(now, first) {
			t.Fatalf("apply %d, which had nothing to do, changed the links from %v to %v", i, first, now)
		}
	}
}
