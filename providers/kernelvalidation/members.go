package kernelvalidation

import (
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/flameox/flameox/formats/jsonscan"
	"github.com/flameox/flameox/providers"
)

func (d *decoder) document() *document {
	doc := &document{}
	if d.r.Kind() != '{' {
		d.unexpected("an object")
		return doc
	}
	// What the members mean depends on one that may come last.
	parts := map[string]*jsonscan.Reader{}
	d.r.Object(func(name []byte) {
		raw, at := d.r.Raw()
		parts[string(name)] = jsonscan.Part(raw, at)
	})
	if d.r.Err() != nil {
		return doc
	}
	outer := d.r
	defer func() {
		if err := d.r.Err(); err != nil {
			outer.Stop(err)
		}
		d.r = outer
	}()
	if parts["schema_version"] == nil {
		d.r.Stop(providers.Refuse(UnknownSchema, "the document has no schema_version; a kernel validation has %q there", SchemaV2))
		return doc
	}
	read := func(name string, value func()) {
		if d.r.Err() != nil {
			return
		}
		if p := parts[name]; p != nil {
			d.r = p
			d.within(name, value)
			if d.r.Err() == nil {
				d.r.End()
			}
		}
		delete(parts, name)
	}
	read("schema_version", func() {
		doc.version = d.text(0, maxText)
		if d.r.Err() == nil && doc.version != SchemaV1 && doc.version != SchemaV2 {
			d.r.Stop(providers.Refuse(UnknownSchema, "the document has the schema_version %q; known are %s and, to be read as that, %s", cut(doc.version), SchemaV2, SchemaV1))
		}
		d.version = doc.version
	})
	for _, name := range []string{"producer", "reference", "status", "coverage_complete", "cases"} {
		if parts[name] == nil {
			d.wrong("has no member %q, which it must have", name)
		}
	}
	read("producer", func() {
		doc.producer = d.text(1, maxName)
		if d.r.Err() == nil && !producerName.MatchString(doc.producer) {
			d.wrong("is %q: a producer's name begins with a letter or digit and goes on with those and . _ : / -", cut(doc.producer))
		}
	})
	read("producer_version", func() { doc.producerVersion = optional(d, func() string { return d.text(0, maxName) }) })
	read("reference", func() { doc.reference = d.reference() })
	read("status", func() { doc.status = d.status() })
	read("coverage_complete", func() { doc.complete = d.bool() })
	read("limitations", func() { doc.limitations = d.limitations() })
	read("cases", func() { d.list(1, maxCases, func() { doc.cases = append(doc.cases, d.testCase()) }) })
	for _, name := range sortedKeys(parts) {
		d.wrong("has the member %q, which the schema %s does not have", cut(name), d.version)
	}
	return doc
}

func (d *decoder) reference() (out reference) {
	d.object(map[string]func(){
		"name":     func() { out.name = d.text(1, maxName) },
		"version":  func() { out.version = optional(d, func() string { return d.text(0, maxName) }) },
		"identity": func() { out.identity = d.text(1, maxText) },
	}, "name", "identity")
	return out
}

func (d *decoder) testCase() (c testCase) {
	d.object(map[string]func(){
		"case_id":     func() { c.id = d.text(1, maxName) },
		"dimensions":  func() { c.dimensions = d.dimensions() },
		"inputs":      func() { d.list(0, maxInputs, func() { c.inputs = append(c.inputs, d.tensor()) }) },
		"seed":        func() { c.seed = optional(d, d.integer) },
		"device":      func() { c.device = d.text(1, maxName) },
		"status":      func() { c.status = d.status() },
		"outputs":     func() { d.list(1, maxOutputs, func() { c.outputs = append(c.outputs, d.output()) }) },
		"limitations": func() { c.limitations = d.limitations() },
	}, "case_id", "device", "status", "outputs")
	return c
}

func (d *decoder) dimensions() (out []dimension) {
	if d.r.Kind() != '{' {
		d.unexpected("an object")
		return nil
	}
	d.r.Object(func(name []byte) {
		n := string(name)
		switch {
		case len(out) == maxDimensions:
			d.wrong("has more than %d members", maxDimensions)
			return
		case n == "" || utf8.RuneCountInString(n) > maxName || !utf8.ValidString(n):
			d.wrong("has a member whose name is empty, too long or not UTF-8")
			return
		}
		d.within(n, func() {
			text, canonical := d.scalar()
			out = append(out, dimension{n, text, canonical})
		})
	})
	sort.Slice(out, func(i, j int) bool { return out[i].name < out[j].name })
	return out
}

func (d *decoder) tensor() (t tensor) {
	d.object(map[string]func(){
		"dtype": func() { t.dtype = d.text(1, 100) },
		"shape": func() { t.shape = d.shape() },
		"role":  func() { t.role = optional(d, func() string { return d.text(0, 100) }) },
	}, "dtype", "shape")
	return t
}

