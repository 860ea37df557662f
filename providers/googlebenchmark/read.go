package googlebenchmark

import (
	"errors"
	"math"
	"strings"

	"github.com/flameox/flameox/formats/jsonscan"
	"github.com/flameox/flameox/providers"
)

// document is what a program wrote.
type document struct {
	version   string // of the library; "" where it does not say
	build     string // release or debug
	scaling   bool   // the frequency of the CPUs changes
	runs      []run
	samples   int // repetitions that measured something
	nonFinite int // numbers that are none
	odd       int // members that are neither known nor numbers
}

// run is one entry of benchmarks.
type run struct {
	name, runName, runType     string
	family, repetition         *int64
	threads                    int64
	iterations                 *int64
	real, cpu                  *float64
	timeUnit                   string
	label                      string
	aggregate, aggregateUnit   string
	bigO                       string
	realCoefficient, cpuFactor *float64
	rms                        *float64
	failed                     bool
	why                        string
	counters                   []counter
}

type counter struct {
	name  string
	value float64
}

// benchmark is what the run is of.
func (r *run) benchmark() string {
	if r.runName != "" {
		return r.runName
	}
	return r.name
}

// parse reads a document. An error is a *providers.Refusal.
func parse(data []byte) (*document, error) {
	d := &document{}
	r := jsonscan.New(data)
	if r.Kind() != '{' {
		if text := strings.TrimSpace(string(data[:min(len(data), 200)])); text != "" && text[0] != '[' {
			return nil, providers.Refuse(NotJSON, "the payload begins with %.40q and not with a document: what a program prints stands in front of it, or it is another format; write it with --benchmark_out", text)
		}
		return nil, providers.Refuse(NotBenchmark, "the payload is no JSON object, and so not Google Benchmark's")
	}
	context, benchmarks := false, false
	r.Object(func(name []byte) {
		switch string(name) {
		case "context":
			context = true
			d.context(r)
		case "benchmarks":
			benchmarks = true
			r.Array(func() { d.run(r) })
		default:
			r.Skip()
		}
	})
	r.End()
	var bad *jsonscan.Error
	switch err := r.Err(); {
	case errors.As(err, &bad) && bad.Cut:
		return nil, providers.Refuse(Truncated, "the payload breaks off: the program ended while it measured, or the file was cut (%v)", bad)
	case errors.As(err, &bad):
		return nil, providers.Refuse(NotJSON, "the payload is no JSON, or not in the form of Google Benchmark's results (%v)", bad)
	case err != nil:
		return nil, err
	case !context || !benchmarks:
		return nil, providers.Refuse(NotBenchmark, "the payload is JSON without context and benchmarks, which Google Benchmark always writes: it is none of its results")
	}
	return d, nil
}

// schema is the newest version of the library's JSON that is known.
const schema = 1

func (d *document) context(r *jsonscan.Reader) {
	r.Object(func(name []byte) {
		switch string(name) {
		case "library_version":
			d.version = strings.TrimPrefix(r.Text(), "v")
		case "library_build_type":
			d.build = r.Text()
		case "json_schema_version":
			if v := r.Int(); r.Err() == nil && v > schema {
				r.Stop(providers.Refuse(FormatVersion, "the results are of version %d of Google Benchmark's JSON, and %d is the newest that is known; use a flameox that knows it", v, schema))
			}
		case "cpu_scaling_enabled":
			word, _ := r.Raw()
			d.scaling = string(word) == "true"
		default:
			r.Skip()
		}
	})
}

// number reads one, or says that it is none.
func (d *document) number(r *jsonscan.Reader) *float64 {
	if _, none := r.NonFinite(); none {
		d.nonFinite++
		return nil
	}
	f := r.Float()
	return &f
}

