package triton

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/formats/kernelbuild"
	"github.com/flameox/flameox/internal/pattern"
	"github.com/flameox/flameox/internal/token"
	"github.com/flameox/flameox/lang"
	"github.com/flameox/flameox/providers"
)

// Provider captures what Triton compiles. The zero value is ready.
type Provider struct{}

// Name is the producer's.
func (Provider) Name() string { return "triton" }

// Version is that of the rows and of the document.
func (Provider) Version() int { return 1 }

// Doc is one sentence.
func (Provider) Doc() string { return "what Triton's compiler makes of GPU kernels" }

// Nature of a run: what is compiled follows from the device that the program finds.
func (Provider) Nature() providers.Nature { return providers.Measurement }

// Options of a capture.
type Options struct {
	Dumps         string     `arg:"dump_subdir" default:"\"triton-dumps\"" doc:"folder below ${out.dir} that Triton dumps to" facet:"definition"`
	Dump          bool       `arg:"kernel_dump" default:"true" doc:"dump what every pass makes; false where only a reproducer is wanted" facet:"definition"`
	Reproducer    string     `arg:"reproducer_filename,optional" doc:"also keep what makes Triton run its passes again, in files that begin with this name, which is another than dump_subdir" facet:"definition"`
	AlwaysCompile bool       `arg:"always_compile" default:"false" doc:"compile also what Triton's cache has; without it a kernel that was compiled before leaves nothing" facet:"definition"`
	Target        string     `arg:"target,optional" doc:"what the kernels are built for, as it is to stand in the evidence: cuda:80. Triton is not told" facet:"definition"`
	FileBytes     lang.Bytes `arg:"max_artifact_bytes" default:"\"64MiB\"" doc:"a file above it is left out, and said" facet:"definition"`
	Bytes         lang.Bytes `arg:"max_total_bytes" default:"\"512MiB\"" doc:"files beyond it, in the order of their paths, are left out, and said" facet:"definition"`
}

// Options are the capture's, before decoding.
func (Provider) Options() any { return new(Options) }

// The codes of what a capture cannot say.
const (
	CacheUnknown = "compiler_cache_unknown"
	Variants     = "variants_overwritten"
	LastKernel   = "reproducer_of_last_kernel"
)

const text = "text/plain; charset=utf-8"

// compiler says what Triton leaves.
var compiler = providers.Compiler{
	Producer: "triton.compiler", Library: "triton",
	Kinds: []kernelbuild.Kind{
		{Name: "ttir", MediaType: text}, {Name: "ttgir", MediaType: text, From: "ttir"}, {Name: "llir", MediaType: text, From: "ttgir"},
		{Name: "ptx", MediaType: text, From: "llir"}, {Name: "cubin", MediaType: "application/octet-stream", From: "ptx"}, {Name: "sass", MediaType: text, From: "cubin"},
		{Name: "amdgcn", MediaType: text, From: "llir"}, {Name: "hsaco", MediaType: "application/octet-stream", From: "amdgcn"},
		{Name: "metadata", MediaType: "application/octet-stream"}, {Name: "json", MediaType: "application/json"},
	},
}

// Plan is the workload with more variables.
func (Provider) Plan(w providers.Workload, options any) (providers.Invocation, error) {
	o, ok := options.(*Options)
	if !ok {
		return providers.Invocation{}, fmt.Errorf("triton: options are a %T, not *triton.Options", options)
	}
	if len(w.Argv) == 0 {
		return providers.Invocation{}, fmt.Errorf("the workload has no command")
	}
	if err := o.check(); err != nil {
		return providers.Invocation{}, err
	}
	out := token.Make("out.dir")
	inv := providers.Invocation{
		Argv: slices.Clone(w.Argv),
		Env:  map[string]string{"TRITON_DUMP_DIR": path.Join(out, o.Dumps), "TRITON_KERNEL_DUMP": "0"},
		Scope: providers.Scope{
			Mode: "compiler output", ProcessScope: "the command and what it starts",
			Bounds: map[string]string{"files": strconv.Itoa(kernelbuild.MaxFiles), "max_artifact_bytes": strconv.FormatInt(int64(o.FileBytes), 10), "max_total_bytes": strconv.FormatInt(int64(o.Bytes), 10)},
		},
		Limitations: []evidence.Limitation{
			{Code: CacheUnknown, Text: "Triton does not say which kernels it took from its cache; those it did not compile, and left nothing of"},
			{Code: Variants, Text: "variants of one kernel that differ in num_warps, num_stages or target alone are dumped to one folder, where the last one stays"},
		},
		Inventory: &providers.Inventory{Files: kernelbuild.MaxFiles, FileBytes: int64(o.FileBytes), Bytes: int64(o.Bytes)},
	}
	if o.Dump {
		inv.Env["TRITON_KERNEL_DUMP"] = "1"
	}
	if o.AlwaysCompile {
		inv.Env["TRITON_ALWAYS_COMPILE"] = "1"
		inv.Limitations = inv.Limitations[1:]
	}
	if o.Reproducer != "" {
		inv.Env["TRITON_REPRODUCER_PATH"] = path.Join(out, o.Reproducer)
		inv.Limitations = append(inv.Limitations, evidence.Limitation{Code: LastKernel, Text: "Triton writes the reproducers of all kernels to the same files, so they are those of the last one"})
		for _, glob := range []string{o.Reproducer, o.Reproducer + ".*"} {
			inv.Outputs = append(inv.Outputs, providers.DeclaredOutput{Name: "reproducer " + glob, Path: glob, Role: kernelbuild.RoleReproducer, MediaType: text})
		}
	}
	for name, value := range inv.Env {
		if own, ok := w.Env[name]; ok && own != value {
			return providers.Invocation{}, fmt.Errorf("the workload sets %s = %q, and this capture sets it itself; take it out of the workload's env", name, own)
		}
	}
	inv.Outputs = append(inv.Outputs, dumped(o.Dumps)...)
	return inv, nil
}

