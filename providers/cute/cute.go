package cute

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

// Provider captures what the CuTe DSL compiles. The zero value is ready.
type Provider struct{}

// Name is the producer's.
func (Provider) Name() string { return "cute" }

// Version is that of the rows and of the document.
func (Provider) Version() int { return 1 }

// Doc is one sentence.
func (Provider) Doc() string { return "what the compiler of the CuTe DSL makes of GPU kernels" }

// Nature of a run: what is compiled follows from the device that the program finds.
func (Provider) Nature() providers.Nature { return providers.Measurement }

// Options of a capture.
type Options struct {
	Dumps     string     `arg:"dump_subdir" default:"\"cute-dsl-dumps\"" doc:"folder below ${out.dir} that the DSL dumps to" facet:"definition"`
	Keep      []string   `arg:"keep" default:"[\"ir\", \"ptx\", \"cubin\"]" doc:"what is dumped: ir or ir-debug, ptx, cubin, sass, which needs nvdisasm, and llvm; or all alone" facet:"definition"`
	Target    string     `arg:"target,optional" doc:"what the kernels are built for, as it is to stand in the evidence: sm_90a. The DSL is not told" facet:"definition"`
	FileBytes lang.Bytes `arg:"max_artifact_bytes" default:"\"64MiB\"" doc:"a file above it is left out, and said" facet:"definition"`
	Bytes     lang.Bytes `arg:"max_total_bytes" default:"\"512MiB\"" doc:"files beyond it, in the order of their paths, are left out, and said" facet:"definition"`
}

// Options are the capture's, before decoding.
func (Provider) Options() any { return new(Options) }

// The codes of what a capture cannot say.
const (
	CacheUnknown = "compiler_cache_unknown"
	NotDumped    = "kind_not_dumped" // it was asked for, and no such file is there
)

const text = "text/plain; charset=utf-8"

// kinds are what each token may leave.
var kinds = map[string][]kernelbuild.Kind{
	"ir":       {{Name: "mlir", MediaType: text}, {Name: "cute_dsl_ir", MediaType: text}},
	"ir-debug": {{Name: "mlir", MediaType: text}, {Name: "cute_dsl_ir", MediaType: text}},
	"llvm":     {{Name: "ll", MediaType: text}, {Name: "llvm", MediaType: text}},
	"ptx":      {{Name: "ptx", MediaType: text}},
	"cubin":    {{Name: "cubin", MediaType: "application/octet-stream", From: "ptx"}},
	"sass":     {{Name: "sass", MediaType: text, From: "cubin"}},
}

// tokens are those of kinds in the order of a compilation.
var tokens = []string{"ir", "ir-debug", "llvm", "ptx", "cubin", "sass"}

// keeps are the tokens that o stands for. all has both forms of the IR.
func (o *Options) keeps() []string {
	if slices.Equal(o.Keep, []string{"all"}) {
		return tokens
	}
	return o.Keep
}

// compiler says what the options leave.
func (o *Options) compiler() providers.Compiler {
	c := providers.Compiler{Producer: "cute.compiler", Library: "nvidia-cutlass-dsl"}
	for _, t := range tokens {
		if !slices.Contains(o.keeps(), t) {
			continue
		}
		for _, k := range kinds[t] {
			if !slices.Contains(c.Kinds, k) {
				c.Kinds = append(c.Kinds, k)
			}
		}
	}
	return c
}

// Plan is the workload with more variables.
func (Provider) Plan(w providers.Workload, options any) (providers.Invocation, error) {
	o, ok := options.(*Options)
	if !ok {
		return providers.Invocation{}, fmt.Errorf("cute: options are a %T, not *cute.Options", options)
	}
	if len(w.Argv) == 0 {
		return providers.Invocation{}, fmt.Errorf("the workload has no command")
	}
	if err := o.check(); err != nil {
		return providers.Invocation{}, err
	}
	inv := providers.Invocation{
		Argv: slices.Clone(w.Argv),
		Env:  map[string]string{"CUTE_DSL_DUMP_DIR": path.Join(token.Make("out.dir"), o.Dumps), "CUTE_DSL_KEEP": strings.Join(o.Keep, ",")},
		Scope: providers.Scope{
			Mode: "compiler output", ProcessScope: "the command and what it starts",
			Bounds:  map[string]string{"files": strconv.Itoa(kernelbuild.MaxFiles), "max_artifact_bytes": strconv.FormatInt(int64(o.FileBytes), 10), "max_total_bytes": strconv.FormatInt(int64(o.Bytes), 10)},
			Filters: map[string]string{"keep": strings.Join(o.Keep, ", ")},
		},
		Limitations: []evidence.Limitation{{Code: CacheUnknown, Text: "the DSL does not say which functions it took from a cache; those it did not compile, and left nothing of"}},
		Folders:     []string{o.Dumps}, // the DSL makes it for IR alone: without it PTX and cubin are not written, and nothing says so
		Inventory:   &providers.Inventory{Files: kernelbuild.MaxFiles, FileBytes: int64(o.FileBytes), Bytes: int64(o.Bytes)},
	}
	for name, value := range inv.Env {
		if own, ok := w.Env[name]; ok && own != value {
			return providers.Invocation{}, fmt.Errorf("the workload sets %s = %q, and this capture sets it itself; take it out of the workload's env", name, own)
		}
	}
	for _, below := range []string{"/", "/**/"} {
		for _, k := range o.compiler().Kinds {
			inv.Outputs = append(inv.Outputs, providers.DeclaredOutput{Name: k.Name + " in " + below, Path: k.Glob(o.Dumps + below), Role: kernelbuild.RoleOutput, MediaType: k.MediaType})
		}
	}
	inv.Outputs = append(inv.Outputs,
		providers.DeclaredOutput{Name: "stdout", Stream: providers.Stdout, Role: providers.RoleLog, MediaType: text},
		providers.DeclaredOutput{Name: "stderr", Stream: providers.Stderr, Role: providers.RoleLog, MediaType: text})
	return inv, nil
}

