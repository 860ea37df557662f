package torchprofiler

import "github.com/flameox/flameox/providers"

// Locate is an interpreter that has torch.
func (Provider) Locate() providers.Location {
	return providers.Location{Programs: []string{"python", "python3"}, Library: "torch", Language: "python", Install: "add torch 2.7 or later to the requirements of the workload's environment, or run `python -m pip install torch`"}
}

// Qualifications are of runs of torch.profiler on a CPU, and of traces that it left elsewhere.
func (Provider) Qualifications() []providers.Qualification {
	return []providers.Qualification{
		{
			Version: "2.7.1", Series: "2.7",
			Platforms: []string{"linux/amd64"},
			Origin:    "made in the test by torch.profiler over a small network, without a GPU",
			Exercised: []string{
				"own and total times and calls of every operator, compared with key_averages of the same run", "allocations within operators, compared likewise", "phases named by record_function",
				"a program that fails, one that ends with another status, modules and inline code", "cycles of a schedule, one too few and one too many",
			},
			Blind: []string{"CUDA and ROCm captures", "torch 2.8 and later", "with_flops and with_modules, which are in the trace alone", "traces of more than a gigabyte by torch itself"},
			Test:  "providers/torchprofiler.TestRealRuns",
		},
		{
			Version:   "traces of CUDA, ROCm 6, Triton and gloo from 1.x and 2.x",
			Origin:    "sample traces of HolisticTraceAnalysis and TraceLens",
			Exercised: []string{"every one is read, or refused as what it is", "kernels by operator, compared with Python that reads the same files"},
			Blind:     []string{"captures: none of these producers is run"},
			Test:      "providers/torchprofiler.TestFixturesAgreeWithPython",
		},
	}
}
