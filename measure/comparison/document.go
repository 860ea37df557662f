package comparison

// Document is benchx/comparison-document/0.1.0.
type Document struct {
	SchemaVersion    string                    `json:"schema_version"`
	Mode             string                    `json:"mode"`
	RunKey           string                    `json:"run_key"`
	Profile          Profile                   `json:"profile"`
	Varying          string                    `json:"varying"` // provenance.subject_tree, provenance.labels.build
	Baseline         string                    `json:"baseline"`
	Contender        *string                   `json:"contender"` // null unless there are two sides
	Method           Method                    `json:"method"`
	IdentitySchema   string                    `json:"identity_schema"`
	LocalOnly        bool                      `json:"local_only"` // an input's tree was not clean, so nobody else can repeat it
	Sides            map[string]map[string]any `json:"sides"`
	Caveats          []string                  `json:"caveats,omitempty"`
	Units            []Unit                    `json:"units"`
	Missing          []Missing                 `json:"missing"`
	FailedInvariants []FailedInvariant         `json:"failed_invariants"`
	Exclusions       []Exclusion               `json:"exclusions"`
	Inputs           []Input                   `json:"inputs"`
}

// Method is the rule that the verdicts were taken by.
type Method struct {
	Name      string   `json:"name"`
	Version   string   `json:"version"`
	Estimator string   `json:"estimator"`
	K         *float64 `json:"k,omitempty"`
	MinRounds int      `json:"min_rounds"`
	Level     *float64 `json:"level,omitempty"`
	Band      *float64 `json:"band,omitempty"`
	Interval  string   `json:"interval,omitempty"`
	Looks     int      `json:"looks,omitempty"`
	Look      int      `json:"look,omitempty"`
}

// Workload names a unit by what both sides share.
type Workload struct {
	Name       string         `json:"name"`
	Parameters map[string]any `json:"parameters"`
}

// Unit is one workload and quantity, compared.
type Unit struct {
	Workload             Workload  `json:"workload"`
	Quantity             string    `json:"quantity"`
	QuantityUnit         string    `json:"unit"`
	Direction            string    `json:"direction,omitempty"`
	Series               Series    `json:"series"`
	Rounds               int       `json:"rounds"` // that were paired
	Reference            *float64  `json:"reference_estimate"`
	Effect               *float64  `json:"effect"` // relative
	Noise                *float64  `json:"noise"`
	NoiseSource          string    `json:"noise_source"`
	Threshold            *float64  `json:"threshold,omitempty"`
	Interval             *Interval `json:"interval,omitempty"`
	PChange              *float64  `json:"p_change,omitempty"`
	PSame                *float64  `json:"p_same,omitempty"`
	MoreRounds           *int      `json:"more_rounds,omitempty"`
	Verdict              string    `json:"verdict"`
	Reason               *string   `json:"reason"`
	UnmatchedDifferences []string  `json:"unmatched_differences"`
	Warnings             []string  `json:"warnings,omitempty"`
}

// Interval of the effect, relative.
type Interval struct {
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Level float64 `json:"level"`
}

// Series are the fingerprints of the sides' histories, null where a side has none or several.
type Series struct {
	Baseline  *string `json:"baseline"`
	Contender *string `json:"contender"`
}

// Missing is a unit that one side lacks.
type Missing struct {
	Workload Workload `json:"workload"`
	Quantity string   `json:"quantity"`
	Side     string   `json:"side"`
}

// FailedInvariant is a rule of the profile that the run breaks. Without a workload it holds for all of the run.
type FailedInvariant struct {
	Invariant string `json:"invariant"`
	Detail    string `json:"detail"`
	Workload  string `json:"workload,omitempty"`
	Quantity  string `json:"quantity,omitempty"`
}

// Exclusion is a result that did not succeed.
type Exclusion struct {
	IngestKey string  `json:"ingest_key"`
	Producer  string  `json:"producer"`
	Status    string  `json:"status"`
	Reason    *string `json:"reason"`
}

// Input is a result that was consumed.
type Input struct {
	Producer  string `json:"producer"`
	IngestKey string `json:"ingest_key"`
}
