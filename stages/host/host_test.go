package host

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/graph/facet"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/vfs"
)

func TestWhatNoMachineCanBeIsRefused(t *testing.T) {
	for _, c := range []struct{ name, value, want string }{
		{"cpu.modell", "x", `did you mean "cpu.model"?`},
		{"load.1", "2", "no fact of a class"},
		{"cpu.logical", "two", "whole number"},
		{"cpu.logical", "02", "whole number"},
		{"cpu.logical", "0", "whole number"},
		{"memory.gib", "24 GiB", "whole number"},
		{"kernel", "", "give the text"},
		{"kernel", " 6.8", "white space"},
	} {
		if err := check(c.name, c.value); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s = %q: %v, want %q", c.name, c.value, err, c.want)
		}
	}
	for name, value := range map[string]string{"cpu.logical": "2", "arch": "amd64", "gpu.models": "8 x NVIDIA H200", "gpu.driver_major": "550"} {
		if err := check(name, value); err != nil {
			t.Errorf("%s = %q: %v", name, value, err)
		}
	}
}

var bench = &Declared{Address: "host.bench", Class: map[string]string{"cpu.model": "A", "cpu.logical": "2"}}

func TestAMachineIsOfAClassWhereAllThatIsDeclaredHolds(t *testing.T) {
	is := map[string]string{"cpu.model": "A", "cpu.logical": "2", "kernel": "6.8"}
	if d := bench.Differ(is); d != nil || bench.Blocked(is) != nil {
		t.Errorf("differs in %v", d)
	}
	other := map[string]string{"cpu.model": "B"}
	want := []facet.Change{
		{Facet: facet.HostClass, Name: "cpu.logical", Old: "2"}, {Facet: facet.HostClass, Name: "cpu.model", Old: "A", New: "B"},
	}
	if d := cmp.Diff(want, bench.Differ(other)); d != "" {
		t.Error(d)
	}
	if b := bench.Blocked(other); b == nil || b.Why != "the machine is not of the class host.bench: does not tell cpu.logical, declared is 2; cpu.model is B, declared is A" || b.Do == "" {
		t.Errorf("blocked %+v", b)
	}
	rec := &cache.Record{Validation: cache.ValidationPassed}
	bench.Verify(rec, is)
	if !rec.Valid() || len(rec.Invalid) != 0 {
		t.Errorf("of the class: %+v", rec)
	}
	bench.Verify(rec, other)
	if rec.Valid() || len(rec.Invalid) != 1 || rec.Invalid[0].Code != Mismatch {
		t.Errorf("no longer of the class: %+v", rec.Invalid)
	}
	key := facet.New(bench.Facet())
	if f := key.Facet(facet.HostClass); len(f.Entries) != 2 || f.Entries[0].Name != "cpu.logical" {
		t.Errorf("facet %+v", f)
	}
}

func TestTheMachineThatAPlanIsForIsNotGuessed(t *testing.T) {
	small := map[string]string{"cpu.model": "A", "cpu.logical": "2", "kernel": "6.8"}
	updated := map[string]string{"cpu.model": "A", "cpu.logical": "2", "kernel": "6.9"}
	here := &Machine{Name: "laptop", Class: map[string]string{"cpu.model": "L", "cpu.logical": "2"}}
	a, b := &Machine{Name: "bench-7", Class: small}, &Machine{Name: "bench-8", Class: small}
	declared := []*Declared{bench, {Address: "host.bench-7", Class: map[string]string{"cpu.model": "Z"}}, {Address: "host.two", Class: map[string]string{"cpu.logical": "2"}}}
	for _, c := range []struct {
		name string
		seen []*Machine
		want *Machine
		err  string
	}{
		{"bench-8", []*Machine{a, b}, b, ""},
		{"laptop", nil, here, ""},
		{"bench", []*Machine{b, a}, b, ""},
		{"host.bench", []*Machine{a}, a, ""},
		{"bench", []*Machine{a, {Name: "bench-9", Class: updated}}, nil, "machines of 2 classes are host.bench: bench-7 (A, 2 CPUs); bench-9 (A, 2 CPUs)"},
		{"two", []*Machine{a}, nil, "machines of 2 classes"}, // this machine fits too
		{"bench", nil, nil, "no machine of the class host.bench is known here"},
		{"bench-7", []*Machine{a}, nil, "write host.bench-7 for the block"},
		{"bench-77", []*Machine{b}, nil, `did you mean "bench-8"?`},
	} {
		got, err := Choose(c.name, declared, c.seen, here)
		if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %+v %v, want %+v %q", c.name, got, err, c.want, c.err)
		}
	}
}

func TestMachinesAreSeenNewestFirstAndOnceForEachClass(t *testing.T) {
	records, err := cache.Open(t.TempDir(), vfs.OS{}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []struct{ name, kernel string }{{"a", "1"}, {"b", "1"}, {"a", "1"}, {"a", "2"}, {"", "3"}, {"c", ""}} {
		class := map[string]string{"kernel": m.kernel}
		if m.kernel == "" {
			class = nil
		}
		rec := &cache.Record{
			Run: records.NewRunID(), Revision: 1, Address: "x", Block: "x", Kind: "k", Nature: "measurement", Key: digest.SumString("k"), Attempt: 1,
			Execution: cache.ExecutionSucceeded, Capture: cache.CaptureRegistered, Validation: cache.ValidationPassed, Host: cache.Host{Name: m.name, Class: class}, Version: "v",
		}
		if err := records.Commit(nil, []*cache.Record{rec}, nil); err != nil {
			t.Fatal(err)
		}
	}
	seen, err := Seen(records.All())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range seen {
		got = append(got, strings.Join([]string{m.Name, m.Class["kernel"], strings.Repeat("+", m.Runs)}, " "))
	}
	if d := cmp.Diff([]string{"a 2 +", "a 1 ++", "b 1 +"}, got); d != "" {
		t.Error(d)
	}
}