func (d *document) run(r *jsonscan.Reader) {
	var b run
	whole := func() *int64 {
		n := r.Int()
		return &n
	}
	word := func() bool {
		text, _ := r.Raw()
		if s := string(text); r.Err() == nil && s != "true" && s != "false" {
			r.Stop(providers.Refuse(Contradiction, "benchmark %q has %.20q where true or false belongs", b.name, s))
		}
		return string(text) == "true"
	}
	r.Object(func(name []byte) {
		switch string(name) {
		case "name":
			b.name = r.Text()
		case "run_name":
			b.runName = r.Text()
		case "run_type":
			b.runType = r.Text()
		case "family_index":
			b.family = whole()
		case "repetition_index":
			b.repetition = whole()
		case "per_family_instance_index", "repetitions":
			r.Skip()
		case "threads":
			b.threads = r.Int()
		case "iterations":
			b.iterations = whole()
		case "real_time":
			b.real = d.number(r)
		case "cpu_time":
			b.cpu = d.number(r)
		case "time_unit":
			b.timeUnit = r.Text()
		case "label":
			b.label = r.Text()
		case "aggregate_name":
			b.aggregate = r.Text()
		case "aggregate_unit":
			b.aggregateUnit = r.Text()
		case "big_o":
			b.bigO = r.Text()
		case "real_coefficient":
			b.realCoefficient = d.number(r)
		case "cpu_coefficient":
			b.cpuFactor = d.number(r)
		case "rms":
			b.rms = d.number(r)
		case "error_occurred", "skipped":
			b.failed = word() || b.failed
		case "error_message", "skip_message":
			b.why = r.Text()
		default:
			d.counter(r, &b, string(name))
		}
	})
	if r.Err() != nil {
		return
	}
	d.check(r, &b)
	d.runs = append(d.runs, b)
}

// counter reads a member that the library does not write itself.
func (d *document) counter(r *jsonscan.Reader, b *run, name string) {
	if r.Kind() != 0 {
		d.odd++
		r.Skip()
		return
	}
	if v := d.number(r); v != nil {
		b.counters = append(b.counters, counter{name, *v})
	}
}

// factors are nanoseconds of a unit of time.
var factors = map[string]float64{"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}

// check refuses a run that the library cannot have written.
func (d *document) check(r *jsonscan.Reader, b *run) {
	timed := b.real != nil || b.cpu != nil || b.realCoefficient != nil || b.cpuFactor != nil
	switch {
	case b.benchmark() == "":
		r.Stop(providers.Refuse(NotBenchmark, "an entry of benchmarks has no name: the payload is none of Google Benchmark's results"))
	case b.runType != "" && b.runType != "iteration" && b.runType != "aggregate":
		r.Stop(providers.Refuse(FormatVersion, "benchmark %q is of run_type %q, which is not known", b.name, b.runType))
	case b.runType == "aggregate" && b.aggregate == "":
		r.Stop(providers.Refuse(Contradiction, "benchmark %q is an aggregate and does not say which", b.name))
	case b.aggregateUnit != "" && b.aggregateUnit != "time" && b.aggregateUnit != "percentage":
		r.Stop(providers.Refuse(FormatVersion, "benchmark %q has an aggregate in %q, which is not known", b.name, b.aggregateUnit))
	case timed && b.timeUnit == "" && b.aggregateUnit != "percentage":
		r.Stop(providers.Refuse(Contradiction, "benchmark %q has times without a unit", b.name))
	case b.timeUnit != "" && factors[b.timeUnit] == 0:
		r.Stop(providers.Refuse(Contradiction, "benchmark %q has times in %q, and ns, us, ms and s are known", b.name, b.timeUnit))
	case b.iterations != nil && *b.iterations < 0 || b.threads < 0:
		r.Stop(providers.Refuse(Contradiction, "benchmark %q has a negative count", b.name))
	case b.endless():
		r.Stop(providers.Refuse(Contradiction, "benchmark %q has a time that cannot be counted in nanoseconds", b.name))
	}
	if !b.failed && b.runType != "aggregate" && b.real != nil {
		d.samples++
	}
}

func (b *run) endless() bool {
	for _, t := range []*float64{b.real, b.cpu, b.realCoefficient, b.cpuFactor} {
		if t != nil && math.IsInf(*t*factors[b.timeUnit], 0) {
			return true
		}
	}
	return false
}