func (d *decoder) output() (o output) {
	d.object(map[string]func(){
		"name":                    func() { o.name = d.text(1, maxName) },
		"dtype":                   func() { o.dtype = d.text(1, 100) },
		"shape":                   func() { o.shape = d.shape() },
		"status":                  func() { o.status = d.status() },
		"metrics":                 func() { d.list(0, maxMetrics, func() { o.metrics = append(o.metrics, d.metric()) }) },
		"representative_failures": func() { d.list(0, maxFailures, func() { o.failures = append(o.failures, d.witness()) }) },
		"limitations":             func() { o.limitations = d.limitations() },
	}, "name", "dtype", "shape", "status")
	return o
}

// witness reads one element that is wrong, and returns it as canonical JSON.
func (d *decoder) witness() string {
	members := map[string]string{}
	scalar := func(name string) func() {
		return func() {
			if !d.r.Null() {
				_, members[name] = d.scalar()
			}
		}
	}
	size := func(name string) func() {
		return func() {
			if d.r.Null() {
				return
			}
			f := d.float()
			if f < 0 {
				d.wrong("is %s, and no error is below zero", number(f))
			}
			members[name] = number(f)
		}
	}
	d.object(map[string]func(){
		"coordinates": func() {
			if !d.r.Null() {
				members["coordinates"] = integers(d.shape())
			}
		},
		"expected": scalar("expected"), "actual": scalar("actual"),
		"absolute_error": size("absolute_error"), "relative_error": size("relative_error"),
		"detail": func() {
			if !d.r.Null() {
				members["detail"] = quote(d.text(1, maxText))
			}
		},
	})
	if len(members) == 0 {
		d.wrong("says nothing; give at least one of coordinates, expected, actual, absolute_error, relative_error and detail")
	}
	return object(members)
}

func (d *decoder) metric() (m metric) {
	fields := map[string]func(){
		"name": func() {
			m.name = d.text(1, maxName)
			if _, known := laws[m.name]; d.r.Err() == nil && !known {
				d.wrong("is %q; known are %s", cut(m.name), strings.Join(sortedKeys(laws), ", "))
			}
		},
		"value":      func() { d.value(&m) },
		"comparator": func() { m.comparator = optional(d, func() string { return d.text(1, 2) }) },
		"threshold":  func() { m.threshold = optional(d, d.float) },
		"unit":       func() { m.unit = d.text(1, 100) },
		"status":     func() { m.status = d.status() },
		"profile":    func() { m.profile = optional(d, d.profile) },
		"limitation": func() { m.limitation = optional(d, func() string { return d.text(1, maxText) }) },
	}
	if d.version == SchemaV1 {
		delete(fields, "profile")
	}
	d.object(fields, "name", "unit", "status")
	if d.version == SchemaV1 && m.name == psnr {
		legacy := legacyProfile
		m.profile = &legacy
	}
	return m
}

// value reads a tagged value, or the bare number of version 1.
func (d *decoder) value(m *metric) {
	if d.r.Null() {
		return
	}
	if d.version == SchemaV1 {
		f := d.float()
		m.value = &f
		return
	}
	kind, reason := "", ""
	d.object(map[string]func(){
		"kind": func() { kind = d.text(1, maxName) },
		"value": func() {
			f := d.float()
			m.value = &f
		},
		"reason": func() { reason = d.text(1, maxName) },
	}, "kind")
	switch {
	case kind == "finite" && m.value != nil && reason == "":
	case kind == "positive_infinity" && m.value == nil && reason == exactReason:
		m.infinite = true
	default:
		d.wrong("is neither {kind: finite, value: a number} nor {kind: positive_infinity, reason: %s}", exactReason)
	}
}

// legacyProfile is what is known of a psnr of version 1: nothing.
const legacyProfile = `{"identity_quality":"legacy_unqualified","reason":"v1_missing_profile"}`

// profile reads how a psnr was computed, and returns it as canonical JSON.
func (d *decoder) profile() string {
	text := map[string]string{}
	member := func(name string) func() {
		return func() { text[name] = d.text(1, maxName) }
	}
	var dataRange float64
	var base int64
	d.object(map[string]func(){
		"identity_quality": member("identity_quality"), "reduction": member("reduction"),
		"zero_mse_convention": member("zero_mse_convention"), "reason": member("reason"),
		"data_range": func() {
			if dataRange = d.float(); dataRange <= 0 {
				d.wrong("is %s, want more than 0", number(dataRange))
			}
		},
		"log_base": func() { base = d.integer() },
	}, "identity_quality")
	switch {
	case d.r.Err() != nil:
	case text["identity_quality"] == "exact" && dataRange > 0 && base == 10 && text["reduction"] == "mean_squared_error" && text["zero_mse_convention"] == "positive_infinity" && text["reason"] == "":
		return object(map[string]string{
			"identity_quality": `"exact"`, "data_range": number(dataRange), "log_base": "10",
			"reduction": `"mean_squared_error"`, "zero_mse_convention": `"positive_infinity"`,
		})
	case text["identity_quality"] == "legacy_unqualified" && text["reason"] == "v1_missing_profile" && len(text) == 2 && dataRange == 0 && base == 0:
		return legacyProfile
	default:
		d.wrong("is neither {identity_quality: exact, data_range: more than 0, log_base: 10, reduction: mean_squared_error, zero_mse_convention: positive_infinity} nor {identity_quality: legacy_unqualified, reason: v1_missing_profile}")
	}
	return ""
}
