package facet

import "testing"

func example() Manifest {
	def := Facet{Name: Definition}
	def.Add("kind", "build")
	def.Add("empty", "")
	cmd := Facet{Name: Command}
	for range 100 { // longer than any buffer to begin with
		cmd.AddNote("argv[0]", "a value of some length, ünïcode and all", "no part of the key")
	}
	return New(cmd, def)
}

// The two digests were computed by the first version: they may never change.
func TestAKeyIsTheSameInEveryVersion(t *testing.T) {
	m := example()
	if got, want := m.Key().String(), "c142747698c701a180d475222a1ea0cd67d4912d68743020fc6881a2d6356667"; got != want {
		t.Errorf("key %s, want %s", got, want)
	}
	if got, want := m.Facets[0].Digest().String(), "2323513494fdd92a1299a0b6985bd41d29b0976dfcbc3e835153b2c0a7f2a9b7"; got != want {
		t.Errorf("facet %s, want %s", got, want)
	}
	if got, want := Attempt(m.Key(), 1, 2).String(), "2015aa60541841ff45e70a82b81414a9eb18eb3143879b0bed8d5d819b5ae666"; got != want {
		t.Errorf("attempt %s, want %s", got, want)
	}
}

func BenchmarkKey(b *testing.B) {
	m := example()
	b.ReportAllocs()
	for b.Loop() {
		m.Key()
	}
}
