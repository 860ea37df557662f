package outline

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/facet"
	"github.com/flameox/flameox/internal/digest"
)

func manifest(root, argv string) facet.Manifest {
	command := facet.Facet{Name: facet.Command}
	command.Add("argv[0]", argv)
	inputs := facet.Facet{Name: facet.Inputs}
	inputs.AddTree("sources", digest.SumString(root))
	inputs.AddNote("argument 1", "x", "/x")
	return facet.New(command, inputs)
}

func sample() *Plan {
	at := time.Date(2026, 1, 2, 3, 4, 5, 678, time.UTC)
	return &Plan{
		Servers: []string{"server.one", "server.two"}, Withheld: []string{"key"},
		Stages: []Stage{
			{
				Block: "build.b", Key: `n=1,s="a b"`, Started: at, Host: "here",
				Planned: graph.PlannedStage{Kind: "build", State: graph.Cached, Have: 1, Want: 1, Runs: []string{"R1"}, Keys: []digest.Digest{digest.SumString("k")}, Reuse: "1h0m0s"},
				more:    more{nature: graph.Pure, attempts: 1, reuse: graph.Reuse{Age: time.Hour}, manifests: []facet.Manifest{manifest("r1", "cp")}},
			},
			{
				Block: "capture.command.c", EstimateRuns: 3, Elsewhere: true,
				Planned: graph.PlannedStage{
					Kind: "capture.command", State: graph.TopUp, Have: 1, Want: 2, Estimate: 12345, Runs: []string{"R2"},
					Keys: []digest.Digest{digest.SumString("c")}, Reasons: []graph.Reason{{Code: graph.MoreAttempts, Text: "1 of 2"}},
				},
				Started: at, Host: "there",
				more: more{needs: []int{0}, servers: []int{1}, nature: graph.Measurement, attempts: 2, manifests: []facet.Manifest{manifest("r1", "c"), manifest("r2", "c")}},
			},
			{
				Block:   "extract.x",
				Planned: graph.PlannedStage{Kind: "extract", State: graph.Run, Want: 1, After: "capture.command.c", Reasons: []graph.Reason{{Code: graph.Upstream, Text: "after"}}},
				more:    more{needs: []int{1}, waits: []int{0}, nature: graph.Pure, attempts: 1, fixed: true},
			},
			{
				Block:   "import.i",
				Planned: graph.PlannedStage{Kind: "import", State: graph.Blocked, Want: 1, Blocked: &graph.PlannedBlock{Why: "it is gone", Do: "put it there"}},
				more:    more{nature: graph.Pure, attempts: 1, reuse: graph.Reuse{Never: true}},
			},
		},
	}
}

func recode(t *testing.T, p *Plan) *Plan {
	t.Helper()
	shown, lazy, err := p.Encode()
	if err != nil {
		t.Fatal(err)
	}
	out, err := Decode(shown, func() ([]byte, bool) { return lazy, true })
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func document(t *testing.T, p *Plan) string {
	t.Helper()
	doc, ok := p.Document()
	if !ok {
		t.Fatal("no document")
	}
	b, err := json.MarshalIndent(doc, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestARememberedPlanSaysWhatThePlanSaid(t *testing.T) {
	want, got := sample(), recode(t, sample())
	if a, b := document(t, want), document(t, got); a != b {
		t.Errorf("%s\n--- want\n%s", b, a)
	}
	if a, b := want.Summary(), got.Summary(); a != b {
		t.Errorf("%+v, want %+v", b, a)
	}
	for i := range want.Stages {
		w, g := &want.Stages[i], &got.Stages[i]
		if w.Block != g.Block || w.Key != g.Key || !w.Started.Equal(g.Started) || w.Host != g.Host || w.Address() != g.Address() {
			t.Errorf("%+v, want %+v", g, w)
		}
		if !g.more.expand() || !reflect.DeepEqual(w.more.manifests, g.more.manifests) {
			t.Errorf("%s has the manifests %+v, want %+v", w.Address(), g.more.manifests, w.more.manifests)
		}
	}
	if !reflect.DeepEqual(want.Withheld, got.Withheld) || !reflect.DeepEqual(want.Started(), got.Started()) {
		t.Error(got.Withheld, got.Started())
	}
}

func TestWhatIsEncodedTwiceIsTheSame(t *testing.T) {
	a, b, _ := sample().Encode()
	p := recode(t, sample())
	if !p.expand() {
		t.Fatal("it cannot be decoded")
	}
	for i := range p.Stages {
		p.Stages[i].more.expand()
	}
	c, d, _ := p.Encode()
	if !bytes.Equal(a, c) || !bytes.Equal(b, d) {
		t.Error("another encoding")
	}
}

func TestOnlyStagesMadeFromATreeAreDecidedAgain(t *testing.T) {
	r1, r2, other := digest.SumString("r1"), digest.SumString("r2"), digest.SumString("other")
	p := recode(t, sample())
	p.expand()
	moved, err := p.remake(map[digest.Digest]digest.Digest{r2: other})
	if err != nil || len(moved) != 1 || !moved[1] {
		t.Fatal(moved, err)
	}
	if got := p.Stages[1].more.roots(); got[0] != r1.String() || got[1] != other.String() {
		t.Fatal(got)
	}
	if moved, err := p.remake(map[digest.Digest]digest.Digest{r1: r1}); err != nil || len(moved) != 0 {
		t.Fatal("a tree that is the same moved something")
	}
	if _, err := p.remake(map[digest.Digest]digest.Digest{r2: r1}); err == nil {
		t.Fatal("a tree that is in no key was taken to mean nothing")
	}
	p = recode(t, sample())
	p.expand()
	p.Stages[0].more.fixed = true
	if _, err := p.remake(map[digest.Digest]digest.Digest{r1: other}); err == nil {
		t.Fatal("a stage was decided again that cannot be")
	}
}

func TestAStageThatCannotBeAskedAnyMoreHasNoManifests(t *testing.T) {
	p := recode(t, sample())
	p.expand()
	s := &p.Stages[1]
	s.decide(&graph.Decision{Node: &graph.Node{}, State: graph.Run})
	if !s.more.expand() || len(s.more.manifests) != 0 || len(s.more.roots()) != 0 {
		t.Errorf("it has those of the decision before: %+v", s.more)
	}
}

func TestWhatStandsOnAStageIsDecidedWithIt(t *testing.T) {
	p := sample()
	part, ok := p.below(map[int]bool{1: true})
	if !ok || !reflect.DeepEqual(part, []int{0, 1, 2}) {
		t.Fatal(part, ok)
	}
	if part, _ := p.below(map[int]bool{3: true}); !reflect.DeepEqual(part, []int{3}) {
		t.Fatal(part)
	}
	g, number, err := p.graph([]int{0, 1, 2}, map[int]bool{1: true})
	if err != nil || len(g.Nodes) != 3 || number[g.Nodes[2]] != 2 || len(g.Nodes[2].Needs()) != 1 {
		t.Fatal(g, number, err)
	}
}

func FuzzDecode(f *testing.F) {
	shown, lazy, err := sample().Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(shown, lazy)
	f.Add([]byte{}, []byte{})
	f.Fuzz(func(t *testing.T, shown, lazy []byte) {
		p, err := Decode(shown, func() ([]byte, bool) { return lazy, true })
		if err != nil {
			return
		}
		if !p.Ready() {
			return
		}
		p.Summary()
		p.Started()
		if doc, ok := p.Document(); ok {
			_, _ = json.Marshal(doc) // it may fail, since times and texts are not checked, and must not panic
		}
	})
}
