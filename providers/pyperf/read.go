package pyperf

import (
	"errors"
	"math"
	"slices"
	"strconv"

	"github.com/flameox/flameox/formats/jsonscan"
	"github.com/flameox/flameox/internal/pattern"
	"github.com/flameox/flameox/providers"
)

// suite is a whole document, its metadata handed down.
type suite struct {
	benchmarks []benchmark
	producers  []string // versions of pyperf, in the order they are met
	values     int64
	warmups    int64
}

type benchmark struct {
	name string
	unit string
	runs []run
}

// run is what one process measured.
type run struct {
	metadata
	values  []float64
	warmups []warmup
}

type warmup struct {
	loops int64
	value float64
}

// calibration says whether the process only found out how to measure.
func (r *run) calibration() bool { return len(r.values) == 0 }

// endless says whether a number of seconds is none of nanoseconds: no clock counts three hundred digits of them.
func (r *run) endless() bool {
	long := func(v float64) bool { return math.IsInf(v*1e9, 0) }
	return slices.ContainsFunc(r.values, long) || slices.ContainsFunc(r.warmups, func(w warmup) bool { return long(w.value) })
}

// metadata is what is used of pyperf's; nil is not there.
type metadata struct {
	name, unit, producer *string
	loops, inner         *int64
}

// over is m where it says something, and what lies below elsewhere.
func (m metadata) over(below metadata) metadata {
	pick := func(mine **string, other *string) {
		if *mine == nil {
			*mine = other
		}
	}
	pick(&m.name, below.name)
	pick(&m.unit, below.unit)
	pick(&m.producer, below.producer)
	if m.loops == nil {
		m.loops = below.loops
	}
	if m.inner == nil {
		m.inner = below.inner
	}
	return m
}

// raw is a part of the document whose metadata is not known yet: names stand in the order of the alphabet, so values come before what they are.
type raw struct {
	text   []byte
	offset int64
}

// parse reads a document. An error is a *providers.Refusal.
func parse(data []byte) (*suite, error) {
	s, err := parseSuite(data)
	var bad *jsonscan.Error
	if errors.As(err, &bad) {
		code, hint := NotJSON, "the payload is no JSON, or not in the form of pyperf's results"
		if bad.Cut {
			code, hint = Truncated, "the payload breaks off: the process ended while it was being written, or the file was cut"
		}
		return nil, providers.Refuse(code, "%s (%v)", hint, bad)
	}
	return s, err
}

func parseSuite(data []byte) (*suite, error) {
	var list []raw
	var meta metadata
	var version string
	var hasVersion, hasBenchmarks, byName bool
	r := jsonscan.New(data)
	if r.Kind() != '{' {
		r.Skip()
		r.Stop(providers.Refuse(NotPyperf, "the payload is JSON but no object, and so not pyperf's"))
	}
	r.Object(func(name []byte) {
		switch string(name) {
		case "version":
			hasVersion = true
			text, _ := r.Raw()
			version = string(text)
		case "metadata":
			meta = readMetadata(r)
		case "benchmarks":
			hasBenchmarks = true
			if byName = r.Kind() == '{'; byName { // as before 1.0: the version says what it is, wherever it stands
				r.Skip()
				return
			}
			r.Array(func() {
				text, offset := r.Raw()
				list = append(list, raw{text, offset})
			})
		default:
			r.Skip()
		}
	})
	r.End()
	switch {
	case r.Err() != nil:
		return nil, r.Err()
	case !hasVersion || !hasBenchmarks:
		return nil, providers.Refuse(NotPyperf, "the payload is JSON without version and benchmarks, which pyperf always writes: it is none of its results")
	case version != `"1.0"`:
		return nil, providers.Refuse(FormatVersion, "the results are of version %.20s of pyperf's format, and only \"1.0\" is read, which pyperf writes since its own version 1.0; convert them with `python -m pyperf convert` of a pyperf that reads both", version)
	case byName:
		return nil, providers.Refuse(FormatVersion, "the results say that they are of version 1.0 of pyperf's format and have their benchmarks by name, as those before it: convert them with `python -m pyperf convert` of a pyperf that reads both")
	case len(list) == 0:
		return nil, providers.Refuse(Contradiction, "the suite has no benchmark; pyperf itself refuses it")
	}
	s := &suite{}
	names := map[string]bool{}
	for _, part := range list {
		b, err := s.benchmark(part, meta)
		if err != nil {
			return nil, err
		}
		if names[b.name] {
			return nil, providers.Refuse(Contradiction, "the suite has two benchmarks that are called %q; pyperf itself refuses it", b.name)
		}
		names[b.name] = true
		s.benchmarks = append(s.benchmarks, *b)
	}
	return s, nil
}

