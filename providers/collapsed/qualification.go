package collapsed

import "github.com/flameox/flameox/providers"

// Qualifications are of files: nothing is run.
func (Provider) Qualifications() []providers.Qualification {
	return []providers.Qualification{{
		Version:   "speedscope's sample files",
		Origin:    "files that speedscope tests its reader with",
		Exercised: []string{"every total by stack, worked out by hand", "recursion", "line ends of other systems, and UTF-16", "lines that are none, counted and left out"},
		Blind:     []string{"what single writers put into names", "files of several gigabytes"},
		Test:      "providers/collapsed.TestSampleFiles",
	}}
}
