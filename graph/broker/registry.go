package broker

import "slices"

// BackendProc identifies how the tree is sampled: this package's walk over /proc. Two values that come from different
// backends are not compared, so the id changes whenever what is counted changes.
const BackendProc = "flameox_proc_polling.v1"

// The metrics of the registry.
const (
	PeakRSS       = "runtime_resource.peak_rss_bytes"
	MinimumFree   = "runtime_resource.minimum_free_bytes"
	StagingGrowth = "runtime_resource.staging_growth_bytes"
)

// Fields that two runs must share for their values of a metric to be comparable.
const (
	CompatInterval = "sampling_interval_ms"
	CompatBackend  = "peak_rss_backend"
)

// Metric is one reviewed scalar. Validation and comparison use this registry and nothing else, so that naming a column
// in a configuration never makes it comparable.
type Metric struct {
	ID              string
	Unavailable     string // key under which a run lists the metric as unavailable
	Unit            string
	Scope           string
	Aggregation     string
	Backend         string
	Compatibility   []string // fields that must be equal
	WhenUnavailable string
	Confirmatory    bool // whether a claim may rest on it
	Limitations     []string
}

const ineligible = "the run is ineligible for the comparison; the value is never taken as zero"

// Registry lists the metrics, in the order of their ids' introduction. The slice is the caller's own.
func Registry() []Metric {
	return []Metric{
		{
			ID: PeakRSS, Unavailable: "peak_rss", Unit: "bytes",
			Scope:       "the command's process tree: the root and recursively discovered descendants, by process number and start time",
			Aggregation: "maximum over samples of the sum of resident set sizes",
			Backend:     BackendProc, Compatibility: []string{CompatInterval, CompatBackend},
			WhenUnavailable: ineligible, Confirmatory: true,
			Limitations: []string{
				"a sampled observation, not a lifetime maximum: a peak between two samples and a descendant that lives shorter than the interval are missed",
				"pages that processes share are counted once for each",
				"the kernel keeps the counts per CPU and may be off by some hundred pages for each process",
			},
		},
		{
			ID: MinimumFree, Unavailable: "minimum_free", Unit: "bytes",
			Scope:       "the file system that holds the staging directory",
			Aggregation: "minimum over samples of the bytes free to an unprivileged user",
			Backend:     "statfs.v1", Compatibility: []string{CompatInterval},
			WhenUnavailable: ineligible, Confirmatory: true,
			Limitations: []string{
				"activity of everything else on the file system is included",
				"a dip between two samples is missed",
			},
		},
		{
			ID: StagingGrowth, Unavailable: "staging_growth", Unit: "bytes",
			Scope:       "regular files below the staging directory, up to 10,000 entries, without declared writable roots",
			Aggregation: "size after the run less size before it, and no less than zero",
			Backend:     "flameox_bounded_tree.v1", Compatibility: []string{},
			WhenUnavailable: ineligible, Confirmatory: true,
			Limitations: []string{
				"a file that is made and removed between the two observations is missed",
				"apparent sizes are added, so a sparse file counts in full",
				"zero lies outside a positive log-ratio estimand and makes the run ineligible for one",
			},
		},
	}
}

// MetricByID is the metric of the registry with an id.
func MetricByID(id string) (Metric, bool) {
	all := Registry()
	i := slices.IndexFunc(all, func(m Metric) bool { return m.ID == id })
	if i < 0 {
		return Metric{}, false
	}
	return all[i], true
}