func (s *suite) benchmark(part raw, above metadata) (*benchmark, error) {
	b := &benchmark{}
	var runs []raw
	var meta metadata
	r := jsonscan.Part(part.text, part.offset)
	r.Object(func(name []byte) {
		switch string(name) {
		case "metadata":
			meta = readMetadata(r)
		case "runs":
			r.Array(func() {
				text, offset := r.Raw()
				runs = append(runs, raw{text, offset})
			})
		default:
			r.Skip()
		}
	})
	if r.Err() != nil {
		return nil, r.Err()
	}
	meta = meta.over(above)
	for i, part := range runs {
		run, err := readRun(part, meta)
		if err != nil {
			return nil, err
		}
		unit := "second" // pyperf's manual: the unit where there is none
		if run.unit != nil {
			unit = *run.unit
		}
		switch {
		case run.name == nil:
			return nil, providers.Refuse(Contradiction, "a benchmark has no name in its metadata; pyperf itself refuses it")
		case i == 0:
			b.name, b.unit = *run.name, unit
		case *run.name != b.name || unit != b.unit:
			return nil, providers.Refuse(Contradiction, "the runs of benchmark %q differ in name or unit (%q in %q); pyperf itself refuses it", b.name, *run.name, unit)
		}
		if err := s.producer(run.producer); err != nil {
			return nil, err
		}
		if unit == "second" && run.endless() {
			return nil, providers.Refuse(Contradiction, "benchmark %q has a value of more seconds than can be counted in nanoseconds", b.name)
		}
		s.values += int64(len(run.values))
		s.warmups += int64(len(run.warmups))
		b.runs = append(b.runs, *run)
	}
	if len(b.runs) == 0 {
		return nil, providers.Refuse(Contradiction, "a benchmark has no run; pyperf itself refuses it")
	}
	return b, nil
}

func readRun(part raw, above metadata) (*run, error) {
	out := &run{}
	r := jsonscan.Part(part.text, part.offset)
	r.Object(func(name []byte) {
		switch string(name) {
		case "metadata":
			out.metadata = readMetadata(r)
		case "values":
			if r.Null() {
				return
			}
			r.Array(func() {
				v := r.Float()
				if r.Err() == nil && v <= 0 {
					r.Stop(providers.Refuse(Contradiction, "a value is %v; values are above 0, and pyperf itself refuses this one", v))
				}
				out.values = append(out.values, v)
			})
		case "warmups":
			if r.Null() {
				return
			}
			r.Array(func() { out.warmups = append(out.warmups, readWarmup(r)) })
		default:
			r.Skip()
		}
	})
	if r.Err() != nil {
		return nil, r.Err()
	}
	if len(out.values) == 0 && len(out.warmups) == 0 {
		return nil, providers.Refuse(Contradiction, "a run has neither values nor warm-ups; pyperf itself refuses it")
	}
	out.metadata = out.metadata.over(above)
	return out, nil
}

func readWarmup(r *jsonscan.Reader) (w warmup) {
	n := 0
	r.Array(func() {
		switch n++; n {
		case 1:
			w.loops = r.Int()
		case 2:
			w.value = r.Float()
		default:
			r.Skip()
		}
	})
	if r.Err() == nil && (n != 2 || w.loops < 1 || w.value < 0) {
		r.Stop(providers.Refuse(Contradiction, "a warm-up is not a pair of loops from 1 and a value from 0; pyperf itself refuses it"))
	}
	return w
}

func readMetadata(r *jsonscan.Reader) (m metadata) {
	if r.Null() {
		return m
	}
	text := func() *string {
		s := r.Text()
		return &s
	}
	count := func() *int64 {
		n := r.Int()
		if r.Err() == nil && n < 1 {
			r.Stop(providers.Refuse(Contradiction, "the metadata has %d loops, and there is at least one; pyperf itself refuses it", n))
		}
		return &n
	}
	r.Object(func(name []byte) {
		switch string(name) {
		case "name":
			m.name = text()
		case "unit":
			m.unit = text()
		case "perf_version":
			m.producer = text()
		case "loops":
			m.loops = count()
		case "inner_loops":
			m.inner = count()
		default:
			r.Skip()
		}
	})
	return m
}

// readerMajor is the newest major version of pyperf whose results are known.
const readerMajor = 2

var release = pattern.Lazy{Expr: `^([0-9]+)(\.[0-9]+)*([a-z.+-][0-9a-z.+-]*)?$`}

// checkVersion refuses versions of pyperf that are newer than what is known, and text that is no version.
func checkVersion(v string) error {
	m := release.FindStringSubmatch(v)
	if m == nil {
		return providers.Refuse(ProducerVersion, "the results say they are of pyperf %.40q, which is no version, so it cannot be said how to read them", v)
	}
	if major, err := strconv.Atoi(m[1]); err != nil || major > readerMajor {
		return providers.Refuse(ProducerVersion, "the results are of pyperf %.40s, and versions up to %d are known; use a flameox that knows it, or an older pyperf", v, readerMajor)
	}
	return nil
}

func (s *suite) producer(version *string) error {
	if version == nil {
		return nil
	}
	for _, known := range s.producers {
		if known == *version {
			return nil
		}
	}
	s.producers = append(s.producers, *version)
	return checkVersion(*version)
}
