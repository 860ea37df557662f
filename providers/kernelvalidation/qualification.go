package kernelvalidation

import "github.com/flameox/flameox/providers"

// Qualifications are of documents that a program wrote which really compared a kernel.
func (Provider) Qualifications() []providers.Qualification {
	return []providers.Qualification{{
		Origin:    "made in the test by a Go program that runs kernels in float32 and references in float64",
		Exercised: []string{"passing, failing, inconclusive and unsupported cases", "exact agreement, where psnr is infinite", "the JSON Schema, which accepts what is read and refuses the same structures", "documents of version 1"},
		Blind:     []string{"documents of other producers", "kernels on accelerators"},
		Test:      "providers/kernelvalidation.TestRealComparisons",
	}}
}
