package harness

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Harness drives one kind of benchmark and reads what it leaves.
type Harness interface {
	About() About
	// Prepare finds the suite and asks what must be there to run it. It measures nothing. The error is a *Refusal where the order cannot be run.
	Prepare(ctx context.Context, at Place) (Runnable, error)
	// Cases are those that the filter selects, in the order in which they will run; "" selects the harness's default. The error is a *Refusal.
	Cases(ctx context.Context, at Place, r Runnable, filter string) (Listed, error)
	// Command measures one case and leaves its native output in paths.
	Command(r Runnable, c Case, p Precision, paths Paths) ([]string, error)
	// Translate reads what a case left. It is pure.
	Translate(raw Raw) Translation
}

// About is what a harness is, without running anything.
type About struct {
	Name       string // in orders: google-benchmark
	Producer   string // in results: benchx/gbench-adapter
	Mapping    string // moves whenever the same native output would be translated otherwise
	TargetKind string // build or working_tree
	Quantities []Quantity
	Units      []string // of levels of repetition, outermost first
	Defaults   Precision
	// Calibrations and Warmups are the modes that the harness has an option for.
	Calibrations, Warmups []string
	Parameters            bool     // benchmarks may have parameters, which are part of a case
	SuiteIsFile           bool     // the suite is a source file, which may lie outside the measured checkout
	Variables             []string // of the environment that are recorded beside the common ones
	// Protocol are settings that always apply.
	Protocol map[string]any
}

// Quantity is what is measured.
type Quantity struct {
	Name, Unit, Direction string
}

// Quantity is the one of a name.
func (a About) Quantity(name string) (Quantity, bool) {
	for _, q := range a.Quantities {
		if q.Name == name {
			return q, true
		}
	}
	return Quantity{}, false
}

// Place is where a harness works.
type Place struct {
	Path    string   // of the target, absolute
	Suite   string   // as the order names it
	Env     []string // of every process
	Scratch string   // a folder for files of the preparation, removed afterwards
	Start   Start
	Limit   time.Duration // of a step
	// Precision is what will be asked for, where what is there decides whether it can be.
	Precision Precision
}

// Ask runs a command in dir that measures nothing, and returns what it said. The error is a *Refusal where it could not start or did not end in time.
func (at Place) Ask(ctx context.Context, dir string, argv ...string) (exit Exit, stdout, stderr []byte, err error) {
	out, errors := filepath.Join(at.Scratch, "ask.stdout"), filepath.Join(at.Scratch, "ask.stderr")
	exit, err = at.Start(ctx, Command{Argv: argv, Dir: dir, Stdout: out, Stderr: errors, Timeout: at.Limit})
	if err != nil {
		return exit, nil, nil, err
	}
	if exit.TimedOut {
		return exit, nil, nil, Refuse("timeouts.order_s", "%s did not answer within %v; everything it started was ended", filepath.Base(argv[0]), at.Limit)
	}
	if stdout, err = os.ReadFile(out); err == nil {
		stderr, err = os.ReadFile(errors)
	}
	return exit, stdout, stderr, err
}

// Start runs a command to its end.
type Start func(ctx context.Context, c Command) (Exit, error)

// Command is a process to start. Its streams go to the files.
type Command struct {
	Argv           []string
	Dir            string
	Stdout, Stderr string
	Timeout        time.Duration
}

// Exit is how a process ended.
type Exit struct {
	Status         int    // -1 where Signal is set
	Signal         string // SIGKILL
	TimedOut       bool
	Started, Ended time.Time
}

// Runnable is a suite that was found.
type Runnable struct {
	Dir     string // where its processes run, absolute
	Program string // what is executed or imported, absolute
	Python  string // interpreter, where there is one
	// System and Info are facts that are known before a case has run.
	System, Info map[string]any
}

// Listed are the cases of a suite.
type Listed struct {
	Cases []Case
	Said  string   // what the harness had to say, for the refusal of an empty plan
	All   []string // what could have been selected, where the harness knows
}

// Case is one workload of a suite.
type Case struct {
	Name       string
	Parameters []Parameter // in the order of their declaration
	Index      int         // of the combination of parameters
	Version    string      // of the benchmark's code, where the harness has one
	Quantity   string      // what it measures, where the harness's cases differ in that; "" for whatever is asked
	Cached     bool        // it works on what a step before it prepared
}

