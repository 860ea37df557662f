package reduce

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/graph/facet"
	"github.com/flameox/flameox/internal/token"
	"github.com/flameox/flameox/lang"
	"github.com/flameox/flameox/stages/environment/python"
	"github.com/flameox/flameox/stages/extract"
	"github.com/flameox/flameox/stages/kind"
	"github.com/flameox/flameox/stages/program"
	"github.com/flameox/flameox/stages/workload"
)

// version is raised whenever the same candidates would be judged otherwise, or other ones proposed.
const version = 1

// Kind is the block `reduce "<name>"`.
type Kind struct{}

// Options of a reduction.
type Options struct {
	Of          lang.Ref      `arg:"of" kinds:"capture,import" doc:"whose run left what is reduced, and is given the result" facet:"inputs"`
	Artifact    string        `arg:"artifact" doc:"the artifact of the run that is reduced, by its name" facet:"inputs"`
	Attempt     int           `arg:"attempt" default:"0" doc:"of several runs the one that left it, from 1; 0 where there is one" facet:"exempt: selects; the run is in the key"`
	Predicate   lang.Ref      `arg:"predicate" kinds:"workload" doc:"says whether a candidate is interesting: it exits with one of its expect_exit where it is, and the variable FLAMEOX_REDUCTION_CANDIDATE names the file" facet:"identity"`
	Environment lang.Ref      `arg:"environment,optional" kinds:"environment" doc:"where ShrinkRay 26.7.8.0 is installed: an environment \"python\" that has it locked; without it what PATH has" facet:"executables"`
	Interpreter string        `arg:"interpreter" default:"\"python3\"" doc:"the interpreter that has ShrinkRay, as a name that is looked up in the environment, or a path" facet:"executables"`
	Attempts    int           `arg:"max_attempts" default:"1000" doc:"candidates that are tried, 1 to 100000; what is best then is the result" facet:"definition"`
	Wall        time.Duration `arg:"wall" default:"\"15m\"" doc:"how long candidates are tried, at most 24h; what is best then is the result" facet:"definition"`
	Timeout     time.Duration `arg:"predicate_timeout" default:"\"30s\"" doc:"of one run of the predicate, at most 1h; a candidate over which it takes longer is unresolved" facet:"definition"`
	Repetitions int           `arg:"repetitions" default:"1" doc:"how often the predicate is run over each candidate, 1 to 20; where it does not say the same each time the candidate is unresolved" facet:"definition"`
	Bytes       lang.Bytes    `arg:"max_bytes" default:"\"64MiB\"" doc:"the largest artifact that is reduced, and how much of ShrinkRay's history is kept" facet:"definition"`
	Files       int           `arg:"max_files" default:"10000" doc:"how many files of ShrinkRay's history are kept, 8 to 100000" facet:"definition"`
	Memory      lang.Bytes    `arg:"memory_limit" default:"\"4GiB\"" doc:"address space of a run of the predicate" facet:"definition"`
}

var results = []lang.Attr{
	{Name: "disposition", Type: cty.String, Doc: "succeeded, where what is registered is smaller and was confirmed twice; unchanged, where nothing smaller was found"},
	{Name: "minimality", Type: cty.String, Doc: "not_claimed: that there is nothing smaller is not known"},
	{Name: "bytes", Type: cty.Number, Doc: "of the result"},
	{Name: "original_bytes", Type: cty.Number, Doc: "of the artifact"},
	{Name: "tried", Type: cty.Number, Doc: "candidates that the predicate was run over while it was searched"},
	{Name: "unresolved", Type: cty.Number, Doc: "of these, those without an answer"},
	{Name: "budget_exhausted", Type: cty.Bool, Doc: "the search was ended by max_attempts or wall"},
}

// BlockType describes the block.
func (Kind) BlockType() lang.BlockType {
	return lang.BlockType{
		Type: "reduce", Labels: []string{"name"},
		Doc: "Makes an artifact smaller while a predicate says that it is interesting.",
		Schemas: map[string]*lang.Schema{"": {
			Doc: "Reduces an artifact of a run with ShrinkRay. Only the predicate decides what is interesting. What comes out is tried twice again, and registered with " +
				"the run that left the original. The rows are in the table reductions.",
			Options: &Options{}, Results: results, Stage: true, Measurement: true,
		}},
	}
}

// stage reduces one artifact of one run.
type stage struct {
	o         *Options
	source    *graph.Node
	project   *kind.Project
	program   *program.Program // ShrinkRay
	predicate *workload.Workload
	distinct  string
}

