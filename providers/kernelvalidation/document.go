package kernelvalidation

import "slices"

// The schemas that are read. Version 1 had bare numbers for values and no profile of psnr; it is read as version 2 would have said it.
const (
	SchemaV2 = "flameox.kernel-validation.v2"
	SchemaV1 = "flameox.kernel-validation.v1"
)

// Status is what is known of the correctness of a metric, an output, a case or a document.
type Status string

// The statuses.
const (
	Pass         Status = "pass"
	Fail         Status = "fail"
	Inconclusive Status = "inconclusive" // it was tried, and does not say
	Unsupported  Status = "unsupported"  // it cannot be said there
)

var statuses = []Status{Pass, Fail, Inconclusive, Unsupported}

// evaluated says whether a status follows from a value.
func (s Status) evaluated() bool { return s == Pass || s == Fail }

// aggregate is the status of what consists of parts; Inconclusive where there are none.
func aggregate(parts []Status) Status {
	all := func(s Status) bool {
		return len(parts) > 0 && !slices.ContainsFunc(parts, func(p Status) bool { return p != s })
	}
	switch {
	case slices.Contains(parts, Fail):
		return Fail
	case all(Pass):
		return Pass
	case all(Unsupported):
		return Unsupported
	}
	return Inconclusive
}

// document is a whole one. Optional texts and numbers are nil where the document has null or nothing.
type document struct {
	version         string // the schema that it was written in
	producer        string
	producerVersion *string
	reference       reference
	status          Status
	complete        bool // every case that was meant to be checked is in it
	cases           []testCase
	limitations     []string
}

type reference struct {
	name     string
	version  *string
	identity string
}

type testCase struct {
	id          string
	dimensions  []dimension // sorted by name
	inputs      []tensor
	seed        *int64
	device      string
	status      Status
	outputs     []output
	limitations []string
}

// dimension is a scalar: its text, and as canonical JSON, in which 1 and "1" differ.
type dimension struct{ name, text, json string }

type tensor struct {
	dtype string
	shape []int64
	role  *string
}

type output struct {
	name        string
	dtype       string
	shape       []int64
	status      Status
	metrics     []metric
	failures    []string // witnesses, as canonical JSON
	limitations []string
}

// metric is one figure. value is nil where it is infinite or was not evaluated.
type metric struct {
	name       string
	status     Status
	value      *float64
	infinite   bool
	comparator *string
	threshold  *float64
	unit       string
	profile    *string // canonical JSON
	limitation *string
}

// exactReason is why the value of a metric may be positive infinity.
const exactReason = "zero_mse_exact_agreement"

// law is how the values of a metric are judged.
type law struct {
	comparator string
	min, max   float64 // of value and threshold
}

var laws = map[string]law{
	"max_abs_error": lower, "max_rel_error": lower, "mse": lower, "rmse": lower,
	"psnr":              {">=", -most, most},
	"cosine_similarity": {">=", -1, 1},
}

// most is beyond every number that a document can hold.
const most = 1.7976931348623157e308

var lower = law{"<=", 0, most}

const psnr = "psnr"

// holds says whether the value stands up to the threshold.
func (m *metric) holds() bool {
	switch {
	case m.infinite:
		return true
	case *m.comparator == "<=":
		return *m.value <= *m.threshold
	}
	return *m.value >= *m.threshold
}