// Parameter is one of a case, with its value as the harness spells it.
type Parameter struct{ Name, Value string }

// Text is the case as it is selected by: name, or name(p0, p1).
func (c Case) Text() string {
	if len(c.Parameters) == 0 {
		return c.Name
	}
	values := make([]string, len(c.Parameters))
	for i, p := range c.Parameters {
		values[i] = p.Value
	}
	return c.Name + "(" + strings.Join(values, ", ") + ")"
}

// Paths are the files of a case.
type Paths struct {
	Native  string // the harness's own output
	Driver  string // where the harness is driven by a program that is made for it
	Workers string // how the names of files begin in which the processes that measured say what they had
	// Variables are the names of the environment that may be written there.
	Variables []string
}

// Files beside the native output, by the ends of their names.
const (
	WorkerEnv  = "worker-env.json"
	ManagerEnv = "manager-env.json"
)

// Raw is everything that a translation reads.
type Raw struct {
	Case       Case
	Quantities []string
	Precision  Precision
	Exit       Exit
	Native     []byte            // nil where there is none
	Files      map[string][]byte // that the processes wrote beside it, by the ends of their names; one that is missing is not in it
	Stdout     []byte
	Stderr     []byte
	Variables  map[string]string // that the order set
	Recorded   []string          // names of the environment that may be recorded
}

// Translation is what was measured.
type Translation struct {
	Measured       map[string]Measured // by quantity
	Procedure      map[string]any
	HarnessName    string // in the result; the harness's own name where empty
	HarnessVersion string
	System         map[string]any // of coordinates.environment.system
	Info           map[string]any // of provenance.info
	Warnings       []string
	// Environment is process.environment: nil where it is left out, Unknown where it could not be captured.
	Environment map[string]any
	Unknown     bool
}

// Measured is one quantity of a case.
type Measured struct {
	Status, Reason string // Reason is empty for success
	Message        string // of the harness
	Observations   []any  // numbers, or structured, in the quantity's unit
	Summaries      []any
	OriginalUnit   string
}

// Statuses of a measurement.
const (
	Success = "success"
	Partial = "partial"
	Failed  = "error"
	Skipped = "skipped"
)

// Reasons for which a measurement has another status.
const (
	ReasonPartial       = "harness.partial"
	ReasonError         = "harness.error"
	ReasonNoOutput      = "harness.no-output"
	ReasonSkipped       = "harness.skipped"
	ReasonNotApplicable = "harness.not-applicable"
	ReasonTimeout       = "timeout"
	ReasonMapping       = "adapter.mapping-failed"
)

// All gives every quantity of the raw output the same outcome.
func (r Raw) All(m Measured) map[string]Measured {
	out := map[string]Measured{}
	for _, q := range r.Quantities {
		out[q] = m
	}
	return out
}

// Failed is a quantity that the process's end explains where there is nothing to translate. message is what the harness said of it; how the process ended stands for none.
func (r Raw) Failed(message string) Measured {
	if message == "" {
		message = r.Exit.How()
	}
	switch {
	case r.Exit.TimedOut:
		return Measured{Status: Failed, Reason: ReasonTimeout, Message: r.Exit.How()}
	case r.Exit.Status != 0 || r.Exit.Signal != "":
		return Measured{Status: Failed, Reason: ReasonError, Message: message}
	}
	return Measured{Status: Failed, Reason: ReasonNoOutput, Message: message}
}

// How says how the process ended, where that was not by itself and well.
func (e Exit) How() string {
	switch {
	case e.TimedOut:
		return "it was stopped when its time was up"
	case e.Signal != "":
		return "it was ended by " + e.Signal
	case e.Status != 0:
		return fmt.Sprintf("it exited with %d", e.Status)
	}
	return ""
}

// Refusal is an order that cannot be applied exactly. Nothing was measured, and nothing was left.
type Refusal struct {
	Field string // of the order: suites/0/filter; "" where none is to blame
	Text  string
}

// Error names the field first.
func (r *Refusal) Error() string {
	if r.Field == "" {
		return r.Text
	}
	return r.Field + ": " + r.Text
}

// Refuse makes a *Refusal.
func Refuse(field, format string, args ...any) *Refusal {
	return &Refusal{Field: field, Text: fmt.Sprintf(format, args...)}
}
