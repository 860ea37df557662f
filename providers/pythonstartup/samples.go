package pythonstartup

import (
	"errors"
	"math"
	"strconv"

	"github.com/flameox/flameox/formats/jsonscan"
	"github.com/flameox/flameox/internal/pattern"
	"github.com/flameox/flameox/providers"
)

// The closed profile.
const (
	profile   = "pyperf-command-p5-n1-l1-w0"
	benchmark = "python_startup"
	processes = 5
)

// samples are what pyperf's JSON holds of the profile.
type samples struct {
	version string // of pyperf; "" where it does not say
	runs    [processes]sample
}

type sample struct {
	ns  int64
	rss *int64 // bytes
}

// metadata is what is used of pyperf's; nil is not there.
type metadata struct {
	name, unit, version *string
	loops, rss          *int64
}

// over is m where it says something, and what lies below elsewhere.
func (m metadata) over(below metadata) metadata {
	for _, f := range []struct{ mine, other **string }{{&m.name, &below.name}, {&m.unit, &below.unit}, {&m.version, &below.version}} {
		if *f.mine == nil {
			*f.mine = *f.other
		}
	}
	for _, f := range []struct{ mine, other **int64 }{{&m.loops, &below.loops}, {&m.rss, &below.rss}} {
		if *f.mine == nil {
			*f.mine = *f.other
		}
	}
	return m
}

// run is one run of the document, before what lies above it is known.
type run struct {
	metadata
	values  []float64
	warmups int
}

// parseSamples reads pyperf's JSON and holds it to the profile. An error is a *providers.Refusal.
func parseSamples(data []byte) (*samples, error) {
	s, err := readSamples(data)
	var bad *jsonscan.Error
	if errors.As(err, &bad) {
		code, hint := NotJSON, "the samples are no JSON, or not in the form of pyperf's results"
		if bad.Cut {
			code, hint = Truncated, "the samples break off: pyperf was ended while it wrote them, or the file was cut"
		}
		return nil, providers.Refuse(code, "%s (%v)", hint, bad)
	}
	return s, err
}

func readSamples(data []byte) (*samples, error) {
	var suite, bench metadata
	var runs []run
	version, benchmarks := "", 0
	r := jsonscan.New(data)
	r.Object(func(name []byte) {
		switch string(name) {
		case "version":
			text, _ := r.Raw()
			version = string(text)
		case "metadata":
			suite = readMetadata(r)
		case "benchmarks":
			r.Array(func() {
				benchmarks++
				bench, runs = readBenchmark(r)
			})
		default:
			r.Skip()
		}
	})
	r.End()
	switch {
	case r.Err() != nil:
		return nil, r.Err()
	case version != `"1.0"`:
		return nil, providers.Refuse(NotSamples, "the samples are no results of pyperf of version \"1.0\" of its format, which pyperf writes since its own version 1.0")
	case benchmarks != 1:
		return nil, providers.Refuse(NotProfile, "the samples are of %d benchmarks, and the profile is one, %s", benchmarks, benchmark)
	case len(runs) != processes:
		return nil, providers.Refuse(NotProfile, "the samples are of %d processes, and the profile is %d", len(runs), processes)
	}
	s := &samples{}
	for i := range runs {
		m := runs[i].metadata.over(bench).over(suite)
		v := runs[i].values
		switch {
		case m.name == nil || *m.name != benchmark:
			return nil, providers.Refuse(NotProfile, "process %d is of another benchmark than %s", i, benchmark)
		case m.unit != nil && *m.unit != "second":
			return nil, providers.Refuse(NotProfile, "process %d has values in %q, and not in seconds", i, *m.unit)
		case m.loops == nil || *m.loops != 1:
			return nil, providers.Refuse(NotProfile, "process %d does not say that its value is of one loop", i)
		case len(v) != 1 || runs[i].warmups > 0:
			return nil, providers.Refuse(NotProfile, "process %d has %d values and %d warm-ups, and the profile is one value", i, len(v), runs[i].warmups)
		case v[0] < 0 || v[0] > 9e9:
			return nil, providers.Refuse(NotProfile, "process %d took %v s, which no start does", i, v[0])
		}
		if m.version != nil {
			if err := checkVersion(*m.version); err != nil {
				return nil, err
			}
			s.version = *m.version
		}
		s.runs[i] = sample{ns: int64(math.Round(v[0] * 1e9))}
		if m.rss != nil && *m.rss >= 0 {
			s.runs[i].rss = m.rss
		}
	}
	return s, nil
}

func readBenchmark(r *jsonscan.Reader) (m metadata, runs []run) {
	r.Object(func(name []byte) {
		switch string(name) {
		case "metadata":
			m = readMetadata(r)
		case "runs":
			r.Array(func() {
				if len(runs) <= processes { // one more shows that there are too many
					runs = append(runs, readRun(r))
				} else {
					r.Skip()
				}
			})
		default:
			r.Skip()
		}
	})
	return m, runs
}

func readRun(r *jsonscan.Reader) (out run) {
	r.Object(func(name []byte) {
		switch string(name) {
		case "metadata":
			out.metadata = readMetadata(r)
		case "values":
			if !r.Null() {
				r.Array(func() { out.values = append(out.values, r.Float()) })
			}
		case "warmups":
			if !r.Null() {
				r.Array(func() { out.warmups++; r.Skip() })
			}
		default:
			r.Skip()
		}
	})
	return out
}

func readMetadata(r *jsonscan.Reader) (m metadata) {
	if r.Null() {
		return m
	}
	text := func() *string {
		s := r.Text()
		return &s
	}
	r.Object(func(name []byte) {
		switch string(name) {
		case "name":
			m.name = text()
		case "unit":
			m.unit = text()
		case "perf_version":
			m.version = text()
		case "loops":
			n := r.Int()
			m.loops = &n
		case "command_max_rss":
			m.rss = readCount(r)
		default:
			r.Skip()
		}
	})
	return m
}

// readCount is a whole number; another value is none.
func readCount(r *jsonscan.Reader) *int64 {
	text, _ := r.Raw()
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		return nil
	}
	return &n
}

// readerMajor is the newest major version of pyperf whose results are known.
const readerMajor = 2

var release = pattern.Lazy{Expr: `^([0-9]+)(\.[0-9]+)*([a-z.+-][0-9a-z.+-]*)?$`}

// checkVersion refuses versions of pyperf that are newer than what is known, and text that is no version.
func checkVersion(v string) error {
	m := release.FindStringSubmatch(v)
	if m == nil {
		return providers.Refuse(ProducerVersion, "the samples say they are of pyperf %.40q, which is no version, so it cannot be said how to read them", v)
	}
	if major, err := strconv.Atoi(m[1]); err != nil || major > readerMajor {
		return providers.Refuse(ProducerVersion, "the samples are of pyperf %.40s, and versions up to %d are known; use a flameox that knows it, or an older pyperf", v, readerMajor)
	}
	return nil
}