func (o *Options) check() error {
	if err := kernelbuild.CheckName("dump_subdir", o.Dumps); err != nil {
		return err
	}
	if len(o.Keep) == 0 {
		return fmt.Errorf("keep = [] keeps nothing; write \"ir\", \"ptx\", \"cubin\" or others, or leave it out")
	}
	for i, t := range o.Keep {
		switch {
		case t != "all" && kinds[t] == nil:
			return fmt.Errorf("keep has %q; known are %s and all", t, strings.Join(tokens, ", "))
		case slices.Contains(o.Keep[:i], t):
			return fmt.Errorf("keep has %q twice", t)
		case t == "all" && len(o.Keep) > 1:
			return fmt.Errorf("keep has \"all\" and more; all stands alone")
		}
	}
	if slices.Contains(o.Keep, "ir") && slices.Contains(o.Keep, "ir-debug") {
		return fmt.Errorf("keep has both ir and ir-debug, which are two forms of the same; write one of them")
	}
	if o.FileBytes <= 0 || o.Bytes <= 0 {
		return fmt.Errorf("max_artifact_bytes and max_total_bytes are sizes above 0, such as \"64MiB\"")
	}
	return kernelbuild.CheckTarget(o.Target)
}

// Describe lists what a run left, and what of that which was asked for is missing.
func (Provider) Describe(run providers.Left) (providers.Document, error) {
	o, ok := run.Options.(*Options)
	if !ok {
		return providers.Document{}, fmt.Errorf("cute: options are a %T, not *cute.Options", run.Options)
	}
	var files []kernelbuild.File
	for _, a := range run.Outputs {
		files = append(files, kernelbuild.File{Name: a.Name, Role: a.Role})
	}
	c := o.compiler()
	stages := kernelbuild.Stages(files, c.Kinds)
	var missing []evidence.Limitation
	for _, t := range o.keeps() {
		if len(stages) > 0 && !slices.ContainsFunc(stages, func(s kernelbuild.Stage) bool {
			return slices.ContainsFunc(kinds[t], func(k kernelbuild.Kind) bool { return k.Name == s.Kind })
		}) {
			missing = append(missing, evidence.Limitation{Code: NotDumped, Text: fmt.Sprintf("%s was asked for, and no file of it is there: this version of the DSL may not know it", t)})
		}
	}
	return providers.DescribeBuild(run, c, o.Target, missing)
}

// Validate accepts a build that succeeded.
func (Provider) Validate(ctx context.Context, in providers.Input) (providers.Receipt, error) {
	return providers.ValidateBuild(ctx, in, "Either it compiles no function of the CuTe DSL, or the DSL's cache had them all: CUTE_DSL_DISABLE_FILE_CACHING = \"1\" in the workload's env passes the cache of files by")
}

// ExtractOptions is nil: there is nothing to choose.
func (Provider) ExtractOptions() any { return nil }

// Extract fills compiler_artifacts.
func (Provider) Extract(ctx context.Context, in providers.Input, _ any, budget evidence.Budget, sink *evidence.Sink) (evidence.Outcome, error) {
	return providers.ExtractBuild(ctx, in, budget, sink)
}

// Locate is an interpreter that has the DSL.
func (Provider) Locate() providers.Location {
	return providers.Location{Programs: []string{"python", "python3"}, Library: "nvidia-cutlass-dsl", Language: "python", Install: "add nvidia-cutlass-dsl to the requirements of the workload's environment, or run `python -m pip install nvidia-cutlass-dsl`"}
}

var release = pattern.Lazy{Expr: `^(\d+)\.\d+`}

// Probe asks the interpreter for the DSL that it has, without loading it.
func (Provider) Probe(argv []string) ([]string, func(stdout, stderr []byte) (string, error)) {
	return []string{argv[0], "-c", "import importlib.metadata as m; print(m.version('nvidia-cutlass-dsl'))"}, func(stdout, stderr []byte) (string, error) {
		v := strings.TrimSpace(string(stdout))
		m := release.FindStringSubmatch(v)
		if m == nil {
			lines := strings.Split(strings.TrimSpace(string(stderr)), "\n")
			return "", fmt.Errorf("%s has no nvidia-cutlass-dsl (%s)", argv[0], lines[len(lines)-1])
		}
		if major, _ := strconv.Atoi(m[1]); major < 4 {
			return v, fmt.Errorf("%s has nvidia-cutlass-dsl %s; capture \"cute\" is made for 4.0 and later", argv[0], v)
		}
		return v, nil
	}
}