// dumped are the outputs below a folder. The folders right below it are named apart, so that a link in the place of one is refused and said.
func dumped(folder string) (list []providers.DeclaredOutput) {
	for _, below := range []string{"/*/", "/**/"} {
		for _, k := range compiler.Kinds {
			list = append(list, providers.DeclaredOutput{Name: k.Name + " in " + below, Path: k.Glob(folder + below), Role: kernelbuild.RoleOutput, MediaType: k.MediaType})
		}
	}
	return append(list,
		providers.DeclaredOutput{Name: "stdout", Stream: providers.Stdout, Role: providers.RoleLog, MediaType: text},
		providers.DeclaredOutput{Name: "stderr", Stream: providers.Stderr, Role: providers.RoleLog, MediaType: text})
}

func (o *Options) check() error {
	if err := kernelbuild.CheckName("dump_subdir", o.Dumps); err != nil {
		return err
	}
	if o.Reproducer != "" {
		if err := kernelbuild.CheckName("reproducer_filename", o.Reproducer); err != nil {
			return err
		}
		if o.Reproducer == o.Dumps || strings.HasPrefix(o.Dumps, o.Reproducer+".") || o.Reproducer == kernelbuild.Name {
			return fmt.Errorf("reproducer_filename = %q is taken: dump_subdir is %q, and the list of files is %s", o.Reproducer, o.Dumps, kernelbuild.Name)
		}
	} else if !o.Dump {
		return fmt.Errorf("kernel_dump = false without reproducer_filename keeps nothing; leave one of them out, or give a name")
	}
	if o.FileBytes <= 0 || o.Bytes <= 0 {
		return fmt.Errorf("max_artifact_bytes and max_total_bytes are sizes above 0, such as \"64MiB\"")
	}
	return kernelbuild.CheckTarget(o.Target)
}

// Describe lists what a run left.
func (Provider) Describe(run providers.Left) (providers.Document, error) {
	o, ok := run.Options.(*Options)
	if !ok {
		return providers.Document{}, fmt.Errorf("triton: options are a %T, not *triton.Options", run.Options)
	}
	return providers.DescribeBuild(run, compiler, o.Target, nil)
}

// Validate accepts a build that succeeded.
func (Provider) Validate(ctx context.Context, in providers.Input) (providers.Receipt, error) {
	return providers.ValidateBuild(ctx, in, "Either it compiles no Triton kernel, or Triton's cache had them all: always_compile = true passes the cache by")
}

// ExtractOptions is nil: there is nothing to choose.
func (Provider) ExtractOptions() any { return nil }

// Extract fills compiler_artifacts.
func (Provider) Extract(ctx context.Context, in providers.Input, _ any, budget evidence.Budget, sink *evidence.Sink) (evidence.Outcome, error) {
	return providers.ExtractBuild(ctx, in, budget, sink)
}

// Locate is an interpreter that has Triton.
func (Provider) Locate() providers.Location {
	return providers.Location{Programs: []string{"python", "python3"}, Library: "triton", Language: "python", Install: "add triton to the requirements of the workload's environment, or run `python -m pip install triton`"}
}

var release = pattern.Lazy{Expr: `^(\d+)\.\d+`}

// Probe asks the interpreter for the Triton that it has, without loading it.
func (Provider) Probe(argv []string) ([]string, func(stdout, stderr []byte) (string, error)) {
	return []string{argv[0], "-c", "import importlib.metadata as m; print(m.version('triton'))"}, func(stdout, stderr []byte) (string, error) {
		v := strings.TrimSpace(string(stdout))
		m := release.FindStringSubmatch(v)
		if m == nil {
			lines := strings.Split(strings.TrimSpace(string(stderr)), "\n")
			return "", fmt.Errorf("%s has no triton (%s)", argv[0], lines[len(lines)-1])
		}
		if major, _ := strconv.Atoi(m[1]); major < 3 {
			return v, fmt.Errorf("%s has triton %s; capture \"triton\" is made for 3.0 and later", argv[0], v)
		}
		return v, nil
	}
}
