package memray_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/lang"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/providers/memray"
	"github.com/flameox/flameox/providers/providertest"
)

var p memray.Provider

// pinned is the version of memray that the tests install.
const pinned = "1.20.0"

// old is the version that wrote the fixtures.
const old = "1.13.4"

// venv is an environment with one version of memray.
type venv struct {
	once   sync.Once
	dir    string
	python string
	why    string // there is none
}

var venvs = map[string]*venv{pinned: {}, old: {}}

func TestMain(m *testing.M) {
	code := m.Run()
	for _, v := range venvs {
		if v.dir != "" {
			os.RemoveAll(v.dir)
		}
	}
	os.Exit(code)
}

// python is an interpreter with memray: the one that FLAMEOX_MEMRAY_PYTHON names, or that of a new environment.
func python(t testing.TB) string {
	t.Helper()
	if named := os.Getenv("FLAMEOX_MEMRAY_PYTHON"); named != "" {
		return named
	}
	return pythonWith(t, pinned)
}

// pythonWith is the interpreter of a new environment into which a version of memray is installed.
func pythonWith(t testing.TB, version string) string {
	t.Helper()
	v := venvs[version]
	v.once.Do(func() {
		if v.dir, v.why = tempDir(); v.why != "" {
			return
		}
		v.python = filepath.Join(v.dir, "bin", "python")
		for _, argv := range [][]string{{"python3", "-m", "venv", v.dir}, {v.python, "-m", "pip", "install", "-q", "--only-binary", ":all:", "memray==" + version}} {
			if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
				v.why = fmt.Sprintf("%s: %v: %s", strings.Join(argv, " "), err, out)
				return
			}
		}
	})
	if v.why != "" {
		t.Skipf("there is no Python with memray %s, and none could be made: %s", version, v.why)
	}
	return v.python
}

func tempDir() (dir, why string) {
	dir, err := os.MkdirTemp("", "memray-")
	if err != nil {
		return "", err.Error()
	}
	return dir, ""
}

func options() *memray.Options { return lang.Defaults(p.Options()).(*memray.Options) }

func extraction() *memray.ExtractOptions {
	return lang.Defaults(p.ExtractOptions()).(*memray.ExtractOptions)
}

// project is a folder with files.
func project(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// capture plans with o over argv behind Python, runs it, and makes the input that the engine would.
func capture(t testing.TB, o *memray.Options, dir string, argv ...string) (providers.Input, providertest.Ran) {
	t.Helper()
	inv, err := p.Plan(providers.Workload{Argv: append([]string{python(t)}, argv...)}, o)
	if err != nil {
		t.Fatal(err)
	}
	ran := providertest.Start(t, inv, dir)
	in := providers.Input{Exit: ran.Exit, Paths: providers.Paths{Root: dir, Dir: dir}}
	for _, out := range inv.Outputs {
		if out.Path == "" {
			continue
		}
		names, err := filepath.Glob(filepath.Join(ran.Out, out.Path))
		if err != nil || len(names) == 0 && out.Required {
			t.Fatalf("no %s: %v\n%s%s", out.Path, err, ran.Stdout, ran.Stderr)
		}
		slices.Sort(names)
		for _, name := range names {
			in.Artifacts = append(in.Artifacts, artifact(t, name))
		}
	}
	return in, ran
}

func artifact(t testing.TB, path string) providers.Artifact {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return providers.Artifact{Name: filepath.Base(path), Role: memray.Role, MediaType: memray.MediaType, Digest: digest.Sum(data), Size: int64(len(data)), Path: path}
}

// extract reads and extracts.
func extract(t *testing.T, in providers.Input, o *memray.ExtractOptions) (evidence.Outcome, map[string][]providertest.Row) {
	t.Helper()
	in.Reading = providertest.Read(t, p, python(t), "extract", o, in.Artifacts, t.TempDir())
	return providertest.Extract(t, p, in, o, evidence.DefaultBudget())
}

func validate(t *testing.T, in providers.Input) providers.Receipt {
	t.Helper()
	in.Reading = providertest.Read(t, p, python(t), "validate", nil, in.Artifacts, t.TempDir())
	r, err := p.Validate(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// measured is the value of a measurement of the process whose label is process.
func measured(t *testing.T, tables map[string][]providertest.Row, name, process string) int64 {
	t.Helper()
	for _, r := range tables["measurements"] {
		d, _ := r["dimensions"].(map[string]string)
		if r["name"] == name && d["process"] == process {
			return r["value_int"].(int64)
		}
	}
	t.Fatalf("there is no measurement %s of process %q", name, process)
	return 0
}

// total is the sum of the stacks of a metric that have all of the labels.
func total(tables map[string][]providertest.Row, metric string, labels map[string]string) (bytes int64, samples uint64) {
	for _, r := range tables["stacks"] {
		l, _ := r["labels"].(map[string]string)
		match := r["metric"] == metric
		for k, v := range labels {
			match = match && l[k] == v
		}
		if match {
			bytes += r["weight"].(int64)
			samples += r["samples"].(uint64)
		}
	}
	return bytes, samples
}

// values are self, inclusive and samples of a function in a metric, summed over its lines; file is where it is.
func values(tables map[string][]providertest.Row, metric, function string) (self, inclusive int64, file string) {
	in := map[any]bool{}
	for _, r := range tables["frames"] {
		if r["function"] == function {
			in[r["frame"]] = true
			file, _ = r["file"].(string)
		}
	}
	for _, r := range tables["frame_values"] {
		if r["metric"] == metric && in[r["frame"]] {
			self += r["self"].(int64)
			inclusive += r["inclusive"].(int64)
		}
	}
	return self, inclusive, file
}

// stats are the totals that `memray stats --json` writes.
func stats(t *testing.T, path string) (s struct {
	Operations int64 `json:"total_num_allocations"`
	Bytes      int64 `json:"total_bytes_allocated"`
	Metadata   struct {
		Peak    int64 `json:"peak_memory"`
		Records int64 `json:"total_allocations"`
	}
}) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "stats.json")
	if b, err := exec.Command(python(t), "-m", "memray", "stats", "--json", "-o", out, path).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, b)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// equalToStats compares all that memray states of a process with what is in the tables.
func equalToStats(t *testing.T, path, process string, tables map[string][]providertest.Row) {
	t.Helper()
	s := stats(t, path)
	allocated, _ := total(tables, "memory.allocated", map[string]string{"process": process})
	peak, _ := total(tables, "memory.high_watermark", map[string]string{"process": process})
	for name, pair := range map[string][2]int64{
		"allocation operations": {measured(t, tables, "memory.allocation_operations", process), s.Operations},
		"allocated bytes":       {measured(t, tables, "memory.allocated_bytes", process), s.Bytes},
		"peak":                  {measured(t, tables, "memory.peak", process), s.Metadata.Peak},
		"records":               {measured(t, tables, "memory.capture_records", process), s.Metadata.Records},
		"stacks of allocated":   {allocated, s.Bytes},
		"stacks of the peak":    {peak, s.Metadata.Peak},
	} {
		if pair[0] != pair[1] || pair[1] <= 0 {
			t.Errorf("%s: %s is %d, memray says %d", filepath.Base(path), name, pair[0], pair[1])
		}
	}
}
