package node

import "github.com/flameox/flameox/providers"

// Locate is the node command.
func (Provider) Locate() providers.Location {
	return providers.Location{Programs: []string{"node"}, Language: "node", Install: "install Node 20.16, 22.4 or later from https://nodejs.org, or name it in path of an environment"}
}

// Qualifications are of runs of Node, and of profiles of other programs with V8 in them.
func (Provider) Qualifications() []providers.Qualification {
	return []providers.Qualification{
		{
			Version: "v20.20.2", Series: "20",
			Platforms: []string{"linux/amd64"},
			Origin:    "made in the test by node --cpu-prof and --heap-prof",
			Exercised: []string{"both profiles of one run", "threads and forked processes, each with a profile", "a workload that exits with another status", "figures, compared with JavaScript that reads the same files"},
			Blind:     []string{"Node 22 and later, whose flags are the same", "Windows and macOS", "the inspector: profiles are of whole runs"},
			Test:      "providers/node.TestRealRuns",
		},
		{
			Version:   "files of Chrome 65 and 69, Node 10.11",
			Origin:    "sample profiles of speedscope",
			Exercised: []string{"every figure, compared with JavaScript that reads the same files"},
			Blind:     []string{"captures: none of these producers is run", "profiles of Chrome since 69"},
			Test:      "providers/node.TestFixturesAgreeWithJavaScript",
		},
	}
}