// Compile makes a node that measures, beside others: what it finds does not depend on the machine.
func (Kind) Compile(inst *lang.Instance, c *kind.Compiler) (*kind.Compiled, error) {
	s := &stage{o: inst.Options.(*Options), project: c.Project, distinct: inst.Meta.Distinct}
	if err := s.o.check(); err != nil {
		return nil, err
	}
	src, err := kind.Value[extract.Source](c, s.o.Of)
	if err != nil {
		return nil, err
	}
	s.source = src.Node
	if s.predicate, err = kind.Value[*workload.Workload](c, s.o.Predicate); err != nil {
		return nil, err
	}
	if l := s.predicate.Program.Session().Leases; len(l) > 0 {
		return nil, fmt.Errorf("its predicate uses %s: a predicate runs for each candidate by itself, and nothing stands beside it", l[0].Address())
	}
	s.program, err = program.New(program.Declared{
		Command: s.o.argv(), Cwd: ".", Sources: []string{}, Environment: s.o.Environment, Timeout: min(24*time.Hour, s.o.Wall+time.Minute), Grace: 5 * time.Second,
		ExpectExit: []int{0}, OutputLimit: 64 << 20,
		Env: map[string]string{
			configVariable: outFile(configName), "SHRINKRAY_DIRECTORY": outFile(historyDir),
			"SHRINKRAY_LLM": "0", "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1",
		},
	}, c)
	if err != nil {
		return nil, err
	}
	n := c.Node(inst, graph.Shared, s)
	n.Level = graph.Stricter(n.Level, src.Node.Level)
	n.Command = "reduce " + s.o.Artifact + " while " + s.predicate.Program.Display()
	return &kind.Compiled{Node: n, Results: readResults}, nil
}

func (o *Options) check() error {
	within := func(name string, n, least, most int) error {
		if n < least || n > most {
			return fmt.Errorf("%s is %d: give %d to %d", name, n, least, most)
		}
		return nil
	}
	switch {
	case o.Artifact == "":
		return errors.New("artifact is empty: name the artifact that is reduced, such as \"stdout\"")
	case o.Attempt < 0:
		return fmt.Errorf("attempt is %d: give which of the runs, from 1", o.Attempt)
	case o.Wall <= 0 || o.Wall > 24*time.Hour:
		return fmt.Errorf("wall is %s: give more than 0 and at most 24h", o.Wall)
	case o.Timeout <= 0 || o.Timeout > time.Hour:
		return fmt.Errorf("predicate_timeout is %s: give more than 0 and at most 1h", o.Timeout)
	case o.Bytes <= 0:
		return fmt.Errorf("max_bytes is %d: give more than 0", o.Bytes)
	case o.Memory < 1<<30:
		return fmt.Errorf("memory_limit is %d: give 1GiB at least, because what runs the predicate reserves address space that it does not use", o.Memory)
	}
	return errors.Join(
		within("max_attempts", o.Attempts, 1, 100_000), within("repetitions", o.Repetitions, 1, 20), within("max_files", o.Files, 8, 100_000),
	)
}

// argv is ShrinkRay under the profile. It runs in the folder that holds the file: it puts candidates where it runs.
func (o *Options) argv() []string {
	// It waits for the bridge, which waits for the predicate no longer than is declared.
	wait := time.Duration(o.Repetitions)*o.Timeout + 30*time.Second
	return []string{
		o.Interpreter, "-I", "-c", launcher, outFile(workDir),
		"--backup", outFile("original"), "--timeout", strconv.FormatFloat(wait.Seconds(), 'f', -1, 64), "--memory-limit", strconv.FormatInt(int64(o.Memory), 10),
		"--seed", "0", "--volume", "normal", "--in-place", "--input-type", "arg", "--parallelism", "1", "--ui", "basic", "--formatter", "none",
		"--trivial-is-not-error", "--history", "--also-interesting", strconv.Itoa(unresolvedExit),
		"--no-python-reducer", "--no-restart", "--no-llm", "../" + bridgeName + " " + BridgeCommand, targetName,
	}
}

// Profile is the name of the arguments above.
const offlineV1 = "flameox.shrinkray.offline-v1"

// release is the version of ShrinkRay that the profile is of.
const release = "26.7.8.0"

// launcher starts ShrinkRay in a folder, and no other version of it.
const launcher = `import importlib.metadata as m, os, sys
try:
    has = m.version("shrinkray")
except m.PackageNotFoundError:
    sys.exit("this interpreter has no shrinkray: install shrinkray==` + release + `")
if has != "` + release + `":
    sys.exit("this interpreter has shrinkray " + has + ": install shrinkray==` + release + `")
os.chdir(sys.argv.pop(1))
from shrinkray.__main__ import main
main(prog_name="shrinkray")`

