package workspace_test

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/broker"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/graph/facet"
	"github.com/flameox/flameox/internal/lock"
	"github.com/flameox/flameox/internal/vfs"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/providers/command"
	"github.com/flameox/flameox/providers/gobench"
	"github.com/flameox/flameox/stages/host"
	"github.com/flameox/flameox/stages/workspace"
)

// TestMain lets the test binary be the supervisor of what it starts.
func TestMain(m *testing.M) {
	broker.MaybeSupervise()
	os.Exit(m.Run())
}

// A machine may lose a CPU, or be moved, while something is measured on it: the attempt is kept and is no result.
func TestAnAttemptAfterWhichTheMachineIsOfAnotherClassIsNotValid(t *testing.T) {
	t.Setenv(lock.MeasureEnv, filepath.Join(t.TempDir(), "measure"))
	dir := t.TempDir()
	config := `
host "pool" { class = { os = "beos", "cpu.logical" = "2" } }
workload "w" {
  command = ["true"]
  sources = []
}
capture "command" "c" {
  workload = workload.w
  on       = host.pool
}
`
	if err := os.WriteFile(filepath.Join(dir, "flameox.hcl"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	before := map[string]string{"os": "beos", "cpu.logical": "2", "kernel": "5"}
	apply := func(after map[string]string) *cache.Record {
		t.Helper()
		w, err := workspace.Open(context.Background(), workspace.Options{
			Dir: dir, Environ: []string{"PATH=" + os.Getenv("PATH")}, Now: time.Now, FS: vfs.OS{}, Providers: providers.New(command.Provider{}, gobench.Provider{}),
		})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		if err := w.Init(); err != nil {
			t.Fatal(err)
		}
		w.As(before)
		w.Project.Observe = func() map[string]string { return after }
		x, diags := w.Load()
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		planner, err := graph.NewPlanner(w.Store, x.Graph, graph.Selection{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := planner.Apply(t.Context(), x.Graph, graph.ApplyOptions{Parallelism: 1, Refresh: w.Project.Refresh}); err != nil {
			t.Fatal(err)
		}
		all := w.Store.Cache.All()
		if len(all) == 0 {
			t.Fatal("nothing ran")
		}
		rec, err := all[len(all)-1].Record()
		if err != nil {
			t.Fatal(err)
		}
		return rec
	}
	smaller := maps.Clone(before)
	smaller["cpu.logical"] = "1"
	bad := apply(smaller)
	if bad.Valid() || len(bad.Invalid) != 1 || bad.Invalid[0].Code != host.Mismatch || bad.Invalid[0].Text != "after the run the machine was not of the class host.pool: cpu.logical is 1, declared is 2" {
		t.Errorf("%s %+v", bad.Validation, bad.Invalid)
	}
	if bad.Execution != cache.ExecutionSucceeded || len(bad.Outputs) == 0 {
		t.Errorf("what it left is not kept: %s %v", bad.Execution, bad.Outputs)
	}
	updated := maps.Clone(before)
	updated["kernel"] = "6"
	good := apply(updated)
	if !good.Valid() || good.Run == bad.Run || good.Key != bad.Key {
		t.Errorf("a fact that is not declared: %s %+v", good.Validation, good.Invalid)
	}
	if f := good.Manifest.Facet(facet.HostClass); f == nil || len(f.Entries) != 2 {
		t.Errorf("the class in the key: %+v", f)
	}
	if again := apply(before); again.Run != good.Run {
		t.Error("a valid attempt was made again")
	}
}
