package providers

import (
	"slices"
	"strings"
)

// Locator is a Provider whose producer is a program or a library that has to be on the machine, and says where to look for it. A provider
// that is none needs nothing of the machine. Where it is a Prober too, what is found is asked for its version.
type Locator interface {
	Provider
	Locate() Location
}

// Location is where a producer is looked for.
type Location struct {
	Programs []string // names, in order; the first that is found is asked
	Library  string   // the distribution that an interpreter among them has to have, as locks of packages name it; "" where the program is the producer
	Language string   // of the environments that flameox builds and that may have it: python, node; "" where none does
	Optional bool     // captures are possible without it, as of programs that were built before
	Install  string   // the one thing to do where it is absent
}

// Qualified is a Provider with records of what was tried out. Every provider has at least one.
type Qualified interface {
	Provider
	Qualifications() []Qualification
}

// Qualification is the record of what a provider was seen to do with a real producer. It is data that is checked in, and the claim
// of compatibility: what no record covers may work, and is called unqualified.
type Qualification struct {
	Version   string   `json:"version"`   // of the producer that was run or that wrote the artifacts; "" where it has none
	Series    string   `json:"series"`    // the versions that the claim covers, as a prefix in whole components: "2.9" covers 2.9.3; "" for the version alone
	Platforms []string `json:"platforms"` // os/arch where captures were made; empty where artifacts came from elsewhere
	Origin    string   `json:"origin"`    // of the artifacts: made in the test by the producer itself, or where files came from
	Exercised []string `json:"exercised"` // what was seen to work, one clause each
	Blind     []string `json:"blind"`     // what the record says nothing about
	Test      string   `json:"test"`      // folder and name of the Go test that does it: providers/gobench.TestRealRuns
}

// Covers says whether the record is about a version of the producer on a platform, as os/arch. A version that is not known is covered by
// none that names one.
func (q *Qualification) Covers(version, platform string) bool {
	if !slices.Contains(q.Platforms, platform) {
		return false
	}
	if q.Version == "" {
		return true
	}
	version, series := plain(version), plain(q.Series)
	if series == "" {
		return version == plain(q.Version)
	}
	return version == series || strings.HasPrefix(version, series+".")
}

// Claim is what of the producer the record covers: "2.9.x", "2.9.0", or "" where it has no version.
func (q *Qualification) Claim() string {
	if q.Series == "" {
		return q.Version
	}
	return q.Series + ".x"
}

// plain is a version without what programs write in front of it: v20.1.0, go1.26.
func plain(version string) string {
	return strings.TrimPrefix(strings.TrimPrefix(version, "go"), "v")
}
