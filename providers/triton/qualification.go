package triton

import "github.com/flameox/flameox/providers"

// Qualifications are of compilations by Triton without a GPU, for targets of both of its backends.
func (Provider) Qualifications() []providers.Qualification {
	return []providers.Qualification{{
		Version: "3.9.0", Series: "3.9",
		Platforms: []string{"linux/amd64"},
		Origin:    "made in the test by triton.compile for cuda:80 and hip:gfx942, on a machine without a GPU",
		Exercised: []string{
			"every dumped file is kept byte for byte and has its SHA-256 in the document", "ttir to cubin and sass, and ttir to amdgcn and hsaco, as one is made from the other",
			"targets and version as the files say them", "reproducers beside the folder of dumps", "a kernel that was in the cache, and one that does not compile",
		},
		Blind: []string{"kernels that are launched: no GPU was there", "autotuned kernels, whose variants overwrite each other's dumps", "more than two kernels in one program", "Triton before and after 3.9"},
		Test:  "providers/triton.TestRealRuns",
	}}
}
