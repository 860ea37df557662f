package graph

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flameox/flameox/graph/cache"
)

func TestASensitiveRunThatLeftNothingIsKnownToBeSensitive(t *testing.T) {
	b := newBench(t)
	n := b.node("reads", Pure, &fakeStage{do: func(task *Task, rec *cache.Record) error {
		if task.Level != cache.Sensitive {
			t.Errorf("the task's level is %q", task.Level)
		}
		rec.Validation = cache.ValidationFailed
		rec.Invalid = []cache.Note{{Code: "unreadable", Text: `line 2: "patient 4711" is no number`}}
		return nil
	}})
	n.Level = cache.Sensitive
	b.apply(b.graph(n), Selection{})
	wantNotes(t, b, n)
}

func TestARunThatLeftNothingBecomesSensitiveWithItsStage(t *testing.T) {
	b := newBench(t)
	n := b.node("reads", Pure, &fakeStage{do: func(_ *Task, rec *cache.Record) error {
		rec.Validation = cache.ValidationFailed
		rec.Invalid = []cache.Note{{Code: "unreadable", Text: `line 2: "patient 4711" is no number`}}
		return nil
	}})
	b.apply(b.graph(n), Selection{})
	if list := b.store.At(n.Address); len(list) != 1 || len(list[0].Outputs) > 0 {
		t.Fatalf("the runs are %+v", list)
	}
	if err := b.store.raise(b.store.At(n.Address)); err != nil {
		t.Fatal(err)
	}
	wantNotes(t, b, n)
}

func TestARunWhoseArtifactIsLostBecomesSensitiveAllTheSame(t *testing.T) {
	b := newBench(t)
	text := "x"
	n := b.node("left", Pure, &fakeStage{input: &text})
	b.apply(b.graph(n), Selection{})
	d := b.store.At(n.Address)[0].Outputs[0].Digest.String()
	if err := os.Remove(filepath.Join(b.store.Dir, "cas", d[:2], d[2:])); err != nil {
		t.Fatal(err)
	}
	if err := b.store.raise(b.store.At(n.Address)); err != nil {
		t.Fatal(err)
	}
	if !IsSensitive(b.store.At(n.Address)[0].Outputs) {
		t.Error("it is not sensitive")
	}
}

func wantNotes(t *testing.T, b *bench, n *Node) {
	t.Helper()
	list := b.store.At(n.Address)
	if len(list) != 1 || !IsSensitive(list[0].Outputs) {
		t.Fatalf("the runs are %+v", list)
	}
	text, err := b.store.CAS.ReadAll(list[0].Outputs[0].Digest)
	if err != nil || !strings.Contains(string(text), "patient 4711") {
		t.Errorf("its notes are kept as %q, %v", text, err)
	}
}
