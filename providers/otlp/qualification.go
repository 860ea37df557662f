package otlp

import "github.com/flameox/flameox/providers"

// Qualifications are of files of SDKs and of the protocol's own examples.
func (Provider) Qualifications() []providers.Qualification {
	return []providers.Qualification{
		{
			Version:   "opentelemetry-go 1.47.0",
			Platforms: []string{"linux/amd64"},
			Origin:    "made in the test by the SDK, exported over OTLP/HTTP and as lines of JSON",
			Exercised: []string{"both encodings of the same spans", "attributes of every type", "events, links, status", "ids and times as the SDK says them"},
			Blind:     []string{"spans of other SDKs", "compressed exports, which are refused"},
			Test:      "providers/otlp.TestTheGoSDKsSpansAreReadAsItHadThem",
		},
		{
			Version:   "opentelemetry-proto 1.x",
			Origin:    "payloads made and read back in the test by the official Python package",
			Exercised: []string{"every field of every message, compared with the package's reader", "fields in any order and in several parts"},
			Blind:     []string{"profiles and entities, of which there is no table"},
			Test:      "providers/otlp.TestRowsAgreeWithTheOfficialReader",
		},
		{
			Version:   "files of opentelemetry-js 0.223, opentelemetry-go 1.47, ctraces and the collector's file exporter",
			Origin:    "exports of the producers",
			Exercised: []string{"every span", "text that no UTF-8 can hold", "metrics and logs, which are refused"},
			Blind:     []string{"captures: these producers are not run"},
			Test:      "providers/otlp.TestFixtures",
		},
	}
}