// What lies in the out folder of an attempt.
const (
	workDir    = "work"           // ShrinkRay's, with the file
	targetName = "candidate.case" // in it; the name says nothing of what it holds
	historyDir = "history"
	configName = "predicate.json"
	bridgeName = "flameox" // a link to this program, not in the folder where it would be taken for an input
)

// outFile is a path in the out folder as it stands in a command.
func outFile(name string) string { return token.Make(program.OutToken[0].Name) + "/" + name }

// Actions is one action: the artifact of the one run.
func (s *stage) Actions(ctx context.Context, in *graph.Results) ([]*graph.Action, error) {
	run, out, err := s.find(in)
	if err != nil {
		return nil, err
	}
	shrinkray, err := s.program.Prepare(ctx, in, nil)
	if err != nil {
		return nil, err
	}
	predicate, err := s.predicate.Program.Prepare(ctx, in, nil)
	if err != nil {
		return nil, fmt.Errorf("the predicate: %w", err)
	}
	definition := kind.Definition("reduce", version, s.o, s.predicate.Options)
	if s.distinct != "" {
		definition.Add("distinct", s.distinct)
	}
	facets := append(shrinkray.Facets(), definition)
	for i := range facets {
		switch facets[i].Name {
		case facet.Executables:
			if err := s.locked(facets[i]); err != nil {
				return nil, err
			}
		case facet.Inputs:
			facets[i].Add("run", run.Run)
			facets[i].AddNote("artifact", out.Digest.String(), out.Name)
		case facet.Identity:
			for _, f := range predicate.Facets() {
				for _, e := range f.Entries {
					e.Name = "predicate " + string(f.Name) + " " + e.Name
					facets[i].Entries = append(facets[i].Entries, e)
				}
			}
		}
	}
	return []*graph.Action{{
		Manifest: facet.New(facets...),
		Run: func(ctx context.Context, t *graph.Task) (*cache.Record, error) {
			r := &reduction{stage: s, task: t, run: run.Run, original: out, shrinkray: shrinkray, predicate: predicate}
			return r.perform(ctx)
		},
	}}, nil
}

// find is the one run, and what of it is reduced. The error is a *graph.BlockedError where there is no such thing.
func (s *stage) find(in *graph.Results) (*cache.Summary, cache.Output, error) {
	runs := in.Of(s.source)
	n := s.o.Attempt
	switch {
	case n == 0 && len(runs) > 1:
		return nil, cache.Output{}, &graph.BlockedError{Why: fmt.Sprintf("%s has %d runs, and one artifact of one run is reduced", s.source.Address, len(runs)), Do: "name the run in attempt, from 1"}
	case n > len(runs) || len(runs) == 0:
		return nil, cache.Output{}, &graph.BlockedError{Why: fmt.Sprintf("%s has %d runs, and attempt is %d", s.source.Address, len(runs), n), Do: "name one that there is"}
	}
	run := runs[max(n, 1)-1]
	var names []string
	for _, o := range run.Outputs {
		switch {
		case o.Tree || strings.HasPrefix(o.Role, program.RoleTable):
		case o.Name == s.o.Artifact:
			return run, o, nil
		default:
			names = append(names, o.Name)
		}
	}
	return nil, cache.Output{}, &graph.BlockedError{Why: fmt.Sprintf("run %s has no artifact %q that could be reduced", run.Run, s.o.Artifact), Do: fmt.Sprintf("name one of those that it has: %q", names)}
}

// locked makes sure that an environment which flameox builds will have ShrinkRay. What another interpreter has it is asked when it is started.
func (s *stage) locked(executables facet.Facet) error {
	if s.program.Host.Runtime == nil {
		return nil
	}
	i := slices.IndexFunc(executables.Entries, func(e facet.Entry) bool {
		name, _, _ := strings.Cut(strings.TrimPrefix(e.Name, python.PackageFact), " ")
		return strings.HasPrefix(e.Name, python.PackageFact) && name == "shrinkray"
	})
	switch {
	case i < 0:
		return &graph.BlockedError{Why: "the lock of its environment has no shrinkray", Do: "add shrinkray==" + release + " to what the lock is made from, and run `flameox lock`"}
	case executables.Entries[i].Value != release:
		return &graph.BlockedError{Why: "the lock of its environment has shrinkray " + executables.Entries[i].Value, Do: "lock shrinkray==" + release}
	}
	return nil
}
