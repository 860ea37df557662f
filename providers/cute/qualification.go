package cute

import "github.com/flameox/flameox/providers"

// Qualifications are of compilations by the CuTe DSL without a GPU.
func (Provider) Qualifications() []providers.Qualification {
	return []providers.Qualification{{
		Version: "4.8.1", Series: "4.8",
		Platforms: []string{"linux/amd64"},
		Origin:    "made in the test by cute.compile for sm_90a over a tensor without data, on a machine without a GPU",
		Exercised: []string{
			"ir, ir-debug, ptx and cubin are kept byte for byte", "the target as PTX says it", "llvm, which this version does not know, is said to be missing", "sass without nvdisasm, which fails in the DSL",
		},
		Blind: []string{"functions that are launched: no GPU was there", "sass, which needs nvdisasm", "other versions of the DSL"},
		Test:  "providers/cute.TestRealRuns",
	}}
}
